"""The loop of the implicit midpoint rule."""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import integers, shift, unpack
from pliant.integrators.step_loops.contact_steps import look
from pliant.integrators.step_loops.dense_output import wants_dense
from pliant.integrators.step_loops.evaluation import EPS, evaluate, jacobian, place
from pliant.integrators.step_loops.events import event_values
from pliant.integrators.step_loops.loop_state import (
    Clock,
    LoopPlan,
    LoopStatus,
    Newton,
    Ode,
    Record,
    StepState,
    Tally,
    Ticking,
)
from pliant.integrators.step_loops.newton_solve import back_substitute, factor
from pliant.integrators.step_loops.step_loop import finish_step, lacks_room, lost, next_time

NEWTON_LIMIT = 30


def solve_midpoint(ode: Ode, step: StepState, newton: Newton, t_mid: float, a: float) -> bool:
    """Solve z = x + a f(t_mid, z) by Newton's method to round-off; factors are kept while they converge fast. False: it
    failed."""
    n = ode.n
    z = step.z
    r = newton.r
    before = math.inf
    for iteration in range(NEWTON_LIMIT):
        if ode.clock[Clock.FACTORED] != a:
            jacobian(ode, newton, t_mid, z)
            if not factor(ode, newton, a):
                return False
            ode.clock[Clock.FACTORED] = a
            before = math.inf
        place(ode, z)
        evaluate(ode, t_mid, r)
        for k in range(n):
            r[k] = (step.x[k] - z[k]) + a * r[k]
        back_substitute(ode, newton, a, r)
        size = 0.0
        for k in range(n):
            z[k] += r[k]
            ratio = abs(r[k]) / max(newton.scale[k], abs(z[k]), 1e-300)
            if not ratio <= size and math.isfinite(size):
                size = ratio
                ode.tally[Tally.WORST] = k
        if not math.isfinite(size):
            return False
        if size <= 2.0 * EPS or (size < 1e-9 and size > 0.3 * before):
            return True
        if size > 0.2 * before or iteration % 10 == 9:
            ode.clock[Clock.FACTORED] = 0.0
        before = size
    return False


def hermite(ode: Ode, step: StepState, newton: Newton, t: float, t_new: float) -> None:
    """Cubic dense output from both ends of a step."""
    n = ode.n
    h = t_new - t
    left = newton.work
    right = shift(left, n)
    place(ode, step.x)
    evaluate(ode, t, left)
    place(ode, step.y)
    evaluate(ode, t_new, right)
    for k in range(n):
        rise = step.y[k] - step.x[k]
        step.Q[k] = h * left[k]
        step.Q[n + k] = 3.0 * rise - h * (2.0 * left[k] + right[k])
        step.Q[2 * n + k] = h * (left[k] + right[k]) - 2.0 * rise


def run_midpoint(address: int, budget: int, watch: bool) -> int:
    """Advance the implicit midpoint rule by at most `budget` steps."""
    ode, plan, ticking, record, step, newton = unpack(
        integers(address), Ode, LoopPlan, Ticking, Record, StepState, Newton
    )
    tally = ode.tally
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
            evaluate(ode, t, newton.slope)
            if tally[Tally.FRESH] == 1:
                ode.clock[Clock.FACTORED] = 0.0
            tally[Tally.FRESH] = 0
        t_new = next_time(ode, plan, True)
        ode.clock[Clock.TRIED] = t_new - t
        a = 0.5 * (plan.breaks[tally[Tally.BREAK]] - ode.clock[Clock.START]) / tally[Tally.SEG]
        for k in range(ode.n):
            step.z[k] = step.x[k] + a * newton.slope[k]
        solved = solve_midpoint(ode, step, newton, t + a, a)
        if ode.flag[0] != 0:
            return LoopStatus.CALLBACK
        for k in range(ode.n):
            step.y[k] = step.x[k] + 2.0 * (step.z[k] - step.x[k])
            newton.slope[k] = (step.z[k] - step.x[k]) / a
            newton.scale[k] = max(newton.scale[k], abs(step.y[k]))
        if lost(ode, step):
            return LoopStatus.NONFINITE
        if not solved:
            return LoopStatus.NEWTON
        if wants_dense(ode, record, t_new, False):
            hermite(ode, step, newton, t, t_new)
        status = finish_step(ode, plan, ticking, record, step, t, t_new, watch, adaptive=False)
        if status != LoopStatus.RUNNING:
            return status
    return LoopStatus.RUNNING
