"""Parts of a step that all loops share: its end, its error, the verdict on it, the move to the next one."""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import Doubles, call, shift
from pliant.integrators.step_control import LEAST_MEMORY, REACH, next_step, scaled, step_ratio
from pliant.integrators.step_loops.contact_steps import count_passed, meets_on_its_way
from pliant.integrators.step_loops.dense_output import interpolate, write_row
from pliant.integrators.step_loops.evaluation import evaluate, place, roundings, within
from pliant.integrators.step_loops.events import EVENT_SAMPLES, find_events, first_cut
from pliant.integrators.step_loops.loop_closing import settle
from pliant.integrators.step_loops.loop_state import (
    Clock,
    LoopPlan,
    LoopStatus,
    Ode,
    Record,
    StepState,
    Tally,
    Ticking,
)

HALVINGS = 60  # of a step, to find a jump: more than there are numbers in it
UNEVEN = 8.0  # f changes so much more over one half of a time than over the other, if there is a jump in it


def finish_step(
    ode: Ode, plan: LoopPlan, ticking: Ticking, record: Record, step: StepState, t: float, t_new: float, watch: bool,
    adaptive: bool,
) -> int:  # fmt: skip
    """Events, rows, and the move to (t_new, y); at a break new p. Returns the status of the loop."""
    tally = ode.tally
    h = t_new - t
    sound = close_step(ode, step, t_new)
    end = 2.0
    if ode.meets > 0:
        if not adaptive:
            count_passed(ode, step, t, h)
        elif meets_on_its_way(ode, step, t, h):
            return LoopStatus.RUNNING
    if watch and adaptive and record.cuts > 0:
        cut = first_cut(ode, record, step, t, h)
        if cut <= 1.0:  # the same step again, up to there
            ode.clock[Clock.JUMP] = t + cut * h
            ode.clock[Clock.BEFORE] = t + cut * h
            tally[Tally.REJECTED] += 1
            tally[Tally.FRESH] = 1
            return LoopStatus.RUNNING
    if watch:
        end = find_events(ode, record, step, t, h)
    if end <= 1.0:
        t_new = t + end * h
        interpolate(ode, step, end)
        for k in range(ode.n):
            step.y[k] = step.z[k]
        sound = settle(ode, t_new, step.y)
    if not sound:
        return LoopStatus.SINGULAR
    while tally[Tally.NEXT] < record.requested and record.times[tally[Tally.NEXT]] <= t_new:
        at = record.times[tally[Tally.NEXT]]
        if at == t_new:
            write_row(ode, record, at, step.y)
        else:
            interpolate(ode, step, (at - t) / h)
            write_row(ode, record, at, step.z)
        tally[Tally.NEXT] += 1
    if record.natural != 0:
        write_row(ode, record, t_new, step.y)
    for k in range(ode.n):
        step.x[k] = step.y[k]
    ode.clock[Clock.T] = t_new
    tally[Tally.STEPS] += 1
    if ode.closing != 0:
        tally[Tally.FRESH] = 2
    if ode.flag[0] != 0:
        return LoopStatus.CALLBACK
    if end <= 1.0:
        return LoopStatus.EVENT
    if step.y[ode.n - 1] > ode.clock[Clock.CEILING]:
        tally[Tally.WORST] = ode.n - 1
        return LoopStatus.RUNAWAY
    if t_new == plan.breaks[tally[Tally.BREAK]]:
        return cross_break(ode, plan, ticking, step)
    if t_new == ode.clock[Clock.JUMP]:
        ode.tally[Tally.FRESH] = 1
        ode.clock[Clock.FROM] = t_new
        ode.clock[Clock.JUMP] = math.inf
    return LoopStatus.RUNNING


def close_step(ode: Ode, step: StepState, t_new: float) -> bool:
    """Close loops and normalize quaternions at the end of a step; move the dense output with it, so that its loops are
    closed at both ends."""
    if ode.closing == 0:
        return settle(ode, t_new, step.y)
    for k in range(ode.n):
        step.z[k] = step.y[k]
    sound = settle(ode, t_new, step.y)
    for k in range(ode.n):
        step.Q[k] += step.y[k] - step.z[k]
    return sound


