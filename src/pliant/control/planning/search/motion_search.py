"""Search for a rest-to-rest motion: a nonlinear program, solved by IPOPT with exact first and second derivatives.

    minimize    integral of |tau|^2 dt   (effort),  or  T   (time)
    over        accelerations of the actuated coordinates at the nodes, and the duration T
    subject to  the arm ends at rest, torques and the commanded motion stay within limits, other arms hardly oscillate

States are no unknowns: they follow from the accelerations (`motion_response.py`). Commands are smooth, so that they
cannot steer fast modes, which follow them anyway. Directions of the end state that the command hardly changes, measured
by energy, therefore give no conditions: such conditions could contradict each other.

Shapes: n coordinates, m of them actuated, N intervals with d Gauss points each, N_x = (N + 1) m + 1 unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.base.interrupts import held_back
from pliant.control.planning.perturbed_model import FELT, Bystander, swing_rows
from pliant.control.planning.search.motion_bounds import BoundRows, MotionBounds
from pliant.control.planning.search.motion_curvature import Curvature
from pliant.control.planning.search.motion_response import Driven, DrivenMotion, DrivenSlopes
from pliant.control.planning.search.time_limited import Watch
from pliant.errors import Interrupted, PliantError
from pliant.model.compiled_functions import CompiledFunction, Evaluate, Ports

ITERATIONS = 500
"""Iterations after which IPOPT gives up."""
STEERED = 1e-6
"""A direction of the end state is a condition if the command changes its amplitude (root of energy) by more than this
share of the largest such change."""
HELD = 5e-7
"""Tolerance of conditions, which are scaled to size one: a motion that misses none by more may be returned."""
TOLERANCE = 1e-7
"""Tolerance of IPOPT for the scaled program."""


@dataclass(frozen=True)
class SearchAim:
    """Cost of a search: the effort, or the duration and a little effort.

    Effort is the integral of |tau|^2 in units of the largest torque. A small penalty settles what it leaves open.

    Parameters
    ----------
    timed : bool
        The cost is the duration plus `effort` times the integral. Without the integral, torques that stay inside their
        limits would be undetermined.
    effort : float
        Weight of the integral.
    wiggle : float
        Weight of squared differences of acceleration between nodes, which the torques at Gauss points do not show.
    iterations : int
        Iterations after which IPOPT gives up.
    options : mapping
        Further options of IPOPT.
    """

    timed: bool
    effort: float = 1.0
    wiggle: float = 1e-10
    iterations: int = ITERATIONS
    options: Mapping[str, str | float] = field(default_factory=dict)


_NEAR: dict[str, str | float] = {"mu_strategy": "monotone", "mu_init": 1e-3}
LEAST_EFFORT = SearchAim(timed=False, options={"mu_strategy": "adaptive"})
SMOOTH_EFFORT = SearchAim(timed=False, wiggle=1e-8, iterations=100, options={"mu_strategy": "adaptive"})
LEAST_TIME = SearchAim(timed=True, effort=1e-4, iterations=150, options={"mu_strategy": "adaptive"})
SMOOTH_TIME = SearchAim(timed=True, effort=1e-3, wiggle=1e-8, iterations=100, options=_NEAR)
NEARBY = SearchAim(timed=False, wiggle=1e-8, iterations=60, options=_NEAR)
SHARP_TIME = SearchAim(timed=True, effort=1e-4, iterations=100, options=_NEAR | {"mu_init": 1e-4})


class Unsolved(PliantError):
    """A search that ended without a motion."""


class MotionSearch:
    """Nonlinear program of one motion.

    Its unknowns x (N_x,) are the accelerations d2q/ds2 (s = t / T) of the actuated coordinates, node by node, then the
    duration T, all divided by `scale`. Constraints come in this order: conditions of the end state, torques at Gauss
    points and at nodes, bounds of the commanded motion, oscillations of other arms.

    Parameters
    ----------
    driven : Driven
        The arm on its grid, at its start.
    guess : DrivenMotion
        Motion at which the search begins.
    goal : (n,) array
        State of rest at the end.
    limit : (m,) array, optional
        Torque limits.
    aim : SearchAim
        The cost.
    jumps : bool
        Accelerations may jump from and to rest.
    bounds : MotionBounds, optional
        Bounds of the commanded motion.
    others : sequence of Bystander
        Arms that shall hardly oscillate after the same command.
    swing : (float, float), optional
        A swing of the tip, m, and the share of it that each mode may have after the end. Without it the arm ends at
        rest, as far as the command can steer it.
    """

    def __init__(
        self, driven: Driven, guess: DrivenMotion, goal: Array, limit: Array | None, aim: SearchAim,
        jumps: bool = False, bounds: MotionBounds | None = None, others: Sequence[Bystander] = (),
        swing: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        grid = driven.grid
        m, N = len(grid.actuated), grid.intervals
        self.driven, self.limit, self.aim, self.jumps, self.swing = driven, limit, aim, jumps, swing
        self.curvature = Curvature(driven)
        self._actuated = list(grid.actuated)
        accelerations = guess.nodes[:, 2, self._actuated]
        largest = np.abs(accelerations).max(axis=0)
        largest = np.maximum(largest, max(1e-3 * float(largest.max()), 1e-6))
        self.scale = np.append(np.tile(largest, N + 1), guess.T)
        self.start = np.append(accelerations.ravel(), guess.T) / self.scale
        self.torque_scale = float(np.abs(guess.tau).max() if limit is None else limit.max()) or 1.0
        self.goal = np.concatenate([goal, 0 * goal])
        self.weights = np.repeat(np.tile(grid.weights, N) / N, m)  # of all torques at Gauss points
        differences = (np.eye(N * m, (N + 1) * m + 1, m) - np.eye(N * m, (N + 1) * m + 1)) * self.scale
        self._wiggle = aim.wiggle * N**2 / guess.T**3 * differences.T @ differences
        self._x, self._response = self.start.copy(), guess
        self._slopes: DrivenSlopes | None = None
        self.ends = self._end_conditions(driven.slopes(guess))
        self.torques = 0 if limit is None else m * (N * grid.degree + N + 1)  # number of their constraints
        self.rows = BoundRows.over(bounds or MotionBounds.none(m), driven.start[self._actuated], N)
        self.others = tuple(other.following(guess, self.scale) for other in others)
        self.count = len(self.ends) + self.torques + len(self.rows.L) + sum(other.count for other in self.others)

    def _end_conditions(self, slopes: DrivenSlopes) -> Array:
        """Return (K, 2 n) rows: products with (q, q') at the end, counted from the goal, shall be zero or small.

        Each row of the first 2 m, for the actuated coordinates, changes by one at most where an unknown does.
        """
        n, act = self.driven.grid.n, self._actuated
        actuated = [*act, *(n + k for k in act)]
        reach = np.abs(slopes.end * self.scale)[actuated].max(axis=1)
        conditions = [np.eye(2 * n)[actuated] / np.maximum(reach, 1e-12)[:, None]]
        if self.driven.grid.free and self.swing is not None:
            conditions.append(self._swing_conditions(slopes, *self.swing))
        elif self.driven.grid.free:
            conditions.append(self._energy_conditions(slopes))
        return np.concatenate(conditions)

    def _swing_conditions(self, slopes: DrivenSlopes, unit: float, share: float) -> Array:
        """Return (K, 2 n) rows: what each mode swings by at the tip, over `unit`, where the command can change it."""
        rest, free = self.goal[: self.driven.grid.n], list(self.driven.grid.free)
        by_place, by_rate = swing_rows(self.driven.arm, rest, free) / unit
        rows = np.concatenate([by_place, by_rate / self.scale[-1]])  # derivatives are by s = t / T
        return np.asarray(rows[np.abs(rows @ slopes.end * self.scale).sum(axis=1) > FELT * share])

    def _energy_conditions(self, slopes: DrivenSlopes) -> Array:
        """Return (K, 2 n) rows: amplitudes (roots of energy) of the free coordinates, in directions that the command
        steers; a change of the unknowns by one along its principal direction changes each by one."""
        n, free = self.driven.grid.n, list(self.driven.grid.free)
        rest, still = self.goal[:n], 0 * self.goal[:n]
        _, K, _, M = self.driven.arm.slopes(rest, still, still)
        root_energy = np.zeros((2 * len(free), 2 * n))
        root_energy[: len(free), free] = _root(K[np.ix_(free, free)])
        root_energy[len(free) :, [n + k for k in free]] = _root(M[np.ix_(free, free)]) / self.scale[-1]
        directions, effects, _ = np.linalg.svd(root_energy @ slopes.end * self.scale, full_matrices=False)
        steered = effects > STEERED * effects[0]
        return np.asarray((directions[:, steered] / effects[steered]).T @ root_energy)

    # the program

    @property
    def commands(self) -> tuple[int, int]:
        """Number of accelerations at a node, and of intervals between nodes."""
        return len(self._actuated), self.driven.grid.intervals

    def response(self, x: Array) -> DrivenMotion | None:
        """Return the response of the arm at unknowns x, or None if it has none; other arms follow."""
        if not np.array_equal(x, self._x):
            y = x * self.scale
            accelerations, T = y[:-1].reshape(self.driven.grid.intervals + 1, -1), float(y[-1])
            try:
                found = self.driven.response(accelerations, T, self._response)
                for other in self.others:
                    other.follow(accelerations, T)
            except ArithmeticError:
                return None
            self._response, self._x, self._slopes = found, x.copy(), None
        return self._response

    def _existing(self, x: Array) -> DrivenMotion:
        """Return the response at unknowns x, where it must exist."""
        found = self.response(x)
        if found is None:
            raise Unsolved("rest_to_rest: the arm has no response where its slopes are asked for")
        return found

    def slopes(self, x: Array) -> DrivenSlopes:
        """Return slopes of the response by the unknowns before scaling."""
        found = self._existing(x)
        if self._slopes is None:
            self._slopes = self.driven.slopes(found)
        return self._slopes

    def effort(self, found: DrivenMotion) -> float:
        """Return the integral of |tau|^2 over time, N^2 m^2 s."""
        return float(found.T * (self.weights @ found.tau.ravel() ** 2))

    def violation(self, found: DrivenMotion) -> float:
        """Return by how much the worst condition of the end, bound of the motion or torque limit is missed."""
        ends = np.abs(self.ends @ (found.nodes[-1, :2].ravel() - self.goal))
        miss = float((ends - self.row_bounds[1, : len(ends)]).max())
        miss = max(miss, self.rows.violation(found.nodes[:, 2, self._actuated].ravel(), found.T))
        if self.limit is None:
            return miss
        torques = np.concatenate([found.tau.reshape(-1, len(self.limit)), found.tau_nodes])
        return max(miss, float((np.abs(torques) / self.limit).max()) - 1)

    def cost(self, x: Array) -> float:
        """Return the cost at unknowns x; NaN where the arm has no response."""
        found = self.response(x)
        if found is None:
            return np.nan
        effort = self.effort(found) / self.torque_scale**2
        return float(self.aim.timed * found.T + self.aim.effort * effort + x @ self._wiggle @ x)

    @property
    def _effort_weight(self) -> float:
        """Weight of the integral of |tau|^2 in the cost."""
        return self.aim.effort / self.torque_scale**2

    def _torque_slopes(self, x: Array) -> Array:
        """Return (N d m, N_x) slopes of the torques at the Gauss points by x."""
        return np.asarray(self.slopes(x).tau.reshape(-1, len(x)) * self.scale)

    def gradient(self, x: Array) -> Array:
        """Return (N_x,) slopes of the cost."""
        tau_slopes, weight, found = self._torque_slopes(x), self._effort_weight, self._existing(x)
        T, tau = found.T, found.tau.ravel()
        gradient = weight * 2 * T * (self.weights * tau) @ tau_slopes
        gradient[-1] += (weight * (self.weights @ tau**2) + self.aim.timed) * self.scale[-1]
        return np.asarray(gradient + 2 * self._wiggle @ x)

    def constraints(self, x: Array) -> Array:
        """Return (count,) constraints, torques as shares of their limits; NaN where the arm has no response."""
        found = self.response(x)
        if found is None:
            return np.full(self.count, np.nan)
        parts = [self.ends @ (found.nodes[-1, :2].ravel() - self.goal)]
        if self.limit is not None:
            parts += [(found.tau / self.limit).ravel(), (found.tau_nodes / self.limit).ravel()]
        y = x * self.scale
        return np.concatenate([*parts, self.rows.values(y[:-1], y[-1]), *(other.values() for other in self.others)])

    def jacobian(self, x: Array) -> Array:
        """Return (count, N_x) slopes of the constraints by x."""
        slopes, y = self.slopes(x), x * self.scale
        parts = [self.ends @ slopes.end]
        if self.limit is not None:
            parts += [(by / self.limit[:, None]).reshape(-1, len(x)) for by in (slopes.tau, slopes.tau_nodes)]
        parts += [self.rows.slopes(y[:-1], y[-1]), *(other.slopes() for other in self.others)]
        return np.asarray(np.concatenate(parts) * self.scale)

    def hessian(self, x: Array, cost: float, multipliers: Array) -> Array:
        """Return (N_x, N_x) second derivatives of `cost` times the cost plus `multipliers` (count,) times constraints.

        Torques enter the cost squared: their second derivatives count as in a sum with weights `of_tau`, and products
        of their slopes are added.
        """
        tau_slopes, found, weight = self._torque_slopes(x), self._existing(x), self._effort_weight * cost
        T, tau = found.T, found.tau.ravel()
        of_tau, of_tau_nodes = 2 * weight * T * self.weights * tau, np.zeros_like(found.tau_nodes)
        before_torques, behind_torques = len(self.ends), len(self.ends) + self.torques
        if self.limit is not None:
            inner, nodes = np.split(multipliers[before_torques:behind_torques], [tau.size])
            of_tau = of_tau + (inner.reshape(found.tau.shape) / self.limit).ravel()
            of_tau_nodes = nodes.reshape(-1, len(self.limit)) / self.limit
        H = self.curvature.of(
            found, self.slopes(x), end=multipliers[:before_torques] @ self.ends, tau=of_tau.reshape(found.tau.shape),
            tau_nodes=of_tau_nodes,
        )  # fmt: skip
        H = H + self._further_curvature(x * self.scale, multipliers[behind_torques:])
        H = H * self.scale * self.scale[:, None] + 2 * weight * T * tau_slopes.T @ (self.weights[:, None] * tau_slopes)
        by_duration = 2 * weight * (self.weights * tau) @ tau_slopes * self.scale[-1]
        H[-1] += by_duration
        H[:, -1] += by_duration
        return np.asarray(H + 2 * cost * self._wiggle)

    def _further_curvature(self, y: Array, multipliers: Array) -> Array:
        """Return (N_x, N_x) second derivatives, by unscaled unknowns y, of `multipliers` times the bounds of the motion
        and the ends of other arms."""
        H, (of_bounds, *of_others) = np.zeros((len(y), len(y))), np.split(multipliers, self._other_offsets())
        by_both, by_duration = self.rows.curvature(y[:-1], y[-1], of_bounds)
        H[-1, :-1] = H[:-1, -1] = by_both
        H[-1, -1] = by_duration
        return np.asarray(sum((other.curvature(part) for other, part in zip(self.others, of_others)), H))

    def _other_offsets(self) -> Array:
        """Return the first constraint of each other arm, counted from the first one behind the torques."""
        return np.cumsum([len(self.rows.L), *(other.count for other in self.others)])[:-1]

    @cached_property
    def row_bounds(self) -> Array:
        """(2, count) least and greatest values of the constraints."""
        bounds, behind_torques = np.zeros((2, self.count)), len(self.ends) + self.torques
        share = 0.0 if self.swing is None else self.swing[1]
        bounds[:, 2 * len(self._actuated) : len(self.ends)] = [[-share], [share]]
        bounds[:, len(self.ends) :] = [[-1], [1]]
        bounds[:, behind_torques : behind_torques + len(self.rows.L)] = self.rows.low, self.rows.high
        for other, first in zip(self.others, behind_torques + self._other_offsets()):
            bounds[:, first : first + other.count] *= other.share
        return bounds

    # the solver

    def solve(self, watch: Watch) -> tuple[DrivenMotion, int, bool]:
        """Run IPOPT.

        Returns
        -------
        motion : DrivenMotion
            All conditions hold.
        iterations : int
        least : bool
            IPOPT found the cost to be least nearby; otherwise the best motion until it stopped is returned.

        Raises
        ------
        Unsolved
            No motion was found, or none in time.
        Interrupted
            Ctrl-C.
        """
        low, high = self._unknown_bounds()
        with held_back() as interrupt:
            guard = _Guard(self, watch, lambda: interrupt.came)
            functions = self._functions(guard)  # held here: CasADi has no reference to the Python side
            solver = ca.nlpsol("motion", "ipopt", functions["nlp"], self._options(functions))
            found = solver(x0=self.start, lbx=low, ubx=high, lbg=self.row_bounds[0], ubg=self.row_bounds[1])
        stats = solver.stats()
        count, least = int(stats["iter_count"]), bool(stats["success"])
        if interrupt.came:
            raise Interrupted(f"rest_to_rest: interrupted after {count} iterations; no motion yet")
        if guard.late and guard.best is None:
            raise Unsolved(
                f"no motion found within time_limit {watch.time_limit:g} s, after {count} iterations: {guard.told}"
            )
        best = np.array(found["x"], dtype=float).ravel() if least else guard.best
        response = None if best is None else self.response(best)
        if response is None:
            raise Unsolved(f"no motion found ({stats['return_status']} after {count} iterations, {guard.told})")
        return response, count, least

    def _unknown_bounds(self) -> tuple[Array, Array]:
        """Return the least and the greatest unknowns, (N_x,) each."""
        size, m = len(self.start), len(self._actuated)
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if not self.jumps:  # no acceleration at the first and the last node
            low[:m] = high[:m] = low[-1 - m : -1] = high[-1 - m : -1] = 0
        low[-1], high[-1] = (1e-2, np.inf) if self.aim.timed else (1, 1)
        return low, high

    def _functions(self, guard: _Guard) -> dict[str, CompiledFunction]:
        """Return what IPOPT calls: cost and constraints, their slopes, the Hessian, and `guard` after an iteration."""
        dense, upper = ca.Sparsity.dense, ca.Sparsity.upper(len(self.start))
        rows, columns = (np.array(each) for each in upper.get_triplet())
        number, none, unknowns, constraints = (1, 1), (0, 1), (len(self.start), 1), (self.count, 1)
        point = {"x": unknowns, "p": none}
        weighed = point | {"lam_f": number, "lam_g": constraints}
        iterate = {
            "x": unknowns, "f": number, "g": constraints, "lam_x": unknowns, "lam_g": constraints, "lam_p": none,
        }  # fmt: skip

        def function(
            name: str, given: dict[str, tuple[int, int]], gives: dict[str, ca.Sparsity], evaluate: Evaluate
        ) -> CompiledFunction:
            ports = Ports(
                in_names=list(given), in_shapes=list(given.values()), out_names=list(gives),
                out_patterns=list(gives.values()),
            )  # fmt: skip
            return CompiledFunction(name, ports, evaluate)

        def values(given: list[Array]) -> list[Array]:
            return [np.array([self.cost(given[0])]), self.constraints(given[0])]

        def cost_slopes(given: list[Array]) -> list[Array]:
            return [np.array([self.cost(given[0])]), self.gradient(given[0])]

        def constraint_slopes(given: list[Array]) -> list[Array]:
            return [self.constraints(given[0]), self.jacobian(given[0]).T]

        def hessian(given: list[Array]) -> list[Array]:
            x, _, of_cost, of_constraints = given
            return [self.hessian(x, cost=float(of_cost[0]), multipliers=of_constraints)[rows, columns]]

        jacobian = dense(self.count, len(self.start))
        functions = (
            function("nlp", point, {"f": dense(*number), "g": dense(*constraints)}, values),
            function("grad_f", point, {"f": dense(*number), "grad_f_x": dense(*unknowns)}, cost_slopes),
            function("jac_g", point, {"g": dense(*constraints), "jac_g_x": jacobian}, constraint_slopes),
            function("hess_lag", weighed, {"triu_hess_gamma_x_x": upper}, hessian),
            function("guard", iterate, {"ret": dense(*number)}, guard),
        )
        return dict(zip(("nlp", "grad_f", "jac_g", "hess_lag", "guard"), functions))

    def _options(self, functions: Mapping[str, CompiledFunction]) -> dict[str, Any]:
        """Return options of CasADi's solver and, inside, of IPOPT."""
        return {
            "ipopt": {
                "print_level": 0, "sb": "yes", "max_iter": self.aim.iterations, "tol": TOLERANCE,
                "constr_viol_tol": 1e-9,
                "acceptable_tol": 1e-5, "acceptable_constr_viol_tol": 1e-9, "acceptable_iter": 10,
                "nlp_scaling_method": "none", **self.aim.options,
            },
            "print_time": False, "error_on_fail": False, "no_nlp_grad": True, "show_eval_warnings": False,
            "grad_f": functions["grad_f"], "jac_g": functions["jac_g"], "hess_lag": functions["hess_lag"],
            "iteration_callback": functions["guard"],
        }  # fmt: skip


class _Guard:
    """Callback of IPOPT after every iteration: keeps the best motion, reports progress, and stops it when it is late.

    Parameters
    ----------
    search : MotionSearch
    watch : Watch
        Time limit, and the listener of progress.
    interrupted : function
        Returns True after Ctrl-C.

    Attributes
    ----------
    late : bool
        The time limit has passed.
    told : str
        By how much conditions were missed last, for error messages.
    best : (N_x,) array or None
        Unknowns of least cost at which all conditions held.
    """

    def __init__(self, search: MotionSearch, watch: Watch, interrupted: Callable[[], bool]) -> None:
        self.search, self.watch, self.interrupted = search, watch, interrupted
        self.late, self.told = False, ""
        self.best: Array | None = None
        self._least_cost, self._largest_error = np.inf, 0.0

    def __call__(self, given: list[Array]) -> list[Array]:
        """Return [1] to stop IPOPT, [0] to go on, from an iterate x, f, g, lam_x, lam_g, lam_p."""
        x, f, g, lam_x, lam_g, _ = given
        low, high = self.search.row_bounds
        miss = float(np.maximum(g - high, low - g).max(initial=0.0))
        self.told = f"conditions of the end, torques and bounds missed by {miss:.1e} of their size"
        if miss < HELD and float(f[0]) < self._least_cost:
            self.best, self._least_cost = x.copy(), float(f[0])
        if self.watch.report is not None:
            lagrangian_slope = self.search.gradient(x) + lam_g @ self.search.jacobian(x) + lam_x
            error = max(miss, float(np.abs(lagrangian_slope).max()), TOLERANCE)
            self._largest_error = max(self._largest_error, error)
            decades = np.log(self._largest_error / TOLERANCE + 1e-9)
            self.watch.report(float(np.log(self._largest_error / error) / decades))
        self.late = self.watch.late
        return [np.array([float(self.late or self.interrupted())])]


def _root(A: Array) -> Array:
    """Return a matrix R with R^T R = A, for a symmetric A that is positive semidefinite but for rounding."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    return np.asarray(np.sqrt(np.abs(values))[:, None] * vectors.T)
