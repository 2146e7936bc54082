"""Runs that nobody waits for, and results that no memory holds, are refused before they begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.batch import simulate_batch
from pliant.control import PD, Sampled

from .calls import model

LAW = PD(kp=1.0, kd=1.0, reference=[0.0, 0.0])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "rk4", "step": 1e-300}, "step: got 1e-300"),
        ({"method": "midpoint", "step": 1e-12}, "step: got 1e-12"),
        ({"output_step": 1e-12}, "output_step: got 1e-12"),
        ({"controller": Sampled(LAW, 1e-13)}, "sample_time: got 1e-13"),
        ({"torque": lambda t, q, qd: np.zeros(2), "sample_time": 1e-13}, "sample_time: got 1e-13"),
    ],
)
def test_endless_runs_are_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(pliant.ModelError, match=named):
        pliant.simulate(model(), 1.0, **options)


@pytest.mark.parametrize("options", [{"step": 1e-12}, {"step": 1e-3, "output_step": 1e-12}])
def test_endless_batches_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(pliant.ModelError, match="got 1e-12"):
        simulate_batch(model(), 1.0, np.zeros((2, 4)), **options)


def test_a_batch_beyond_memory_is_refused() -> None:
    """A broadcast array costs nothing until somebody asks for 10^12 answers."""
    with pytest.raises(pliant.PliantError, match="fit into memory"):
        model().bias(np.broadcast_to(0.0, (10**12, 4)), np.zeros(4))
