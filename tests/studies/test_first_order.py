"""First-order model of the spin-up beam: against virtual work by quadrature, and its audited peaks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pliant.model.model import Model
from pliant.simulation.runs.results import Result
from pliant_studies.flexible_joints.beam import LENGTH, SpinningBeam, shapes
from pliant_studies.flexible_joints.runs import spin_up, spinning

PEAKS = {0.6: 0.0855, 2.0: 0.2803, 3.0: 0.4116, 4.0: 0.5345, 6.0: 0.7527, 8.0: 0.9358, 10.0: 1.0884}
FEW = (2.0, 8.0)


@cache
def model(order: str) -> Model:
    return spinning(order)


def peak(order: str, speed: float) -> float:
    """Largest lag of the tip; the beam stays there, for the residual vibration is small."""
    lag = -spin_up(model(order), speed, 20.0).deflection("arm")[:, 1]
    assert np.abs(lag[-500:]).max() < 0.05 * lag.max()
    return float(lag.max())


def test_accelerations_are_those_of_virtual_work() -> None:
    """At a state that is bent far, under a hub that turns and speeds up."""
    arm, beam = model("first"), SpinningBeam("first", 3)
    c, cd, omega, alpha = np.array([0.4, -0.05, 0.01]), np.array([0.2, 0.3, -0.1]), 3.0, 0.7
    q, qd = np.append(0.3, c), np.append(omega, cd)
    M, bias = arm.mass_matrix(q), arm.bias(q, qd)
    found = np.linalg.solve(M[1:, 1:], -bias[1:] - M[1:, 0] * alpha)
    scale = arm.link_shapes[0].evaluate(1.0)[0] / shapes(np.array([LENGTH]), 3, 0)[0]  # of shapes over theirs
    expected = beam.acceleration(scale * c, scale * cd, omega, alpha) / scale
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("speed", [s if s in FEW else pytest.param(s, marks=pytest.mark.full) for s in PEAKS])
def test_audited_peaks(speed: float) -> None:
    assert peak("first", speed) == pytest.approx(PEAKS[speed], rel=0.01)


def test_orders_differ_as_audited() -> None:
    slow, fast = (1 - peak("first", speed) / peak("high", speed) for speed in (2.0, 10.0))
    assert abs(slow) < 0.002
    assert 0.01 < fast < 0.025


@pytest.mark.full
def test_spin_about_y_and_z_alike() -> None:
    z, y = (spin_up(spinning("first", axis), 6.0, 15.0).deflection("arm") for axis in ((0, 0, 1), (0, 1, 0)))
    assert np.abs(z[:, 1]).max() == pytest.approx(np.abs(y[:, 2]).max(), rel=1e-9)  # mirror images, but for round-off


def test_the_energy_of_a_run_balances() -> None:
    run: Result = spin_up(model("first"), 8.0, 20.0)
    assert run.stats.energy_error < 1e-9
    assert np.abs(run.power_residual).max() < 1e-9 * run.energy.kinetic.max()
