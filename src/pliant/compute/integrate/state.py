"""The state of a run between chunks: clock, counters, input of the kernels, plan of breaks, rows written so far."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array, Integers
from pliant.compute.integrate.loop_state import Clock, EventKind, Tally
from pliant.compute.integrate.problem import CompiledTicks, Events, Hold, Jumps, Problem, SampledInput, StageCallback
from pliant.compute.loops.primitives import FLAT
from pliant.compute.loops.step_control import FIRST_ERROR
from pliant.compute.tape import one_sided_time


class Callback:
    """A Python function called at every stage from compiled code.

    It works on views of the one input buffer, so a call costs no conversion. What it raises is kept, since nothing may
    pass through compiled code: the flag tells the loop to stop, and the caller raises again.
    """

    def __init__(self, function: StageCallback, inp: Array, n: int, count: int, flag: Integers) -> None:
        state, slots = inp[1 : 1 + n].view(), inp[1 + n : 1 + n + count]
        state.setflags(write=False)
        self.raised: BaseException | None = None

        def call(source: int, sink: int) -> None:
            if flag[0]:
                return
            try:
                function(float(inp[0]), state, slots)
            except BaseException as error:  # also KeyboardInterrupt; raised again after the loop
                self.raised = error
                flag[0] = 1

        self.call = FLAT(call)
        self.address = int(ctypes.cast(self.call, ctypes.c_void_p).value or 0)


class State:
    """Mutable state shared by the compiled loops and the driver. Rows beyond `rows()` are not yet written."""

    def __init__(
        self, problem: Problem, t0: float, x0: Array, p: Array, callback: StageCallback | None, n_callback: int
    ) -> None:

        n = problem.n
        self.problem = problem
        self.x = x0.copy()
        self.inp: Array = np.concatenate([[t0], x0, p])
        self.flag: Integers = np.zeros(1, np.int64)
        self.clock: Array = np.zeros(Clock.SIZE)
        self.tally: Integers = np.zeros(Tally.SIZE, np.int64)
        self.clock[[Clock.T, Clock.START, Clock.ERR]] = t0, t0, FIRST_ERROR
        self.clock[[Clock.FROM, Clock.UNTIL, Clock.JUMP]] = one_sided_time.after(t0), np.inf, np.inf
        self.clock[Clock.CEILING] = problem.ceiling
        self.tally[Tally.FRESH] = 1
        self.callback = Callback(callback, self.inp, n, n_callback, self.flag) if callback else None
        self.held = self.inp[1 : 1 + n].view()
        self.held.setflags(write=False)
        self._rhs = FLAT(problem.rhs)
        self.turn: Integers = np.array(problem.quaternions, np.int64)
        self.closed: Array = np.zeros(n + 2)
        self.near: Array = np.zeros(2 * problem.meets)
        self.ahead: Array = np.zeros(2 * problem.meets)

    @property
    def p(self) -> Array:
        """View of all of p."""
        return self.inp[1 + self.problem.n :]

    def ode(
        self, jacobian: int = 0
    ) -> tuple[int, int, int, int, int, int, int, int, int, Integers, Array, Array, Array]:
        """Addresses and sizes, as the loops take them."""
        callback = self.callback.address if self.callback else 0
        problem, buffers = self.problem, (self.turn, self.closed, self.near, self.ahead)
        sizes = (problem.meets, problem.n, problem.n_positions, len(self.turn))
        return problem.rhs, jacobian, callback, problem.closing, problem.approach, *sizes, *buffers

    def evaluate(self, t: float, x: Array) -> Array:
        """f(t, x, p) from Python, for what happens once per run; at a jump, what comes after it."""
        self.inp[0] = max(t, self.clock[Clock.FROM])
        self.inp[1 : 1 + self.problem.n] = x
        if self.callback:
            self.callback.call(0, 0)
            self.raise_again()
        out = np.empty(self.problem.n)
        self._rhs(self.inp.ctypes.data, out.ctypes.data)
        return out

    def raise_again(self) -> None:
        """Raise what a callback has raised within compiled code."""
        if self.callback is not None and self.callback.raised is not None:
            raise self.callback.raised

    def hold(self, hold: Hold) -> None:
        """Let a sampled function set p at the present time and state."""
        self.inp[0] = self.clock[Clock.T]
        self.inp[1 : 1 + self.problem.n] = self.x
        hold.function(float(self.clock[Clock.T]), self.held, self.p)
        self.tally[Tally.FRESH] = 1


@dataclass
class RunPlan:
    """Times on which steps must end, from samples, held functions, jumps and the caller's own breaks.

    `stops` returns to Python where it is 1 and calls `ticks` where it is 2; `jumps` holds the number of a jump of the
    state, -1 where there is none; `holds` is true where a held function is called.
    """

    breaks: Array
    which: Integers
    stops: Integers
    jumps: Integers
    holds: npt.NDArray[np.bool_]
    table: Array
    first: int
    row_at_start: int
    held_at_start: bool
    ticks: CompiledTicks | None = None


def make_plan(
    t0: float, t1: float, breaks: Array, samples: SampledInput | None, hold: Hold | None, jumps: Jumps | None = None
) -> RunPlan:
    """Merge all breaks inside (t0, t1); t1 is the last one. Breaks closer than round-off are one."""
    sample_times = samples.times if samples else np.empty(0)
    hold_times = hold.times if hold else np.empty(0)
    jump_times = jumps.times if jumps else np.empty(0)
    near = 1e-12 * (t1 - t0) + 4 * np.spacing(max(abs(t0), abs(t1)))
    inside = np.sort(np.concatenate([breaks, sample_times, hold_times, jump_times]))
    inside = inside[(inside > t0 + near) & (inside < t1 - near)]
    inside = inside[np.diff(inside, prepend=-np.inf) > near]
    rows = np.searchsorted(sample_times, inside + near, side="right") - 1
    times = np.append(inside, t1)
    which = np.append(np.maximum(rows, 0) if samples else np.full(len(inside), -1), -1).astype(np.int64)
    holds = np.append(_among(hold_times, inside, near) >= 0, False)
    jumping = np.append(_among(jump_times, inside, near), -1)
    ticks = None if hold is None else hold.ticks
    stops = np.where(holds & (ticks is not None), 2, holds).astype(np.int64)
    stops[jumping >= 0] = 1  # what is held is asked behind the jump
    at_start = max(int(np.searchsorted(sample_times, t0 + near, side="right")) - 1, 0) if samples else -1
    table = samples.values if samples else np.empty((0, 0))
    held = bool(len(hold_times)) and bool((np.abs(hold_times - t0) <= near).any())
    return RunPlan(times, which, stops, jumping, holds, table, samples.first if samples else 0, at_start, held, ticks)


def _among(sorted_times: Array, times: Array, near: float) -> Integers:
    """Which of the sorted times is the same as each time, -1 where none is."""
    if not len(sorted_times):
        return np.full(len(times), -1)
    right = np.clip(np.searchsorted(sorted_times, times), 0, len(sorted_times) - 1)
    left = np.maximum(right - 1, 0)
    nearer_left = np.abs(sorted_times[left] - times) < np.abs(sorted_times[right] - times)
    nearest = np.where(nearer_left, left, right)
    return np.where(np.abs(sorted_times[nearest] - times) <= near, nearest, -1).astype(np.int64)


class Rows:
    """Buffers for results. Rows at requested times are allocated at once (untouched memory costs nothing); rows at
    every step, and the log of events, double when full."""

    def __init__(self, n: int, times: Array | None, events: Events | None) -> None:
        self.n, self.times, self.events = n, times, events
        self._times = np.empty(0) if times is None else times
        capacity = 1024 if times is None else max(len(times), 1)
        self.t: Array = np.empty(capacity)
        self.x: Array = np.empty((capacity, n))
        count = events.count if events else 0
        self.g = tuple(np.zeros(count) for _ in range(4))  # before, after, trial, roots
        self.direction = events.each(events.direction) if events else np.empty(0, np.int64)
        self.terminal = events.each(events.terminal) if events else np.empty(0, np.int64)
        self._log(max(16 * count, 1))

    def _log(self, capacity: int) -> None:
        self.log_t: Array = np.empty(capacity)
        self.log_x: Array = np.empty((capacity, self.n))
        self.log_event: Integers = np.empty(capacity, np.int64)

    def grow(self) -> None:
        """Double what can fill up."""
        if self.times is None:
            self.t, self.x = _doubled(self.t), _doubled(self.x)
        if self.events:
            self.log_t, self.log_x, self.log_event = map(_doubled, (self.log_t, self.log_x, self.log_event))

    def record(self) -> tuple[Any, ...]:
        """Sizes and buffers, as the loops take them."""
        times = self._times
        cuts = int((self.terminal == EventKind.CUT).sum())
        events = (self.events.address, self.events.count, cuts) if self.events else (0, 0, 0)
        sizes = (self.times is None, len(times), len(self.t), len(self.log_t), *events)
        logs = (self.log_t, self.log_x, self.log_event)
        return (*sizes, times, self.t, self.x, *self.g, self.direction, self.terminal, *logs)

    def start(self, state: State, t0: float) -> None:
        """Rows that fall on the start itself."""
        rows = 1 if self.times is None else int(np.searchsorted(self.times, t0, side="right"))
        self.t[:rows], self.x[:rows] = t0, state.x
        state.tally[[Tally.ROWS, Tally.NEXT]] = rows, 0 if self.times is None else rows

    def amend(self, state: State) -> None:
        """The row at the present time, if there is one, takes the present state."""
        last = int(state.tally[Tally.ROWS]) - 1
        if last >= 0 and self.t[last] == state.clock[Clock.T]:
            self.x[last] = state.x


def _doubled(array: Any) -> Any:
    bigger = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
