"""Closed loops of an arm kept closed during a run, and quaternions kept at length one: both after each step."""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import Doubles, call, shift
from pliant.integrators.step_control import MOST_CLOSING, NEARLY_CLOSED, SINGULAR
from pliant.integrators.step_loops.evaluation import place, within
from pliant.integrators.step_loops.loop_state import Ode


def norm(q: Doubles) -> float:
    """Length of a quaternion."""
    return math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])


def settle(ode: Ode, t: float, x: Doubles) -> bool:
    """Close the loops of the state at the end of a step, and normalize its quaternions. False: a loop cannot be closed
    there."""
    sound = True
    if ode.closing != 0:
        sound = close_loops(ode, t, x)
    normalize(ode, x)
    return sound


def close_loops(ode: Ode, t: float, x: Doubles) -> bool:
    """Close loops by Newton's steps of positions, with speeds along the closed loops, until none moves the state."""
    for _ in range(MOST_CLOSING):
        place(ode, x)
        ode.inp[0] = within(ode, t)
        call(ode.closing, ode.inp, ode.closed)
        for k in range(ode.n):
            x[k] = ode.closed[k]
        if not ode.closed[ode.n + 1] > SINGULAR:
            return False
        if ode.closed[ode.n] <= NEARLY_CLOSED:
            return True
    return False


def normalize(ode: Ode, x: Doubles) -> None:
    """Divide the quaternions of a state by their lengths."""
    for j in range(ode.turns):
        q = shift(x, ode.turn[j])
        length = norm(q)
        for k in range(4):
            q[k] /= length


def normalise_slopes(ode: Ode, x: Doubles, slopes: Doubles) -> None:
    """Change f at a state to f at the same state with normalized quaternions, which their rates are proportional to."""
    for j in range(ode.turns):
        length = norm(shift(x, ode.turn[j]))
        rate = shift(slopes, ode.turn[j])
        for k in range(4):
            rate[k] /= length
