"""The compiled loop of each method, bound to its tableau and its work arrays; its first step, and its least one."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np

from pliant.algebra.tableau import ExplicitTableau
from pliant.algebra.tableaux import EXPLICIT, explicit
from pliant.arrays import Array
from pliant.compute.compiled_loops.primitives import table
from pliant.compute.llvm.llvm import compiled_loop
from pliant.integrators.problem import CompiledTicks
from pliant.integrators.rosenbrock import rodas5p
from pliant.integrators.state import Rows, RunPlan, State
from pliant.integrators.step_control import LEAST_FIRST, exponents, first_step
from pliant.integrators.step_loops.explicit_loop import run_explicit
from pliant.integrators.step_loops.loop_state import (
    Clock,
    Explicit,
    LoopPlan,
    Newton,
    Rosenbrock,
    StepState,
    Ticking,
)
from pliant.integrators.step_loops.midpoint_loop import run_midpoint
from pliant.integrators.step_loops.rosenbrock_loop import run_rosenbrock
from pliant.options import StepMethodName

COMPILED: tuple[str, ...] = get_args(StepMethodName)
HOPELESS = 1e-13
"""A step this small a part of the span would take 1e13 like it: a breakdown, not patience."""


class MethodLoop:
    """One method at work on a state: `advance(budget)` runs its compiled loop and returns a status.

    The loop reads a table of sizes and addresses; this object keeps the arrays alive. Call `refresh` when rows have
    grown.
    """

    def __init__(
        self, loop: Callable[[int, int, bool], int], state: State, plan: RunPlan, rows: Rows, degree: int, atol: Array,
        *method: Explicit | Rosenbrock | Newton,
    ) -> None:  # fmt: skip
        self.loop = compiled_loop(loop, watch=rows.events is not None)
        self.state, self.rows, self.atol, self.method = state, rows, atol, method
        self.jacobian = 0 if loop is run_explicit else state.problem.jacobian_address()
        self.plan = LoopPlan(
            number=len(plan.breaks), width=plan.table.shape[1], first=plan.first, breaks=plan.breaks, which=plan.which,
            stops=plan.stops, table=plan.table,
        )  # fmt: skip
        self.ticking = _ticking(plan.ticks)
        n = state.problem.n
        self.step = StepState(degree=degree, x=state.x, y=np.zeros(n), z=np.zeros(n), Q=np.zeros(degree * n))
        self.refresh()

    def refresh(self) -> None:
        """Make the table of the loop: equations, plan, record, step, method."""
        ode = self.state.ode(self.jacobian, self.atol)
        self.table = table(ode, self.plan, self.ticking, self.rows.record(), self.step, *self.method)
        self._address = self.table.ctypes.data

    def advance(self, budget: int) -> int:
        """Advance the run by at most `budget` attempts; return the status of the loop."""
        return self.loop(self._address, budget)


def _ticking(ticks: CompiledTicks | None) -> Ticking:
    """The record of a sampled controller for the loops; without one, an empty record."""
    if ticks is None:
        nothing = np.zeros(1)
        return Ticking(
            function=0, inputs=0, noises=0, memory=0, held=0, given=nothing, found=nothing, noise=nothing, log=nothing,
            taken=np.zeros(1, np.int64),
        )  # fmt: skip
    return Ticking(
        function=ticks.address, inputs=ticks.inputs, noises=ticks.noise.shape[1],
        memory=len(ticks.found) - ticks.held, held=ticks.held, given=ticks.given, found=ticks.found, noise=ticks.noise,
        log=ticks.log, taken=ticks.count,
    )  # fmt: skip


def has_fixed_steps(method: str) -> bool:
    """Whether a method has no estimate of its error, so that its caller gives the step."""
    return method == "midpoint" or (method in EXPLICIT and not explicit(method).adaptive)


def error_power(method: str) -> int:
    """Exponent k where the estimated error of a step h of a method goes with h^k."""
    return explicit(method).error_power if method in EXPLICIT else rodas5p().error_order + 1


def least_step(t0: float, t1: float) -> float:
    """Length below which a run from t0 to t1 takes no step."""
    return max(4 * float(np.spacing(max(abs(t0), abs(t1)))), HOPELESS * (t1 - t0))


def first_guess(state: State, method: str, span: float, slope: Array, rtol: float, atol: Array) -> float:
    """Hairer's estimate of a first step within `span` from f and its change along an Euler step, [HW] II.4."""
    t, x, m = float(state.clock[Clock.T]), state.x.copy(), state.problem.n_positions
    weight = atol + rtol * np.abs(x)
    if method == "rodas5p":
        weight[m : 2 * m] = np.inf

    def norm(v: Array) -> float:
        scaled = np.abs(v / weight)
        largest = scaled.max()  # taken out of the squares, which would overflow on absurd rates
        if not 0 < largest < np.inf:
            return float(largest)
        return float(largest * np.sqrt(np.mean((scaled / largest) ** 2)))

    d0, d1 = norm(x), norm(slope)
    h0 = min(first_step(d0, d1), span)
    if h0 == 0.0:
        return 1.0
    bend = norm(state.evaluate(t + h0, x + h0 * slope) - slope) / h0
    largest = max(d1, bend)
    h1 = max(LEAST_FIRST, 1e-3 * h0) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / error_power(method))
    return float(min(100 * h0, h1, span)) if np.isfinite(h1) else h0


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
    method = Explicit(
        fixed=not pair.adaptive, stages=pair.stages, all_stages=len(pair.c), low=pair.error_low.size > 0, A=pair.A,
        c=pair.c, error=pair.error, error_low=pair.error_low, dense=pair.dense,
        K=np.zeros(len(pair.c) * state.problem.n),
    )  # fmt: skip
    return MethodLoop(run_explicit, state, plan, rows, pair.dense.shape[1], atol.copy(), method)


def _rosenbrock(state: State, plan: RunPlan, rows: Rows, atol: Array) -> MethodLoop:
    damped, n, m = rodas5p(), state.problem.n, state.problem.n_positions
    state.clock[Clock.GAMMA] = damped.gamma
    atol = atol.copy()
    atol[m : 2 * m] = np.inf  # rates of damped modes are not to be followed
    method = Rosenbrock(
        stages=len(damped.c), A=damped.A, C=damped.C, c=damped.c, d=damped.d, b=damped.b, error=damped.error,
        dense=damped.dense, U=np.zeros(len(damped.c) * n),
    )  # fmt: skip
    return MethodLoop(run_rosenbrock, state, plan, rows, damped.dense.shape[1], atol, method, _newton(state))


def _midpoint(state: State, plan: RunPlan, rows: Rows, atol: Array) -> MethodLoop:
    return MethodLoop(run_midpoint, state, plan, rows, 3, atol.copy(), _newton(state))


def _newton(state: State) -> Newton:
    n, m = state.problem.n, state.problem.n_positions
    return Newton(
        J=np.zeros(n * n + n), W=np.zeros((n - m) ** 2), pivot=np.zeros(n, np.int64), work=np.zeros(2 * n),
        r=np.zeros(n), slope=np.zeros(n), scale=np.abs(state.x),
    )  # fmt: skip
