"""Comparison of runs with recordings: measures, decays, and recordings that are not fit for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError
from pliant.validation import (
    fit_percent,
    free_decay,
    nrmse,
    pooled_nrmse,
    recording_doubts,
    recording_faults,
    validate,
)


def test_measures() -> None:
    m = np.array([0.0, 1.0, 2.0, 5.0])
    y = m + np.array([0.1, -0.2, 0.3, 0.0])
    wanted = np.sqrt(np.mean((y - m) ** 2)) / np.std(m)
    assert nrmse(y, m) == pytest.approx(wanted, rel=1e-14)
    assert fit_percent(y, m) == pytest.approx(100 * (1 - wanted), rel=1e-14)
    others = np.array([100.0, 101.0]), np.array([100.0, 102.0])
    top, below = ((y - m) ** 2).sum() + 1.0, ((m - m.mean()) ** 2).sum() + 2.0
    assert pooled_nrmse([y, others[0]], [m, others[1]]) == pytest.approx(np.sqrt(top / below), rel=1e-14)
    for bad in ([1.0], [1.0, np.nan], "x"):
        with pytest.raises(ModelError, match="predicted"):
            nrmse(bad, [1.0, 2.0])
    with pytest.raises(ModelError, match="constant"):
        nrmse([1.0, 2.0], [3.0, 3.0])


def test_a_decay_is_found_again(rng: Any) -> None:
    """Two modes in two channels, with offset, drift and noise."""
    t = np.linspace(0, 2, 501)
    f, z = np.array([1.83, 5.7]), np.array([0.02, 0.008])
    a = np.array([[1.0, 0.7], [0.2, -0.8]])
    w = 2 * np.pi * f
    modes = np.exp(-np.outer(t, z * w)) * np.cos(np.outer(t, w * np.sqrt(1 - z**2)))
    read = modes @ a + 0.3 + 0.1 * t[:, None] + 1e-3 * rng.normal(size=(501, 2))
    found = free_decay(t, read, [1.9, 5.5])
    np.testing.assert_allclose(found.frequencies, f, rtol=1e-3)
    np.testing.assert_allclose(found.damping, z, atol=1e-3)
    np.testing.assert_allclose(found.amplitudes.real, a, atol=0.02)
    assert (found.nrmse < 0.01).all()


@pytest.fixture(scope="module")
def measured() -> tuple[Any, Any]:
    model = pliant.load("two-link").model()
    return model, pliant.simulate(model, 1.0, torque=[8.0, 1.0], output_step=0.005)


def recorded(run: Any, readings: dict[str, Any], t: Any = None, **more: Any) -> pliant.identification.Recording:
    return pliant.identification.Recording(run.t if t is None else t, readings, torque=[8.0, 1.0], name="swing", **more)


def test_a_run_agrees_with_itself(measured: tuple[Any, Any]) -> None:
    model, run = measured
    found = validate(model, recorded(run, {"upper": run["upper"], "fore.rate": run.qd[:, 1]}))
    assert max(match.nrmse for match in found.channels.values()) < 1e-4
    assert found.channels["upper"].delay == 0.0
    assert found.warnings == ()
    assert "upper: NRMSE 0.000, fit 100.0 %" in str(found)


def test_what_lags_is_told(measured: tuple[Any, Any]) -> None:
    model, run = measured
    late = np.interp(run.t - 0.02, run.t, run.qd[:, 1])
    match = validate(model, recorded(run, {"fore.rate": late})).channels["fore.rate"]
    assert match.delay == pytest.approx(0.02, abs=0.002)
    assert match.nrmse_undelayed < match.nrmse / 3


def test_a_swapped_sign_is_told(measured: tuple[Any, Any]) -> None:
    model, run = measured
    found = validate(model, recorded(run, {"upper": -run["upper"], "fore": run["fore"]}))
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("upper: the measurement is the prediction with its sign swapped")


T = np.linspace(0, 1, 201)
WAVE, GONE = np.sin(20 * T), [50, 51, 52]
BAD: dict[str, tuple[Any, Any, str]] = {
    "missing": (np.delete(T, GONE), np.delete(WAVE, GONE), "about 3 samples are missing, first behind 0.245 s"),
    "uneven": (T + 0.001 * np.sin(np.arange(201)), WAVE, "the rate is uneven"),
    "constant": (T, 0 * T + 0.3, "constant at 0.3 from 0 to 1 s"),
    "saturated": (T, np.clip(WAVE, -2, 0.7), r"stays at its largest value 0.7 for \d+ samples from 0.04 s"),
    "just clipped": (T, np.clip(WAVE, -0.84, 2), "stays at its smallest value -0.84 .* the sensor is clipped"),
    "low": (T, np.clip(WAVE, -0.7, 2), "stays at its smallest value -0.7"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_recordings_that_are_not_fit(measured: tuple[Any, Any], name: str) -> None:
    """Each is told in one line, and nothing is compared."""
    model, run = measured
    t, values, message = BAD[name]
    recording = recorded(run, {"upper": values}, t)
    assert len(recording_faults(recording)) == 1
    wanted = rf"recording 'swing': not fit to be compared\nupper: {message}"
    with pytest.raises(ModelError, match=wanted):
        validate(model, recording)


def held(first: float, count: int, last: float) -> Any:
    """A swing of 201 samples that brakes evenly, is held by friction for `count` samples, and sets off again."""
    speed = np.concatenate([np.linspace(first, 0, 101 - count // 2), np.zeros(count), np.linspace(0, last, 100)])[:201]
    return np.cumsum(speed) / 200


@pytest.mark.parametrize("grain", [0.0, 2 * np.pi / 4096])
@pytest.mark.parametrize(("first", "last"), [(8.0, -6.0), (-8.0, 6.0)])
def test_a_joint_that_friction_holds_is_no_clipped_sensor(
    measured: tuple[Any, Any], first: float, last: float, grain: float
) -> None:
    """As measured, and by an encoder: it comes to rest where it stays, and sets off from there without a speed."""
    model, run = measured
    values = held(first, 30, last)
    recording = recorded(run, {"upper": np.round(values / grain) * grain if grain else values}, T)
    assert recording_faults(recording) == []
    (told,) = recording_doubts(recording)
    assert told.endswith("the joint stands still, or the sensor is clipped")
    assert validate(model, recording).warnings[0] == told
    with pytest.raises(ModelError, match="not fit to be compared"):
        validate(model, recording, saturation="refuse")


def test_a_clipped_channel_can_be_gone_on_with(measured: tuple[Any, Any]) -> None:
    model, run = measured
    recording = recorded(run, {"upper": BAD["saturated"][1]}, T)
    assert recording_doubts(recording) == []
    assert "the sensor is clipped" in validate(model, recording, saturation="warn").warnings[0]


def test_an_arm_that_waits_is_not_saturated(measured: tuple[Any, Any]) -> None:
    run = measured[1]
    waiting = np.concatenate([np.zeros(100), np.linspace(0, 1, 51), np.ones(50)])
    recording = recorded(run, {"upper": waiting}, T)
    assert recording_faults(recording) == []
    assert recording_doubts(recording) == []


def test_something_is_left_to_compare(measured: tuple[Any, Any]) -> None:
    model, run = measured
    with pytest.raises(ModelError, match=r"skip: got 1\.5 s"):
        validate(model, recorded(run, {"upper": run["upper"]}), skip=1.5)
