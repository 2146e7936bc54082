"""The command: what it lists, draws, counts and answers; that variants which cannot run say why and fail nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from machines import place, run
from machines.place import Broken, Machine, Missing
from machines.run import counts, main
from machines.variants import VARIANTS, Variant

ROOT = Path(__file__).parents[2]


def variant(name: str, error: Exception, quick: bool = True) -> Variant:
    def prepare() -> Machine:
        raise error

    return Variant(name, f"is {name}", prepare, quick)


ABSENT, FAULTY = variant("absent", Missing("no such tool")), variant("faulty", Broken("it fell over"), quick=False)


def test_the_command_lists_its_variants() -> None:
    said = subprocess.run(
        [sys.executable, "tests/machines", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in said.stdout.splitlines()] == [variant.name for variant in VARIANTS]
    assert {"generic", "no-simd", "lowest", "newest", "next-python", "other-architecture"} <= {v.name for v in VARIANTS}


def test_a_variant_that_cannot_run_says_why_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], [ABSENT]) == 0
    assert "skipped" in (said := capsys.readouterr().out)
    assert "no such tool" in said


def test_one_that_breaks_fails_the_command_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], [FAULTY, ABSENT]) == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "it fell over" in said
    assert "no such tool" in said


def test_a_failed_test_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ready = Variant("ready", "runs", Machine)
    monkeypatch.setattr(run, "surroundings", lambda machine: {"machine": "here", "versions": {"Python": "3"}})
    for found, code in (((9, 1, 0), 1), ((10, 0, 2), 0), ((0, 0, 0), 1)):
        monkeypatch.setattr(run, "tests", lambda name, machine, found=found: found)
        assert main([], [ready]) == code
    assert "here, Python 3" in capsys.readouterr().out


def test_a_seed_draws_one_quick_variant(capsys: pytest.CaptureFixture[str]) -> None:
    more = [variant(f"quick-{k}", Missing("not today")) for k in range(4)]
    for arguments in (["--seed", "7"], ["--seed", "7"], ["--seed", "today"]):
        assert main(arguments, [FAULTY, *more]) == 0
    first, second, third = (line for line in capsys.readouterr().out.splitlines() if "by seed" in line)
    assert first == second
    assert "of 4 quick variants, by seed 20" in third


def test_reports_are_counted(tmp_path: Path) -> None:
    report = tmp_path / "tests.xml"
    report.write_text('<testsuites><testsuite tests="12" failures="2" errors="1" skipped="3"/></testsuites>')
    assert counts(report) == (6, 3, 3)


def test_tools_that_cannot_be_installed_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place.shutil, "which", lambda name: None)
    with pytest.raises(Missing, match="no apt-get"):
        place.need("mmdebstrap", "mmdebstrap")


@pytest.mark.skipif(not hasattr(place.os, "geteuid"), reason="users of POSIX")
def test_only_root_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place.shutil, "which", lambda name: name if name == "apt-get" else None)
    monkeypatch.setattr(place.os, "geteuid", lambda: 1000)
    with pytest.raises(Missing, match="only root"):
        place.need("mmdebstrap", "mmdebstrap")


def test_a_run_that_does_not_end_is_ended() -> None:
    with pytest.raises(Broken, match="did not end"):
        Machine().run("-c", "import time; time.sleep(60)", limit=0.5)


def test_a_folder_is_built_once_for_a_recipe(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    folder.mkdir()
    place.built(folder, ["numpy==1"])
    assert place.current(folder, ["numpy==1"])
    assert not place.current(folder, ["numpy==2"])
    assert not folder.exists()
