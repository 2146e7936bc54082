"""What an arm does, and what it takes, under commanded accelerations: states, torques and their exact slopes.

All intervals of the grid are solved at once by Newton's method on inverse dynamics, F(q, q'/T, q''/T^2) = 0 for each
coordinate that no torque drives: compiled kernels give F and its slopes at all points in one batch, the steps of the
unknowns of an interval are eliminated, and what is left goes from node to node. The same elimination, with columns for
the commanded accelerations, gives the slopes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.motion_forces import ArmForces
from pliant.control.planning.motion_grid import MotionGrid

STEPS = 30
"""Newton steps after which a response counts as not found."""
FAR = 1e12
"""Coordinates and their derivatives by s beyond which nothing is computed."""
SMALL = 1e-11
"""Unbalanced forces that are left, as a share of the largest force."""


@dataclass(frozen=True)
class DrivenMotion:
    """States and torques under commanded accelerations; derivatives are by s = t / T."""

    T: float
    local: Array
    """(N, width) what is local to each interval."""
    nodes: Array
    """(N + 1, 3, n) q, q', q'' at the nodes."""
    inner: Array
    """(N, d, 3, n) and at the Gauss points."""
    tau: Array
    """(N, d, m) torques at the Gauss points."""
    tau_nodes: Array
    """(N + 1, m) and at the nodes."""


@dataclass(frozen=True)
class DrivenSlopes:
    """How a response changes with (accelerations at the nodes, T): N_x = (N + 1) m + 1 columns."""

    end: Array
    """(2 n, N_x) of q and q' at the last node."""
    tau: Array
    """(N, d, m, N_x)."""
    tau_nodes: Array
    """(N + 1, m, N_x)."""
    inner: Array
    """(N, d, 3 n, N_x) of q, q', q'' at the Gauss points."""
    nodes: Array
    """(N + 1, 3 n, N_x) and at the nodes."""
    by: Array
    """(N, d, n, 3 n) of forces by q, q', q'' at the Gauss points."""
    by_nodes: Array
    """(N + 1, n, 3 n) and at the nodes."""


