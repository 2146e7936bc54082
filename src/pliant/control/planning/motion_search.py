"""The search for a rest-to-rest motion as a nonlinear program, solved by IPOPT with exact first and second derivatives.

    least    integral of |tau|^2 dt   (effort),  or  T   (time)
    over     accelerations of the actuated coordinates at the nodes, and T
    so that  the arm ends at rest, torques and the commanded motion within limits, and other arms ring little

States are no unknowns: they follow from the accelerations (`motion_response.py`). Fast modes follow smooth commands by
themselves and cannot be steered by them; the directions of the end state that the command hardly changes, measured by
energy, are no conditions, so that none contradicts another.
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
from pliant.control.planning.motion_bounds import BoundRows, MotionBounds
from pliant.control.planning.motion_curvature import Curvature
from pliant.control.planning.motion_response import Driven, DrivenMotion, DrivenSlopes
from pliant.control.planning.perturbed_model import FELT, Bystander, swing_rows
from pliant.control.planning.time_limited import Watch
from pliant.errors import Interrupted, PliantError
from pliant.model.compiled_functions import CompiledFunction, Ports

ITERATIONS = 500
"""After which a search is given up."""
STEERED = 1e-6
"""Share of the largest effect on the end's energy (its root) that a command must have on what is a condition."""
HELD = 5e-7
"""What a condition may be missed by, as a share of its size."""
TOLERANCE = 1e-7
"""Of IPOPT, of the scaled program."""


@dataclass(frozen=True)
class SearchAim:
    """What a search makes least: the integral of tau^2 (in units of the largest torque), plus a little of what is open.

    Parameters
    ----------
    timed : bool
        The duration instead, plus `effort` times that integral: without it torques inside the limits are open.
    effort : float
        Weight of the integral.
    wiggle : float
        Weight of changes of acceleration, which the Gauss points do not see.
    iterations : int
        After which it is given up.
    options : mapping
        Of IPOPT.
    """

    timed: bool
    effort: float = 1.0
    wiggle: float = 1e-10
    iterations: int = ITERATIONS
    options: Mapping[str, Any] = field(default_factory=dict)


_NEAR: dict[str, Any] = {"mu_strategy": "monotone", "mu_init": 1e-3}
LEAST_EFFORT = SearchAim(timed=False, options={"mu_strategy": "adaptive"})
SMOOTH_EFFORT = SearchAim(timed=False, wiggle=1e-8, iterations=100, options={"mu_strategy": "adaptive"})
LEAST_TIME = SearchAim(timed=True, effort=1e-4, iterations=150, options={"mu_strategy": "adaptive"})
SMOOTH_TIME = SearchAim(timed=True, effort=1e-3, wiggle=1e-8, iterations=100, options=_NEAR)
NEARBY = SearchAim(timed=False, wiggle=1e-8, iterations=60, options=_NEAR)
SHARP_TIME = SearchAim(timed=True, effort=1e-4, iterations=100, options=_NEAR | {"mu_init": 1e-4})


class Unsolved(PliantError):
    """A search that ended without a motion."""


