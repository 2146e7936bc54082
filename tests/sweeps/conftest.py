"""A small study, and a worker that can be made to die."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from arms import unequal_two_link
from pliant.simulation.runs.results import Result
from pliant.sweeps import SweepStudy
from pliant.sweeps.outputs import SweepResult

BASE: dict[str, Any] = {
    "scenario": {
        "robot": unequal_two_link().to_dict(),
        "initial": {"q": {"upper": -1.5, "fore": 0.1}},
        "torque": {"upper": 2.0},
        "duration": 0.1,
        "method": "rk4",
        "step": 1e-3,
        "output_step": 5e-3,
    },
    "vary": {"payload.mass": [0.0, 0.5, 1.0], "initial.q.fore": [0.0, 0.2], "torque.upper": [0.0, 5.0]},
}


@pytest.fixture(autouse=True)
def no_figure(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries are drawn (a second each) only where a test looks at them: `@pytest.mark.usefixtures("figure")`."""
    if "figure" not in request.fixturenames:
        monkeypatch.setattr(SweepResult, "plot", lambda self, path: None)


@pytest.fixture
def figure() -> None:
    """Let summaries be drawn."""


def study(**changes: Any) -> SweepStudy:
    return SweepStudy.from_dict({**BASE, **changes})


def journalled(folder: Path) -> list[int]:
    """Points in the journal of a sweep, as often as they are there."""
    entries = [json.loads(line) for line in (folder / "points.jsonl").read_text().splitlines()[1:]]
    return [int(point) for entry in entries for point in (*entry["points"], *entry["failed"])]


def dies_once(result: Result) -> Mapping[str, float]:
    """Kills its own process the first time it meets a heavy payload."""
    marker = Path(os.environ["PLIANT_TEST_MARKER"])
    if result.parameters[0] > 0.9 and not marker.exists():
        marker.write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    with (marker.parent / "runs").open("a") as file:
        file.write(f"{result.parameters[0]}\n")
    return {"mass_again": float(result.parameters[0])}


def always_dies(result: Result) -> Mapping[str, float]:
    """Kills its own process at the heaviest payload, every time."""
    if result.parameters[0] > 0.9:
        os.kill(os.getpid(), signal.SIGKILL)
    return {}