def cross_break(ode: Ode, plan: LoopPlan, ticking: Ticking, step: StepState) -> int:
    """Take the new values of p, and mark everything computed from the old ones as stale."""
    at = ode.tally[Tally.BREAK]
    if at == plan.number - 1:
        return LoopStatus.DONE
    row = plan.which[at]
    if row >= 0:
        for k in range(plan.width):
            ode.inp[1 + ode.n + plan.first + k] = plan.table[row * plan.width + k]
    ode.tally[Tally.BREAK] = at + 1
    ode.tally[Tally.FRESH] = 1
    ode.tally[Tally.SEG] = 0
    ode.clock[Clock.START] = ode.clock[Clock.T]
    ode.clock[Clock.FROM] = ode.clock[Clock.T] + roundings(ode.clock[Clock.T])
    ode.clock[Clock.UNTIL] = math.inf  # until the next step is chosen
    ode.clock[Clock.JUMP] = math.inf
    if plan.stops[at] == 2:
        tick(ode, ticking, step)
        return LoopStatus.RUNNING
    return LoopStatus.HOLD if plan.stops[at] != 0 else LoopStatus.RUNNING


def tick(ode: Ode, ticking: Ticking, step: StepState) -> None:
    """Let a sampled controller set p at the present time and state, as `CompiledTicks` does from Python."""
    at = ticking.taken[0]
    given = ticking.given
    p = shift(ode.inp, 1 + ode.n)
    noise = 1 + ode.n + ticking.inputs
    given[0] = ode.clock[Clock.T]
    for k in range(ode.n):
        given[1 + k] = step.x[k]
    for k in range(ticking.inputs):
        given[1 + ode.n + k] = p[k]
    for k in range(ticking.noises):
        given[noise + k] = ticking.noise[at * ticking.noises + k]
    call(ticking.function, given, ticking.found)
    for k in range(ticking.held):
        p[k] = ticking.found[k]
        ticking.log[at * ticking.held + k] = ticking.found[k]
    for k in range(ticking.memory):
        given[noise + ticking.noises + k] = ticking.found[ticking.held + k]
    ticking.taken[0] = at + 1


def lacks_room(ode: Ode, record: Record) -> bool:
    """Whether the next step might not find room for its rows."""
    rows = record.natural != 0 and ode.tally[Tally.ROWS] >= record.capacity
    return rows or ode.tally[Tally.LOGGED] + EVENT_SAMPLES * record.events > record.log_capacity


def next_time(ode: Ode, plan: LoopPlan, fixed: bool) -> float:
    """End of the next step: on the grid of the segment for a fixed step, else by the proposal, never past a break."""
    clock = ode.clock
    tally = ode.tally
    stop = plan.breaks[tally[Tally.BREAK]]
    clock[Clock.UNTIL] = stop - roundings(stop)
    if clock[Clock.JUMP] < stop:
        stop = clock[Clock.JUMP]
        clock[Clock.UNTIL] = clock[Clock.BEFORE]
    if fixed:
        length = stop - clock[Clock.START]
        if tally[Tally.SEG] == 0:
            tally[Tally.SEG] = max(1, math.ceil(length / clock[Clock.H] * (1.0 - 1e-10)))
            tally[Tally.SEG_AT] = 0
        tally[Tally.SEG_AT] += 1
        if tally[Tally.SEG_AT] >= tally[Tally.SEG]:
            return stop
        return clock[Clock.START] + tally[Tally.SEG_AT] * (length / tally[Tally.SEG])
    h = min(clock[Clock.H], clock[Clock.H_MAX])
    return stop if clock[Clock.T] + REACH * h >= stop else clock[Clock.T] + h


def lost(ode: Ode, step: StepState) -> bool:
    """Note the coordinate that stopped being finite, the largest one before if there are several. False: none did."""
    worst = -1
    for k in range(ode.n):
        if not math.isfinite(step.y[k]) and (worst < 0 or abs(step.x[k]) > abs(step.x[worst])):
            worst = k
    if worst >= 0:
        ode.tally[Tally.WORST] = worst
    return worst >= 0


