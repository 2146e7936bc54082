"""Observed order of every stepper and of its dense output, on a nonlinear system driven by time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from odes import pendulum, wave, wave_exact
from pliant.integrators import solve

END = 1.2
DENSE = np.linspace(0.0, END, 1009)  # 1009 is prime: the rows fall anywhere within the steps
# Method, its order, numbers of steps between the first asymptotic ones and round-off. The leading error of dopri5
# nearly vanishes on the driven system, so its order is seen on the pendulum.
CASES = [
    ("rk4", 4, (40, 80, 160)),
    ("midpoint", 2, (100, 200, 400)),
    ("dopri5", 5, (20, 40, 80)),
    ("dop853", 8, (12, 16, 20)),
    ("rodas5p", 5, (40, 80, 160)),
]


@cache
def pendulum_reference() -> np.ndarray:
    """A run with the smallest tolerance: good to 1e-14, three digits beyond what is compared with it."""
    return solve(
        pendulum(), (0.0, END), [2.0, 0.5], method="dop853", rtol=1e-14, atol=1e-16, step=0.01, outputs=DENSE
    ).x


def error(method: str, steps: int, dense: bool) -> float:
    """Largest error over the run, or at its end; tolerances are so wide that breaks alone decide the steps."""
    problem, exact = (pendulum(), pendulum_reference()) if method == "dopri5" else (wave(), wave_exact(DENSE))
    grid = np.linspace(0.0, END, steps + 1)
    run = solve(problem, (0.0, END), exact[0], method=method, step=END / steps, atol=1e3, breaks=grid, outputs=DENSE)
    assert run.status == "finished"
    assert run.stats.steps <= steps + 8  # the first few adaptive steps are shorter
    return float(np.abs(run.x - exact).max() if dense else np.abs(run.x[-1] - exact[-1]).max())


@pytest.mark.parametrize("dense", [False, True], ids=["steps", "dense"])
@pytest.mark.parametrize(("method", "order", "numbers"), CASES)
def test_observed_order(method, order, numbers, dense):
    errors = [error(method, n, dense) for n in numbers]
    slopes = np.diff(np.log(errors)) / -np.diff(np.log(numbers))
    assert slopes[-1] == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p"])
def test_dense_output_is_as_accurate_as_the_steps(method, rtol):
    run = solve(pendulum(), (0.0, END), [2.0, 0.5], method=method, rtol=rtol, atol=rtol, outputs=DENSE)
    assert run.stats.steps < 300  # most rows lie inside steps
    # A global error of ten times the local tolerance, which holds for the steps, holds for the rows between them.
    assert np.abs(run.x - pendulum_reference()).max() < 10 * rtol


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_error_follows_the_tolerance(method, rtol):
    run = solve(wave(), (0.0, END), wave_exact(0.0), method=method, rtol=rtol, atol=rtol * 1e-2)
    error = np.abs(run.x / wave_exact(run.t) - 1)[:, :3].max()
    # The system stretches errors about a hundredfold; local tolerance per step gives the rest.
    assert error < 300 * rtol


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"])
def test_requested_rows_do_not_change_the_steps(method):
    step = 0.01 if method in ("rk4", "midpoint") else None
    few, many = (
        solve(wave(), (0.0, END), wave_exact(0.0), method=method, step=step, outputs=np.linspace(0, END, rows))
        for rows in (2, 777)
    )
    assert np.array_equal(few.x[-1], many.x[-1])
    assert few.stats.steps == many.stats.steps
