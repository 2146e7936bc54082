"""Torques of motors along a path, from the modes of the arm there.

By virtual work: a unit motion of motor k moves the arm at rest by W_k, along which its springs do no work. So its
torque is W_k^T times the forces of inertia, damping and weight: tau = m(s) s'' + c(s) s'^2 + k(s) + V(s) eta'', with
the modes eta of `path_modes.py`. A free base is assumed to stand still. Simulations give a correction.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.paths.joint_paths import JointPath
from pliant.control.planning.paths.path_modes import (
    POSES,
    ModalResponse,
    PathModes,
    Timed,
    displacements,
    inertial,
    middles,
)
from pliant.control.planning.residual_vibration import Residual, rest_behind
from pliant.model.model import Model

MOVED = 1e-4
"""Step of a motor, rad or m, for the slopes of the position of rest."""


class PathTorques:
    """Torques of the m' motors that have a limit.

    Parameters
    ----------
    modes : PathModes
        Modes of the arm along the path.
    path : JointPath
        Path of its motors.
    effort : (m,) array
        Torque limits, infinite where there is none.
    """

    def __init__(self, modes: PathModes, path: JointPath, effort: Array) -> None:
        from scipy.interpolate import make_interp_spline

        u, tables = np.linspace(0.0, 1.0, POSES), []
        self.limited = np.flatnonzero(np.isfinite(effort))
        self.effort = effort[self.limited]
        self._beside = np.zeros((1, len(self.effort)))
        for motors, pose, B in zip(path.at(u), modes.poses, modes.axes):
            W = self._moved(modes.model, motors, pose.q)
            by_acceleration = pose.M @ pose.by
            by_squared_rate = pose.M @ pose.twice + inertial(modes.model, pose.q, pose.by)
            at_rest = modes.model.bias(pose.q, 0 * pose.by)
            forces = np.column_stack([by_acceleration, by_squared_rate, at_rest, pose.M @ B])
            tables.append(W @ forces / self.effort[:, None])
        self._table = make_interp_spline(u, np.array(tables), k=3)  # (m', 3 + k): m, c, k and V as shares of limits

    def _moved(self, model: Model, motors: Array, rest: Array) -> Array:
        """Return slopes (m', n) of the position of `rest` by each motor with a limit, at motor positions (m,)."""
        moved = [rest_behind(model, motors + MOVED * (np.arange(len(motors)) == k)) for k in self.limited]
        change = [(displacements(model, each) - displacements(model, rest)) / MOVED for each in moved]
        return np.array(change).reshape(-1, model.n)

    def shares(self, timed: Timed, modes: ModalResponse) -> tuple[Array, Array]:
        """Return torques (P, m') as shares of their limits, and their slopes (P, m', N_x)."""
        T, v, a = timed.T, timed.rate[:, None], timed.acceleration[:, None]
        parts, parts_by_s = (np.asarray(self._table(timed.s, order)) for order in (0, 1))
        factors = np.concatenate([a, v**2, np.full_like(a, T**2), modes.acceleration], axis=1) / T**2
        value, by_s = np.einsum("pmj,pj->pm", parts, factors), np.einsum("pmj,pj->pm", parts_by_s, factors)
        by_rate, by_acceleration = 2 * parts[..., 1] * v / T**2, parts[..., 0] / T**2
        slopes = sum(w[:, :, None] * by[:, None, :] for w, by in zip((by_s, by_rate, by_acceleration), timed.by))
        slopes = slopes + parts[..., 3:] @ modes.acceleration_slopes / T**2
        slopes[..., -1] -= 2 * (value - parts[..., 2]) / T
        return value + self._correction(len(timed.s)), np.asarray(slopes)

    def _correction(self, steps: int) -> Array:
        """Return simulated less computed torques (steps, m') as shares of their limits."""
        known = middles(len(self._beside))
        return np.stack([np.interp(middles(steps), known, column) for column in self._beside.T], axis=1)

    def correct(self, found: Residual, computed: Array) -> None:
        """Correct torques by a simulation of a motion for which `computed` (P, m') had been predicted."""
        run, P = found.run, len(computed)
        seen = [np.interp(middles(P) * found.duration, run.t, run.tau[:, k]) for k in self.limited]
        self._beside = self._correction(P) + np.stack(seen, axis=1) / self.effort - computed
