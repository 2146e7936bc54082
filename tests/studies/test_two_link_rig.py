"""The two-link rig from its encoders alone: strains as well as the published comparison has them, data sheet and
estimated numbers; and its locked frequencies."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import MeasuredMotion
from pliant.identification import Strain
from pliant.validation import free_decay, validate
from pliant_studies.measured import MEASURED_RUNS, RIGS, load_rig, measured_run

THICKNESS = {"2dsfl-nominal": (0.050, 0.035), "2dsfl-estimated": (0.050, 0.032)}
"""Inches."""
REACHED = {
    ("2dsfl-nominal", "lqr_square"): (0.26, 0.53),
    ("2dsfl-nominal", "lqg_staircase"): (1.05, 1.00),
    ("2dsfl-estimated", "lqr_square"): (0.25, 0.315),
    ("2dsfl-estimated", "lqg_staircase"): (0.365, 0.375),
}
"""NRMSE of both strains, rounded up."""
RINGING = [(6.6, 7.8), (16.6, 17.8), (26.6, 27.8)]
"""Seconds of lqr_square in which both joints stand still."""


@cache
def from_encoders(rig: str, name: str) -> Any:
    run, model = measured_run(name), load_rig(rig).model(stiffening="off")
    t = run["t_s"] - run["t_s"][0]
    angles = np.column_stack([run["theta1_rad"], run["theta2_rad"]])
    motion = MeasuredMotion(t, angles, order=4, window=17)
    gauges = {
        f"strain{k + 1}": Strain(link, 0.0, at=(-0.0254 * THICKNESS[rig][k] / 2, 0.0))
        for k, link in enumerate(("shoulder", "elbow"))
    }
    read = {name: run[name] for name in gauges}
    recording = pliant.identification.Recording(t, read, motion=motion.motion(model), sensors=gauges, name=name)
    return validate(model, recording, skip=1.0)


DAILY = ("2dsfl-estimated", "lqr_square")
SLOW = [pytest.param(*key, marks=pytest.mark.full) for key in REACHED if key != DAILY]


@pytest.mark.parametrize(("rig", "name"), [DAILY, *SLOW])
def test_strains_from_the_encoders(rig: str, name: str) -> None:
    found = from_encoders(rig, name)
    for channel, limit in zip(("strain1", "strain2"), REACHED[rig, name]):
        match = found.channels[channel]
        assert match.nrmse < limit
        assert match.fit == pytest.approx(100 * (1 - match.nrmse))
    assert found.warnings == ()


def test_the_estimated_arm_leaves_a_lag_of_a_sample() -> None:
    """Both gauges read late by some milliseconds, at the rate of 250 Hz about one sample."""
    found = from_encoders("2dsfl-estimated", "lqr_square")
    for channel in ("strain1", "strain2"):
        match = found.channels[channel]
        assert 0.001 < match.delay < 0.02
        assert match.nrmse_undelayed < match.nrmse
    first = found.channels["strain1"]
    strongest = first.frequencies[1:][first.measured_spectrum[1:].argmax()]
    assert strongest < 3.0
    assert 0.8 < first.coherence.max() < 1.0 + 1e-12


def test_frequencies_of_the_locked_arm() -> None:
    """Measured by a fit, beside those of the model with its joints held: 1.92 to 1.94 and 5.5 to 5.7 Hz at an elbow of
    10 degrees, as published."""
    run = measured_run("lqr_square")
    t = run["t_s"]
    for begin, end in RINGING:
        rows = (t >= begin) & (t < end)
        decay = free_decay(t[rows], np.column_stack([run["strain1"], run["strain2"]])[rows], [1.85, 5.68])
        assert 1.85 < decay.frequencies[0] < 2.0
        assert 5.4 < decay.frequencies[1] < 5.85
        assert (decay.damping < 0.05).all()
    for rig, wanted in (("2dsfl-nominal", (1.86, 6.46, 35.3, 65.7)), ("2dsfl-estimated", (1.84, 5.76, 34.9, 58.8))):
        model = load_rig(rig).model(stiffening="off")
        held = model.frequencies()
        np.testing.assert_allclose(held[:4], wanted, rtol=0.01)


@pytest.mark.parametrize("name", MEASURED_RUNS)
def test_runs_can_be_read(name: str) -> None:
    run = measured_run(name)
    t = run["t_s"]
    assert np.diff(t) == pytest.approx(np.full(len(t) - 1, t[1] - t[0]), rel=1e-6)
    assert {len(column) for column in run.values()} == {len(t)}
    whole = [column for column in run.values() if np.isfinite(column).all()]
    assert len(whole) >= len(run) - 2


@pytest.mark.parametrize("name", RIGS)
def test_robots_can_be_read(name: str) -> None:
    assert load_rig(name).model(stiffening="off").n > 1


def test_unknown_names() -> None:
    with pytest.raises(pliant.ModelError, match="name: got 'x', expected one of lqr_square"):
        measured_run("x")
    with pytest.raises(pliant.ModelError, match="name: got 'x', expected one of 2dsfl-nominal"):
        load_rig("x")