def error_norm(ode: Ode, step: StepState, weights: Doubles, stages: int, K: Doubles, scale: float) -> float:
    """Root mean square of the scaled error over the coordinates with a finite tolerance; notes the worst one."""
    n = ode.n
    total = 0.0
    largest = -1.0
    counted = 0
    for k in range(n):
        if math.isfinite(ode.atol[k]):
            e = 0.0
            for j in range(stages):
                e += weights[j] * K[j * n + k]
            e = scaled(scale * e, step.x[k], step.y[k], ode.clock[Clock.RTOL], ode.atol[k])
            if math.isfinite(largest) and not e <= largest:
                largest = e
                ode.tally[Tally.WORST] = k
            total += e * e
            counted += 1
    return math.sqrt(total / max(counted, 1))


def difference(ode: Ode, step: StepState, h: float, a: Doubles, b: Doubles) -> float:
    """Size of h (b - a), for two values of f, in units of the error allowed to a step; where a coordinate has no
    tolerance, (b - a) in units of the error allowed to f. Entries that are not finite do not count."""
    total = 0.0
    for k in range(ode.n):
        if math.isfinite(ode.atol[k]):
            e = h * (b[k] - a[k]) / (ode.atol[k] + ode.clock[Clock.RTOL] * abs(step.x[k]))
        else:
            e = (b[k] - a[k]) / (ode.clock[Clock.RTOL] * max(abs(a[k]), abs(b[k])))
        if math.isfinite(e):
            total += e * e
    return math.sqrt(total)


def find_jump(ode: Ode, step: StepState, h: float) -> bool:
    """Look for a jump of f in time within the refused step, with the state held still; True: its time, and the time
    before it, are in the clock.

    The half over which f changes more is halved again. A smooth change is soon about the same over both halves, a jump
    never.
    """
    n = ode.n
    left = shift(step.Q, 0)
    right = shift(step.Q, n)
    middle = shift(step.Q, 2 * n)
    early = within(ode, ode.clock[Clock.T])
    late = within(ode, ode.clock[Clock.T] + h)
    if not early < 0.5 * (early + late) < late:
        return False  # there is no time between
    place(ode, step.x)
    evaluate(ode, early, left)
    evaluate(ode, late, right)
    for _ in range(HALVINGS):
        time = 0.5 * (early + late)
        if time <= early or time >= late:
            break
        evaluate(ode, time, middle)
        first = difference(ode, step, h, left, middle)
        second = difference(ode, step, h, middle, right)
        if ode.flag[0] != 0 or max(first, second) < max(1.0, UNEVEN * min(first, second)):
            return False
        if first > second:
            late = time
            for k in range(n):
                right[k] = middle[k]
        else:
            early = time
            for k in range(n):
                left[k] = middle[k]
    ode.clock[Clock.JUMP] = late
    ode.clock[Clock.BEFORE] = early
    return True


def judge(ode: Ode, step: StepState, err: float, h: float) -> int:
    """Accept or refuse a step, and propose the next one. Return RUNNING (accepted), STIFF (refused) or UNDERFLOW."""
    clock = ode.clock
    if lost(ode, step):
        err = math.inf
    ratio = step_ratio(err, clock[Clock.ERR], ode.tally[Tally.AGAIN] != 0, clock[Clock.ALPHA], clock[Clock.BETA])
    clock[Clock.H] = next_step(h, clock[Clock.H], ratio)
    if not err <= 1.0:
        ode.tally[Tally.REJECTED] += 1
        ode.tally[Tally.AGAIN] = 1
        if find_jump(ode, step, h):
            clock[Clock.H] = max(clock[Clock.H], clock[Clock.JUMP] - clock[Clock.T])
        return LoopStatus.UNDERFLOW if clock[Clock.H] < clock[Clock.H_MIN] else LoopStatus.STIFF
    clock[Clock.ERR] = max(err, LEAST_MEMORY)
    ode.tally[Tally.AGAIN] = 0
    return LoopStatus.RUNNING
