"""Roots of a sliding beam that are integrated beside a run, and an arm that has them and solves for none."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.simulation.runs.simulation import simulate
from pliant_studies.theodore_ghosal.arms import with_modes
from pliant_studies.theodore_ghosal.sliding import IntegratedRoots, integrated_beside, true_roots

LENGTHS = 0.65 + 0.3 * np.cos(np.pi * (np.arange(30) + 0.5) / 30)


def accelerations(model: Model) -> Array:
    """Accelerations at a bent state in motion."""
    rng = np.random.default_rng(1)
    q, qd, tau = 0.01 * rng.normal(size=model.n), rng.normal(size=model.n), [1.0, 2.0, 3.0]
    q[model.index("slide")] = 0.7
    symbols = [ca.SX.sym(name, len(values)) for name, values in (("q", q), ("qd", qd), ("tau", tau))]
    f = ca.Function("f", symbols, [model.equations.forward_dynamics(*symbols)])
    return np.array(f(q, qd, tau), dtype=float).ravel()


def test_accelerations_are_those_of_solved_roots() -> None:
    """At roots that are right every derivative is, first and second; at others the arm is another one."""
    robot, beta = with_modes(), true_roots(LENGTHS)
    expected = accelerations(robot.model(stiffening="off"))
    found, other = (accelerations(IntegratedRoots.of(robot, LENGTHS, roots)) for roots in (beta, 1.001 * beta))
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * size)
    assert np.abs(other - expected).max() > 1e-4 * size


@pytest.mark.slow
def test_roots_follow_a_length_that_is_prescribed() -> None:
    """A run without vibration takes long steps; Runge-Kutta steps between its rows err in fourth order."""
    model = with_modes().model(stiffening="off")
    errors = []
    for step in (0.01, 0.005):
        run = simulate(model, 0.1, motion={"slide": lambda t: 0.3 + 2 * t}, output_step=step, progress=False)
        errors.append(np.abs(integrated_beside(run) - true_roots(run["slide"])).max())
    assert errors[0] < 1e-7
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.15)
