"""Every study runs, and every claim gets the verdict that it had when a person last read the report.

A verdict that changes, either way, is news: read the report and move the claim.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from pliant.cli import app
from pliant.robot import load
from pliant.simulation import simulate
from pliant.studies import reproduce, study
from pliant.studies.checks import FAILS, HOLDS, NOT_REPRODUCED, REPORTED, REPRODUCED, ROUGHLY
from pliant.studies.study import Outcome, write_results

# Checks of the quick runs that are not plainly good; all others are `reproduced` or `holds`.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "korayem-shafei": {
        "A-combined": FAILS,  # (63) takes thetadot for an angular velocity: wrong to first order
        "D-whole": FAILS,  # one mode is too few for the end deflection
        "response": REPORTED,
        "elements-1": NOT_REPRODUCED,  # one mode misses the peaks by more than 10 %
    },
    "theodore-ghosal": {
        "E-tracking": ROUGHLY,  # 22 mm against "of the order of 8 mm"
        "eig-higher": NOT_REPRODUCED,
        "eig-constant": NOT_REPRODUCED,
        "F-bound": NOT_REPRODUCED,  # the Lemma's bound is not sufficient
        "table-2": NOT_REPRODUCED,
        "lag": REPORTED,
    },
    "flexible-joints": {
        "resonance": NOT_REPRODUCED,  # spin stiffens the beam: no resonance at 3 rad/s
        "tip-grows": NOT_REPRODUCED,
        "stiffness": REPORTED,
        "EA": REPORTED,
    },
    "mohan-saha": {
        "n-star": NOT_REPRODUCED,  # Brandle's 14 is 15
        "n-plus": NOT_REPRODUCED,
        "fewest": NOT_REPRODUCED,
        "table-3": ROUGHLY,
        "advantage": NOT_REPRODUCED,  # both algorithms leave the unstable motion together
        "matching": NOT_REPRODUCED,
        "power": REPORTED,
    },
    "cibicik-egeland": {
        "D-joints": NOT_REPRODUCED,  # the soft joint of the light tool
        "torques": REPORTED,
        "F": NOT_REPRODUCED,  # mostly: the exact O(n) recursion is as fast
    },
}
TIMED = {"theodore-ghosal": {"cpu"}, "mohan-saha": {"cpu"}, "cibicik-egeland": {"F"}}
"""Checks that rest on measured time: what they say holds for one machine at one time, and they say which."""
REQUIRED = {
    "korayem-shafei": "ABCDE",
    "theodore-ghosal": "ABCDEF",
    "flexible-joints": "ABCDEF",
    "mohan-saha": "ABCDEF",
    "cibicik-egeland": "ABCDEF",
}
FIGURES = {
    "korayem-shafei": range(4, 16),
    "theodore-ghosal": range(4, 11),
    "flexible-joints": [3, 4, 5, *range(8, 19)],
    "mohan-saha": range(4, 10),
    "cibicik-egeland": range(5, 11),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduction")


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_study(name: str, out: Path) -> None:
    steps: list[str] = []
    reproduce([name], out, quick=True, tell=lambda _, step: steps.append(step))
    folder = out / name
    checks = json.loads((folder / "checks.json").read_text(encoding="utf-8"))["checks"]
    _verdicts(name, checks)
    _files(name, folder)
    assert len([s for s in steps if not s.startswith("drawing")]) == study(name).steps[0]


def _verdicts(name: str, checks: list[dict[str, Any]]) -> None:
    expected = EXCEPTIONS[name]
    found = {check["id"]: check["verdict"] for check in checks}
    assert set(expected) <= set(found)
    timed = TIMED.get(name, set())
    for check in checks:
        if check["id"] in timed:
            least, greatest = check["ours"]["least and greatest"]
            assert least <= check["ours"]["ratio of times"] <= greatest
            assert check["ours"]["measured on"]
            sides = {REPRODUCED: least > 1, NOT_REPRODUCED: greatest < 1, REPORTED: least <= 1 <= greatest}
            assert sides[check["verdict"]]
    for id, verdict in found.items():
        if id not in timed:
            allowed = {expected[id]} if id in expected else {REPRODUCED, HOLDS}
            assert verdict in allowed, id
    for letter in REQUIRED[name]:
        assert any(re.match(rf"{letter}(-|$)", id) for id in found), f"no check {letter}"
    for check in checks:
        assert check["claim"]
        assert check["where"]
        assert check["reason"]
        assert len(check["text"]) > 40 or check["verdict"] == HOLDS
        if check["verdict"] in (REPRODUCED, ROUGHLY, NOT_REPRODUCED):
            assert check["published"] is not None


def _files(name: str, folder: Path) -> None:
    for number in FIGURES[name]:
        for kind in ("png", "svg"):
            assert (folder / f"fig{number:02d}.{kind}").stat().st_size > 2000
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= len(FIGURES[name])
    assert not re.search(r'(src|href)="https?:', page)
    data = yaml.safe_load((folder / "parameters.yaml").read_text(encoding="utf-8"))
    assert data["given"]
    assert data["chosen"]
    assert data["robots"]
    assert (folder / "results.nc").stat().st_size > 10_000
    assert (folder.parent / "index.html").is_file()


@pytest.mark.parametrize("quick", [True, False])
def test_histories_can_be_read_back(tmp_path: Path, quick: bool) -> None:
    """A group of results.nc holds the run, and in a full study all that Result.save writes."""
    import xarray as xr

    run = simulate(load("two-link").model(), 0.1)
    write_results(Outcome([], [], [], {"a run": run, "numbers": {"x": [1.0, 2.0]}}), tmp_path / "results.nc", quick)
    with xr.open_dataset(tmp_path / "results.nc", group="a_run", engine="h5netcdf") as data:
        found = data.load()
    assert np.array_equal(found["q"], run.q)
    assert ("tau" in found) == (not quick)
    with xr.open_dataset(tmp_path / "results.nc", group="numbers", engine="h5netcdf") as data:
        assert data["x"].values.tolist() == [1.0, 2.0]


def test_command_line_refuses_an_unknown_study() -> None:
    result = CliRunner().invoke(app, ["reproduce", "puma"])
    assert result.exit_code == 2
    assert "mohan-saha" in result.stderr


@pytest.mark.full
def test_command_line_runs_two_studies_at_a_time(tmp_path: Path) -> None:
    found = reproduce(["cibicik-egeland", "korayem-shafei"], tmp_path, quick=True, jobs=2)
    assert list(found) == ["cibicik-egeland", "korayem-shafei"]
    assert (tmp_path / "index.html").is_file()
