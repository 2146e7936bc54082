"""Stiff problems: the damped method, its linear algebra, the choice of `auto`, and the report of a crawl."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

from odes import STIFF_RATE, STIFF_START, kepler, linear, make, pendulum, stiff_chain, van_der_pol
from pliant.integrators import solve


def test_van_der_pol_against_the_published_value():
    # E. Hairer, G. Wanner, test set for stiff ODEs: VDPOL, eps = 1e-6, t = 2
    run = solve(van_der_pol(), (0, 2), [2.0, -0.66], method="rodas5p", p=[1e6, 1e6], rtol=1e-9, atol=1e-11)
    assert run.status == "finished"
    assert run.x_end == pytest.approx([1.706167732170483, -0.8928097010247975], rel=1e-6)
    assert run.stats.steps < 5000


@pytest.mark.parametrize("n", [1, 2, 17, 30])
def test_dense_linear_system_against_the_matrix_exponential(n):
    problem, A = linear(n, seed=n)
    x0 = np.random.default_rng(1).normal(size=n)
    run = solve(problem, (0, 1), x0, method="rodas5p", rtol=1e-9, atol=1e-11)
    # ten times the sum of local errors
    assert run.x_end == pytest.approx(expm(A) @ x0, abs=1e-8)


@pytest.mark.parametrize("method", ["rodas5p", "midpoint"])
def test_elimination_of_positions_changes_nothing(method):
    """Half-size linear systems give the same run as full ones, up to round-off."""
    step = 0.01
    options = {"method": method, "step": step, "atol": 1e3, "breaks": np.arange(step, 1.0, step)}
    reduced = solve(kepler(), (0, 1), [1.0, 0.0, 0.1, 1.0], **options)
    full = solve(replace(kepler(), n_positions=0), (0, 1), [1.0, 0.0, 0.1, 1.0], **options)
    assert reduced.x_end == pytest.approx(full.x_end, abs=1e-12)


def test_false_claim_about_positions_is_refused():
    problem = make(lambda t, x, p: -x, 2)
    with pytest.raises(ValueError, match="n_positions = 1"):
        solve(replace(problem, n_positions=1), (0, 1), [1.0, 0.5])


@pytest.mark.parametrize("method", ["rodas5p", "midpoint"])
def test_without_a_jacobian_differences_serve(method):
    options = {"method": method, "step": 0.01}
    exact = solve(stiff_chain(), (0, 0.5), STIFF_START, **options)
    differences = solve(replace(stiff_chain(), jacobian=None), (0, 0.5), STIFF_START, **options)
    assert differences.stats.rhs > exact.stats.rhs
    # rodas5p sees the differences' error of 1e-8 in J, far below its tolerance; midpoint solves the same equations
    assert differences.x_end[:12] == pytest.approx(exact.x_end[:12], abs=1e-8)


def test_auto_takes_the_stiff_method_and_saves_twentyfold():
    options = {"rtol": 1e-6, "atol": 1e-8, "outputs": np.linspace(0, 5, 101)}
    auto = solve(stiff_chain(), (0, 5), STIFF_START, method="auto", **options)
    assert auto.stats.method == "rodas5p"
    assert "rodas5p" in auto.stats.reason
    assert auto.stats.stiffness.rate == pytest.approx(STIFF_RATE, rel=0.02)
    assert 0.2 < auto.stats.stiffness.stiff_steps / auto.stats.steps < 5  # an estimate, good to its order of magnitude
    explicit = solve(stiff_chain(), (0, 5), STIFF_START, method="dopri5", **options)
    assert explicit.stats.steps > 20 * auto.stats.steps
    # the swing of the pendulum: two runs at rtol 1e-6 whose errors grow along the orbit
    assert np.abs(auto.x[:, 0] - explicit.x[:, 0]).max() < 1e-5


@pytest.mark.parametrize(("rtol", "method"), [(1e-3, "dopri5"), (1e-8, "dop853")])
def test_auto_stays_explicit_where_nothing_is_stiff(rtol, method):
    run = solve(pendulum(), (0, 10), [1.0, 0.0], rtol=rtol)
    assert run.stats.method == method
    assert "cheap" in run.stats.reason


def test_auto_stays_explicit_where_fast_modes_are_visible():
    """An undamped fast oscillation far above the tolerance has to be followed anyway."""
    problem = make(lambda t, x, p: ca.vertcat(x[1], -1e10 * x[0]), 2, n_positions=1)
    run = solve(problem, (0, 2), [1.0, 0.0], rtol=1e-8, max_steps=100)
    assert run.stats.method == "dop853"
    assert "gain" in run.stats.reason


def test_auto_follows_a_fast_mode_that_grows():
    """A damped method with steps far beyond its rate would hold it down, and hide that the motion is unstable."""
    problem = make(lambda t, x, p: ca.vertcat(1e6 * x[0], -x[1]), 2)
    run = solve(problem, (0, 1), [1e-30, 1.0], rtol=1e-8, max_steps=300)
    assert run.stats.method == "dop853"
    assert run.x_end[0] > 1e-20


def test_auto_changes_when_stiffness_appears_later():
    def f(t, x, p):
        rate = 1.0 + 1e5 * x[1]  # grows from nothing to 1e5 as x[1] goes from 0 to 1
        return ca.vertcat(-rate * (x[0] - x[1]), 1.0 - x[1])

    run = solve(make(f, 2), (0, 20), [1.0, 0.0], rtol=1e-6, atol=1e-8)
    assert run.stats.method == "rodas5p"
    assert "changed at t" in run.stats.reason
    assert run.x_end == pytest.approx([1.0, 1.0], abs=1e-5)


def test_crawl_names_the_stiffest_coordinate():
    run = solve(stiff_chain(), (0, 5), STIFF_START, method="dopri5", rtol=1e-6, atol=1e-8)
    assert run.stats.crawling
    assert run.stats.stiffness.index % 12 == 11


def test_no_crawl_is_reported_on_an_easy_problem():
    run = solve(kepler(), (0, 200), [1.0, 0.0, 0.0, 1.2], method="dopri5", rtol=1e-3, atol=1e-3)
    assert not run.stats.crawling
