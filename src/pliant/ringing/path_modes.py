"""Vibrations of an arm on its way along a path, as small motions about where it would rest: what a timing leaves behind
at the end, and how that changes with the timing.

Modes eta at a share s of the way, in axes that are carried along with the least turn, swing by

    eta'' + (D(s) + G(s) s') eta' + K(s) eta = g(s) s'' + h(s) s'^2

where g and h are what inertia does to them while the arm moves through its places of rest. That is no simulation: it
leaves out what is of second order in eta, and how the axes turn. It gives slopes to a search whose results are
simulated, and takes what was found there as a correction.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.control.motion_bystander import mode_rows
from pliant.model import Model
from pliant.ringing.joint_paths import JointPath
from pliant.ringing.residual_swing import Residual, rest_behind

POSES = 11
"""At which modes are found along a path."""
MOST, FAR = 8, 20.0
"""Modes that are carried along: so many of the lowest, up to so many times the lowest frequency."""
STEP = 0.3
"""Of the phase of the fastest mode."""
FEWEST_STEPS = 200


@dataclass(frozen=True)
class Timed:
    """A timing at many moments, by the share tau = t / T of its duration T: s (P,) and its derivatives by tau, with
    their slopes (P, N_x) by what a search changes."""

    T: float
    s: Array
    rate: Array
    acceleration: Array
    by: tuple[Array, Array, Array]


@dataclass(frozen=True)
class _Pose:
    """An arm at rest q, which changes by `by` and `twice` (n,) with the share of the way; its inertia M, and squares
    (k,), shapes (n, k) and damping ratios (k,) of the modes that are carried along."""

    q: Array
    by: Array
    twice: Array
    M: Array
    squares: Array
    Phi: Array
    ratios: Array

    @classmethod
    def at(cls, model: Model, q: Array, by: Array, twice: Array) -> _Pose:
        squares, Phi = model.modes(q)
        swings = np.flatnonzero(squares > 0)
        kept = swings[squares[swings] <= FAR**2 * squares[swings[0]]][:MOST]
        ratios = model.damping_ratios(q)[kept]
        return cls(q, by, twice, model.mass_matrix(q), squares[kept], Phi[:, kept], ratios)

    def stiffness(self, R: Array) -> tuple[Array, Array]:
        """K and D (k, k) along axes that are turned by R from the modes."""
        squares = self.squares[: len(R), None]
        return R.T @ (squares * R), R.T @ (2 * self.ratios[: len(R), None] * np.sqrt(squares) * R)

    def forces(self, model: Model, B: Array) -> tuple[Array, Array, Array]:
        """g and h (k,) and G (k, k) along axes B (n, k). Of G the part that does work belongs to how B changes."""
        turning = B.T @ (inertial(model, self.q, self.by + B.T) - inertial(model, self.q, self.by - B.T)).T / 2
        h = -B.T @ (self.M @ self.twice + inertial(model, self.q, self.by))
        return -B.T @ self.M @ self.by, h, (turning - turning.T) / 2


class PathModes:
    """Of an arm along a path.

    Parameters
    ----------
    model : Model
        The arm.
    path : JointPath
        Of its motors.
    """

    def __init__(self, model: Model, path: JointPath) -> None:
        from scipy.interpolate import make_interp_spline

        self.model, u = model, np.linspace(0.0, 1.0, POSES)
        rest = np.array([rest_behind(model, q) for q in path.at(u)])
        way = make_interp_spline(u, displacements(model, rest), k=5)
        self._poses = [_Pose.at(model, q, way(at, 1), way(at, 2)) for q, at in zip(rest, u)]
        self.goal = rest[-1]
        self._carry(min(len(pose.squares) for pose in self._poses))

    def lowest(self, count: int) -> PathModes:
        """The same with so many modes."""
        found = copy(self)
        found._carry(count)
        return found

    def _carry(self, count: int) -> None:
        """Tables over the way, in axes that turn as little as they can from pose to pose."""
        from scipy.interpolate import make_interp_spline

        before, tables = self._poses[0].Phi[:, :count], []
        for pose in self._poses:
            U, _, Vt = np.linalg.svd(pose.Phi[:, :count].T @ pose.M @ before)
            self._turn = U @ Vt
            before = pose.Phi[:, :count] @ self._turn
            tables.append((*pose.stiffness(self._turn), *pose.forces(self.model, before)))
        parts = [np.array(each) for each in zip(*tables)]
        u = np.linspace(0.0, 1.0, POSES)
        self._K, self._D, self._g, self._h, self._G = (make_interp_spline(u, part, k=3) for part in parts)
        last = self._poses[-1]
        squares, Phi = last.squares[:count], last.Phi[:, :count]
        self.omega = np.sqrt(squares)
        self.fastest = float(np.sqrt(np.linalg.eigvalsh(parts[0]).max()))
        self._size = np.linalg.norm(self.model.jacobian(self.goal)[3:] @ Phi, axis=0)
        self._by_place, self._by_rate = mode_rows(last.M, squares, Phi, self._size)

    def steps(self, T: float) -> int:
        """Moments at which a timing of T seconds must be known."""
        return max(int(np.ceil(T * self.fastest / STEP)), FEWEST_STEPS)

    def swings(self, found: Residual) -> Array:
        """(2 k,) what each mode swings by at the tip at the end of a simulated command, m: by place, by rate."""
        run = found.run
        at = int(np.searchsorted(run.t, found.duration * (1 - 1e-12)))
        x = displacements(self.model, run.q[at]) - displacements(self.model, self.goal)
        swing = self._by_place @ x - 1j * self._by_rate @ run.qd[at]
        turned = swing * np.exp(-1j * self.omega * (run.t[at] - found.duration))
        return np.concatenate([turned.real, -turned.imag])

    def left(self, timed: Timed) -> tuple[Array, Array]:
        """(2 k,) the same by modes alone, and (2 k, N_x) its slopes; the last column is by T."""
        s, T, k, P = timed.s, timed.T, len(self.omega), len(timed.s)
        K, D, g, h = (np.asarray(table(s)) for table in (self._K, self._D, self._g, self._h))
        G = np.asarray(self._G(s))
        half = _half_steps(T**2 * K, T * D + G * timed.rate[:, None, None], 1 / P)
        force = g * timed.acceleration[:, None] + h * (timed.rate**2)[:, None]
        y, Y = np.zeros(2 * k), np.zeros((P, 2 * k))
        for p in range(P):
            y = half[p] @ y
            y[k:] += force[p] / P
            Y[p] = y
            Y[p, k:] -= force[p] / (2 * P)
            y = half[p] @ y
        ends = np.zeros((2 * k, 2 * k))
        ends[:k, :k] = self._size[:, None] * self._turn
        ends[k:, k:] = self._size[:, None] * self._turn / (self.omega * T)[:, None]
        value, back, L = ends @ y, ends, np.zeros((P, 2 * k, k))
        for p in reversed(range(P)):
            back = back @ half[p]
            L[p] = back[:, k:]
            back = back @ half[p]
        eta, eta_rate = Y[:, :k], Y[:, k:]
        by_s = self._g(s, 1) * timed.acceleration[:, None] + self._h(s, 1) * (timed.rate**2)[:, None]
        by_s = by_s - T**2 * np.einsum("pij,pj->pi", self._K(s, 1), eta)
        by_s = by_s - timed.rate[:, None] * np.einsum("pij,pj->pi", self._G(s, 1), eta_rate)
        by_T = -np.einsum("pij,pj->pi", 2 * T * K, eta) - np.einsum("pij,pj->pi", D, eta_rate)
        by_rate = 2 * h * timed.rate[:, None] - np.einsum("pij,pj->pi", G, eta_rate)
        weights = (by_s, by_rate, g)
        slopes = sum(np.einsum("pij,pj->pi", L, w).T @ by for w, by in zip(weights, timed.by)) / P
        slopes[:, -1] += np.einsum("pij,pj->i", L, by_T) / P
        slopes[k:, -1] -= value[k:] / T
        return value, slopes


def inertial(model: Model, q: Array, rates: Array) -> Array:
    """(..., n) what inertia asks for in a state q at rates (..., n), nothing accelerated."""
    at = np.broadcast_to(q, (*rates.shape[:-1], len(q)))
    return np.asarray((model.bias(at, rates) + model.bias(at, -rates)) / 2 - model.bias(at, 0 * rates))


def displacements(model: Model, q: Array) -> Array:
    """(..., n) coordinates as the speeds count them; zeros for a free base, on whose place no mode depends."""
    if not model.layout.first:
        return q
    return np.concatenate([np.zeros((*q.shape[:-1], 6)), q[..., 7:]], axis=-1)


def _half_steps(K: Array, D: Array, step: float) -> Array:
    """(P, 2 k, 2 k) what free vibrations make of a state in half a step: (2, 2) of Pade's table for the exponential."""
    P, k, _ = K.shape
    A: Any = np.zeros((P, 2 * k, 2 * k))
    A[:, :k, k:] = np.eye(k)
    A[:, k:, :k], A[:, k:, k:] = -K, -D
    A *= step / 2
    square, one = A @ A / 12, np.eye(2 * k)
    return np.linalg.solve(one - A / 2 + square, one + A / 2 + square)
