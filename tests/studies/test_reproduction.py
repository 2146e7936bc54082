"""Every study runs, every claim gets the verdict that it had when a person last read the report, and every verdict
turns when a wrong number is planted."""

from __future__ import annotations

import copy
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from pliant.cli import app
from pliant.robot import load
from pliant.simulation.runs.simulation import simulate
from pliant_studies import NAMES, reproduce, study
from pliant_studies.checks import HOLDS, NOT_REPRODUCED, REPORTED, REPRODUCED
from pliant_studies.study import Outcome, write_results
from studies.expected import Expected


def expected(name: str) -> Expected:
    found: Expected = import_module(f"studies.expected.{name.replace('-', '_')}").EXPECTED
    return found


QUICKEST = ("mohan-saha",)
"""Of the quick forms, those that every run of the tests makes; the others, half a minute each, are in the full set."""


@pytest.mark.parametrize("name", [n if n in QUICKEST else pytest.param(n, marks=pytest.mark.full) for n in NAMES])
def test_study(name: str, tmp_path: Path) -> None:
    steps: list[str] = []
    reproduce([name], tmp_path, quick=True, tell=lambda _, step: steps.append(step))
    examine(name, tmp_path, quick=True)
    assert len([s for s in steps if not s.startswith("drawing")]) == study(name).steps[0]


@pytest.mark.full
def test_full_reproduction(tmp_path: Path) -> None:
    """The command of the documentation, as it stands there."""
    result = CliRunner().invoke(app, ["reproduce", "all", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for name in NAMES:
        examine(name, tmp_path, quick=False)


def examine(name: str, out: Path, quick: bool) -> None:
    """Verdicts, what they turn on, and files of a study that was written below `out`."""
    folder = out / name
    checks = json.loads((folder / "checks.json").read_text(encoding="utf-8"))["checks"]
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["numbers"]
    _verdicts(name, checks, quick)
    _planted(name, checks, numbers)
    _files(name, folder)


def _verdicts(name: str, checks: list[dict[str, Any]], quick: bool) -> None:
    about = expected(name)
    special = {**about.exceptions, **(about.quick if quick else {})}
    found = {check["id"]: check["verdict"] for check in checks}
    for check in checks:
        if check["id"] in about.timed:
            least, greatest = check["ours"]["least and greatest"]
            assert least <= check["ours"]["ratio of times"] <= greatest
            assert check["ours"]["measured on"]
            sides = {REPRODUCED: least > 1, NOT_REPRODUCED: greatest < 1, REPORTED: least <= 1 <= greatest}
            assert sides[check["verdict"]]
    for id, verdict in found.items():
        if id not in about.timed:
            allowed = {special[id]} if id in special else {REPRODUCED, HOLDS}
            assert verdict in allowed, (id, verdict)
    assert quick or set(about.exceptions) <= set(found)
    for check in checks:
        assert check["claim"]
        assert check["where"]
        assert check["reason"]
        assert len(check["text"]) > 40 or check["verdict"] == HOLDS
        claim = check["verdict"] in (REPRODUCED, NOT_REPRODUCED)
        assert (check["published"] is not None) == claim or check["verdict"] == REPORTED, check["id"]


def _planted(name: str, checks: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """A verdict follows from the numbers that were written, and turns with them."""
    judge, plants = study(name).judge, expected(name).plants
    honest = {check["id"]: check["verdict"] for check in checks}
    assert {check.id: check.verdict for check in judge(numbers)} == honest
    for id, verdict in honest.items():
        wrong = plants.get(id, [])
        turns = [plant for plant in wrong if plant[1] != verdict]
        assert turns or verdict == REPORTED, f"{id}: no number is planted that turns it"
        for values, follows in wrong:
            assert {check.id: check.verdict for check in judge(_with(numbers, values))}[id] == follows, (id, values)


def _with(numbers: dict[str, Any], values: Any) -> dict[str, Any]:
    """Numbers with some of them replaced; a path must lead to one that is there."""
    changed = copy.deepcopy(numbers)
    for path, value in values.items():
        *parents, last = path.split("/")
        place: Any = changed
        for key in parents:
            place = place[int(key) if isinstance(place, list) else key]
        last = int(last) if isinstance(place, list) else last
        place[last]  # raises if there is no such number
        place[last] = value
    return changed


def _files(name: str, folder: Path) -> None:
    figures = expected(name).figures
    for number in figures:
        for kind in ("png", "svg"):
            assert (folder / f"fig{number:02d}.{kind}").stat().st_size > 2000
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= len(figures)
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
