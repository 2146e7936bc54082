"""Equations evaluated within a stepping loop, on the right side of a jump: f and its Jacobian."""

from __future__ import annotations

from pliant.compute.compiled_loops.primitives import Doubles, call, shift
from pliant.compute.tape.one_sided_time import MARGIN
from pliant.integrators.step_loops.loop_state import Clock, Newton, Ode, Tally

EPS = 2.220446049250313e-16
SMALLEST = 2.2250738585072014e-308  # a time that is later than zero


def within(ode: Ode, t: float) -> float:
    """Move a time inside the segment between two breaks: a step that ends at a jump reads f before it, the next step
    f behind it, however f compares t with the time of the jump."""
    return max(min(t, ode.clock[Clock.UNTIL]), ode.clock[Clock.FROM])


def roundings(t: float) -> float:
    """Time between a break at t and the evaluations beside it, as `tape.one_sided_time.margin`."""
    return max(MARGIN * EPS * abs(t), SMALLEST)


def evaluate(ode: Ode, t: float, out: Doubles) -> None:
    """out = f(t, x, p), with x already in place in the input."""
    ode.inp[0] = within(ode, t)
    if ode.callback != 0:
        call(ode.callback, ode.inp, shift(ode.inp, 1 + ode.n))
    call(ode.rhs, ode.inp, out)
    ode.tally[Tally.RHS] += 1


def place(ode: Ode, x: Doubles) -> None:
    """Put a state into the input of the kernels."""
    for k in range(ode.n):
        ode.inp[1 + k] = x[k]


def jacobian(ode: Ode, newton: Newton, t: float, x: Doubles) -> None:
    """J = [df/dx by rows, df/dt] at (t, x): exact, or by differences where a Python callback makes p depend on x."""
    n = ode.n
    J = newton.J
    base = newton.work
    ahead = shift(base, n)
    ode.tally[Tally.JACOBIANS] += 1
    place(ode, x)
    if ode.jacobian != 0 and ode.callback == 0:
        ode.inp[0] = within(ode, t)
        call(ode.jacobian, ode.inp, J)
        return
    evaluate(ode, t, base)
    for j in range(n + 1):
        if j < n:
            delta = 1.5e-8 * max(abs(x[j]), 1e-2)
            ode.inp[1 + j] = x[j] + delta
            delta = ode.inp[1 + j] - x[j]
            evaluate(ode, t, ahead)
            ode.inp[1 + j] = x[j]
            for i in range(n):
                J[i * n + j] = (ahead[i] - base[i]) / delta
        else:
            delta = 1.5e-8 * max(abs(t), 1e-2)
            if t + delta > ode.clock[Clock.UNTIL]:
                delta = -delta
            evaluate(ode, t + delta, ahead)
            for i in range(n):
                J[n * n + i] = (ahead[i] - base[i]) / delta
