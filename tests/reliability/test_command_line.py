"""The command line given rubbish: exit code 1 or 2 with a message, no traceback, in time, and no stray file."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pliant.cli import app
from pliant.compute.llvm import cache

from . import sound
from .damage import damaged_yaml, torn
from .judge import snapshot, watchdog

COMMANDS = ("info", "frequencies", "count", "simulate", "sweep", "identify", "validate", "view", "export")
COMPILES = 30.0
"""Seconds that a command may take: a sound arm among the rubbish is compiled, which takes a mechanism seven."""


def rubbish(command: str, seed: int, folder: Path) -> list[str]:
    """Arguments of a command that reads a damaged file; what it writes belongs into `chosen`."""
    rng = random.Random(f"{command} {seed}")
    robots, scenarios = sound.robots(), sound.scenarios()
    small = robots[rng.choice(sound.SMALL)]
    path = folder / "input.yaml"
    if command in ("info", "frequencies", "count", "export"):
        path.write_bytes(damaged_yaml(rng, small))
        more = {
            "count": ["--formulation", "denoc"],
            "export": ["--to", "python", "--function", "tip_pose", "--out", "chosen/code"],
        }.get(command, [])
        return [command, str(path), *more]
    if command == "view":
        path = folder / "run.nc"
        path.write_bytes(torn(rng, sound.result().save(folder / "whole.nc").read_bytes()))
        return [command, str(path), "--html", "chosen/page.html"]
    tree: Any = {
        "simulate": scenarios["sampled"], "sweep": sound.SWEEP, "identify": sound.IDENTIFY,
        "validate": {"format": 1, **sound.IDENTIFY["runs"][0], "skip": 0.01, "ringing": [[0.05, 0.2]]},
    }[command]  # fmt: skip
    (folder / "swing.csv").write_bytes(sound.measured())
    path.write_bytes(damaged_yaml(rng, tree))
    more = {"simulate": ["--t-end", "1e-5"], "sweep": ["--workers", "1"], "identify": ["--force"],
            "validate": ["--robot", "two-link", "--force"]}[command]  # fmt: skip
    return [command, str(path), "--out", "chosen", *more]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, a home and a folder of strangers, of which only `work/chosen` may change."""
    for name in ("work", "home", "strangers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "keep.txt").write_text("do not touch")
    for name in ("run.nc", "case.yaml", "x.nc"):  # names that a path with .. would reach
        (tmp_path / name).write_text("do not touch")
    monkeypatch.chdir(tmp_path / "work")
    import matplotlib
    import xarray  # noqa: F401  a library's first import is not the time of a command

    monkeypatch.setenv("MPLCONFIGDIR", matplotlib.get_cachedir())  # its list of fonts
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(cache.location().parent))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def _outside(house: Path) -> dict[str, tuple[int, int, int]]:
    """Everything but the chosen folder, and the inputs that the test itself writes."""
    chosen = str(house / "work" / "chosen")
    inputs = {str(house / "work" / name) for name in ("input.yaml", "swing.csv", "run.nc", "whole.nc")}
    return {p: s for p, s in snapshot(house).items() if not p.startswith(chosen + os.sep) and p not in inputs}


def _try(command: str, seed: int, house: Path) -> None:
    arguments = rubbish(command, seed, house / "work")
    before = _outside(house)
    with warnings.catch_warnings(), watchdog(COMPILES):
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, arguments)
    said = f"{command} {seed}: exit {done.exit_code}: {done.stderr[-500:]} {done.exception!r}"
    assert done.exception is None or isinstance(done.exception, SystemExit), said
    assert done.exit_code in (0, 1, 2), said
    assert done.exit_code == 0 or len(done.stderr.strip()) > 10, said
    assert "Traceback" not in done.output, said
    assert _outside(house) == before, f"{command} {seed} left files outside the chosen folder"


@pytest.mark.parametrize("command", COMMANDS)
def test_rubbish(command: str, house: Path) -> None:
    for seed in range(2):
        _try(command, seed, house)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("start", range(2, 62, 20))
