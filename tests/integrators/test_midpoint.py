"""The implicit midpoint rule: symplectic, solved to round-off, no drift."""

from __future__ import annotations

import numpy as np
import pytest

from odes import kepler, oscillator, pendulum, pendulum_energy
from pliant.integrators import solve

STEPS = 100_000


def test_quadratic_invariant_is_kept_over_many_steps():
    # An orthogonal map in exact arithmetic: round-off of 1e5 steps, as a random walk, is 316 * 2e-16.
    run = solve(oscillator(), (0, 0.1 * STEPS), [1.0, 0.0], method="midpoint", step=0.1)
    assert run.stats.steps == STEPS
    energy = 0.5 * (run.x**2).sum(axis=1)
    assert np.abs(energy - 0.5).max() < 2e-13


def test_energy_of_the_pendulum_has_no_secular_drift():
    run = solve(pendulum(), (0, 0.05 * STEPS), [2.0, 0.0], method="midpoint", step=0.05)
    energy = pendulum_energy(run.x)
    tenths = energy[1:].reshape(10, -1).mean(axis=1)
    swing = np.ptp(energy)
    assert 1e-5 < swing < 1e-3  # the bounded oscillation of a second-order method, h^2 / 24 ...
    # ... while the means over tenths of the run agree to a small part of it: they sample the phases differently.
    assert np.ptp(tenths) < 2e-3 * swing


def test_run_can_be_reversed():
    forth = solve(pendulum(), (0, 20), [2.0, 0.3], method="midpoint", step=0.05)
    back = solve(pendulum(), (0, 20), forth.x_end * [1, -1], method="midpoint", step=0.05)
    # The rule is symmetric: only round-off, stretched by the pendulum's linear growth over 800 steps, remains.
    assert back.x_end * [1, -1] == pytest.approx([2.0, 0.3], abs=1e-11)


def test_factors_are_kept_while_they_serve():
    run = solve(kepler(), (0, 2), [1.0, 0.0, 0.0, 1.0], method="midpoint", step=0.01)
    assert run.stats.factorizations < run.stats.steps / 2


def test_without_convergence_the_run_stops():
    run = solve(kepler(), (0, 10), [1.0, 0.0, 0.0, 0.01], method="midpoint", step=2.0)
    assert run.status == "failed"
    assert run.failure.kind in ("no convergence", "non-finite")
    assert run.failure.step == pytest.approx(2.0)