class MotionSearch:
    """One program; unknowns x are scaled, (accelerations at the nodes, T).

    Parameters
    ----------
    driven : Driven
        The arm on its grid, at its start.
    guess : DrivenMotion
        Where the search begins.
    goal : (n,) array
        State of rest at the end.
    limit : (m,) array, optional
        Of the torques.
    aim : SearchAim
        What is made least.
    jumps : bool
        Whether accelerations may jump from and to rest.
    bounds : MotionBounds, optional
        Of the commanded motion.
    others : sequence of Bystander
        Arms that the same motion is to leave nearly still.
    swing : (float, float), optional
        A swing of the tip, m, and the share of it that each mode may have after the end; without it the arm ends at
        rest as far as the command reaches.
    """

    def __init__(
        self, driven: Driven, guess: DrivenMotion, goal: Array, limit: Array | None, aim: SearchAim,
        jumps: bool = False, bounds: MotionBounds | None = None, others: Sequence[Bystander] = (),
        swing: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self.driven, self.limit, self.aim, self.jumps, grid = driven, limit, aim, jumps, driven.grid
        self.swing = swing
        self.curvature = Curvature(driven)
        n, m, N, act = grid.n, len(grid.actuated), grid.intervals, list(grid.actuated)
        a = guess.nodes[:, 2, act]
        size = np.abs(a).max(axis=0)
        size = np.maximum(size, max(1e-3 * float(size.max()), 1e-6))
        self.scale = np.append(np.tile(size, N + 1), guess.T)
        self.start = np.append(a.ravel(), guess.T) / self.scale
        self.torque_scale = float(np.abs(guess.tau).max() if limit is None else limit.max()) or 1.0
        self.goal = np.concatenate([goal, 0 * goal])
        self.weights = np.repeat(np.tile(grid.weights, N) / N, m)
        steps = (np.eye(N * m, (N + 1) * m + 1, m) - np.eye(N * m, (N + 1) * m + 1)) * self.scale
        self._wiggle = aim.wiggle * N**2 / guess.T**3 * steps.T @ steps
        self._response, self._x = guess, self.start.copy()
        self._slopes: DrivenSlopes | None = None
        self.ends = self._end_conditions(driven.slopes(guess), n)
        self.torques = 0 if limit is None else m * (N * grid.degree + N + 1)
        self.rows = BoundRows.over(bounds or MotionBounds.none(m), driven.start[act], N)
        self.others = tuple(other.following(guess, self.scale) for other in others)
        self.count = len(self.ends) + self.torques + len(self.rows.L) + sum(other.count for other in self.others)

    def _end_conditions(self, slopes: DrivenSlopes, n: int) -> Array:
        """(K, 2 n) rows: what the end state must not have of, each of size one for a change of the command by one."""
        act, free = list(self.driven.grid.actuated), list(self.driven.grid.free)
        rows = np.eye(2 * n)[[*act, *(n + k for k in act)]]
        reach = np.abs(slopes.end * self.scale)[[*act, *(n + k for k in act)]].max(axis=1)
        conditions = [rows / np.maximum(reach, 1e-12)[:, None]]
        rest = self.goal[:n]
        if free and self.swing is not None:
            unit, share = self.swing
            by_place, by_rate = swing_rows(self.driven.arm, rest, free) / unit
            rows = np.concatenate([by_place, by_rate / self.scale[-1]])  # derivatives are by s = t / T
            conditions.append(rows[np.abs(rows @ slopes.end * self.scale).sum(axis=1) > FELT * share])
        elif free:
            _, K, _, M = self.driven.arm.slopes(rest, 0 * rest, 0 * rest)
            energy = np.zeros((2 * len(free), 2 * n))
            energy[: len(free), free] = _root(K[np.ix_(free, free)])
            energy[len(free) :, [n + k for k in free]] = _root(M[np.ix_(free, free)]) / self.scale[-1]
            U, s, _ = np.linalg.svd(energy @ slopes.end * self.scale, full_matrices=False)
            kept = s > STEERED * s[0]
            conditions.append((U[:, kept] / s[kept]).T @ energy)
        return np.concatenate(conditions)

    # the program

    @property
    def commands(self) -> tuple[int, int]:
        """Accelerations at a node, and intervals between nodes."""
        return len(self.driven.grid.actuated), self.driven.grid.intervals

    def response(self, x: Array) -> DrivenMotion | None:
        """Of the arm, if there is one."""
        if not np.array_equal(x, self._x):
            y, grid = x * self.scale, self.driven.grid
            try:
                a = y[:-1].reshape(grid.intervals + 1, -1)
                found = self.driven.response(a, float(y[-1]), self._response)
                for other in self.others:
                    other.follow(a, float(y[-1]))
            except ArithmeticError:
                return None
            self._response, self._x, self._slopes = found, x.copy(), None
        return self._response

    def slopes(self, x: Array) -> DrivenSlopes:
        """Of the response, by unknowns as they are."""
        found = self.response(x)
        if found is None:
            raise Unsolved("rest_to_rest: the arm has no response where its slopes are asked for")
        if self._slopes is None:
            self._slopes = self.driven.slopes(found)
        return self._slopes

    def effort(self, found: DrivenMotion) -> float:
        """Integral of the squares of the torques."""
        return float(found.T * (self.weights @ found.tau.ravel() ** 2))

    def violation(self, found: DrivenMotion) -> float:
        """Of a condition of the end, a bound of the motion or a torque limit, the largest."""
        ends = np.abs(self.ends @ (found.nodes[-1, :2].ravel() - self.goal))
        miss = float((ends - self.row_bounds[1, : len(ends)]).max())
        miss = max(miss, self.rows.violation(found.nodes[:, 2, list(self.driven.grid.actuated)].ravel(), found.T))
        if self.limit is None:
            return miss
        torques = np.concatenate([found.tau.reshape(-1, len(self.limit)), found.tau_nodes])
        return max(miss, float((np.abs(torques) / self.limit).max()) - 1)

    def cost(self, x: Array) -> float:
        """What is made least."""
        found = self.response(x)
        if found is None:
            return np.nan
        effort = self.effort(found) / self.torque_scale**2
        return float(self.aim.timed * found.T + self.aim.effort * effort + x @ self._wiggle @ x)

    def gradient(self, x: Array) -> Array:
        """Of the cost."""
        by, found = self._torque_slopes(x)
        T, tau = self._response.T, self._response.tau.ravel()
        out = found * 2 * T * (self.weights * tau) @ by
        out[-1] += (found * (self.weights @ tau**2) + self.aim.timed) * self.scale[-1]
        return np.asarray(out + 2 * self._wiggle @ x)

    def _torque_slopes(self, x: Array) -> tuple[Array, float]:
        """(P m, N_x) of the torques at the Gauss points, and the weight of their squares."""
        by = self.slopes(x).tau.reshape(-1, len(x)) * self.scale
        return by, self.aim.effort / self.torque_scale**2

    def constraints(self, x: Array) -> Array:
        """Conditions of the end, torques as shares of their limits, bounds of the motion, ends of other arms."""
        found = self.response(x)
        if found is None:
            return np.full(self.count, np.nan)
        parts = [self.ends @ (found.nodes[-1, :2].ravel() - self.goal)]
        if self.limit is not None:
            parts += [(found.tau / self.limit).ravel(), (found.tau_nodes / self.limit).ravel()]
        y = x * self.scale
        return np.concatenate([*parts, self.rows.values(y[:-1], y[-1]), *(other.values() for other in self.others)])

    def jacobian(self, x: Array) -> Array:
        """(count, N_x) of the constraints."""
        by, y = self.slopes(x), x * self.scale
        parts = [self.ends @ by.end]
        if self.limit is not None:
            parts += [(each / self.limit[:, None]).reshape(-1, len(x)) for each in (by.tau, by.tau_nodes)]
        parts += [self.rows.slopes(y[:-1], y[-1]), *(other.slopes() for other in self.others)]
        return np.asarray(np.concatenate(parts) * self.scale)

    def hessian(self, x: Array, cost: float, multipliers: Array) -> Array:
        """(N_x, N_x) of `cost` times the cost plus `multipliers` times constraints."""
        by, weight = self._torque_slopes(x)
        at, weight = self._response, weight * cost
        T, K = at.T, len(self.ends)
        tau = 2 * weight * T * self.weights * at.tau.ravel()
        nodes = np.zeros_like(at.tau_nodes)
        if self.limit is not None:
            tau = tau + (multipliers[K : K + tau.size].reshape(at.tau.shape) / self.limit).ravel()
            nodes = multipliers[K + tau.size : K + self.torques].reshape(-1, len(self.limit)) / self.limit
        ends = multipliers[:K] @ self.ends
        out = self.curvature.of(at, self.slopes(x), ends, tau.reshape(at.tau.shape), nodes)
        out = out + self._further_curvature(x * self.scale, multipliers[K + self.torques :])
        out = out * self.scale * self.scale[:, None] + 2 * weight * T * by.T @ (self.weights[:, None] * by)
        cross = 2 * weight * (self.weights * at.tau.ravel()) @ by * self.scale[-1]
        out[-1] += cross
        out[:, -1] += cross
        return np.asarray(out + 2 * cost * self._wiggle)

    @cached_property
    def row_bounds(self) -> Array:
        """(2, count) least and greatest values of the constraints."""
        bounds, own = np.zeros((2, self.count)), len(self.ends) + self.torques
        share = 0.0 if self.swing is None else self.swing[1]
        bounds[:, 2 * len(self.driven.grid.actuated) : len(self.ends)] = [[-share], [share]]
        bounds[:, len(self.ends) :] = [[-1], [1]]
        bounds[:, own : own + len(self.rows.L)] = self.rows.low, self.rows.high
        for other, first in zip(self.others, own + self._places()):
            bounds[:, first : first + other.count] *= other.share
        return bounds

    def _further_curvature(self, y: Array, multipliers: Array) -> Array:
        """(N_x, N_x) of bounds of the motion and of the ends of other arms."""
        out, (own, *rest) = np.zeros((len(y), len(y))), np.split(multipliers, self._places())
        cross, twice = self.rows.curvature(y[:-1], y[-1], own)
        out[-1, :-1] = out[:-1, -1] = cross
        out[-1, -1] = twice
        return np.asarray(sum((other.curvature(part) for other, part in zip(self.others, rest)), out))

    def _places(self) -> Array:
        """Where the rows of each other arm begin, behind those of the torques."""
        return np.cumsum([len(self.rows.L), *(other.count for other in self.others)])[:-1]

    # the solver

    def solve(self, watch: Watch) -> tuple[DrivenMotion, int, bool]:
        """The motion, how many iterations it took, and whether its cost is least: if not, all conditions hold."""
        size, m = len(self.start), len(self.driven.grid.actuated)
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if not self.jumps:
            low[:m] = high[:m] = low[-1 - m : -1] = high[-1 - m : -1] = 0
        low[-1], high[-1] = (1e-2, np.inf) if self.aim.timed else (1, 1)
        bounds = self.row_bounds
        with held_back() as interrupt:
            guard = _Guard(self, watch, lambda: interrupt.came)
            solver, kept = self._solver(guard)
            found = solver(x0=self.start, lbx=low, ubx=high, lbg=bounds[0], ubg=bounds[1])
        del kept  # CasADi holds no reference to the Python side
        stats = solver.stats()
        count = int(stats["iter_count"])
        if interrupt.came:
            raise Interrupted(f"rest_to_rest: interrupted after {count} iterations; no motion yet")
        if guard.late and guard.best is None:
            raise Unsolved(
                f"no motion found within time_limit {watch.time_limit:g} s, after {count} iterations: {guard.told}"
            )
        best = np.array(found["x"], dtype=float).ravel() if stats["success"] else guard.best  # found until then
        response = None if best is None else self.response(best)
        if response is None:
            raise Unsolved(f"no motion found ({stats['return_status']} after {count} iterations, {guard.told})")
        return response, count, bool(stats["success"])

    def _solver(self, guard: _Guard) -> tuple[Any, list[Any]]:
        size, count, one = len(self.start), self.count, ca.Sparsity.dense(1, 1)
        upper, dense = ca.Sparsity.upper(size), ca.Sparsity.dense
        rows, columns = (np.array(each) for each in upper.get_triplet())
        x, x_p = [(size, 1), (0, 1)], ["x", "p"]

        def function(name: str, given: Any, shapes: Any, gives: Any, patterns: Any, evaluate: Any) -> CompiledFunction:
            return CompiledFunction(name, Ports(given, shapes, gives, patterns), evaluate)

        def cost(given: list[Array]) -> Array:
            return np.array([self.cost(given[0])])

        lagrangian = (["x", "p", "lam_f", "lam_g"], [*x, (1, 1), (count, 1)], ["triu_hess_gamma_x_x"], [upper])
        reached = [(size, 1), (1, 1), (count, 1), (size, 1), (count, 1), (0, 1)]
        parts = [
            function("nlp", x_p, x, ["f", "g"], [one, dense(count, 1)], lambda v: [cost(v), self.constraints(v[0])]),
            function(
                "grad_f", x_p, x, ["f", "grad_f_x"], [one, dense(size, 1)], lambda v: [cost(v), self.gradient(v[0])]
            ),
            function(
                "jac_g", x_p, x, ["g", "jac_g_x"], [dense(count, 1), dense(count, size)],
                lambda v: [self.constraints(v[0]), self.jacobian(v[0]).T],
            ),
            function("hess_lag", *lagrangian, lambda v: [self.hessian(v[0], float(v[2][0]), v[3])[rows, columns]]),
            function("guard", ["x", "f", "g", "lam_x", "lam_g", "lam_p"], reached, ["ret"], [one], guard),
        ]  # fmt: skip
        options: Any = {
            "ipopt": {
                "print_level": 0, "sb": "yes", "max_iter": self.aim.iterations, "tol": TOLERANCE,
                "constr_viol_tol": 1e-9,
                "acceptable_tol": 1e-5, "acceptable_constr_viol_tol": 1e-9, "acceptable_iter": 10,
                "nlp_scaling_method": "none", **self.aim.options,
            },
            "print_time": False, "error_on_fail": False, "no_nlp_grad": True, "show_eval_warnings": False,
            "grad_f": parts[1], "jac_g": parts[2], "hess_lag": parts[3], "iteration_callback": parts[4],
        }  # fmt: skip
        return ca.nlpsol("motion", "ipopt", parts[0], options), parts


class _Guard:
    """Asked after every iteration whether to go on."""

    def __init__(self, search: MotionSearch, watch: Watch, interrupted: Callable[[], bool]) -> None:
        self.search, self.watch, self.interrupted = search, watch, interrupted
        self.late, self.told, self.first = False, "", 0.0
        self.best: Array | None = None
        self.least = np.inf

    def __call__(self, given: list[Array]) -> list[Array]:
        search, (low, high) = self.search, self.search.row_bounds
        miss = float(np.maximum(given[2] - high, low - given[2]).max(initial=0.0))
        self.told = f"conditions of the end, torques and bounds missed by {miss:.1e} of their size"
        if miss < HELD and float(given[1][0]) < self.least:
            self.best, self.least = given[0].copy(), float(given[1][0])
        if self.watch.report is not None:
            slope = search.gradient(given[0]) + given[4] @ search.jacobian(given[0]) + given[3]
            left = max(miss, float(np.abs(slope).max()), TOLERANCE)
            self.first = max(self.first, left)
            self.watch.report(float(np.log(self.first / left) / np.log(self.first / TOLERANCE + 1e-9)))
        self.late = self.watch.late
        return [np.array([float(self.late or self.interrupted())])]


def _root(A: Array) -> Array:
    """A matrix R with R^T R = A, for a symmetric one that is positive but for rounding."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    return np.asarray(np.sqrt(np.abs(values))[:, None] * vectors.T)
