"""`pliant validate`: a page, numbers and shares of the error; one line for each mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
import pliant_studies.measured
from pliant.cli import app
from pliant.validation import validate
from pliant.validation.error_shares import error_shares
from pliant.validation.recording_file import RecordingFile
from pliant.validation.validate import _match
from pliant_studies.measured import SHIPPED_RECORDINGS, recording_path

Run = Callable[..., Any]
STIFFNESS = "links.upper.beam.EI_z"
RECORDING = """format: 1
data: swing.csv
time: t
columns: [upper, fore]
torque: {upper: motor, fore: other}
ringing: [[0.6, 1.0]]
model: {stiffening: off}
"""


@pytest.fixture(scope="module")
def swing() -> str:
    """A table of a run of the two-link arm with another stiffness, friction, and readings 5 ms late."""
    t, rng = np.linspace(0, 1, 401), np.random.default_rng(1)
    torque = 10 * np.column_stack([np.sin(9 * t), np.cos(7 * t)])
    arm = pliant.load("two-link").replace({STIFFNESS: 800.0})
    run = pliant.simulate(arm.model(stiffening="off"), 1.0, torque=(t, torque), output_step=0.0025)
    noisy = run.q[:, :2] + 1e-5 * rng.normal(size=(len(t), 2))
    rows = np.column_stack([t, noisy, torque])
    return "t,upper,fore,motor,other\n" + "\n".join(",".join(f"{v:.9g}" for v in row) for row in rows)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swing: str) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.csv").write_text(swing)
    (tmp_path / "swing.yaml").write_text(RECORDING)
    return lambda *arguments: CliRunner().invoke(app, ["validate", *arguments])


def test_a_page_with_numbers(run: Run, tmp_path: Path) -> None:
    done = run("swing.yaml", "--robot", "two-link")
    assert done.exit_code == 0, done.output
    facts = json.loads((tmp_path / "out/swing/validation.json").read_text())
    shares = facts["channels"]["upper"]["shares"]
    assert shares["rigid_motion"] + shares["first_mode"] + shares["higher"] == pytest.approx(1.0)
    assert len(facts["ringing"]) == 1
    page = (tmp_path / "out/swing/validation.html").read_text()
    assert page.count("<img alt=") == 2
    assert not re.search(r'(src|href)="http', page)
    assert f"{facts['channels']['upper']['nrmse']:.3f}" in page
    assert "out/swing/validation.html" in done.output


@pytest.mark.slow
def test_numbers_are_fitted_to_the_first_half(run: Run, tmp_path: Path) -> None:
    done = run("swing.yaml", "--robot", "two-link", "--identify", STIFFNESS, "--json", "--out", "fit")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["identified"]["parameters"][STIFFNESS]["estimate"] == pytest.approx(800.0, rel=1e-2)
    assert facts["after"]["channels"]["upper"]["nrmse"] < 1e-3 < facts["channels"]["upper"]["nrmse"]
    assert pliant.load(tmp_path / "fit/arm.yaml").paths()[STIFFNESS] == pytest.approx(800.0, rel=1e-2)


SWING = ("swing.yaml", "--robot", "two-link")
WRONG = {
    "no file": (("none.yaml", "--robot", "two-link"), "none.yaml: no such file"),
    "no name": (("squares", "--robot", "two-link"), "squares: no such file, and no shipped recording"),
    "no robot": (("swing.yaml", "--robot", "three-link"), "three-link"),
    "no number": ((*SWING, "--identify", "links.uper.beam.EI_z"), "the robot has no number `links.uper.beam.EI_z`"),
    "no channel": ((*SWING, "--identify", "reading.gauge.gain"), "has the channel 'gauge'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes(run: Run, tmp_path: Path, case: str) -> None:
    arguments, said = WRONG[case]
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


KEYS = {
    "columns: [upper, fore]": ("colums: [upper]", "swing.yaml: unknown key `colums` (line 4)"),
    "time: t": ("time: seconds", "swing.csv: no column `seconds`"),
    "motor": ("engine", "swing.csv: no column `engine`"),
    "torque: {upper: motor, fore: other}": ("motion: {upper: {column: motor, window: 4}}", "expected an odd number"),
    "[[0.6, 1.0]]": ("[[5.0, 6.0]]", "ringing: got 5 to 6 s"),
}


@pytest.mark.parametrize("old", KEYS)
def test_wrong_keys(run: Run, tmp_path: Path, old: str) -> None:
    new, said = KEYS[old]
    (tmp_path / "swing.yaml").write_text(RECORDING.replace(old, new))
    done = run("swing.yaml", "--robot", "two-link")
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_recording_that_is_not_fit(run: Run, tmp_path: Path, swing: str) -> None:
    lines = swing.splitlines()
    (tmp_path / "swing.csv").write_text("\n".join(lines[:100] + lines[130:]))
    done = run("swing.yaml", "--robot", "two-link")
    assert done.exit_code == 2
    assert "about 30 samples are missing" in done.stderr


def test_shares_by_frequency_and_cause() -> None:
    """A constant and two sines, a fifth, three tenths and half of the squared error; a slope that explains one."""
    t = np.arange(0, 10, 0.005)
    waves = [np.sqrt(2 * part) * np.sin(2 * np.pi * f * t) for part, f in ((0.3, 2.0), (0.5, 9.0))]
    measured = 5 * np.sin(2 * np.pi * 0.1 * t)
    match = _match("angle", t, measured, measured - np.sqrt(0.2) - sum(waves))
    found = error_shares(match, 2.0, waves[0][:, None] * 7.0)
    assert [found.rigid_motion, found.first_mode, found.higher] == pytest.approx([0.2, 0.3, 0.5], abs=1e-3)
    assert found.friction == pytest.approx(0.3, abs=1e-3)
    assert error_shares(match, None, np.zeros((len(t), 0))).first_mode is None


def test_friction_is_told_where_it_is_wrong() -> None:
    """A pendulum with twice the friction: other friction explains nearly all of the error, a delay does not."""
    path = "links.upper.joint.friction.viscous"
    arm = pliant.load("two-link").replace({"links.upper.joint.friction": {"viscous": 0.5}})
    t = np.linspace(0, 1, 201)
    torque = (t, np.column_stack([8 * np.sin(6 * t), 0 * t]))
    run = pliant.simulate(arm.replace({path: 0.6}).model(stiffening="off"), 1.0, torque=torque, output_step=0.005)
    model = arm.model(stiffening="off")
    found = validate(model, pliant.identification.Recording(run.t, {"upper": run["upper"]}, torque=torque))
    assert found.shares["upper"].friction > 0.98


def test_a_sampled_controller_is_replayed() -> None:
    model = pliant.load("two-link").model(stiffening="off")
    law = pliant.control.Sampled(pliant.control.PD(30.0, 3.0, [0.1, 0.0]), sample_time=0.01)
    run = pliant.simulate(model, 0.5, controller=law, output_step=0.005)
    gauge = pliant.identification.Strain("upper", 0.05, (0.01, 0.0))
    read = {
        "upper": run["upper"],
        "tip.y": run.tip[:, 1],
        "fore.rate": run.qd[:, 1],
        "gauge": 2 * run.strain("upper", 0.05, (0.01, 0.0)),
    }
    recording = pliant.identification.Recording(
        run.t, read, controller=law, sensors={"gauge": gauge}, calibration={"reading.gauge.gain": 2.0}
    )
    found = validate(model, recording, rtol=1e-8)
    assert max(match.nrmse for match in found.channels.values()) < 1e-3


@pytest.mark.parametrize("name", SHIPPED_RECORDINGS)
def test_shipped_recordings_can_be_read(name: str) -> None:
    rig = "ist-bar" if name.startswith("bar") else "2dsfl-nominal"
    chosen = RecordingFile.load(recording_path(name))
    recording = chosen.recording(pliant_studies.measured.load_rig(rig))
    assert recording.t_end > 9.0
