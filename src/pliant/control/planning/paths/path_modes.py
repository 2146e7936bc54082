"""Vibrations of an arm that follows a path: small motions about the positions of rest along it.

At a share s of the way, modes eta swing, in axes that are carried along with the least turn, by

    eta'' + (D(s) + G(s) s') eta' + K(s) eta = g(s) s'' + h(s) s'^2

where g and h are inertial forces of the arm that moves through its positions of rest. Terms of second order in eta are
left out, and so is the rate at which the axes turn. A search takes slopes from this approximation; it simulates its
results and corrects the approximation by what it finds.

Shapes: n coordinates, k modes, P even steps of time, N_x unknowns of the search.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.paths.joint_paths import JointPath
from pliant.control.planning.perturbed_model import mode_rows
from pliant.control.planning.residual_vibration import Residual, rest_behind
from pliant.model.model import Model

POSES = 11
"""Poses along a path at which modes are computed."""
MOST, FAR = 8, 20.0
"""Modes that are considered: so many of the lowest, up to so many times the lowest frequency."""
STEP = 0.3
"""Phase of the fastest mode over one step, rad."""
FEWEST_STEPS = 200


@dataclass(frozen=True)
class Timed:
    """A timing of a path, sampled at `middles(P)`, by the share tau = t / T of its duration.

    Attributes
    ----------
    T : float
        Duration, s.
    s, rate, acceleration : (P,) array
        Share of the way, and its derivatives by tau.
    by : three (P, N_x) arrays
        Slopes of these by the unknowns of a search, of which T is the last.
    """

    T: float
    s: Array
    rate: Array
    acceleration: Array
    by: tuple[Array, Array, Array]


def middles(steps: int) -> Array:
    """Return (steps,) shares of the duration at which a timing is sampled: the middles of even steps."""
    return (np.arange(steps) + 0.5) / steps


class ModalResponse(NamedTuple):
    """Response of k modes to a timing."""

    swings: Array
    """(2 k,) amplitudes of the tip at the end, m: by displacement, then by rate."""
    slopes: Array
    """(2 k, N_x) slopes of the swings."""
    acceleration: Array
    """(P, k) second derivatives of the modal coordinates by tau, on the way."""
    acceleration_slopes: Array
    """(P, k, N_x) slopes of these."""


@dataclass(frozen=True)
class _Pose:
    """An arm at rest at one share of the way.

    Attributes
    ----------
    q : (n,) array
        Coordinates.
    by, twice : (n,) array
        First and second derivative of the coordinates by the share of the way.
    M : (n, n) array
        Mass matrix.
    squares, ratios : (k,) array
        Squares of the angular frequencies of the modes that are considered, and their damping ratios.
    Phi : (n, k) array
        Their shapes, of unit inertia.
    """

    q: Array
    by: Array
    twice: Array
    M: Array
    squares: Array
    Phi: Array
    ratios: Array

    @classmethod
    def at(cls, model: Model, q: Array, by: Array, twice: Array) -> _Pose:
        """Return the pose at coordinates q (n_q,), which change by `by` and `twice` (n,) along the way."""
        modes = model.modes(q)
        squares, Phi = modes.omega * np.abs(modes.omega), modes.shapes
        vibrating = np.flatnonzero(squares > 0)
        kept = vibrating[squares[vibrating] <= FAR**2 * squares[vibrating[0]]][:MOST]
        return cls(
            q=q, by=by, twice=twice, M=model.mass_matrix(q), squares=squares[kept], Phi=Phi[:, kept],
            ratios=modes.damping[kept],
        )  # fmt: skip

    def stiffness(self, R: Array) -> tuple[Array, Array]:
        """Return K and D (k, k) along axes that are turned by R (k, k) from the modes."""
        squares = self.squares[: len(R), None]
        return R.T @ (squares * R), R.T @ (2 * self.ratios[: len(R), None] * np.sqrt(squares) * R)

    def forces(self, model: Model, B: Array) -> tuple[Array, Array, Array]:
        """Return g and h (k,) and G (k, k) along axes B (n, k).

        The symmetric part of G belongs to the change of B, and is left out.
        """
        turning = B.T @ (inertial(model, self.q, self.by + B.T) - inertial(model, self.q, self.by - B.T)).T / 2
        g = -B.T @ self.M @ self.by
        h = -B.T @ (self.M @ self.twice + inertial(model, self.q, self.by))
        return g, h, (turning - turning.T) / 2


class PathModes:
    """Modes of an arm along a path.

    Parameters
    ----------
    model : Model
        The arm.
    path : JointPath
        Path of its motors.
    """

    def __init__(self, model: Model, path: JointPath) -> None:
        from scipy.interpolate import make_interp_spline

        self.model, u = model, np.linspace(0.0, 1.0, POSES)
        rest = np.array([rest_behind(model, motors) for motors in path.at(u)])
        way = make_interp_spline(u, displacements(model, rest), k=5)
        self.poses = [_Pose.at(model, q, by=way(share, 1), twice=way(share, 2)) for q, share in zip(rest, u)]
        self.goal = rest[-1]
        self._tabulate(min(len(pose.squares) for pose in self.poses))

    def lowest(self, count: int) -> PathModes:
        """Return the same with the `count` lowest modes alone."""
        found = copy(self)
        found._tabulate(count)
        return found

    def _tabulate(self, count: int) -> None:
        """Make splines of K, D, g, h and G over the way, in axes that turn as little as possible between poses."""
        from scipy.interpolate import make_interp_spline

        axes, tables = self.poses[0].Phi[:, :count], []
        self.axes = []
        for pose in self.poses:
            U, _, Vt = np.linalg.svd(pose.Phi[:, :count].T @ pose.M @ axes)
            self._turn = U @ Vt  # from the modes of the pose to the axes; that of the last pose is kept
            axes = pose.Phi[:, :count] @ self._turn
            self.axes.append(axes)
            tables.append((*pose.stiffness(self._turn), *pose.forces(self.model, axes)))
        K, D, g, h, G = (np.array(each) for each in zip(*tables))
        u = np.linspace(0.0, 1.0, POSES)
        self._splines = [make_interp_spline(u, table, k=3) for table in (K, D, g, h, G)]
        self.fastest = float(np.sqrt(np.linalg.eigvalsh(K).max()))  # rad/s
        last = self.poses[-1]
        squares, Phi = last.squares[:count], last.Phi[:, :count]
        self.omega = np.sqrt(squares)
        self._tip_size = np.linalg.norm(self.model.jacobian(self.goal)[3:] @ Phi, axis=0)  # m per modal coordinate
        self._by_place, self._by_rate = mode_rows(last.M, squares, Phi, self._tip_size)

    def steps(self, T: float) -> int:
        """Return the number of samples that a timing of T seconds needs."""
        return max(int(np.ceil(T * self.fastest / STEP)), FEWEST_STEPS)

    def swings(self, found: Residual) -> Array:
        """Return (2 k,) amplitudes of each mode at the tip at the end of a simulated command, m: by displacement, then
        by rate."""
        run = found.run
        at = int(np.searchsorted(run.t, found.duration * (1 - 1e-12)))
        x = displacements(self.model, run.q[at]) - displacements(self.model, self.goal)
        swing = self._by_place @ x - 1j * self._by_rate @ run.qd[at]
        at_end = swing * np.exp(-1j * self.omega * (run.t[at] - found.duration))
        return np.concatenate([at_end.real, -at_end.imag])

    def left(self, timed: Timed) -> ModalResponse:
        """Return the same amplitudes by the modal equations alone, their slopes, and accelerations on the way."""
        T, v, a, k = timed.T, timed.rate[:, None], timed.acceleration[:, None], len(self.omega)
        (K, D, g, h, G), (K_s, D_s, g_s, h_s, G_s) = (
            [np.asarray(spline(timed.s, order)) for spline in self._splines] for order in (0, 1)
        )
        # by tau: eta'' + damping eta' + stiffness eta = force, all (P, k) or (P, k, k)
        stiffness, damping = T**2 * K, T * D + G * v[..., None]
        stiffness_by_T, damping_by_T = 2 * T * K, D
        force = g * a + h * v**2
        half = _half_steps(stiffness, damping, 1 / len(timed.s))
        end, states = _kicked(half, force[..., None])
        eta, rate = states[:, :k, 0], states[:, k:, 0]
        # slopes obey the same equations, driven by the slopes of what multiplies or pushes the modes
        by_s = g_s * a + h_s * v**2 - _times(T**2 * K_s, eta) - _times(T * D_s + G_s * v[..., None], rate)
        by_rate, by_acceleration = 2 * h * v - _times(G, rate), g
        pushes = np.zeros((*by_s.shape, timed.by[0].shape[-1]))
        for weight, by in zip((by_s, by_rate, by_acceleration), timed.by):
            pushes += weight[:, :, None] * by[:, None, :]
        pushes[..., -1] -= _times(stiffness_by_T, eta) + _times(damping_by_T, rate)
        end_slopes, state_slopes = _kicked(half, pushes)
        to_tip = np.zeros((2 * k, 2 * k))
        to_tip[:k, :k] = self._tip_size[:, None] * self._turn
        to_tip[k:, k:] = to_tip[:k, :k] / (self.omega * T)[:, None]
        swings, slopes = (to_tip @ end)[:, 0], to_tip @ end_slopes
        slopes[k:, -1] -= swings[k:] / T
        return ModalResponse(
            swings=swings,
            slopes=slopes,
            acceleration=force - _times(stiffness, eta) - _times(damping, rate),
            acceleration_slopes=pushes - stiffness @ state_slopes[:, :k] - damping @ state_slopes[:, k:],
        )


def _times(A: Array, x: Array) -> Array:
    """Return (P, k) products of matrices A (P, k, k) and vectors x (P, k)."""
    return np.asarray(np.einsum("pij,pj->pi", A, x))


def _kicked(half: Array, force: Array) -> tuple[Array, Array]:
    """Integrate from rest, with each step's force as a kick in its middle.

    Parameters
    ----------
    half : (P, 2 k, 2 k) array
        Free motion over half of each step.
    force : (P, k, c) array
        Forces in the middles of the steps, in c columns.

    Returns
    -------
    end : (2 k, c) array
        State behind the last step: coordinates, then rates by tau.
    states : (P, 2 k, c) array
        States in the middles of the steps.
    """
    P, k, columns = force.shape
    state, states = np.zeros((2 * k, columns)), np.zeros((P, 2 * k, columns))
    for p in range(P):
        states[p] = half[p] @ state
        state = states[p].copy()
        state[k:] += force[p] / P
        state = half[p] @ state
    states[:, k:] += force / (2 * P)
    return state, states


def _half_steps(K: Array, D: Array, step: float) -> Array:
    """Return (P, 2 k, 2 k) maps of a state over half a step of free vibration, with K and D (P, k, k): the (2, 2) entry
    of Pade's table for the exponential."""
    P, k, _ = K.shape
    A = np.zeros((P, 2 * k, 2 * k))
    A[:, :k, k:] = np.eye(k)
    A[:, k:, :k], A[:, k:, k:] = -K, -D
    A *= step / 2
    square, one = A @ A / 12, np.eye(2 * k)
    return np.asarray(np.linalg.solve(one - A / 2 + square, one + A / 2 + square))


def inertial(model: Model, q: Array, rates: Array) -> Array:
    """Return (..., n) forces of inertia at coordinates q (n_q,) and speeds (..., n) without acceleration."""
    at = np.broadcast_to(q, (*rates.shape[:-1], len(q)))
    return np.asarray((model.bias(at, rates) + model.bias(at, -rates)) / 2 - model.bias(at, 0 * rates))


def displacements(model: Model, q: Array) -> Array:
    """Return (..., n) coordinates q (..., n_q) in the order of the speeds, with zeros for a free base: no mode depends
    on its place."""
    if not model.layout.first:
        return q
    return np.concatenate([np.zeros((*q.shape[:-1], 6)), q[..., 7:]], axis=-1)
