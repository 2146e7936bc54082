"""The bench of predictive control: the same problem by IPOPT, and the bounds of its loop."""

from __future__ import annotations

import numpy as np
import pytest

from pliant_bench.mpc import KEPT, Maneuver, converged, one_step, predicted_violation, simulated_violation, two_link
from pliant_bench.mpc_peers import Begun, nonlinear_program


@pytest.fixture(scope="module")
def given() -> Maneuver:
    return two_link()


@pytest.fixture(scope="module")
def begun(given: Maneuver) -> Begun:
    return Begun.of(given.posed(), given.start)


@pytest.mark.slow
def test_bounds_are_kept_by_the_setting_that_is_timed(given: Maneuver, begun: Begun) -> None:
    """At the samples of the simulated arm and as predicted; a violation of nothing would be no finding."""
    assert simulated_violation(begun, 16) < KEPT
    assert predicted_violation(begun, 16) < KEPT
    assert predicted_violation(begun, 16) > -1e-6


@pytest.mark.slow
def test_a_step_is_the_optimum_that_ipopt_finds(begun: Begun) -> None:
    theirs = nonlinear_program(begun)
    exact = theirs()
    assert "not solved" not in theirs.told()
    for ours in (one_step(begun)(), converged(begun)):
        assert np.abs(ours - exact).max() < 2e-6 * np.abs(exact).max()
