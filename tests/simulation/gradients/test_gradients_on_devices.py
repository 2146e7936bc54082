"""Gradients of batches on a graphics processor against those of packs; the device is this processor where none is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from cuda_shim import COMPILER, FakeCupy
from flyers import small, states
from pliant.compute.cuda import device as cuda_device
from pliant.gradients import gradient_batch
from pliant.integrators.cuda import adjoint as cuda_adjoint
from pliant.integrators.cuda import device_integrator
from simulation.gradients.test_run_gradients import running, terminal


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA source compiled as C++."""
    if COMPILER is None:
        pytest.skip("no C++ compiler is here")
    for module in (cuda_adjoint, cuda_device, device_integrator):
        monkeypatch.setattr(module, "cupy", FakeCupy)


def compared(model: pliant.Model, t_end: float, **arguments: Any) -> None:
    packs = gradient_batch(model, t_end, **arguments)
    for checkpoints in ("all", "fewest", 3):
        device = gradient_batch(model, t_end, **arguments, device="cuda", checkpoints=checkpoints)
        np.testing.assert_allclose(device.value, packs.value, rtol=1e-12)
        np.testing.assert_allclose(device.q_end, packs.q_end, rtol=0, atol=1e-12)
        for name, slope in packs.slopes.items():
            np.testing.assert_allclose(device[name], slope, rtol=0, atol=1e-11 * np.abs(slope).max(), err_msg=name)


@pytest.mark.slow
def test_samples_and_parameters_of_every_arm(rng) -> None:
    model, B = unequal_two_link().model(parameters=["payload.mass", "links.fore.beam.length"], stiffening="off"), 5
    times = np.sort(rng.uniform(0.005, 0.045, 6))
    compared(
        model, 0.05, q0=rng.normal(size=(B, 4)) * 0.1, torque=(times, rng.normal(size=(B, 6, 2)), "cubic"),
        p=model.nominal_parameters + rng.uniform(0, 0.2, size=(B, 2)), terminal=terminal, running=running, step=2e-3,
    )  # fmt: skip


@pytest.mark.slow
def test_quaternions_and_shared_torques(rng) -> None:
    model = small().model(stiffening="off")
    q0, qd0 = states(model, rng, 3)
    torque = rng.normal(size=model.n_joints)
    compared(model, 0.05, q0=q0, qd0=qd0, torque=torque, terminal=terminal, running=running, step=2e-3)


def test_slices_of_arms_are_the_whole(rng, monkeypatch) -> None:
    """With room for one block of threads at a time."""
    model = unequal_two_link().model(stiffening="off")
    arguments = {"q0": rng.normal(size=(150, 4)) * 0.1, "terminal": terminal, "step": 5e-3, "device": "cuda"}
    whole = gradient_batch(model, 0.02, **arguments)
    monkeypatch.setattr(cuda_adjoint, "MEMORY_SHARE", 1e-9)
    np.testing.assert_array_equal(gradient_batch(model, 0.02, **arguments, checkpoints="all")["q0"], whole["q0"])


def test_equations_that_are_too_long_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(cuda_adjoint, "LONGEST", 100)
    model = unequal_two_link().model(stiffening="off")
    with pytest.raises(pliant.UnsupportedModel, match="expected at most 100 for gradients on a GPU"):
        gradient_batch(model, 0.01, terminal=terminal, step=5e-3, device="cuda")
