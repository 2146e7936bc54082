"""Steps of arms that may meet something: how long they may be, and where they end.

A surface, a stop or a cable acts on one side of a gap alone. A step that leaps over it does not notice it, nor does
its error estimate. Let a and b be the gaps at both ends of a stretch of a step, s the speed at which the bodies move
past one another, which no rate of a gap exceeds, and let a width of 1 be allowed to pass unseen. A step is accepted
where

    s h <= |a| + |b| + 1

in all stretches that are not entirely on the far side. Otherwise it is taken again with (|a| + 1) / s in place of the
stretch: from the surface by a width, which resolves the contact, and then longer as the error allows. A step that
crosses a gap ends there, because the equations have a kink.
"""

from __future__ import annotations

from pliant.compute.compiled_loops.primitives import Doubles, call
from pliant.integrators.step_control import FIXED_WIDTHS, leaps, reach
from pliant.integrators.step_loops.dense_output import interpolate
from pliant.integrators.step_loops.evaluation import EPS, place, within
from pliant.integrators.step_loops.events import AT_END
from pliant.integrators.step_loops.loop_state import Clock, Ode, StepState, Tally

STRETCHES = 4  # of a step that are looked at
AT_IT = 1e-6  # widths: so near to where a gap closes is there


def look(ode: Ode, t: float, x: Doubles, found: Doubles) -> None:
    """Evaluate gaps and speeds at a state."""
    place(ode, x)
    ode.inp[0] = within(ode, t)
    call(ode.approach, ode.inp, found)


def look_ahead(ode: Ode, step: StepState, t: float, h: float, theta: float) -> None:
    """Evaluate gaps and speeds within a step, at the fraction theta."""
    if theta < 1.0:
        interpolate(ode, step, theta)
        look(ode, t + theta * h, step.z, ode.ahead)
    else:
        look(ode, t + h, step.y, ode.ahead)


def passed(ode: Ode, k: int, h: float, widths: float) -> float:
    """The longest step allowed where something may have been passed unseen within a step h; 2 h elsewhere."""
    before = ode.near[k]
    after = ode.ahead[k]
    speed = max(ode.near[ode.meets + k], ode.ahead[ode.meets + k])
    return reach(before, speed) if leaps(before, after, speed, h, widths) else 2.0 * h


def crossing(ode: Ode, step: StepState, k: int, left: float, right: float, t: float, h: float) -> float:
    """Time in (left, right], on the far side, at which gap k changes its sign."""
    before = ode.near[k]
    while right - left > EPS:
        middle = 0.5 * (left + right)
        if middle <= left or middle >= right:
            break
        look_ahead(ode, step, t, h, middle)
        if (ode.ahead[k] < 0.0) != (before < 0.0):
            right = middle
        else:
            left = middle
    return right


def meets_on_its_way(ode: Ode, step: StepState, t: float, h: float) -> bool:
    """Whether a step has to be taken again, shorter, because it may have passed something or crosses a gap. The clock
    then holds the longest step, or its end."""
    clock = ode.clock
    for stretch in range(STRETCHES):
        left = stretch / STRETCHES
        right = (stretch + 1) / STRETCHES
        look_ahead(ode, step, t, h, right)
        cut = 2.0
        for k in range(ode.meets):
            farthest = passed(ode, k, h / STRETCHES, 1.0)
            if farthest < h / STRETCHES:
                clock[Clock.H] = max(min(clock[Clock.H], left * h + farthest), clock[Clock.H_MIN])
                cut = 0.0
        if cut > 0.0:
            for k in range(ode.meets):
                before = ode.near[k]
                after = ode.ahead[k]
                there = abs(before) <= AT_IT and (stretch == 0 or abs(after) <= AT_IT)
                if not there and (before < 0.0) != (after < 0.0):
                    cut = min(cut, crossing(ode, step, k, left, right, t, h))
                    look_ahead(ode, step, t, h, right)
            if AT_END < cut < 1.0 - AT_END and cut * h > clock[Clock.H_MIN]:
                clock[Clock.JUMP] = t + cut * h
                clock[Clock.BEFORE] = t + cut * h
            else:
                cut = 2.0
        if cut < 1.0:
            ode.tally[Tally.REJECTED] += 1
            ode.tally[Tally.FRESH] = 2
            return True
        for k in range(2 * ode.meets):
            ode.near[k] = ode.ahead[k]
    return False


def count_passed(ode: Ode, step: StepState, t: float, h: float) -> None:
    """Note whether a fixed step may have passed something unseen."""
    look(ode, t + h, step.y, ode.ahead)
    over = 0
    for k in range(ode.meets):
        if passed(ode, k, h, FIXED_WIDTHS) < h:
            over = 1
    ode.tally[Tally.OVER] += over
    for k in range(2 * ode.meets):
        ode.near[k] = ode.ahead[k]