@pytest.mark.parametrize("command", COMMANDS)
def test_rubbish_many(command: str, start: int, house: Path) -> None:
    for seed in range(start, start + 20):
        _try(command, seed, house)


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_rubbish_in_a_process_of_its_own(command: str, house: Path) -> None:
    """As a user meets it: nothing but a message on standard error, also from destructors and at exit."""
    for seed in range(100, 103):
        arguments = rubbish(command, seed, house / "work")
        before = _outside(house)
        done = subprocess.run(
            [sys.executable, "-c", "from pliant.cli import main; main()", *arguments],
            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0 or len(done.stderr.strip()) > 10
        assert _outside(house) == before


ESCAPES = ("../x.nc", "/tmp/pliant-escape.nc", "a/../../x.nc", "..", ".", "", "a/../..", "~/x.nc/..")


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("key", ["netcdf", "csv"])
def test_outputs_cannot_leave_their_folder(house: Path, key: str, name: str) -> None:
    Path("case.yaml").write_text(f"robot: two-link\nduration: 1e-5\noutputs: {{{key}: '{name}'}}\n")
    before = _outside(house)
    done = CliRunner().invoke(app, ["simulate", "case.yaml", "--out", "chosen"])
    assert done.exit_code == 2, done.output
    assert "inside the folder of outputs" in done.stderr
    assert _outside(house) == before
    assert not Path("/tmp/pliant-escape.nc").exists()


def test_a_link_in_the_chosen_folder_is_replaced_not_followed(house: Path) -> None:
    """An output that is a symbolic link to a stranger's file: the link goes, the stranger stays as it was."""
    (house / "work" / "chosen").mkdir()
    (house / "work" / "chosen" / "run.nc").symlink_to(house / "strangers" / "keep.txt")
    Path("case.yaml").write_text("robot: two-link\nduration: 1e-5\n")
    done = CliRunner().invoke(app, ["simulate", "case.yaml", "--out", "chosen"])
    assert done.exit_code == 0, done.output
    assert (house / "strangers" / "keep.txt").read_text() == "do not touch"
    assert not (house / "work" / "chosen" / "run.nc").is_symlink()


OUTPUTS = {"netcdf": "inner/x.nc", "csv": "inner/deep/x.csv", "page": "inner/x.html"}


@pytest.mark.parametrize("key", OUTPUTS)
def test_outputs_go_through_no_link_out_of_their_folder(house: Path, key: str) -> None:
    """Nothing is written on the other side."""
    (house / "work" / "chosen").mkdir()
    (house / "work" / "chosen" / "inner").symlink_to(house / "strangers")
    Path("case.yaml").write_text(f"robot: two-link\nduration: 1e-5\noutputs: {{{key}: {OUTPUTS[key]}}}\n")
    before = _outside(house)
    done = CliRunner().invoke(app, ["simulate", "case.yaml", "--out", "chosen"])
    assert done.exit_code == 2, done.output
    assert "leads out of chosen by a link" in done.stderr
    assert _outside(house) == before


def test_outputs_go_through_links_within_their_folder(house: Path) -> None:
    (house / "work" / "chosen" / "inner").mkdir(parents=True)
    (house / "work" / "chosen" / "link").symlink_to("inner")
    (house / "work" / "alias").symlink_to("chosen")
    Path("case.yaml").write_text("robot: two-link\nduration: 1e-5\noutputs: {netcdf: null, csv: link/x.csv}\n")
    done = CliRunner().invoke(app, ["simulate", "case.yaml", "--out", "alias"])  # which the user names
    assert done.exit_code == 0, done.output
    assert (house / "work" / "chosen" / "inner" / "x.csv").exists()


@pytest.mark.parametrize(("there", "force"), [("keep.txt", []), ("none.txt", ["--force"])])
def test_the_journal_of_a_sweep_is_no_link(house: Path, there: str, force: list[str]) -> None:
    """Neither to a file of others, which would be cut, nor to one that would be made."""
    (house / "work" / "chosen").mkdir()
    (house / "work" / "chosen" / "points.jsonl").symlink_to(house / "strangers" / there)
    Path("case.yaml").write_text("scenario: {robot: two-link, duration: 1e-5}\nvary: {payload.mass: [0, 1]}\n")
    before = _outside(house)
    done = CliRunner().invoke(app, ["sweep", "case.yaml", "--out", "chosen", "--workers", "1", *force])
    assert done.exit_code == 2, done.output
    assert _outside(house) == before
