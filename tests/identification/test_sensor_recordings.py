"""A simulated rig goes back into identification: sensors of several rates with errors, and their numbers found again;
the same through the files that a scenario writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Recording
from pliant.control import Encoder, StrainGauge, TipCamera, TipPosition
from pliant.errors import ModelError
from pliant.validation.recording_file import RecordingFile

STIFFNESS = "links.upper.beam.EI_z"
GAUGE = {"link": "upper", "x": 0.05, "at": (0.01, 0.0), "bridge": "half", "gauge_factor": 2.1}
TORQUE = (np.linspace(0, 1, 11), np.random.default_rng(5).normal(size=(11, 2)) * [40.0, 15.0])


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return pliant.load("two-link").model()


def rig(**gauge: Any) -> list[Any]:
    return [
        Encoder("upper", resolution=20000, sample_time=0.002),
        Encoder("fore", noise=2e-4, sample_time=0.005, offset=0.011, name="elbow"),
        StrainGauge(**GAUGE, noise=2e-7, sample_time=0.001, name="gauge", **gauge),
        TipCamera(position=(0.0, 0.0, 4.0), focal=900.0, noise=0.2, sample_time=1 / 50, delay=0.03),
    ]


def test_numbers_of_arm_and_sensors_are_found_again(model: pliant.Model) -> None:
    """An arm that is stiffer than we think, an offset, a gain and two delays: all within four standard deviations."""
    stiff = model.robot.replace({STIFFNESS: 1.1 * model.robot.paths()[STIFFNESS]}).model()
    run = pliant.simulate(stiff, 1.0, torque=TORQUE, sensors=rig(gain=1.07, delay=0.004), output_step=0.05)
    read = Recording.of(run, torque=TORQUE)
    assert read.channels == ("upper", "elbow", "gauge", "camera.right", "camera.down")
    assert [len(read.reading(name)[0]) for name in read.channels] == [501, 201, 1001, 51, 51]
    truth = {
        STIFFNESS: 1.1 * model.robot.paths()[STIFFNESS], "reading.elbow.offset": 0.011, "reading.gauge.gain": 1.07,
        "reading.gauge.delay": 0.004, "reading.camera.right.delay": 0.03, "reading.camera.down.delay": 0.03,
    }  # fmt: skip
    found = pliant.identify(model, read, tuple(truth), clocks="ignore")
    for (name, value), error in zip(truth.items(), found.standard_errors):
        assert abs(found[name] - value) < 4 * error < 0.1 * abs(value), name
    assert found.chi2 == pytest.approx(1.0, abs=0.15)


def test_a_scenario_writes_a_recording_that_validate_reads(tmp_path: Path) -> None:
    """What drove the run, how it began, which sensors: all from the file; the table has gaps where a sensor slept."""
    scenario = pliant.Scenario(
        robot="two-link", duration=0.4, initial={"q": {"upper": 0.1}}, torque={"upper": 6.0, "fore": 1.0},
        sensors=[
            {"type": "encoder", "joint": "upper", "resolution": 50000, "sample_time": 0.004},
            {"type": "strain-gauge", **GAUGE, "noise": 5e-8, "sample_time": 0.001, "name": "gauge"},
            {"type": "tip-position", "axes": [0, 1], "sample_time": 0.01, "noise": 1e-5},
        ],
        outputs={"netcdf": None, "recording": "rig.yaml"},
    )  # fmt: skip
    scenario.save(tmp_path / "run.yaml")
    again = pliant.Scenario.load(tmp_path / "run.yaml")
    assert again == scenario
    written = again.write(again.run(), tmp_path)
    assert [path.name for path in written] == ["rig.readings.csv", "rig.yaml"]
    file = RecordingFile.load(tmp_path / "rig.yaml")
    assert file.gaps
    arm = pliant.load("two-link")
    read = file.recording(arm)
    assert read.channels == ("upper", "gauge", "tip.x", "tip.y")
    found = pliant.validate(file.built(arm), read, rtol=1e-8)
    assert {name: match.nrmse < 0.02 for name, match in found.channels.items()} == dict.fromkeys(read.channels, True)
    loose = arm.replace({STIFFNESS: 0.9 * arm.paths()[STIFFNESS]})
    fit = pliant.identify(file.built(loose), read, (STIFFNESS,), clocks="ignore")
    assert fit[STIFFNESS] == pytest.approx(arm.paths()[STIFFNESS], abs=4 * fit.standard_errors[0])


def test_what_a_recording_cannot_have_is_told(model: pliant.Model) -> None:
    with pytest.raises(ModelError, match="no sensor has read it"):
        Recording.of(pliant.simulate(model, 0.01))
    given: dict[str, Any] = {"robot": "two-link", "duration": 0.1, "outputs": {"recording": "rig.yaml"}}
    twice = [{"type": "encoder", "joint": "upper"}] * 2
    for more, words in (
        ({}, "a recording needs `sensors`"),
        ({"sensors": twice[:1], "loads": [{"type": "wrench", "force": [0, 1, 0]}]}, "a recording file has no `loads`"),
        ({"sensors": twice}, "another sensor is called 'upper' too"),
        ({"sensors": [{"type": "encoder", "joint": "elbow"}]}, "joint: got 'elbow', expected one of upper, fore"),
    ):
        with pytest.raises(ValueError, match=words):
            pliant.Scenario(**given, **more)


def test_a_run_from_a_file_is_given_its_sensors_again(model: pliant.Model, tmp_path: Path) -> None:
    sensors = [TipPosition((0, 1), sample_time=0.01, noise=1e-4, name="marker")]
    run = pliant.simulate(model, 0.2, torque=[5.0, 0.0], sensors=sensors)
    loaded = pliant.Result.load(run.save(tmp_path / "run.nc"))
    with pytest.raises(ModelError, match=r"no channel `marker\.x`"):
        pliant.validate(model, Recording.of(loaded, torque=[5.0, 0.0]))
    read = Recording.of(loaded, sensors, torque=[5.0, 0.0])
    assert pliant.validate(model, read).channels["marker.y"].nrmse < 0.05
