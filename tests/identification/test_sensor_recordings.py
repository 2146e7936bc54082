"""A simulated rig goes back into identification: sensors of several rates with errors, and their numbers found again;
the same through the files that a scenario writes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import Encoder, StrainGauge, TipCamera, TipPosition
from pliant.errors import ModelError
from pliant.identification import Recording
from pliant.validation.recording_file import RecordingFile

from .conftest import colored

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


@pytest.mark.slow
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


@pytest.mark.full
def test_a_run_from_a_file_is_given_its_sensors_again(model: pliant.Model, tmp_path: Path) -> None:
    sensors = [TipPosition((0, 1), sample_time=0.01, noise=1e-4, name="marker")]
    run = pliant.simulate(model, 0.2, torque=[5.0, 0.0], sensors=sensors)
    loaded = pliant.Result.load(run.save(tmp_path / "run.nc"))
    with pytest.raises(ModelError, match=r"no channel `marker\.x`"):
        pliant.validate(model, Recording.of(loaded, torque=[5.0, 0.0]))
    read = Recording.of(loaded, sensors, torque=[5.0, 0.0])
    assert pliant.validate(model, read).channels["marker.y"].nrmse < 0.05


# ------------------------------------------------------------------------------------------------------- intervals

BAR = "links.bar.beam.EI_z"
TRUE = {
    BAR: 11.0, "reading.bar.offset": 0.004, "reading.gauge.gain": 1.08, "reading.gauge.offset": 2e-5,
    "reading.gauge.delay": 0.0035, "reading.tip.y.gain": 0.97,
}  # fmt: skip


def bar() -> pliant.Model:
    """A hub with a beam that swings in the horizontal plane."""
    link = pliant.Link(
        name="bar",
        joint=pliant.Joint(
            hub=pliant.robot.Lump(inertia=(0, 0, 0.05)), friction=pliant.robot.Friction(viscous=0.1)
        ),
        beam=pliant.Beam(length=0.9, mass_per_length=0.4, EI_y=11.0, EI_z=11.0),
        shapes=pliant.Shapes(bending_y=1, damping=0.01),
    )  # fmt: skip
    return pliant.Robot(name="bar", gravity=(0, 0, 0), links=[link]).model(parameters=(BAR,))


def calibrated(model: pliant.Model, seed: int, color: float = 0.0) -> pliant.identification.Identification:
    """Fitted to a run under random torques, read by sensors of several rates whose noise nobody has told; where it is
    colored, by sensors without any, to which it is added."""
    rng = np.random.default_rng(seed)
    torque = (np.linspace(0, 2, 21), rng.normal(size=(21, 1)))
    sizes = {"bar": 3e-4, "gauge": 4e-6, "tip.y": 1e-3}
    own = dict.fromkeys(sizes, 0.0) if color else sizes
    sensors = [
        Encoder("bar", noise=own["bar"], quantum=2e-4, offset=0.004, sample_time=0.004, seed=seed),
        StrainGauge("bar", 0.05, at=(0.002, 0.0), noise=own["gauge"], gain=1.08, offset=2e-5, delay=0.0035,
                    sample_time=0.005, seed=seed, name="gauge"),
        TipPosition((1,), noise=own["tip.y"], gain=0.97, sample_time=0.01, seed=seed),
    ]  # fmt: skip
    run = pliant.simulate(model, 2.0, torque=torque, sensors=sensors, output_step=0.1, rtol=1e-9)
    read = Recording.of(run, torque=torque, noise=None)
    if color:
        series = {name: read.reading(name) for name in read.channels}
        noisy = {name: (t, y + sizes[name] * colored(rng, len(t), color)) for name, (t, y) in series.items()}
        read = replace(read, readings=noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pliant.identify(model, read, tuple(TRUE), start={BAR: 9.0}, clocks="ignore", stages=[0.5, 1.0])


@pytest.mark.long
@pytest.mark.parametrize("color", [0.0, 0.8])
def test_intervals_of_offsets_gains_and_delays_hold_what_they_say(color: float) -> None:
    """200 trials, each number 181 to 197 times in its 95 % interval, and all pooled in 93 to 97 %."""
    model, truth, hits = bar(), np.array(list(TRUE.values())), np.zeros((200, len(TRUE)))
    for seed in range(200):
        low, high = calibrated(model, seed, color).intervals().T
        hits[seed] = (low <= truth) & (truth <= high)
    print(f"inside {hits.sum(axis=0)}, pooled {hits.mean():.3f}")
    assert ((hits.sum(axis=0) >= 181) & (hits.sum(axis=0) <= 197)).all()
    assert 0.93 <= hits.mean() <= 0.97
