"""What motors ask for along a path, from the modes of the arm there.

By virtual work: motor k moves the arm at rest by W_k, against which its springs do no work, so that its torque is W_k^T
times the inertia of all that moves: tau = m(s) s'' + c(s) s'^2 + k(s) + V(s) eta'', with the modes eta of
`path_modes.py`. A free base is taken to stand. What a simulation finds beside that is kept as a correction.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.joint_paths import JointPath
from pliant.control.planning.path_modes import POSES, ModalResponse, PathModes, Timed, displacements, inertial, middles
from pliant.control.planning.residual_vibration import Residual, rest_behind
from pliant.model.model import Model

MOVED = 1e-4
"""Rad or m by which a motor is moved to see where the arm rests behind it."""


class PathTorques:
    """Of an arm along a path.

    Parameters
    ----------
    modes : PathModes
        Of the arm there.
    path : JointPath
        Of its motors.
    effort : (m,) array
        Greatest torques, infinite where there is no limit.
    """

    def __init__(self, modes: PathModes, path: JointPath, effort: Array) -> None:
        from scipy.interpolate import make_interp_spline

        self.limited, u, parts = np.flatnonzero(np.isfinite(effort)), np.linspace(0.0, 1.0, POSES), []
        self.effort = effort[self.limited]
        self._beside = np.zeros((1, len(self.effort)))
        for motors, pose, B in zip(path.at(u), modes.poses, modes.axes):
            W = self._moved(modes.model, motors, pose.q)
            turning = pose.M @ pose.twice + inertial(modes.model, pose.q, pose.by)
            held = modes.model.bias(pose.q, 0 * pose.by)
            parts.append(W @ np.column_stack([pose.M @ pose.by, turning, held, pose.M @ B]) / self.effort[:, None])
        self._table = make_interp_spline(u, np.array(parts), k=3)

    def _moved(self, model: Model, motors: Array, rest: Array) -> Array:
        """(m', n) how the arm at rest moves with each motor that has a limit."""
        moved = [rest_behind(model, motors + MOVED * (np.arange(len(motors)) == k)) for k in self.limited]
        change = [(displacements(model, each) - displacements(model, rest)) / MOVED for each in moved]
        return np.array(change).reshape(-1, model.n)

    def shares(self, timed: Timed, modes: ModalResponse) -> tuple[Array, Array]:
        """(P, m') of the limits, and (P, m', N_x) their slopes."""
        T, v, a = timed.T, timed.rate[:, None], timed.acceleration[:, None]
        parts, by_s = (np.asarray(self._table(timed.s, order)) for order in (0, 1))
        given = np.concatenate([a, v**2, np.full_like(a, T**2), modes.acceleration], axis=1) / T**2
        value, along = np.einsum("pmj,pj->pm", parts, given), np.einsum("pmj,pj->pm", by_s, given)
        weights = along, 2 * parts[..., 1] * v / T**2, parts[..., 0] / T**2
        slopes = sum(w[:, :, None] * by[:, None, :] for w, by in zip(weights, timed.by))
        slopes = slopes + parts[..., 3:] @ modes.acceleration_slopes / T**2
        slopes[..., -1] -= 2 * (value - parts[..., 2]) / T
        return value + self._correction(len(timed.s)), np.asarray(slopes)

    def _correction(self, steps: int) -> Array:
        known = middles(len(self._beside))
        return np.stack([np.interp(middles(steps), known, column) for column in self._beside.T], axis=1)

    def correct(self, found: Residual, computed: Array) -> None:
        """Take what a simulation found beside what was `computed` (P, m') of the same motion."""
        run, P = found.run, len(computed)
        seen = [np.interp(middles(P) * found.duration, run.t, run.tau[:, k]) for k in self.limited]
        self._beside = self._correction(P) + np.stack(seen, axis=1) / self.effort - computed
