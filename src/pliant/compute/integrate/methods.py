"""The methods as they are driven: each binds its tableau and work arrays to one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from pliant.algebra.tableau import ExplicitTableau
from pliant.algebra.tableaux import EXPLICIT, explicit
from pliant.arrays import Array
from pliant.compute.integrate.explicit_loop import run_explicit
from pliant.compute.integrate.loop_state import (
    Clock,
    Explicit,
    LoopPlan,
    Newton,
    Ode,
    Record,
    Rosenbrock,
    StepState,
    Ticking,
)
from pliant.compute.integrate.midpoint_loop import run_midpoint
from pliant.compute.integrate.problem import CompiledTicks
from pliant.compute.integrate.rosenbrock import rodas5p
from pliant.compute.integrate.rosenbrock_loop import run_rosenbrock
from pliant.compute.integrate.state import Rows, RunPlan, State
from pliant.compute.llvm.compiled_loop import compiled
from pliant.compute.loops.primitives import table
from pliant.compute.loops.step_control import exponents
from pliant.options import StepMethodName

COMPILED: tuple[str, ...] = get_args(StepMethodName)


class MethodLoop:
    """One method at work on a state: `advance(budget)` runs its compiled loop and returns a status.

    The loop gets a table of sizes and addresses; this keeps the arrays alive. Call `refresh` when rows
    have grown.
    """

    def __init__(
        self, loop: Callable[[int, int, bool], int], state: State, plan: RunPlan, rows: Rows, degree: int, atol: Array,
        *method: Any,
    ) -> None:  # fmt: skip
        self.loop = compiled(loop, watch=rows.events is not None)
        self.state, self.rows, self.atol, self.method = state, rows, atol, method
        self.jacobian = 0 if loop is run_explicit else state.problem.jacobian_address()
        rows_of_p, breaks = plan.table, (plan.breaks, plan.which, plan.stops)
        self.plan = LoopPlan(len(plan.breaks), rows_of_p.shape[1], plan.first, *breaks, rows_of_p)
        self.ticking = _ticking(plan.ticks)
        n = state.problem.n
        self.step = StepState(degree, state.x, np.zeros(n), np.zeros(n), np.zeros(degree * n))
        self.refresh()

    def refresh(self) -> None:
        """Make the table of the loop: equations, plan, record, step, method."""
        state = self.state
        ode = Ode(*state.ode(self.jacobian), state.inp, state.flag, state.clock, state.tally, self.atol)
        self.table = table(ode, self.plan, self.ticking, Record(*self.rows.record()), self.step, *self.method)
        self._address = self.table.ctypes.data

    def advance(self, budget: int) -> int:
        """At most `budget` attempts."""
        return self.loop(self._address, budget)


def _ticking(ticks: CompiledTicks | None) -> Ticking:
    """As the loops take it."""
    if ticks is None:
        nothing = np.zeros(1)
        return Ticking(0, 0, 0, 0, 0, nothing, nothing, nothing, nothing, np.zeros(1, np.int64))
    sizes = (ticks.inputs, ticks.noise.shape[1], len(ticks.found) - ticks.held, ticks.held)
    return Ticking(ticks.address, *sizes, ticks.given, ticks.found, ticks.noise, ticks.log, ticks.count)


def has_fixed_steps(method: str) -> bool:
    """Whether a method has no estimate of its error, so that its caller gives the step."""
    return method == "midpoint" or (method in EXPLICIT and not explicit(method).adaptive)


def error_power(method: str) -> int:
    """k of a method with error control whose estimated error goes with h^k."""
    return explicit(method).error_power if method in EXPLICIT else rodas5p().error_order + 1


def make_loop(method: str, state: State, plan: RunPlan, rows: Rows, rtol: float, atol: Array) -> MethodLoop:
    """The loop of a method, continuing from the state."""
    state.clock[Clock.RTOL] = rtol
    if not has_fixed_steps(method):
        state.clock[[Clock.ALPHA, Clock.BETA]] = exponents(error_power(method))
    if method in EXPLICIT:
        return _explicit(explicit(method), state, plan, rows, atol)
    return (_rosenbrock if method == "rodas5p" else _midpoint)(state, plan, rows, atol)


def _explicit(pair: ExplicitTableau, state: State, plan: RunPlan, rows: Rows, atol: Array) -> MethodLoop:
    state.clock[Clock.STABILITY] = 0.8 * pair.stability
    sizes = (not pair.adaptive, pair.stages, len(pair.c), pair.error_low.size > 0)
    K = np.zeros(len(pair.c) * state.problem.n)
    method = Explicit(*sizes, pair.A, pair.c, pair.error, pair.error_low, pair.dense, K)
    return MethodLoop(run_explicit, state, plan, rows, pair.dense.shape[1], atol.copy(), method)


def _rosenbrock(state: State, plan: RunPlan, rows: Rows, atol: Array) -> MethodLoop:
    damped, n, m = rodas5p(), state.problem.n, state.problem.n_positions
    state.clock[Clock.GAMMA] = damped.gamma
    atol = atol.copy()
    atol[m : 2 * m] = np.inf  # rates of damped modes are not to be followed
    weights = (damped.A, damped.C, damped.c, damped.d, damped.b, damped.error, damped.dense)
    method = Rosenbrock(len(damped.c), *weights, np.zeros(len(damped.c) * n))
    return MethodLoop(run_rosenbrock, state, plan, rows, damped.dense.shape[1], atol, method, _newton(state))


def _midpoint(state: State, plan: RunPlan, rows: Rows, atol: Array) -> MethodLoop:
    return MethodLoop(run_midpoint, state, plan, rows, 3, atol.copy(), _newton(state))


def _newton(state: State) -> Newton:
    n, m = state.problem.n, state.problem.n_positions
    matrices = (np.zeros(n * n + n), np.zeros((n - m) ** 2), np.zeros(n, np.int64))
    return Newton(*matrices, np.zeros(2 * n), np.zeros(n), np.zeros(n), np.abs(state.x))
