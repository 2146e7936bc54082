"""`pliant identify STUDY.yaml`: from CSV files to a fitted arm, and what it says to mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import pliant
from pliant.cli import app
from pliant.errors import ModelError
from pliant.identification.residuals import Residuals
from pliant.identification.study_file import IdentificationStudy
from pliant.robot.files.yaml import read_yaml

STUDY = """
format: 1
robot: two-link
parameters:
  links.upper.beam.EI_z: {start: 1100}
  payload.mass: {start: 0.3, bounds: [0, 2]}
runs:
  - data: swing.csv
    columns: {upper: encoder, tip.x: tip.x, gauge: strain}
    sensors: {gauge: {strain: upper, x: 0.05, at: [0.01, 0]}}
    torque: {upper: motor}
    initial: {q: {upper: -1.0, fore: 0.3}}
"""
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def swing() -> np.ndarray:
    """Rows of a measured run: time, motor torque and the readings."""
    real = pliant.load("two-link").replace({"links.upper.beam.EI_z": 950.0, "payload.mass": 0.4}).model()
    rng = np.random.default_rng(0)
    t = np.linspace(0, 0.5, 101)
    motor = 20 * np.sin(9 * t)
    result = pliant.simulate(
        real, 0.5, {"upper": -1.0, "fore": 0.3}, torque=(t, np.column_stack([motor, 0 * t])), output_step=0.005
    )
    readings = (result["upper"], result.tip[:, 0], result.strain("upper", 0.05, (0.01, 0.0)))
    columns = [y + 0.002 * np.std(y) * rng.normal(size=len(y)) for y in readings]
    return np.column_stack([t, motor, *columns])


@pytest.fixture
def run(swing: np.ndarray, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    np.savetxt("swing.csv", swing, delimiter=",", header="time,motor,encoder,tip.x,strain", comments="")
    Path("study.yaml").write_text(STUDY)
    return lambda *arguments: CliRunner().invoke(app, ["identify", *arguments])


@pytest.mark.slow
def test_a_fit_that_was_interrupted_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C on the whole record leaves the best so far and where the fit stands; `--resume` ends it."""
    refused = run("study.yaml", "--resume")
    assert refused.exit_code == 2
    assert "no fit was interrupted in out/study" in refused.stderr
    window = Residuals.window

    def interrupted(self: Residuals, fraction: float) -> None:
        window(self, fraction)
        if fraction == 1.0 and self.nearest is not None:
            monkeypatch.setattr(Residuals, "window", window)
            raise KeyboardInterrupt

    monkeypatch.setattr(Residuals, "window", interrupted)
    stopped = run("study.yaml")
    assert stopped.exit_code == 130
    assert "--resume" in stopped.stderr
    assert Path("out/study/progress.json").exists()
    assert Path("out/study/arm.yaml").exists()
    assert run("study.yaml", "--resume").exit_code == 0
    assert pliant.load("out/study/arm.yaml").payload.mass == pytest.approx(0.4, rel=0.01)
    assert not Path("out/study/progress.json").exists()


@pytest.mark.slow
def test_a_fitted_arm(run: Run) -> None:
    result = run("study.yaml", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)["parameters"]
    assert facts["links.upper.beam.EI_z"]["estimate"] == pytest.approx(950, rel=0.01)
    fitted = pliant.load("out/study/arm.yaml")
    assert fitted.payload.mass == pytest.approx(0.4, rel=0.01)
    assert json.loads(Path("out/study/estimates.json").read_text())["unresolved"] == []
    assert Path("out/study/residuals.png").stat().st_size > 10_000
    before = Path("out/study/arm.yaml").read_bytes()
    again = run("study.yaml")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert Path("out/study/arm.yaml").read_bytes() == before
    Path("out/study/notes.txt").write_text("mine")
    assert run("study.yaml", "--force").exit_code == 0
    assert Path("out/study/notes.txt").read_text() == "mine"  # what pliant did not write stays


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tip.x: tip.x", "tip.x: camera", "no column `camera`"),
        ("tip.x: tip.x", "tip: tip.x", "no channel `tip`"),
        ("payload.mass:", "payload.mas:", "did you mean `payload.mass`"),
        ("swing.csv", "swings.csv", "cannot be read"),
        ("columns:", "colums:", "did you mean `columns`"),
        ("{upper: motor}", "{uper: motor}", "torque of uper"),
        ("fore: 0.3", "elbow: 0.3", "no coordinate of this name"),
        ("format: 1", "format: 9", "cannot be read"),
    ],
)
def test_mistakes(run: Run, old: str, new: str, said: str) -> None:
    Path("study.yaml").write_text(STUDY.replace(old, new))
    result = run("study.yaml")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out/study").exists()


def test_a_run_counts_once() -> None:
    data, _ = read_yaml(STUDY)
    with pytest.raises(ModelError, match=r"runs\[1\] is runs\[0\] again"):
        IdentificationStudy.from_dict({**data, "runs": data["runs"] * 2})


def _late(rows: list[str]) -> list[str]:
    """Readings three rows behind the torques of the same line."""
    cells = [row.split(",") for row in rows]
    return [",".join(cells[k][:2] + cells[max(0, k - 3)][2:]) for k in range(len(rows))]


@pytest.mark.slow_cases("late")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda rows: [*rows[:40], rows[40].rsplit(",", 1)[0] + ",nan", *rows[41:]],
            "line 42, column `strain`: got nan",
        ),
        (lambda rows: ["1.7e9" + row[row.index(",") :] for row in rows], "times must rise strictly"),
        (
            lambda rows: [f"{1.7e9 + k}{row[row.index(',') :]}" for k, row in enumerate(rows)],
            "not the clock of the run",
        ),
        (lambda rows: [rows[1], rows[0], *rows[2:]], "times must rise strictly"),
        (_late, "not on the clock of the torques"),
    ],
    ids=["nan", "one time", "epoch", "mixed", "late"],
)
def test_bad_tables(run: Run, spoil: Callable[[list[str]], list[str]], said: str) -> None:
    header, *rows = Path("swing.csv").read_text().splitlines()
    Path("swing.csv").write_text("\n".join([header, *spoil(rows)]) + "\n")
    result = run("study.yaml")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out/study").exists()
