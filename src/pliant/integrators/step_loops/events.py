"""Events of a step: which conditions change their sign in it, and where."""

from __future__ import annotations

from pliant.compute.compiled_loops.primitives import Doubles, call, shift
from pliant.integrators.step_loops.dense_output import interpolate
from pliant.integrators.step_loops.evaluation import EPS, place
from pliant.integrators.step_loops.loop_state import EventKind, Ode, Record, StepState, Tally

EVENT_SAMPLES = 4  # points per step at which event functions are looked at
AT_END = 1e-6  # of a step: so near to its end is at it; what a kink there leaves is of second order


def event_values(ode: Ode, record: Record, t: float, z: Doubles, g: Doubles) -> None:
    """g(t, z, p)."""
    place(ode, z)
    ode.inp[0] = t
    if ode.callback != 0:
        call(ode.callback, ode.inp, shift(ode.inp, 1 + ode.n))
    call(record.event, ode.inp, g)


def crosses(before: float, after: float, direction: int) -> bool:
    """Whether an event function has changed its sign in the wanted direction."""
    rising = before < 0.0 and after >= 0.0
    falling = before > 0.0 and after <= 0.0
    return (rising and direction >= 0) or (falling and direction <= 0)


def locate(ode: Ode, record: Record, step: StepState, e: int, left: float, right: float, t: float, h: float) -> float:
    """Root of event e in (left, right] by bisection on the dense output, on the far side of the crossing."""
    while right - left > EPS:
        middle = 0.5 * (left + right)
        if middle <= left or middle >= right:
            break
        interpolate(ode, step, middle)
        event_values(ode, record, t + middle * h, step.z, record.g_trial)
        if crosses(record.g[e], record.g_trial[e], record.direction[e]):
            right = middle
        else:
            left = middle
    return right


def first_cut(ode: Ode, record: Record, step: StepState, t: float, h: float) -> float:
    """Fraction of a step at which the equations change first, 2 where they do not; a change nearly at an end of the
    step counts as at that end."""
    for sample in range(EVENT_SAMPLES):
        left = sample / EVENT_SAMPLES
        right = (sample + 1) / EVENT_SAMPLES
        interpolate(ode, step, right)
        event_values(ode, record, t + right * h, step.z, record.g_new)
        cut = 2.0
        for e in range(record.events):
            if record.terminal[e] == EventKind.CUT and crosses(record.g[e], record.g_new[e], record.direction[e]):
                root = locate(ode, record, step, e, left, right, t, h)
                if root < AT_END:
                    record.g[e] = record.g_new[e]
                else:
                    cut = min(cut, root)
        if cut < 1.0 - AT_END:
            return cut
        if cut <= 1.0:
            break
    return 2.0


def find_events(ode: Ode, record: Record, step: StepState, t: float, h: float) -> float:
    """Log the events of a step; return the fraction of the step at which the run ends, 2 if it does not."""
    n = ode.n
    end = 2.0
    for sample in range(EVENT_SAMPLES):
        left = sample / EVENT_SAMPLES
        right = (sample + 1) / EVENT_SAMPLES
        if right < 1.0:
            interpolate(ode, step, right)
            event_values(ode, record, t + right * h, step.z, record.g_new)
        else:  # to the last bit what the next step begins with
            event_values(ode, record, t + h, step.y, record.g_new)
        for e in range(record.events):
            record.root[e] = 3.0
            if crosses(record.g[e], record.g_new[e], record.direction[e]):
                record.root[e] = locate(ode, record, step, e, left, right, t, h)
                if record.terminal[e] == EventKind.STOP:
                    end = min(end, record.root[e])
        for e in range(record.events):
            if record.root[e] <= end and record.terminal[e] != EventKind.CUT:
                at = ode.tally[Tally.LOGGED]
                interpolate(ode, step, record.root[e])
                record.log_t[at] = t + record.root[e] * h
                record.log_event[at] = e
                for k in range(n):
                    record.log_x[at * n + k] = step.z[k]
                ode.tally[Tally.LOGGED] = at + 1
            record.g[e] = record.g_new[e]
        if end <= 1.0:
            break
    return end
