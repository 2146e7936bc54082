"""Long runs: energy that stays, memory that stays."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import pliant

from .calls import model

START = {"upper": -1.5, "fore": 0.1}


def _resident() -> float:
    """Megabytes of memory in use by this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def test_energy_does_not_drift() -> None:
    """A million steps of 1 ms with the midpoint rule: the secular part of the energy error, by a straight line through
    it over the whole run, stays below 1e-6 of the energy that swings to and fro (without damping, torques or friction).

    The error that comes and goes with the swing is of second order in the step and left out on purpose: it does not
    grow.
    """
    robot = pliant.load("two-link")
    assert all(link.shapes is None or link.shapes.damping == 0.0 for link in robot.links)
    run = pliant.simulate(
        robot.model(), 1000.0, START, method="midpoint", step=1e-3, output_step=0.5, progress=False
    )  # fmt: skip
    assert run.stats.steps >= 1_000_000
    swing = run.energy.kinetic.max()
    error = (run.energy.total - run.energy.total[0]) / swing
    slope = np.polyfit(run.t / run.t[-1], error, 1)[0]
    assert abs(slope) < 1e-6
    assert swing > 0.1  # joules: it moves


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the memory tables of Linux")
def test_an_hour_takes_no_more_memory_than_a_minute() -> None:
    """3600 s of the two-link arm; what grows is the result alone, whose rows are asked for once per second."""
    pliant.simulate(model(), 60.0, START, method="rk4", step=1e-3, output_step=1.0, progress=False)
    before = _resident()
    run = pliant.simulate(model(), 3600.0, START, method="rk4", step=1e-3, output_step=1.0, progress=False)
    assert run.stats.steps >= 3_600_000
    assert len(run) == 3601
    assert _resident() - before < 10  # megabytes; a leak of 8 bytes per step would be 29


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the memory tables of Linux")
def test_runs_and_models_are_given_back() -> None:
    """Repeated runs, repeated batches of states, and models of ever new robots, whose machine code goes with them."""
    q = np.zeros((2000, 4))

    def runs() -> None:
        for _ in range(200):
            pliant.simulate(model(), 0.05, START, progress=False).energy.total.max()
            model().forward_dynamics(q, q, q[:, :2])

    def models(first: int) -> None:
        for k in range(first, first + 60):
            m = pliant.load("two-link").replace({"payload.mass": 0.1 + 1e-3 * k}).model()
            m.forward_dynamics(q[0], q[0], q[0, :2])
            pliant.simulate(m, 0.01, START, progress=False)

    for work in (runs, lambda: models(0)):  # what is kept once and for all
        work()
    before = _resident()
    runs()
    after_runs = _resident()
    models(100)
    after_models = _resident()
    assert after_runs - before < 10
    assert after_models - after_runs < 40  # megabytes; 60 models that were kept would be over 60
