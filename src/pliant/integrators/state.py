"""The state of a run between chunks: clock, counters, input of the kernels, plan of breaks, rows written so far."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array, Integers
from pliant.compute.compiled_loops.primitives import FLAT
from pliant.compute.tape import one_sided_time
from pliant.integrators.problem import CompiledTicks, Events, Hold, Jumps, Problem, SampledInput, StageCallback
from pliant.integrators.step_control import FIRST_ERROR
from pliant.integrators.step_loops.loop_state import Clock, EventKind, Ode, Record, Tally

Number = TypeVar("Number", np.float64, np.int64)


class Callback:
    """A Python function called at every stage from compiled code.

    It works on views of the one input buffer, so a call costs no conversion. An exception is kept, since none may pass
    through compiled code: the flag tells the loop to stop, and the caller raises the exception again.
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

    def ode(self, jacobian: int, atol: Array) -> Ode:
        """The record of the equations for the loops; `jacobian` is an address, 0 if there is none."""
        problem = self.problem
        return Ode(
            rhs=problem.rhs, jacobian=jacobian, callback=self.callback.address if self.callback else 0,
            closing=problem.closing, approach=problem.approach, meets=problem.meets, n=problem.n,
            positions=problem.n_positions, turns=len(self.turn), turn=self.turn, closed=self.closed, near=self.near,
            ahead=self.ahead, inp=self.inp, flag=self.flag, clock=self.clock, tally=self.tally, atol=atol,
        )  # fmt: skip

    def evaluate(self, t: float, x: Array) -> Array:
        """Evaluate f(t, x, p) from Python, for uses that come once per run; at a jump, behind it."""
        self.inp[0] = max(t, self.clock[Clock.FROM])
        self.inp[1 : 1 + self.problem.n] = x
        if self.callback:
            self.callback.call(0, 0)
            self.raise_again()
        out = np.empty(self.problem.n)
        self._rhs(self.inp.ctypes.data, out.ctypes.data)
        return out

    def raise_again(self) -> None:
        """Raise the exception that a callback has raised within compiled code, if there is one."""
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
    return RunPlan(
        breaks=times, which=which, stops=stops, jumps=jumping, holds=holds, table=table,
        first=samples.first if samples else 0, row_at_start=at_start, held_at_start=held, ticks=ticks,
    )  # fmt: skip


def _among(sorted_times: Array, times: Array, near: float) -> Integers:
    """Number of the sorted time that equals each time, -1 where none does."""
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
        self.g, self.g_new, self.g_trial, self.root = (np.zeros(count) for _ in range(4))
        self.direction = events.each(events.direction) if events else np.empty(0, np.int64)
        self.terminal = events.each(events.terminal) if events else np.empty(0, np.int64)
        logged = max(16 * count, 1)
        self.log_t: Array = np.empty(logged)
        self.log_x: Array = np.empty((logged, n))
        self.log_event: Integers = np.empty(logged, np.int64)

    def grow(self) -> None:
        """Double the buffers that can fill up."""
        if self.times is None:
            self.t, self.x = _doubled(self.t), _doubled(self.x)
        if self.events:
            self.log_t, self.log_x = _doubled(self.log_t), _doubled(self.log_x)
            self.log_event = _doubled(self.log_event)

    def record(self) -> Record:
        """The record of sizes and buffers for the loops."""
        events = self.events
        return Record(
            natural=self.times is None, requested=len(self._times), capacity=len(self.t), log_capacity=len(self.log_t),
            event=events.address if events else 0, events=events.count if events else 0,
            cuts=int((self.terminal == EventKind.CUT).sum()), times=self._times, t=self.t, x=self.x, g=self.g,
            g_new=self.g_new, g_trial=self.g_trial, root=self.root, direction=self.direction, terminal=self.terminal,
            log_t=self.log_t, log_x=self.log_x, log_event=self.log_event,
        )  # fmt: skip

    def start(self, state: State, t0: float) -> None:
        """Write the rows that fall on the start itself."""
        rows = 1 if self.times is None else int(np.searchsorted(self.times, t0, side="right"))
        self.t[:rows], self.x[:rows] = t0, state.x
        state.tally[[Tally.ROWS, Tally.NEXT]] = rows, 0 if self.times is None else rows

    def amend(self, state: State) -> None:
        """Write the present state into the row at the present time, if there is one."""
        last = int(state.tally[Tally.ROWS]) - 1
        if last >= 0 and self.t[last] == state.clock[Clock.T]:
            self.x[last] = state.x


def _doubled(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    bigger = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
