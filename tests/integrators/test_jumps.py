"""A right-hand side that jumps at a declared break: the run is two runs joined there, however f compares the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from odes import make
from pliant.integrators import Problem, solve

JUMP, END, START = 0.5, 1.3, np.array([0.3, -0.2])
COMPARISONS: dict[str, Callable[[Any], Any]] = {">=": lambda t: t >= JUMP, ">": lambda t: t > JUMP}
ADAPTIVE = ("dopri5", "dop853", "rodas5p")


def swing(push: Callable[[Any], Any]) -> Problem:
    """A stiff, hardly damped oscillator under a push."""
    return make(lambda t, x, p: ca.vertcat(x[1], -400 * x[0] - 0.1 * x[1] + push(t) + ca.sin(t)), 2, n_positions=1)


def joined(**options: Any) -> tuple[np.ndarray, int]:
    """Two runs without a jump, the second from where the first ends."""
    before = solve(swing(lambda t: 0.0), (0.0, JUMP), START, **options)
    after = solve(swing(lambda t: 500.0), (JUMP, END), before.x[-1], **options)
    return after.x[-1], before.stats.steps + after.stats.steps


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("method", ADAPTIVE)
def test_adaptive_steps_see_either_side(method, comparison):
    options = {"method": method, "rtol": 1e-8, "atol": 1e-10}
    run = solve(swing(lambda t: 500.0 * COMPARISONS[comparison](t)), (0.0, END), START, breaks=[JUMP], **options)
    x, steps = joined(**options)
    np.testing.assert_allclose(run.x[-1], x, rtol=10 * 1e-8, atol=10 * 1e-8)
    assert run.stats.steps <= steps + 5


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("method", ["adams", "bdf"])
def test_multistep_methods_see_either_side(method, comparison):
    """Without either side in sight they get through as well, after some ten steps that are refused."""
    options = {"method": method, "rtol": 1e-8, "atol": 1e-10, "outputs": [END]}
    run = solve(swing(lambda t: 500.0 * COMPARISONS[comparison](t)), (0.0, END), START, breaks=[JUMP], **options)
    before = solve(swing(lambda t: 0.0), (0.0, JUMP), START, **options | {"outputs": [JUMP]})
    after = solve(swing(lambda t: 500.0), (JUMP, END), before.x[-1], **options)
    np.testing.assert_allclose(run.x[-1], after.x[-1], rtol=10 * 1e-8, atol=10 * 1e-8)
    assert run.stats.steps <= before.stats.steps + after.stats.steps + 1
    assert run.stats.rejected <= before.stats.rejected + after.stats.rejected + 1


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p"])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_jump_that_nobody_declares_is_found(method, comparison, size):
    options = {"method": method, "rtol": 1e-8, "atol": 1e-10}
    run = solve(swing(lambda t: size * COMPARISONS[comparison](t)), (0.0, END), START, **options)
    before = solve(swing(lambda t: 0.0), (0.0, JUMP), START, **options)
    after = solve(swing(lambda t: size), (JUMP, END), before.x[-1], **options)
    scale = np.abs(after.x).max()
    assert np.abs(run.x[-1] - after.x[-1]).max() <= 10 * 1e-8 * scale
    attempts = [one.stats.steps + one.stats.rejected for one in (run, before, after)]
    assert attempts[0] <= attempts[1] + attempts[2] + 5


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_fixed_steps_see_either_side(method, comparison):
    options = {"method": method, "step": 0.01}
    run = solve(swing(lambda t: 500.0 * COMPARISONS[comparison](t)), (0.0, END), START, breaks=[JUMP], **options)
    np.testing.assert_allclose(run.x[-1], joined(**options)[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_a_break_that_means_the_same_number(comparison):
    """0.1 + 0.4 and the like: the break and the number in f differ in the last bits."""
    options = {"method": "dop853", "rtol": 1e-9, "atol": 1e-11}
    problem = swing(lambda t: 500.0 * COMPARISONS[comparison](t))
    for late in (-2, 2):
        at = JUMP * (1 + late * 2.0**-53)
        run = solve(problem, (0.0, END), START, breaks=[at], **options)
        np.testing.assert_allclose(run.x[-1], joined(**options)[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", [*ADAPTIVE, "rk4", "midpoint"])
def test_a_jump_at_the_start_has_happened(method):
    options = {"method": method, "step": 0.01} if method in ("rk4", "midpoint") else {"method": method, "rtol": 1e-9}
    late = solve(swing(lambda t: 500.0 * (t > 0)), (0.0, 0.4), START, **options)
    always = solve(swing(lambda t: 500.0), (0.0, 0.4), START, **options)
    np.testing.assert_allclose(late.x[-1], always.x[-1], rtol=1e-7)
