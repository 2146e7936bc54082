"""Friction with a state, and limits that are named, on a graphics processor as in packs."""

from __future__ import annotations

import numpy as np
import pytest

from arms import unequal_two_link
from driven_arms import everything
from pliant import simulate_batch
from pliant.robot import Friction


@pytest.mark.parametrize("method", ["rk4", pytest.param("dopri5", marks=pytest.mark.full)])
def test_a_device_holds_and_slides_as_packs_do(device, method: str) -> None:
    friction = {"links.upper.joint.friction": Friction(coulomb=30.0, coulomb_speed=0.3, bristle=1e-3)}
    limits = {"links.fore.joint.limits": {"lower": -0.6}}
    model = unequal_two_link().replace({**friction, **limits, "gravity": (0.0, -1.0, 0.0)}).model()
    options = {"step": 5e-4, "output_step": 0.05, "method": method, "torque": [[0.0, 0.0], [60.0, 0.0], [0.0, 2.0]]}
    here = simulate_batch(model, 0.8, [0.2, 0.1], **options)
    there = simulate_batch(model, 0.8, [0.2, 0.1], **options, device="cuda")
    assert np.nanmax(np.abs(here.q - there.q)) < 1e-8
    assert np.abs(here.q[2, :, 0] - 0.2).max() < 1e-3
    assert np.nanmax(here.q[1, :, 0]) > 0.3
    assert here.stopped_by == there.stopped_by
    assert "fore at its lower limit" in here.stopped_by
    assert np.array_equal(here.ended, there.ended)


def test_drives_on_a_device_are_those_of_packs(device) -> None:
    """LuGre's and Dahl's friction, a gear that yields, play, amplifiers and windings."""
    options = {"step": 2e-5, "output_step": 2e-3, "method": "rk4", "torque": [[4.0, 1.0], [-3.0, 0.5]]}
    here = simulate_batch(everything().model(), 0.02, **options)
    there = simulate_batch(everything().model(), 0.02, **options, device="cuda")
    assert np.abs(here.q - there.q).max() < 1e-12
    assert np.ptp(here.q[:, :, 2], axis=1).min() > 1e-4
