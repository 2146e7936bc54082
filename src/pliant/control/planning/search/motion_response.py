"""Response of an arm to commanded accelerations: states, torques and their exact slopes.

Newton's method on inverse dynamics, F(q, q'/T, q''/T^2) = 0 for each coordinate that no torque drives, solves all
intervals of the grid at once. Compiled kernels give F and its slopes at all points in one batch. The unknowns of each
interval are eliminated; what is left, changes of the state at the nodes, goes from node to node. The same elimination,
with the commanded accelerations as further right-hand sides, gives the slopes of the response.

Shapes: n coordinates, m of them actuated and f free, N intervals with d Gauss points each, N_x = (N + 1) m + 1 unknowns
of a search. `width` numbers are local to an interval (`motion_grid.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.search.motion_forces import ArmForces
from pliant.control.planning.search.motion_grid import MotionGrid

STEPS = 30
"""Newton steps after which no response counts as found."""
FAR = 1e12
"""Bound of coordinates and their derivatives by s, beyond which nothing is computed."""
SMALL = 1e-11
"""Tolerance of forces that are out of balance, as a share of the largest force."""


@dataclass(frozen=True)
class DrivenMotion:
    """States and torques under commanded accelerations; derivatives are by s = t / T."""

    T: float
    """Duration, s."""
    local: Array
    """(N, width) numbers that are local to each interval."""
    nodes: Array
    """(N + 1, 3, n) q, q', q'' at the nodes."""
    inner: Array
    """(N, d, 3, n) q, q', q'' at the Gauss points."""
    tau: Array
    """(N, d, m) torques at the Gauss points."""
    tau_nodes: Array
    """(N + 1, m) torques at the nodes."""


@dataclass(frozen=True)
class DrivenSlopes:
    """Slopes of a response by the accelerations at the nodes, node by node, and by T: N_x columns."""

    end: Array
    """(2 n, N_x) slopes of q and q' at the last node."""
    tau: Array
    """(N, d, m, N_x) slopes of the torques at the Gauss points."""
    tau_nodes: Array
    """(N + 1, m, N_x) slopes of the torques at the nodes."""
    inner: Array
    """(N, d, 3 n, N_x) slopes of q, q', q'' at the Gauss points."""
    nodes: Array
    """(N + 1, 3 n, N_x) slopes of q, q', q'' at the nodes."""
    by: Array
    """(N, d, n, 3 n) slopes of all forces by q, q', q'' at the Gauss points."""
    by_nodes: Array
    """(N + 1, n, 3 n) slopes of all forces by q, q', q'' at the nodes."""


