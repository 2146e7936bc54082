"""`pliant bench` without a single peer: the table, the JSON, the manners."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pliant.errors import install
from pliant_bench import findings, puma
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.part_names import PARTS
from pliant_bench.timing import Effort, Timings

from .conftest import Run


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no peer were installed."""
    monkeypatch.setattr(findings, "absent", lambda *names: f"{names[0]} not installed; {install('bench')}")


@pytest.mark.usefixtures("alone")
def test_without_peers_it_says_so_and_succeeds(run: Run) -> None:
    result = run("bench", "rigid", "puma", "loops", "--quick")
    assert result.exit_code == 0, result.stderr
    for name in ("Pinocchio", "MuJoCo", "Exudyn", "Robotics Toolbox", "SymPy"):
        assert f"{name}" in result.stderr
    assert "pip install '.[bench]'" in result.stderr
    assert "SciPy, DOP853" in result.stdout  # SciPy is always there
    page = Path("out/bench/bench.md").read_text()
    assert "SciPy, RK45 on the same kernel" in page
    assert "left out, exudyn not installed" in page
    data = json.loads(Path("out/bench/bench.json").read_text())
    assert data["format"] == 1
    assert data["parts"] == ["rigid", "puma", "loops"]
    for c in data["comparisons"]:
        assert c["ours"]["error"] < 1e-9  # joint angles at rtol 1e-9 over 0.02 s
        assert c["peer"]["error"] < 1e-9


@pytest.mark.usefixtures("alone")
def test_json_is_what_the_file_holds(run: Run) -> None:
    result = run("bench", "puma", "--quick", "--json", "--out", "here")
    assert json.loads(result.stdout) == json.loads(Path("here/bench.json").read_text())


def test_help_names_every_part(run: Run) -> None:
    shown = " ".join(run("bench", "--help").stdout.split())
    assert all(part in shown for part in PARTS)


def test_unknown_part_and_file_in_the_way(run: Run) -> None:
    result = run("bench", "rigd")
    assert result.exit_code == 2
    assert (
        "part: got 'rigd', expected some of rigid, derivatives, puma, loops, stepping, flexible, large, linkages, mpc, "
        "start" in result.stderr
    )
    assert not Path("out").exists()
    Path("taken").write_text("mine")
    result = run("bench", "puma", "--out", "taken")
    assert result.exit_code == 2
    assert "a file of this name is in the way" in result.stderr
    assert Path("taken").read_text() == "mine"


def test_interrupted_bench_keeps_what_it_has(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(found: Report, effort: Effort) -> None:
        side = Side("pliant", Timings((1.0,)), 0.0)
        found.comparisons.append(Comparison("puma", "PUMA", "half a task", "evaluation", side, side, "itself"))
        raise KeyboardInterrupt

    monkeypatch.setattr(puma, "measure", measure)
    result = run("bench", "puma", "--quick")
    assert result.exit_code == 130
    assert "what was measured so far" in result.stderr
    assert "half a task" in Path("out/bench/bench.md").read_text()
    assert json.loads(Path("out/bench/bench.json").read_text())["parts"] == []
    assert sorted(path.name for path in Path("out/bench").iterdir()) == ["bench.json", "bench.md"]


def test_failure_of_a_peer_is_exit_code_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "absent", lambda *names: None)

    def broken(*_: object) -> None:
        raise RuntimeError("binary incompatible")

    monkeypatch.setattr(puma, "_toolbox", broken)
    monkeypatch.setattr(puma, "_sympy", lambda *_: None)
    result = run("bench", "puma", "--quick")
    assert result.exit_code == 1
    assert "Robotics Toolbox FAILED, RuntimeError: binary incompatible" in result.stderr
    assert "FAILED" in Path("out/bench/bench.md").read_text()


@pytest.mark.parametrize("parts", [("rigid", "flexible"), pytest.param((), marks=pytest.mark.full)], ids=["two", "all"])
def test_smoke_run_of_everything_that_is_installed(run: Run, parts: tuple[str, ...]) -> None:
    result = run("bench", *parts, "--quick")
    assert result.exit_code == 0, result.stderr
    data = json.loads(Path("out/bench/bench.json").read_text())
    assert data["parts"] == list(parts or PARTS)
    assert data["failures"] == []
    assert Path("out/bench/work_precision.png").stat().st_size > 10_000
    for c in data["comparisons"]:
        if c["part"] in ("rigid", "puma"):
            assert max(c["ours"]["error"], c["peer"]["error"]) < 1e-8  # the same arm: rounding, or RK4 at 1 ms
