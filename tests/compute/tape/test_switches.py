"""Times at which equations switch, read from their instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.compute.tape import one_sided_time as sides
from pliant.compute.tape.switches import Switches


def window(t: Any) -> Any:
    """A switch that stands in a function that is called."""
    x = ca.SX.sym("x")
    return ca.Function("window", [x], [ca.if_else(x > 0.4, 1, 0)], {"never_inline": True})(t)


CASES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "not before": (lambda t: ca.if_else(t >= 0.5, 1, 0), [0.5]),
    "after": (lambda t: ca.if_else(t > 0.5, 1, 0), [0.5]),
    "turned round": (lambda t: ca.if_else(ca.SX(0.7) > t, 1, 0), [0.7]),
    "shifted": (lambda t: ca.if_else(2 * t - 0.9 > 0, 1, 0), [0.45]),
    "window": (lambda t: ca.if_else(ca.logic_and(t > 0.2, t < 0.31), 1, 0), [0.2, 0.31]),
    "kink": (lambda t: ca.fmin(t / 0.3, 1.0) + ca.fabs(t - 0.8), [0.3, 0.8]),
    "saw-tooth": (lambda t: ca.fmod(t, 0.25), [0.25, 0.5, 0.75]),
    "stairs": (lambda t: ca.floor(4 * t) + ca.ceil(4 * t), [0.25, 0.5, 0.75]),
    "heaviside": (lambda t: ca.heaviside(t - 0.9), [0.9]),
    "square wave": (lambda t: ca.sign(ca.sin(4 * np.pi * t)), [0.25, 0.5, 0.75]),
    "nothing": (lambda t: ca.sin(t) + t**2, []),
}


def switches(f: Callable[[Any], Any]) -> Switches:
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 2)
    return Switches.of(ca.Function("f", [t, x], [ca.vertcat(f(t) * x[0], ca.if_else(x[1] > 0.3, x[0], t))]))


@pytest.mark.parametrize("case", CASES)
def test_switches_of_the_time(case: str) -> None:
    """Found to the margin that evaluations keep from a break; what hangs on the state is left alone."""
    f, times = CASES[case]
    found = switches(f).until(1.0)
    found = found[(found > 1e-12) & (found < 1 - 1e-12)]
    merged = found[np.diff(found, prepend=-1.0) > 1e-12]
    assert len(merged) == len(times)
    for a, b in zip(merged, times):
        assert abs(a - b) <= sides.margin(b) or case == "square wave"  # which is rounded itself
    np.testing.assert_allclose(merged, times, rtol=1e-14)


def test_a_switch_inside_a_function_that_is_called() -> None:
    t, x = ca.SX.sym("t"), ca.SX.sym("x")
    found = Switches.of(ca.Function("f", [t, x], [window(t) * x]))
    np.testing.assert_allclose(found.until(1.0), [0.4], rtol=1e-14)


def test_only_within_the_run() -> None:
    both = switches(lambda t: ca.if_else(t > 0.5, 1, 0) * ca.if_else(3 * t > 2.4, 1, 0))
    np.testing.assert_allclose(both.until(1.0), [0.5, 0.8], rtol=1e-15)
    assert both.until(0.6).tolist() == [0.5]
    assert both.until(0.4).tolist() == []


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("t", [0.0, 1e-9, 0.5, 3.0, 1e6])
def test_sides_of_a_break_are_numbers_apart(kind: Any, t: float) -> None:
    assert kind(sides.before(t, kind)) < kind(t) < kind(sides.after(t, kind))
