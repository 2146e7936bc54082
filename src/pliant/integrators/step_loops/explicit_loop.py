"""The loop of the explicit Runge-Kutta methods."""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import integers, shift, unpack
from pliant.integrators.step_loops.contact_steps import look
from pliant.integrators.step_loops.dense_output import polynomial, wants_dense
from pliant.integrators.step_loops.evaluation import evaluate, place
from pliant.integrators.step_loops.events import event_values
from pliant.integrators.step_loops.loop_closing import normalise_slopes
from pliant.integrators.step_loops.loop_state import (
    Clock,
    Explicit,
    LoopPlan,
    LoopStatus,
    Ode,
    Record,
    StepState,
    Tally,
    Ticking,
)
from pliant.integrators.step_loops.step_loop import error_norm, finish_step, judge, lacks_room, lost, next_time


def explicit_stages(ode: Ode, step: StepState, method: Explicit, first: int, last: int, t: float, t_new: float) -> None:
    """Evaluate stages first ... last - 1; the last stage's input is the state at the end of the step."""
    n = ode.n
    h = t_new - t
    state = shift(ode.inp, 1)
    K = method.K
    for i in range(first, last):
        for k in range(n):
            state[k] = 0.0
        for j in range(i):
            a = method.A[i * method.all_stages + j]
            if a != 0.0:
                for k in range(n):
                    state[k] += a * K[j * n + k]
        for k in range(n):
            state[k] = step.x[k] + h * state[k]
        evaluate(ode, t_new if method.c[i] == 1.0 else t + method.c[i] * h, shift(K, i * n))


def watch_stiffness(ode: Ode, method: Explicit) -> bool:
    """Hairer's estimate of |h lambda| from the last two stages, both at t + h. True when it has been large for long."""
    n = ode.n
    tally = ode.tally
    last = method.stages - 1
    slope = 0.0
    change = 0.0
    for k in range(n):
        dk = method.K[last * n + k] - method.K[(last - 1) * n + k]
        dy = 0.0
        for j in range(last):
            a = method.A[last * method.all_stages + j] - method.A[(last - 1) * method.all_stages + j]
            dy += a * method.K[j * n + k]
        slope += dk * dk
        change += dy * dy
    if slope > ode.clock[Clock.STABILITY] * ode.clock[Clock.STABILITY] * change:
        tally[Tally.MISSES] = 0
        tally[Tally.HITS] += 1
        if tally[Tally.HITS] >= 15:
            tally[Tally.HITS] = 0
            tally[Tally.CRAWL] += 1
            return True
    elif tally[Tally.HITS] > 0:
        tally[Tally.MISSES] += 1
        if tally[Tally.MISSES] == 6:
            tally[Tally.HITS] = 0
    return False


def explicit_error(ode: Ode, step: StepState, method: Explicit, h: float) -> float:
    """Norm of the error; where there are two estimates, combined as in dop853."""
    low = 0.0
    if method.low != 0:
        low = error_norm(ode, step, method.error_low, method.stages, method.K, h)
    err = error_norm(ode, step, method.error, method.stages, method.K, h)
    return err * err / math.sqrt(err * err + 0.01 * low * low) if err > 0.0 else err


def run_explicit(address: int, budget: int, watch: bool) -> int:
    """Advance an explicit Runge-Kutta method by at most `budget` attempts; `watch` is false where there are no events.

    `watch` is known when the loop is translated: a loop without events is compiled without the search for them.
    """
    ode, plan, ticking, record, step, method = unpack(
        integers(address), Ode, LoopPlan, Ticking, Record, StepState, Explicit
    )
    n = ode.n
    tally = ode.tally
    fixed = method.fixed != 0
    for _ in range(budget):
        if lacks_room(ode, record):
            return LoopStatus.ROOM
        t = ode.clock[Clock.T]
        if tally[Tally.FRESH] != 0:
            if watch and tally[Tally.FRESH] == 1:
                event_values(ode, record, t, step.x, record.g)
            if ode.meets > 0:
                look(ode, t, step.x, ode.near)
            place(ode, step.x)
            evaluate(ode, t, method.K)
            tally[Tally.FRESH] = 0
        t_new = next_time(ode, plan, fixed)
        h = t_new - t
        ode.clock[Clock.TRIED] = h
        explicit_stages(ode, step, method, 1, method.stages, t, t_new)
        if ode.flag[0] != 0:
            return LoopStatus.CALLBACK
        for k in range(n):
            step.y[k] = ode.inp[1 + k]
        if fixed:
            if lost(ode, step):
                return LoopStatus.NONFINITE
        else:
            verdict = judge(ode, step, explicit_error(ode, step, method, h), h)
            if verdict == LoopStatus.UNDERFLOW:
                return LoopStatus.UNDERFLOW
            if verdict != LoopStatus.RUNNING:
                continue
        if wants_dense(ode, record, t_new, not fixed):
            explicit_stages(ode, step, method, method.stages, method.all_stages, t, t_new)
            polynomial(ode, step, method.dense, method.K, method.all_stages, h)
        stiff = False
        if not fixed and (tally[Tally.STEPS] % 20 == 0 or tally[Tally.HITS] > 0):
            stiff = watch_stiffness(ode, method)
        for k in range(n):
            method.K[k] = method.K[(method.stages - 1) * n + k]
        normalise_slopes(ode, step.y, method.K)
        status = finish_step(ode, plan, ticking, record, step, t, t_new, watch, adaptive=not fixed)
        if status != LoopStatus.RUNNING:
            return status
        if stiff and tally[Tally.STEPS] >= tally[Tally.CHECK_AT]:
            return LoopStatus.STIFF
    return LoopStatus.RUNNING