class Driven:
    """An arm on a grid, which starts at rest.

    Parameters
    ----------
    arm : ArmForces
        Inverse dynamics.
    grid : MotionGrid
        Grid over the duration.
    start : (n,) array
        Coordinates at rest.
    """

    def __init__(self, arm: ArmForces, grid: MotionGrid, start: Array) -> None:
        self.arm, self.grid, self.start = arm, grid, start
        self._act, self._free = list(grid.actuated), list(grid.free)

    def _forces(self, y: Array, T: float) -> tuple[Array, Array, Array]:
        """Return F (..., n) at y = (q, q', q'') (..., 3, n), its slopes by y (..., n, 3 n) and by T (..., n)."""
        q, qs, qss = (np.ascontiguousarray(y[..., k, :]) for k in range(3))
        if not np.abs(y).max() < FAR:
            raise ArithmeticError("the arm goes beyond all bounds")
        F, by_q, by_qd, by_qdd = self.arm.slopes(q, qs / T, qss / T**2)
        with np.errstate(over="ignore", invalid="ignore"):  # far off, where no response will be found
            by = np.concatenate([by_q, by_qd / T, by_qdd / T**2], axis=-1)
            by_T = -(by_qd @ qs[..., None] / T**2 + 2 * by_qdd @ qss[..., None] / T**3)[..., 0]
        return F, by, by_T

    def _at_points(self, local: Array) -> Array:
        """Return (N, d, 3, n) q, q', q'' at the Gauss points, from what is local to each interval (N, width)."""
        grid = self.grid
        inside = np.matmul(grid.at_points, local[:, None, :, None])  # (N, d, 3 n, 1)
        return np.asarray(inside.reshape(-1, grid.degree, 3, grid.n))

    def response(self, a: Array, T: float, near: DrivenMotion | Array) -> DrivenMotion:
        """Return the response to accelerations d2q/ds2 at the nodes.

        Parameters
        ----------
        a : (N + 1, m) array
        T : float
            Duration, s.
        near : DrivenMotion or (N, width) array
            Where Newton's method begins: a response nearby, or what is local to each interval.

        Raises
        ------
        ArithmeticError
            The arm has no response to them.
        """
        grid = self.grid
        local = (near.local if isinstance(near, DrivenMotion) else near).copy()
        local[:, grid.inputs] = np.concatenate([a[:-1], a[1:]], axis=1)
        local[0, : 2 * grid.n] = np.concatenate([self.start, 0 * self.start])
        if not self._solve(local, T):
            self._march(local, T)
        inner, nodes = self._at_points(local), self._nodes(local, a, T)
        return DrivenMotion(
            T=T,
            local=local,
            nodes=nodes,
            inner=inner,
            tau=self._forces(inner, T)[0][..., self._act],
            tau_nodes=self._forces(nodes, T)[0][..., self._act],
        )

    def _solve(self, local: Array, T: float) -> bool:
        """Run Newton's method for all intervals at once, on `local` (N, width) itself; return whether it converged."""
        grid, inner, states = self.grid, self.grid.inner, slice(0, 2 * self.grid.n)
        before = np.inf
        for _ in range(STEPS):
            y = self._at_points(local)
            if not np.abs(y).max() < FAR:
                return False
            F, by, _ = self._forces(y, T)
            force, largest = F[..., self._free], max(float(np.abs(F).max()), 1e-9)
            gap = local[:-1] @ grid.at_end.T - local[1:, states]  # between the end of an interval and the next begin
            error = max(float(np.abs(force).max(initial=0.0)) / largest, float(np.abs(gap).max(initial=0.0)))
            if error < SMALL or (error < 1e-8 and error > 0.3 * before):  # rounding allows no more
                return True
            if not error < 1e3 * before:  # NaN too
                return False
            before = min(error, before)
            by_state, step = self._eliminated(by, force.reshape(grid.intervals, -1, 1))
            change = np.zeros(2 * grid.n)  # of the state at the begin of an interval
            for k in range(grid.intervals):
                inside = -(by_state[k] @ change + step[k][:, 0])
                local[k, states] += change
                local[k, inner] += inside
                if k < grid.intervals - 1:
                    change = grid.at_end[:, states] @ change + grid.at_end[:, inner] @ inside + gap[k]
        return False

    def _march(self, local: Array, T: float) -> None:
        """Solve interval after interval, with damped Newton steps: slower than `_solve`, and more robust."""
        grid, states = self.grid, slice(0, 2 * self.grid.n)
        local[:, grid.inner] = 0
        for k in range(grid.intervals):
            if k:
                local[k, states] = grid.at_end @ local[k - 1]
                local[k, grid.inner] = local[k - 1, grid.inner]
            if not self._solve_interval(local[k], T):
                raise ArithmeticError("no response to these accelerations")

    def _solve_interval(self, local: Array, T: float) -> bool:
        """Run a damped Newton's method for one interval, on `local` (width,) itself; return whether it converged."""
        grid = self.grid

        def unbalanced(at: Array) -> tuple[Array, Array, float]:
            """Return forces of the free coordinates (d f,), their slopes (d, f, 3 n), and the largest of all forces."""
            F, by, _ = self._forces((grid.at_points @ at).reshape(grid.degree, 3, grid.n), T)
            return F[:, self._free].ravel(), by[:, self._free], max(float(np.abs(F).max()), 1e-9)

        force, by, largest = unbalanced(local)
        for _ in range(STEPS):
            before = float(np.abs(force).max(initial=0.0))
            if before < SMALL * largest:
                return True
            slope = np.matmul(by, grid.at_points[..., grid.inner]).reshape(len(force), -1)
            step, share = np.linalg.solve(slope, force), 1.0
            while True:
                trial = local.copy()
                trial[grid.inner] -= share * step
                force, by, largest = unbalanced(trial)
                if float(np.abs(force).max()) < (1 - 0.1 * share) * before:
                    break
                share /= 2
                if not share > 1e-3:
                    return before < 1e-8 * largest
            local[:] = trial
        return False

    def _eliminated(self, by: Array, right: Array) -> tuple[Array, Array]:
        """Solve the equations of each interval for the free accelerations at its Gauss points.

        Parameters
        ----------
        by : (N, d, n, 3 n) array
            Slopes of the forces.
        right : (N, d f, c) array
            Right-hand sides.

        Returns
        -------
        by_state : (N, d f, 2 n) array
            Minus the slopes of the free accelerations by the state at the begin of the interval.
        found : (N, d f, c) array
            Solutions for the right-hand sides.
        """
        grid = self.grid
        slopes = np.matmul(by[:, :, self._free], grid.at_points)  # (N, d, f, width)
        slopes = slopes.reshape(grid.intervals, -1, grid.width)
        right = np.concatenate([slopes[..., : 2 * grid.n], right], axis=-1)
        found = np.linalg.solve(slopes[..., grid.inner], right)
        return found[..., : 2 * grid.n], found[..., 2 * grid.n :]

    def _nodes(self, local: Array, a: Array, T: float) -> Array:
        """Return (N + 1, 3, n) q, q', q'' at the nodes; free accelerations solve the equations of motion, which are
        linear in them."""
        grid = self.grid
        nodes = np.zeros((grid.intervals + 1, 3, grid.n))
        nodes[:-1, :2] = local[:, : 2 * grid.n].reshape(-1, 2, grid.n)
        nodes[-1, :2] = (grid.at_end @ local[-1]).reshape(2, grid.n)
        nodes[:, 2, self._act] = a
        if grid.free:
            F, by, _ = self._forces(nodes, T)
            by_free = by[:, self._free][..., [2 * grid.n + k for k in self._free]]
            nodes[:, 2, self._free] -= np.linalg.solve(by_free, F[:, self._free, None])[..., 0]
        return nodes

    def slopes(self, at: DrivenMotion) -> DrivenSlopes:
        """Return slopes of a response by the accelerations at the nodes and by T."""
        grid, T = self.grid, at.T
        _, by, by_T = self._forces(at.inner, T)
        local, states = self._local_slopes(by, by_T)
        inner = np.matmul(grid.at_points, local[:, None])
        tau = np.matmul(by[:, :, self._act], inner)
        tau[..., -1] += by_T[..., self._act]
        nodes, by_nodes, tau_nodes = self._node_slopes(at, states)
        return DrivenSlopes(
            end=states[-1], tau=tau, tau_nodes=tau_nodes, inner=inner, nodes=nodes, by=by, by_nodes=by_nodes
        )

    def _local_slopes(self, by: Array, by_T: Array) -> tuple[Array, Array]:
        """Return slopes of what is local to each interval (N, width, N_x), and of the states at the nodes
        (N + 1, 2 n, N_x), from those of the forces by y (N, d, n, 3 n) and by T (N, d, n)."""
        grid, n = self.grid, self.grid.n
        N, m, inputs = grid.intervals, len(grid.actuated), grid.inputs
        columns = (N + 1) * m + 1
        local, nodes = np.zeros((N, grid.width, columns)), np.zeros((N + 1, 2 * n, columns))
        if grid.free:
            by_inputs = np.matmul(by[:, :, self._free], grid.at_points[..., inputs]).reshape(N, -1, 2 * m)
            by_duration = by_T[..., self._free].reshape(N, -1, 1)
            by_state, step = self._eliminated(by, np.concatenate([by_inputs, by_duration], axis=-1))
        for k in range(N):
            own = slice(k * m, (k + 2) * m)  # unknowns at both ends of the interval
            local[k, inputs, own] = np.eye(2 * m)
            local[k, : 2 * n] = nodes[k]
            if grid.free:
                inside = -by_state[k] @ nodes[k]
                inside[:, own] -= step[k][:, :-1]
                inside[:, -1] -= step[k][:, -1]
                local[k, grid.inner] = inside
            nodes[k + 1] = grid.at_end @ local[k]
        return local, nodes

    def _node_slopes(self, at: DrivenMotion, states: Array) -> tuple[Array, Array, Array]:
        """Return slopes of q, q', q'' at the nodes (N + 1, 3 n, N_x), of all forces there by these (N + 1, n, 3 n), and
        of the torques there (N + 1, m, N_x), from the slopes of the states (N + 1, 2 n, N_x)."""
        grid, n, m, columns = self.grid, self.grid.n, len(self.grid.actuated), states.shape[-1]
        _, by, by_T = self._forces(at.nodes, at.T)
        change = np.concatenate([states, np.zeros((len(states), n, columns))], axis=1)
        for k in range(len(states)):
            change[k, [2 * n + i for i in self._act], k * m : (k + 1) * m] = np.eye(m)
        forces = np.matmul(by, change)
        forces[..., -1] += by_T
        if grid.free:
            free = [2 * n + i for i in self._free]
            balancing = -np.linalg.solve(by[:, self._free][..., free], forces[:, self._free])
            change[:, free] = balancing
            forces = forces + np.matmul(by[..., free], balancing)
        return change, by, forces[:, self._act]
