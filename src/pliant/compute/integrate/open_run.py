"""A run without an end: its caller advances it a stretch of time at a go and may change p, time and state in between.

Everything that the next stretch follows from is time, state, p, and the step and error that an adaptive method
remembers: nothing that was computed in one stretch is used in the next. So `memory` is short, and a run that goes on
from it has the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.compute.integrate.evaluation import EPS, SMALLEST
from pliant.compute.integrate.loop_state import Clock, LoopStatus, Tally
from pliant.compute.integrate.methods import has_fixed_steps, make_loop
from pliant.compute.integrate.problem import Events, Problem, StageCallback
from pliant.compute.integrate.starting import first_guess, least_step
from pliant.compute.integrate.state import Rows, RunPlan, State
from pliant.compute.loops.step_control import FIRST_ERROR
from pliant.compute.tape.one_sided_time import MARGIN

CHUNK = 100_000
"""Steps between two looks at Python, which may have been told to stop."""
BEHIND = 1 + MARGIN * EPS
"""Times a time: the earliest of an evaluation behind it, as in `kernels.sides`."""


class OpenRun:
    """A problem at work. `x` and `p` are views of what the compiled loop reads: write into them at will.

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
            self._ends, none, np.zeros(1, np.int64), none, np.zeros(1, dtype=bool), np.empty((0, 0)), 0, -1, False
        )
        self._loop = make_loop(method, state, plan, self._rows, rtol, atol)
        self.x, self.p = state.x, state.p
        arrays: Any = (state.clock, state.tally, self._ends)
        views: Any = [memoryview(array) for array in arrays]  # their entries take a third of the time
        self._clock, self._tally, self._end = views
        self._fixed = has_fixed_steps(method)
        self._clock[Clock.H] = step if self._fixed and step is not None else 0.0
        self._clock[Clock.H_MAX] = step or math.inf
        self._scale = self._loop.method[0].scale if method == "midpoint" else None  # sizes that its iteration compares
        fresh: Any = np.zeros_like(state.tally)  # everything that was computed before is stale
        fresh[[Tally.FRESH, Tally.CHECK_AT]] = 1, np.iinfo(np.int64).max
        self._fresh = memoryview(fresh)

    @property
    def t(self) -> float:
        """Time reached."""
        return float(self._clock[Clock.T])

    @t.setter
    def t(self, value: float) -> None:
        self._clock[Clock.T] = value

    @property
    def ceiling(self) -> float:
        """What the last state may not exceed."""
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
        """Back to time 0, with nothing remembered."""
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
        """To the time `end`, or to an event; gives the status of the loop. A callback that raises is raised again."""
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
        """An adaptive method before a stretch; False: f is not finite there."""
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
