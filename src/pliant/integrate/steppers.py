"""The methods as they are driven: each binds its tableau and work arrays to one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array
from pliant.integrate.explicit_loop import run_explicit
from pliant.integrate.loop_state import Clock, Explicit, LoopPlan, Newton, Ode, Record, Rosenbrock, StepState
from pliant.integrate.midpoint_loop import run_midpoint
from pliant.integrate.rosenbrock import rodas5p
from pliant.integrate.rosenbrock_loop import run_rosenbrock
from pliant.integrate.runge_kutta import dop853, dopri5, rk4
from pliant.integrate.state import Rows, RunPlan, State
from pliant.kernels.step_control import exponents
from pliant.kernels.translate import compiled

EXPLICIT = {"rk4": rk4, "dopri5": dopri5, "dop853": dop853}
FIXED = ("rk4", "midpoint")
COMPILED = ("rk4", "dopri5", "dop853", "rodas5p", "midpoint")


class Stepper:
    """One method at work on a state: `advance(budget)` runs its compiled loop and returns a status.

    The loop gets a table of sizes and addresses; the stepper keeps the arrays alive. Call `refresh` when rows
    have grown.
    """

    def __init__(
        self, loop: Callable[[int, int, bool], int], state: State, plan: RunPlan, rows: Rows, degree: int, atol: Array,
        *method: Any,
    ) -> None:  # fmt: skip
        self.loop = compiled(loop, watch=rows.events is not None)
        self.state, self.rows, self.atol, self.method = state, rows, atol, method
        self.jacobian = 0 if loop is run_explicit else state.problem.jacobian_address()
        table = plan.table
        self.plan = LoopPlan(len(plan.breaks), table.shape[1], plan.first, plan.breaks, plan.which, plan.stops, table)
        n = state.problem.n
        self.step = StepState(degree, state.x, np.zeros(n), np.zeros(n), np.zeros(degree * n))
        self.refresh()

    def refresh(self) -> None:
        """Make the table of the loop: equations, plan, record, step, method."""
        state = self.state
        ode = Ode(*state.ode(self.jacobian), state.inp, state.flag, state.clock, state.tally, self.atol)
        self.table = _table(ode, self.plan, Record(*self.rows.record()), self.step, *self.method)

    def advance(self, budget: int) -> int:
        """At most `budget` attempts."""
        return self.loop(self.table.ctypes.data, budget)


def _table(*records: tuple[Any, ...]) -> npt.NDArray[np.int64]:
    """Numbers as they are, arrays by address."""
    entries = [entry for record in records for entry in record]
    return np.array([e.ctypes.data if isinstance(e, np.ndarray) else int(e) for e in entries], dtype=np.int64)


def error_order(method: str) -> int:
    """The k of the step size controller, err ~ h^k."""
    return {"dopri5": 5, "dop853": 8, "rodas5p": 5}.get(method, 4)


def make_stepper(method: str, state: State, plan: RunPlan, rows: Rows, rtol: float, atol: Array) -> Stepper:
    """The stepper of a method, continuing from the state."""
    state.clock[[Clock.RTOL, Clock.ALPHA, Clock.BETA]] = rtol, *exponents(error_order(method))
    n, m = state.problem.n, state.problem.n_positions
    if method in EXPLICIT:
        pair = EXPLICIT[method]()
        state.clock[Clock.STABILITY] = 0.8 * pair.stability
        sizes = (method in FIXED, pair.stages, len(pair.c), pair.error_low.size > 0)
        weights = (pair.A, pair.c, pair.error, pair.error_low, pair.dense, np.zeros(len(pair.c) * n))
        return Stepper(run_explicit, state, plan, rows, pair.dense.shape[1], atol.copy(), Explicit(*sizes, *weights))
    newton = Newton(
        np.zeros(n * n + n), np.zeros((n - m) ** 2), np.zeros(n, np.int64), np.zeros(2 * n), np.zeros(n), np.zeros(n),
        np.abs(state.x),
    )  # fmt: skip
    if method == "midpoint":
        return Stepper(run_midpoint, state, plan, rows, 3, atol.copy(), newton)
    damped = rodas5p()
    state.clock[Clock.GAMMA] = damped.gamma
    atol = atol.copy()
    atol[m : 2 * m] = np.inf  # rates of damped modes are not to be followed
    table = (damped.A, damped.C, damped.c, damped.d, damped.b, damped.error, damped.dense)
    work = Rosenbrock(len(damped.c), *table, np.zeros(len(damped.c) * n))
    return Stepper(run_rosenbrock, state, plan, rows, damped.dense.shape[1], atol, work, newton)
