"""A run without an end: its caller advances it over one stretch of time after another.

p, time and state may change in between. A stretch follows from time, state, p, and the step and error that an adaptive
method remembers, and from nothing else that was computed before. So `memory` is short, and a run that goes on from it
has the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.arrays import Array, Integers
from pliant.compute.tape.one_sided_time import MARGIN
from pliant.integrators.methods import first_guess, has_fixed_steps, least_step, make_loop
from pliant.integrators.problem import Events, Problem, StageCallback
from pliant.integrators.state import Rows, RunPlan, State
from pliant.integrators.step_control import FIRST_ERROR
from pliant.integrators.step_loops.evaluation import EPS, SMALLEST
from pliant.integrators.step_loops.loop_state import Clock, LoopStatus, Newton, Tally

CHUNK = 100_000
"""Steps between two returns to Python, where Ctrl-C may wait."""
BEHIND = 1 + MARGIN * EPS
"""Factor from a time to the earliest evaluation behind it, as `tape.one_sided_time.after`."""


def _view(array: Array | Integers) -> Any:
    """A view of an array whose entries are read and written in a third of the time."""
    return memoryview(array)  # type: ignore[arg-type]


class OpenRun:
    """A problem at work. `x` and `p` are views of the arrays that the compiled loop reads: write into them at will.

    `step` is that of a method with fixed steps (each stretch is divided evenly, into none longer than it), and the
    longest one of others.
    """

    def __init__(
        self, problem: Problem, x0: Array, p: Array, method: str, step: float | None, rtol: float, atol: Array,
        callback: StageCallback | None = None, n_callback: int = 0, events: Events | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.method, self.rtol, self.atol = problem, method, rtol, atol
        self._state = state = State(problem, 0.0, x0, p, callback, n_callback)
        self._rows = Rows(problem.n, np.empty(0), events)
        self._ends = np.zeros(1)
        none = np.full(1, -1)
        plan = RunPlan(
            breaks=self._ends, which=none, stops=np.zeros(1, np.int64), jumps=none, holds=np.zeros(1, dtype=bool),
            table=np.empty((0, 0)), first=0, row_at_start=-1, held_at_start=False,
        )  # fmt: skip
        self._loop = make_loop(method, state, plan, self._rows, rtol, atol)
        self.x, self.p = state.x, state.p
        self._clock, self._tally, self._end = _view(state.clock), _view(state.tally), _view(self._ends)
        self._fixed = has_fixed_steps(method)
        self._clock[Clock.H] = step if self._fixed and step is not None else 0.0
        self._clock[Clock.H_MAX] = step or math.inf
        newton = self._loop.method[0]
        self._scale: Any = newton.scale if isinstance(newton, Newton) else None  # sizes that its iteration compares
        fresh = np.zeros_like(state.tally)  # everything that was computed before is stale
        fresh[[Tally.FRESH, Tally.CHECK_AT]] = 1, np.iinfo(np.int64).max
        self._fresh = _view(fresh)

    @property
    def t(self) -> float:
        """Time reached."""
        return float(self._clock[Clock.T])

    @t.setter
    def t(self, value: float) -> None:
        self._clock[Clock.T] = value

    @property
    def ceiling(self) -> float:
        """Largest value of the last state, beyond which a run ends as one that ran away."""
        return float(self._clock[Clock.CEILING])

    @ceiling.setter
    def ceiling(self, value: float) -> None:
        self._clock[Clock.CEILING] = value

    @property
    def memory(self) -> tuple[float, float, float]:
        """Time, and the next step and last error of an adaptive method."""
        return self._clock[Clock.T], self._clock[Clock.H], self._clock[Clock.ERR]

    @memory.setter
    def memory(self, values: tuple[float, float, float]) -> None:
        self._clock[Clock.T], self._clock[Clock.H], self._clock[Clock.ERR] = values

    def restart(self) -> None:
        """Go back to time 0 and forget the step and the error of an adaptive method."""
        clock = self._clock
        clock[Clock.T], clock[Clock.ERR] = 0.0, FIRST_ERROR
        if not self._fixed:
            clock[Clock.H] = 0.0

    @property
    def worst(self) -> int:
        """Number of the state that broke down."""
        return int(self._tally[Tally.WORST])

    @property
    def least(self) -> float:
        """The least step of the last stretch."""
        return float(self._clock[Clock.H_MIN])

    @property
    def over(self) -> int:
        """Fixed steps of the last stretch that may have leapt over what the arm meets."""
        return int(self._tally[Tally.OVER])

    @property
    def event(self) -> int:
        """Number of the event that ended the last stretch."""
        return int(self._rows.log_event[int(self._tally[Tally.LOGGED]) - 1])

    def advance(self, end: float) -> int:
        """Advance to the time `end`, or to an event; return the status of the loop. An exception of a callback is
        raised again."""
        clock = self._clock
        start = clock[Clock.T]
        self._tally[:] = self._fresh
        clock[Clock.START] = start
        clock[Clock.FROM] = start * BEHIND or SMALLEST
        self._end[0] = end
        if not self._fixed and not self._ready(start, end):
            return LoopStatus.NONFINITE
        if self._scale is not None:
            np.abs(self.x, out=self._scale)
        status = self._loop.advance(CHUNK)
        while status == LoopStatus.RUNNING or status == LoopStatus.STIFF or status == LoopStatus.ROOM:
            if status == LoopStatus.ROOM:
                self._rows.grow()
                self._loop.refresh()
            status = self._loop.advance(CHUNK)
        if status == LoopStatus.CALLBACK:
            self._state.raise_again()
        return status

    def _ready(self, start: float, end: float) -> bool:
        """Prepare an adaptive method for a stretch; False: f is not finite at its start."""
        clock = self._clock
        clock[Clock.UNTIL] = clock[Clock.JUMP] = math.inf
        clock[Clock.H_MIN] = least_step(start, end)
        if clock[Clock.H] == 0.0:
            slope = self._state.evaluate(start, self.x)
            if not np.isfinite(slope).all():
                self._tally[Tally.WORST] = int(np.argmin(np.isfinite(slope)))
                return False
            clock[Clock.H] = first_guess(self._state, self.method, end - start, slope, self.rtol, self.atol)
        return True
