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
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.joint_paths import JointPath
from pliant.control.planning.perturbed_model import mode_rows
from pliant.control.planning.residual_vibration import Residual, rest_behind
from pliant.model.model import Model

POSES = 11
"""At which modes are found along a path."""
MOST, FAR = 8, 20.0
"""Modes that are carried along: so many of the lowest, up to so many times the lowest frequency."""
STEP = 0.3
"""Of the phase of the fastest mode."""
FEWEST_STEPS = 200


@dataclass(frozen=True)
class Timed:
    """A timing at `middles(P)`, by the share tau = t / T of its duration T: s (P,) and its derivatives by tau, with
    their slopes (P, N_x) by what a search changes."""

    T: float
    s: Array
    rate: Array
    acceleration: Array
    by: tuple[Array, Array, Array]


def middles(steps: int) -> Array:
    """(P,) shares of the duration at which a timing is known: in the middles of even steps."""
    return (np.arange(steps) + 0.5) / steps


class ModalResponse(NamedTuple):
    """What a timing does to k modes."""

    swings: Array
    """(2 k,) at the tip at the end, m: by place, by rate."""
    slopes: Array
    """(2 k, N_x) of these."""
    acceleration: Array
    """(P, k) of the modes on the way, by tau."""
    acceleration_slopes: Array
    """(P, k, N_x)."""


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
        self.poses = [_Pose.at(model, q, way(at, 1), way(at, 2)) for q, at in zip(rest, u)]
        self.goal = rest[-1]
        self._carry(min(len(pose.squares) for pose in self.poses))

    def lowest(self, count: int) -> PathModes:
        """The same with so many modes."""
        found = copy(self)
        found._carry(count)
        return found

    def _carry(self, count: int) -> None:
        """Tables over the way, in axes that turn as little as they can from pose to pose."""
        from scipy.interpolate import make_interp_spline

        self.axes, tables = [self.poses[0].Phi[:, :count]], []
        for pose in self.poses:
            U, _, Vt = np.linalg.svd(pose.Phi[:, :count].T @ pose.M @ self.axes[-1])
            self._turn = U @ Vt
            self.axes.append(pose.Phi[:, :count] @ self._turn)
            tables.append((*pose.stiffness(self._turn), *pose.forces(self.model, self.axes[-1])))
        del self.axes[0]
        parts = [np.array(each) for each in zip(*tables)]
        u = np.linspace(0.0, 1.0, POSES)
        self._K, self._D, self._g, self._h, self._G = (make_interp_spline(u, part, k=3) for part in parts)
        last = self.poses[-1]
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

    def left(self, timed: Timed) -> ModalResponse:
        """The same by modes alone, and how they are accelerated on the way."""
        s, T, v, a = timed.s, timed.T, timed.rate[:, None], timed.acceleration[:, None]
        tables = (self._K, self._D, self._g, self._h, self._G)
        (K, D, g, h, G), (K_s, D_s, g_s, h_s, G_s) = ([np.asarray(x(s, order)) for x in tables] for order in (0, 1))
        K, D, by_T = T**2 * K, T * D + G * v[..., None], (2 * T * K, D)
        half, k = _half_steps(K, D, 1 / len(s)), len(self.omega)
        force = g * a + h * v**2
        y, Y = _kicked(half, force[..., None])
        eta, rate = Y[:, :k, 0], Y[:, k:, 0]
        by_s = g_s * a + h_s * v**2 - _times(T**2 * K_s, eta) - _times(T * D_s + G_s * v[..., None], rate)
        weights = by_s, 2 * h * v - _times(G, rate), g
        pushes: Any = sum(w[:, :, None] * by[:, None, :] for w, by in zip(weights, timed.by))
        pushes[..., -1] -= _times(by_T[0], eta) + _times(by_T[1], rate)
        S, inner = _kicked(half, pushes)
        ends = np.zeros((2 * k, 2 * k))
        ends[:k, :k] = self._size[:, None] * self._turn
        ends[k:, k:] = ends[:k, :k] / (self.omega * T)[:, None]
        swings, slopes = (ends @ y)[:, 0], ends @ S
        slopes[k:, -1] -= swings[k:] / T
        accelerations = force - _times(K, eta) - _times(D, rate)
        return ModalResponse(swings, slopes, accelerations, pushes - K @ inner[:, :k] - D @ inner[:, k:])


def _times(A: Array, x: Array) -> Array:
    """(P, k) products of matrices and vectors."""
    return np.asarray(np.einsum("pij,pj->pi", A, x))


def _kicked(half: Array, force: Array) -> tuple[Array, Array]:
    """States (2 k, c) at the end of all steps, and in their middles, where forces (P, k, c) push."""
    P, k, columns = force.shape
    y, Y = np.zeros((2 * k, columns)), np.zeros((P, 2 * k, columns))
    for p in range(P):
        Y[p] = half[p] @ y
        y = Y[p].copy()
        y[k:] += force[p] / P
        y = half[p] @ y
    Y[:, k:] += force / (2 * P)
    return y, Y


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
