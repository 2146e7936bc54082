"""A GPU made of this processor."""

from __future__ import annotations

import pytest

from batch_arms import two_links
from cuda_shim import COMPILER, FakeCupy
from pliant.compute.cuda import device as cuda_device
from pliant.compute.llvm import llvm
from pliant.integrators.cuda import device_integrator
from pliant.simulation.batch import arguments as batch_given
from pliant.simulation.batch import devices as batch_engines


@pytest.fixture(autouse=True)
def _optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code as users have it but for the longest: what LLVM makes of packs is the subject here."""
    monkeypatch.setattr(llvm, "LONGEST_OPTIMIZED", max(llvm.LONGEST_OPTIMIZED, 2000))


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    """`device="cuda"` on this processor."""
    if COMPILER is None:
        pytest.skip("no C++ compiler on this machine")
    fake = FakeCupy()
    for module in (cuda_device, device_integrator, batch_engines, batch_given):
        monkeypatch.setattr(module, "cupy", lambda: fake)
    return fake


@pytest.fixture(scope="session")
def model():
    return two_links().model()