class Driven:
    """An arm on a grid, from a state of rest.

    Parameters
    ----------
    arm : ArmForces
        Its inverse dynamics.
    grid : MotionGrid
        Over the duration.
    start : (n,) array
        State of rest.
    """

    def __init__(self, arm: ArmForces, grid: MotionGrid, start: Array) -> None:
        self.arm, self.grid, self.start = arm, grid, start
        self._act, self._free = list(grid.actuated), list(grid.free)

    def _forces(self, y: Array, T: float) -> tuple[Array, Array, Array]:
        """F (..., n) at states y (..., 3, n), its slopes by them (..., n, 3 n) and by T (..., n)."""
        q, qs, qss = (np.ascontiguousarray(y[..., k, :]) for k in range(3))
        if not np.abs(y).max() < FAR:
            raise ArithmeticError("the arm goes beyond all bounds")
        F, by_q, by_qd, by_qdd = self.arm.slopes(q, qs / T, qss / T**2)
        with np.errstate(over="ignore", invalid="ignore"):  # far off, where no response will be found
            by = np.concatenate([by_q, by_qd / T, by_qdd / T**2], axis=-1)
            by_T = -(by_qd @ qs[..., None] / T**2 + 2 * by_qdd @ qss[..., None] / T**3)[..., 0]
        return F, by, by_T

    def _at_points(self, local: Array) -> Array:
        grid = self.grid
        inside = np.matmul(grid.at_points, local[:, None, :, None])  # (N, d, 3 n, 1)
        return np.asarray(inside.reshape(-1, grid.degree, 3, grid.n))

    def response(self, a: Array, T: float, near: DrivenMotion | Array) -> DrivenMotion:
        """To accelerations d2q/ds2 (N + 1, m) at the nodes, from a response nearby or from what is local (N, width).

        Raises `ArithmeticError` where there is none.
        """
        grid = self.grid
        local = (near.local if isinstance(near, DrivenMotion) else near).copy()
        local[:, grid.inputs] = np.concatenate([a[:-1], a[1:]], axis=1)
        local[0, : 2 * grid.n] = np.concatenate([self.start, 0 * self.start])
        if not self._solve(local, T):
            self._march(local, T)
        y = self._at_points(local)
        nodes = self._nodes(local, a, T)
        tau = self._forces(y, T)[0][..., self._act]
        return DrivenMotion(T, local, nodes, y, tau, self._forces(nodes, T)[0][..., self._act])

    def _solve(self, local: Array, T: float) -> bool:
        """Newton's method for all intervals at once; whether it came to its end."""
        grid, inner, states = self.grid, self.grid.inner, slice(0, 2 * self.grid.n)
        before = np.inf
        for _ in range(STEPS):
            y = self._at_points(local)
            if not np.abs(y).max() < FAR:
                return False
            F, by, _ = self._forces(y, T)
            force, size = F[..., self._free], max(float(np.abs(F).max()), 1e-9)
            miss = local[:-1] @ grid.at_end.T - local[1:, states]
            left = max(float(np.abs(force).max(initial=0.0)) / size, float(np.abs(miss).max(initial=0.0)))
            if left < SMALL or (left < 1e-8 and left > 0.3 * before):  # as far as rounding goes
                return True
            if not left < 1e3 * before:  # NaN too
                return False
            before = min(left, before)
            by_state, step = self._eliminated(by, force.reshape(grid.intervals, -1, 1))
            change = np.zeros(2 * grid.n)
            for k in range(grid.intervals):
                inside = -(by_state[k] @ change + step[k][:, 0])
                local[k, states] += change
                local[k, inner] += inside
                if k < grid.intervals - 1:
                    change = grid.at_end[:, states] @ change + grid.at_end[:, inner] @ inside + miss[k]
        return False

    def _march(self, local: Array, T: float) -> None:
        """The same interval after interval with steps cut where they lead away: slower, and harder to mislead."""
        grid, states = self.grid, slice(0, 2 * self.grid.n)
        local[:, grid.inner] = 0
        for k in range(grid.intervals):
            if k:
                local[k, states] = grid.at_end @ local[k - 1]
                local[k, grid.inner] = local[k - 1, grid.inner]
            if not self._interval(local[k], T):
                raise ArithmeticError("no response to these accelerations")

    def _interval(self, local: Array, T: float) -> bool:
        grid = self.grid

        def left(at: Array) -> tuple[Array, Array, float]:
            F, by, _ = self._forces((grid.at_points @ at).reshape(grid.degree, 3, grid.n), T)
            return F[:, self._free].ravel(), by[:, self._free], max(float(np.abs(F).max()), 1e-9)

        force, by, size = left(local)
        for _ in range(STEPS):
            now = float(np.abs(force).max(initial=0.0))
            if now < SMALL * size:
                return True
            slope = np.matmul(by, grid.at_points[..., grid.inner]).reshape(len(force), -1)
            step, share = np.linalg.solve(slope, force), 1.0
            while True:
                trial = local.copy()
                trial[grid.inner] -= share * step
                force, by, size = left(trial)
                if float(np.abs(force).max()) < (1 - 0.1 * share) * now:
                    break
                share /= 2
                if not share > 1e-3:
                    return now < 1e-8 * size
            local[:] = trial
        return False

    def _eliminated(self, by: Array, right: Array) -> tuple[Array, Array]:
        """Steps at the Gauss points for steps of the state at the begin of an interval, and for right-hand sides."""
        grid = self.grid
        slopes = np.matmul(by[:, :, self._free], grid.at_points)  # (N, d, f, width)
        slopes = slopes.reshape(grid.intervals, -1, grid.width)
        right = np.concatenate([slopes[..., : 2 * grid.n], right], axis=-1)
        found = np.linalg.solve(slopes[..., grid.inner], right)
        return found[..., : 2 * grid.n], found[..., 2 * grid.n :]

    def _nodes(self, local: Array, a: Array, T: float) -> Array:
        """(N + 1, 3, n) with the accelerations that the equations of motion give, which are linear in them."""
        grid = self.grid
        nodes = np.zeros((grid.intervals + 1, 3, grid.n))
        nodes[:-1, :2] = local[:, : 2 * grid.n].reshape(-1, 2, grid.n)
        nodes[-1, :2] = (grid.at_end @ local[-1]).reshape(2, grid.n)
        nodes[:, 2, self._act] = a
        if grid.free:
            F, by, _ = self._forces(nodes, T)
            by_own = by[:, self._free][..., [2 * grid.n + k for k in self._free]]
            nodes[:, 2, self._free] -= np.linalg.solve(by_own, F[:, self._free, None])[..., 0]
        return nodes

    def slopes(self, at: DrivenMotion) -> DrivenSlopes:
        """Of a response, by accelerations at the nodes and by T."""
        grid, n, T = self.grid, self.grid.n, at.T
        N, m, inputs = grid.intervals, len(grid.actuated), grid.inputs
        columns = (N + 1) * m + 1
        _, by, by_T = self._forces(at.inner, T)
        change = np.zeros((N, grid.width, columns))
        for k in range(N):
            change[k, inputs, k * m : (k + 2) * m] = np.eye(2 * m)
        end = np.zeros((2 * n, columns))
        if grid.free:
            given = np.matmul(by[:, :, self._free], grid.at_points[..., inputs]).reshape(N, -1, 2 * m)
            by_state, step = self._eliminated(
                by, np.concatenate([given, by_T[..., self._free].reshape(N, -1, 1)], axis=-1)
            )
        nodes = np.zeros((N + 1, 2 * n, columns))
        for k in range(N):
            change[k, : 2 * n] = end
            if grid.free:
                inside = -by_state[k] @ end
                inside[:, k * m : (k + 2) * m] -= step[k][:, :-1]
                inside[:, -1] -= step[k][:, -1]
                change[k, grid.inner] = inside
            end = grid.at_end @ change[k]
            nodes[k + 1] = end
        inner = np.matmul(grid.at_points, change[:, None])
        tau = np.matmul(by[:, :, self._act], inner)
        tau[..., -1] += by_T[..., self._act]
        own, by_nodes, tau_nodes = self._node_slopes(at, nodes)
        return DrivenSlopes(end, tau, tau_nodes, inner, own, by, by_nodes)

    def _node_slopes(self, at: DrivenMotion, states: Array) -> tuple[Array, Array, Array]:
        """Of the states at the nodes (N + 1, 3 n, N_x), forces by them, and torques there."""
        grid, n, m, columns = self.grid, self.grid.n, len(self.grid.actuated), states.shape[-1]
        _, by, by_T = self._forces(at.nodes, at.T)
        change = np.concatenate([states, np.zeros((len(states), n, columns))], axis=1)
        for k in range(len(states)):
            change[k, [2 * n + i for i in self._act], k * m : (k + 1) * m] = np.eye(m)
        out = np.matmul(by, change)
        out[..., -1] += by_T
        if grid.free:
            places = [2 * n + i for i in self._free]
            own = -np.linalg.solve(by[:, self._free][..., places], out[:, self._free])
            change[:, places] = own
            out = out + np.matmul(by[..., places], own)
        return change, by, out[:, self._act]
