"""Effect of an overestimated stiffness on the decoupling controller, [TG95] (48)-(50).

With K^ = K + dK in the control law the loop becomes

    e'' + G_v e' + G_p e = -M_rr^-1 M_rf (M_ff - M_rf^T M_rr^-1 M_rf)^-1 dK q_f                              (49)
    M_ff q_f'' + h_f + c_f + (K - H dK) q_f = -M_rf^T u,                                        (50)
    H = M_rf^T M_rr^-1 M_rf (M_ff - M_rf^T M_rr^-1 M_rf)^-1

The paper's Lemma asks that alpha lambda_max(H) < 1 for dK = alpha K. That is where K - H dK becomes singular, and no
more: e and q_f are coupled through (49), and the coupled loop becomes unstable, oscillating, at a far smaller alpha (at
any alpha > 0 without structural damping). Both thresholds are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.signatures import checked
from pliant.control.controllers.controller import actuated, gain_matrix
from pliant.control.controllers.lqr import rest_state
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of

SMALLEST = 1e-6
"""Relative error at which the search begins: a loop that it already destabilizes has the threshold zero."""


@dataclass(frozen=True)
class Overestimation:
    """The linear loop about a rest configuration, as a function of the relative error `alpha` of the stiffness.

    Attributes
    ----------
    M, K, C : (n, n)
        Inertia, stiffness and damping about the configuration.
    Gp, Gv : (m, m)
        Gains of the decoupled joints.
    joints, flexible : tuple of int
        Places of the joints and of the flexible coordinates.
    H : (f, f)
        Matrix of (50).
    bound : float
        The paper's bound 1 / lambda_max(H).
    threshold : float
        Largest alpha (within the search) up to which every eigenvalue of the loop has a real part <= tolerance; 0 where
        any overestimation destabilizes the loop.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> loop = pliant.analysis.overestimation(model, [0.0, 0.0], kp=25.0, kd=10.0, damping=1e-3)
    >>> loop.effective_stiffness(0.1).shape, loop.matrix(0.1).shape
    ((2, 2), (8, 8))
    >>> loop.growth(0.0) < 0, loop.table([0.0, 0.1]).shape
    (True, (2, 3))
    """

    M: Array
    K: Array
    C: Array
    Gp: Array
    Gv: Array
    joints: tuple[int, ...]
    flexible: tuple[int, ...]
    H: Array
    bound: float
    threshold: float

    def effective_stiffness(self, alpha: float) -> Array:
        """Effective stiffness K - H dK of (50) for dK = alpha K.

        Parameters
        ----------
        alpha : float
            Relative error of the stiffness.

        Returns
        -------
        (f, f) array
        """
        K = self.K[np.ix_(self.flexible, self.flexible)]
        return np.asarray(K - self.H @ (alpha * K))

    def matrix(self, alpha: float) -> Array:
        """State matrix of the coupled loop (49), (50) with x = [q; qd].

        Parameters
        ----------
        alpha : float
            Relative error of the stiffness.

        Returns
        -------
        (2n, 2n) array
        """
        return _loop(self.M, self.K, self.C, self.Gp, self.Gv, list(self.joints), list(self.flexible), alpha)

    def growth(self, alpha: float) -> float:
        """Largest real part (1/s) of the eigenvalues of the loop.

        Parameters
        ----------
        alpha : float
            Relative error of the stiffness.

        Returns
        -------
        float
            1/s.
        """
        return float(np.linalg.eigvals(self.matrix(alpha)).real.max())

    def table(self, alphas: ArrayLike) -> Array:
        """Table (N, 3): alpha, largest real part of the loop, least real part of the eigenvalues of K - H dK over their
        largest.

        Parameters
        ----------
        alphas : (N,) array
            Relative errors of the stiffness.

        Returns
        -------
        (N, 3) array
        """
        rows = []
        for alpha in np.atleast_1d(np.asarray(alphas, dtype=float)):
            spread = np.linalg.eigvals(self.effective_stiffness(float(alpha))).real
            rows.append((alpha, self.growth(float(alpha)), spread.min() / np.abs(spread).max()))
        return np.array(rows)


@checked
def overestimation(
    model: Model | Robot, joints: AnglesLike, kp: ArrayLike, kd: ArrayLike, damping: float = 0.0, largest: float = 1.0
) -> Overestimation:
    """Study of [TG95] (48)-(50) at rest in `joints`, with decoupling gains `kp`, `kd`.

    `damping` adds stiffness-proportional damping (seconds) to that of the links; thresholds are sought up to `largest`.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    joints : (m,) array
        Joint positions of the configuration.
    kp, kd : number, (m,) or (m, m)
        Gains G_p in 1/s^2 and G_v in 1/s.
    damping : float
        Stiffness-proportional damping, s.
    largest : float
        Largest relative error in the search for the threshold.

    Returns
    -------
    Overestimation

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> loop = pliant.analysis.overestimation(model, [0.0, 0.0], kp=25.0, kd=10.0, damping=1e-3)
    >>> bool(0 <= loop.threshold <= 1)
    True
    """
    model = model_of(model)
    if damping < 0 or largest <= 0:
        raise ModelError(f"damping, largest: got {damping!r}, {largest!r}, expected >= 0 and > 0")
    x0, _ = rest_state(model, numbers("joints", joints, model.n_joints))
    q, r = x0[: model.n], actuated(model)
    f = [k for k in range(model.n) if k not in r]
    if not f:
        raise ModelError("the arm has no flexible coordinate: its stiffness cannot be over-estimated")
    M, K = model.mass_matrix(q), model.stiffness(q)
    C = -M @ model.linearize(q).A[model.n :, model.n :] + damping * K
    Gp, Gv = gain_matrix("kp", kp, model.n_joints), gain_matrix("kd", kd, model.n_joints)
    Mrr, Mrf, Mff = M[np.ix_(r, r)], M[np.ix_(r, f)], M[np.ix_(f, f)]
    carried = Mrf.T @ np.linalg.solve(Mrr, Mrf)
    H = np.asarray(carried @ np.linalg.inv(Mff - carried))
    return Overestimation(
        M=M,
        K=K,
        C=C,
        Gp=Gp,
        Gv=Gv,
        joints=tuple(r),
        flexible=tuple(f),
        H=H,
        bound=1 / float(np.linalg.eigvals(H).real.max()),
        threshold=_threshold(lambda alpha: _loop(M, K, C, Gp, Gv, r, f, alpha), largest),
    )


def _loop(M: Array, K: Array, C: Array, Gp: Array, Gv: Array, r: list[int], f: list[int], alpha: float) -> Array:
    """State matrix of the arm under the law (48), which decouples the joints for a stiffness (1 + alpha) K of links."""
    n, m = len(M), len(r)
    Mrf, Mff = M[np.ix_(r, f)], M[np.ix_(f, f)]
    lever = Mrf @ np.linalg.inv(Mff)
    inertia = M[np.ix_(r, r)] - lever @ Mrf.T
    believed = K.copy()
    believed[np.ix_(f, f)] *= 1 + alpha
    u = np.zeros((m, 2 * n))
    u[:, r], u[:, [n + k for k in r]] = -Gp, -Gv
    forces = np.hstack([believed, C])
    torque = inertia @ u + forces[r] - lever @ forces[f]
    S = np.zeros((n, m))
    S[r, range(m)] = 1
    lower = np.linalg.solve(M, S @ torque - np.hstack([K, C]))
    return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])


def _threshold(loop: Callable[[float], Array], largest: float, relative: float = 1e-10) -> float:
    """Largest alpha up to which no eigenvalue grows, by bisection; real parts within rounding count as zero."""

    def grows(alpha: float) -> bool:
        values = np.linalg.eigvals(loop(alpha))
        return bool(values.real.max() > relative * np.abs(values).max())

    low, high = 0.0, SMALLEST
    if grows(low) or grows(high):
        return 0.0
    while not grows(high):
        low, high = high, 2 * high
        if low >= largest:
            return largest
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low
