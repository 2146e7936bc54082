"""What motors ask for along a path, to first order as if the arm moved through its places of rest.

By virtual work: motor k moves the arm at rest by W_k, against which its springs do no work, so that its torque is W_k^T
F with F the inverse dynamics of the motion through places of rest: tau = m(s) s'' + c(s) s'^2 + k(s). A free base is
taken to stand. What a simulation finds beside that is kept as a correction.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.model import Model
from pliant.ringing.joint_paths import JointPath
from pliant.ringing.path_modes import POSES, displacements, inertial
from pliant.ringing.residual_swing import Residual, rest_behind

MOVED = 1e-4
"""Rad or m by which a motor is moved to see where the arm rests behind it."""


class PathTorques:
    """Of an arm along a path.

    Parameters
    ----------
    model : Model
        The arm.
    path : JointPath
        Of its motors.
    effort : (m,) array
        Greatest torques, infinite where there is no limit.
    """

    def __init__(self, model: Model, path: JointPath, effort: Array) -> None:
        from scipy.interpolate import make_interp_spline

        self.effort, self.limited = effort, np.flatnonzero(np.isfinite(effort))
        self.beside: Array = np.zeros((1, len(effort)))
        u, parts = np.linspace(0.0, 1.0, POSES), []
        poses = path.at(u)
        rest = np.array([rest_behind(model, q) for q in poses])
        W = np.stack([self._moved(model, q, at) for q, at in zip(poses, rest)])
        by = make_interp_spline(u, np.einsum("pnm,pm->pn", W, path.slope(u, 1)), k=3)
        for q, each, at in zip(rest, W, u):
            M = model.mass_matrix(q)
            force = M @ by(at), M @ by(at, 1) + inertial(model, q, by(at)), model.bias(q, np.zeros(model.n))
            parts.append(np.stack([each.T @ F for F in force]))
        self._table = make_interp_spline(u, np.array(parts), k=3)

    def _moved(self, model: Model, q: Array, rest: Array) -> Array:
        """(n, m) how the arm at rest moves with each motor."""
        out = np.zeros((model.n, len(q)))
        for k in self.limited:
            again = rest_behind(model, q + MOVED * (np.arange(len(q)) == k))
            out[:, k] = (displacements(model, again) - displacements(model, rest)) / MOVED
        return out

    def shares(self, s: Array, rate: Array, acceleration: Array, T: float) -> tuple[Array, tuple[Array, Array, Array]]:
        """(m, P) of the limits, by the way and its derivatives by t / T, and slopes by these three."""
        (m, c, k), (dm, dc, dk) = (np.moveaxis(self._table(s, order), 1, 0) / self.effort for order in (0, 1))
        v, a = rate[:, None], acceleration[:, None]
        value = (m * a + c * v**2) / T**2 + k + self.beside / self.effort
        by = (dm * a + dc * v**2) / T**2 + dk, 2 * c * v / T**2, m / T**2
        return value.T, (by[0].T, by[1].T, by[2].T)

    def correct(self, found: Residual, tau: Array, computed: Array) -> None:
        """Take what a simulation found at shares tau (P,) of the duration beside what was `computed` (m, P) of it."""
        run, m = found.run, len(self.effort)
        seen = np.stack([np.interp(tau * found.duration, run.t, column) for column in run.tau.T[:m]], axis=1)
        self.beside = self.beside + np.where(np.isfinite(self.effort), seen - computed.T * self.effort, 0.0)
