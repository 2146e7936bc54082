"""Exact second derivatives of a function of a response, by the adjoint method.

Multipliers of the equations of motion, found from the end back to the start, weigh the second derivatives of inverse
dynamics at every point, which a compiled kernel gives.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.search.motion_response import Driven, DrivenMotion, DrivenSlopes


class Curvature:
    """Second derivatives of functions of the response of a driven arm.

    Parameters
    ----------
    driven : Driven
        The arm on its grid.
    """

    def __init__(self, driven: Driven) -> None:
        self.driven = driven

    def of(self, at: DrivenMotion, slopes: DrivenSlopes, end: Array, tau: Array, tau_nodes: Array) -> Array:
        """Return (N_x, N_x) second derivatives of a weighted sum of end state and torques.

        Parameters
        ----------
        at : DrivenMotion
            The response.
        slopes : DrivenSlopes
            Its slopes.
        end : (2 n,) array
            Weights of q and q' at the end.
        tau : (N, d, m) array
            Weights of the torques at the Gauss points.
        tau_nodes : (N + 1, m) array
            Weights of the torques at the nodes.
        """
        inner, nodes = self._multipliers(at, slopes, end=end, tau=tau, tau_nodes=tau_nodes)
        n, columns = self.driven.grid.n, slopes.end.shape[1]
        y = np.concatenate([at.inner.reshape(-1, 3, n), at.nodes])
        w = np.concatenate([inner.reshape(-1, n), nodes])
        change = np.concatenate([slopes.inner.reshape(-1, columns), slopes.nodes.reshape(-1, columns)])
        H, by_T, by_TT = self._second(y, at.T, w)
        out = change.T @ np.matmul(H, change.reshape(len(y), 3 * n, columns)).reshape(-1, columns)
        cross = by_T.ravel() @ change
        out[-1] += cross
        out[:, -1] += cross
        out[-1, -1] += by_TT
        return np.asarray(out + out.T) / 2

    def _multipliers(
        self, at: DrivenMotion, slopes: DrivenSlopes, end: Array, tau: Array, tau_nodes: Array
    ) -> tuple[Array, Array]:
        """Return weights of all forces at the Gauss points (N, d, n) and at the nodes (N + 1, n), with which slopes of
        the weighted sum by the states vanish."""
        grid = self.driven.grid
        N, n, act, free = grid.intervals, grid.n, list(grid.actuated), list(grid.free)
        inner, nodes = np.zeros((N, grid.degree, n)), np.zeros((N + 1, n))
        inner[..., act], nodes[:, act] = tau, tau_nodes
        by_local = np.matmul(slopes.by, grid.at_points)  # (N, d, n, width)
        if free:
            own = slopes.by_nodes[..., [2 * n + k for k in free]]
            right = np.matmul(tau_nodes[:, None], own[:, act])[:, 0]
            nodes[:, free] = -np.linalg.solve(own[:, free].transpose(0, 2, 1), right[..., None])[..., 0]
            block = by_local[:, :, free].reshape(N, -1, grid.width)
            inverse = np.linalg.inv(block[..., grid.inner].transpose(0, 2, 1))
        pull = np.matmul(nodes[:, None], slopes.by_nodes[..., : 2 * n])[:, 0]
        zeta = end + pull[N]
        for k in reversed(range(N)):
            push = np.tensordot(tau[k], by_local[k][:, act], axes=([0, 1], [0, 1])) + zeta @ grid.at_end
            if free:
                nu = -inverse[k] @ push[grid.inner]
                inner[k][:, free] = nu.reshape(grid.degree, -1)
                push = push + nu @ block[k]
            zeta = push[: 2 * n] + pull[k]
        return inner, nodes

    def _second(self, y: Array, T: float, w: Array) -> tuple[Array, Array, float]:
        """Return second derivatives of w . F(q, q'/T, q''/T^2) at P points y = (q, q', q'') (P, 3, n), with weights w
        (P, n): (P, 3 n, 3 n) by y, (P, 3 n) by y and T, and their sum by T twice."""
        P, _, n = y.shape
        q, qd, qdd = y[:, 0], y[:, 1] / T, y[:, 2] / T**2
        H, g = self.driven.arm.second(q, qd, qdd, w), self.driven.arm.gradient(q, qd, qdd, w)
        power, moved = np.array([1, 1 / T, 1 / T**2]), np.stack([0 * q, -qd / T, -2 * qdd / T], axis=1)
        turned = np.matmul(H.reshape(P, 3 * n, 3 * n), moved.reshape(P, 3 * n, 1)).reshape(P, 3, n)
        by_T = turned * power[:, None] + g * np.array([0, -1 / T**2, -2 / T**3])[:, None]
        twice = (moved * turned).sum() + 2 * (g[:, 1] * qd).sum() / T**2 + 6 * (g[:, 2] * qdd).sum() / T**2
        H *= power[:, None, None, None] * power[:, None]
        return H.reshape(P, 3 * n, 3 * n), by_T.reshape(P, 3 * n), float(twice)
