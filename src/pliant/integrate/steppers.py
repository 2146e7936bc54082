"""The methods as they are driven: each binds its tableau and work arrays to one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array
from pliant.integrate.rosenbrock import rodas5p
from pliant.integrate.runge_kutta import dop853, dopri5, rk4
from pliant.integrate.state import Rows, RunPlan, State

EXPLICIT = {"rk4": rk4, "dopri5": dopri5, "dop853": dop853}
FIXED = ("rk4", "midpoint")
COMPILED = ("rk4", "dopri5", "dop853", "rodas5p", "midpoint")


class Stepper:
    """One method at work on a state: `advance(budget)` runs its compiled loop and returns a status.

    The loop gets a table of sizes and addresses; the stepper keeps the arrays alive. Call `refresh` when rows
    have grown.
    """

    def __init__(
        self, loop: Callable[[int, int, int | None], int], state: State, plan: RunPlan, rows: Rows, degree: int
    ) -> None:
        self.loop, self.state, self.plan, self.rows = loop, state, plan, rows
        self.atol: Array = np.empty(0)
        self.jacobian = 0
        self.method: tuple[Any, ...] = ()
        n = state.problem.n
        self.step = (degree, state.x, np.zeros(n), np.zeros(n), np.zeros(degree * n))
        self.table: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self.address = 0
        self.watch = 1 if rows.events else None  # None: the loop is compiled without the search for events

    def refresh(self) -> None:
        """Make the table of the loop: equations, plan, record, step, method."""
        state, plan = self.state, self.plan
        ode = (*state.ode(self.jacobian), state.inp, state.flag, state.clock, state.tally, self.atol)
        breaks = (len(plan.breaks), plan.table.shape[1], plan.first, plan.breaks, plan.which, plan.stops, plan.table)
        self.table = _table(*ode, *breaks, *self.rows.record(), *self.step, *self.method)
        self.address = self.table.ctypes.data

    def advance(self, budget: int) -> int:
        """At most `budget` attempts."""
        return int(self.loop(self.address, budget, self.watch))


def _table(*entries: Any) -> npt.NDArray[np.int64]:
    """Numbers as they are, arrays by address."""
    return np.array([e.ctypes.data if isinstance(e, np.ndarray) else int(e) for e in entries], dtype=np.int64)


def error_order(method: str) -> int:
    """The k of the step size controller, err ~ h^k."""
    return {"dopri5": 5, "dop853": 8, "rodas5p": 5}.get(method, 4)


def make_stepper(method: str, state: State, plan: RunPlan, rows: Rows, rtol: float, atol: Array) -> Stepper:
    """The stepper of a method, continuing from the state."""
    from pliant.integrate import compiled as c

    k = error_order(method)
    beta = 0.2 / k
    state.clock[[c.RTOL, c.ALPHA, c.BETA]] = rtol, 1.0 / k - 0.75 * beta, beta
    if method in EXPLICIT:
        stepper = _explicit(method, state, plan, rows)
    else:
        stepper = (_rosenbrock if method == "rodas5p" else _midpoint)(state, plan, rows)
    stepper.atol = atol.copy()
    if method == "rodas5p":
        m = state.problem.n_positions
        stepper.atol[m : 2 * m] = np.inf  # rates of damped modes are not to be followed
    stepper.refresh()
    return stepper


def _explicit(method: str, state: State, plan: RunPlan, rows: Rows) -> Stepper:
    from pliant.integrate import compiled as c

    tableau = EXPLICIT[method]()
    state.clock[c.STABILITY] = 0.8 * tableau.stability
    stepper = Stepper(c.run_explicit, state, plan, rows, tableau.dense.shape[1])
    K = np.zeros(len(tableau.c) * state.problem.n)
    sizes = (method in FIXED, tableau.stages, len(tableau.c), tableau.error_low.size > 0)
    stepper.method = (*sizes, tableau.A, tableau.c, tableau.error, tableau.error_low, tableau.dense, K)
    return stepper


def _rosenbrock(state: State, plan: RunPlan, rows: Rows) -> Stepper:
    from pliant.integrate import compiled as c

    tableau = rodas5p()
    state.clock[c.GAMMA] = tableau.gamma
    stepper = Stepper(c.run_rosenbrock, state, plan, rows, tableau.dense.shape[1])
    stepper.jacobian = state.problem.jacobian_address()
    weights = (tableau.A, tableau.C, tableau.c, tableau.d, tableau.b, tableau.error, tableau.dense)
    U = np.zeros(len(tableau.c) * state.problem.n)
    stepper.method = (len(tableau.c), *weights, U, *_newton(state))
    return stepper


def _midpoint(state: State, plan: RunPlan, rows: Rows) -> Stepper:
    from pliant.integrate import compiled as c

    stepper = Stepper(c.run_midpoint, state, plan, rows, 3)
    stepper.jacobian = state.problem.jacobian_address()
    stepper.method = _newton(state)
    return stepper


def _newton(state: State) -> tuple[Any, ...]:
    """Jacobian, factors, pivots, work, residual, slope and scale."""
    n, m = state.problem.n, state.problem.n_positions
    matrices = (np.zeros(n * n + n), np.zeros((n - m) ** 2), np.zeros(n, np.int64))
    return (*matrices, np.zeros(2 * n), np.zeros(n), np.zeros(n), np.abs(state.x))
