"""Commands about the installation, and manners of the whole command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pliant
from pliant.kernels import cache

from .conftest import Run


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"pliant {pliant.__version__}\n"
    for command in ((), ("info",), ("frequencies",), ("simulate",), ("count",), ("doctor",), ("cache",)):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def test_doctor_reports_and_computes(run: Run) -> None:
    facts = json.loads(run("doctor", "--json").stdout)
    assert facts["self_test"]["passed"]
    assert facts["versions"]["pliant"] == pliant.__version__
    assert facts["cache"]["location"] == str(cache.location())
    assert {"dev", "bench"} <= set(facts["extras"])
    text = run("doctor").stdout
    for word in ("processor", "LLVM", "cache", "compiler", "not needed", "GPU", "extras", "passed"):
        assert word in text


def test_doctor_fails_when_the_self_test_does(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(pliant.Model, "forward_dynamics", broken)
    result = run("doctor")
    assert result.exit_code == 1
    assert "no such instruction" in result.stderr


def test_cache_shows_and_clears(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "kernels"))
    cache.write("ab" * 32, b"object code")
    assert json.loads(run("cache", "--json").stdout)["kernels"] == 1
    assert "removed 1 kernels" in run("cache", "--clear").stdout
    assert json.loads(run("cache", "--json").stdout) == {
        "location": str(tmp_path / "kernels"),
        "kernels": 0,
        "bytes": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("info", "two-lnk"), "did you mean `two-link`?"),
        (("info", "."), "cannot be read"),
        (("info", "two-link", "--flexible", "x.yaml"), "for URDF"),
        (("frequencies", "two-link", "--at", "1"), "expected 2 (upper, fore)"),
        (("frequencies", "two-link", "--at", "uper=1,fore=2"), "did you mean `upper`?"),
        (("frequencies", "two-link", "--at", "upper=1,2"), "all positions by name or all in order"),
        (("frequencies", "two-link", "--at", "upper=north"), "expected a position"),
        (("frequencies", "two-link", "--joints", "loose"), "loose"),
        (("count", "two-link", "--formulation", "denc"), "expected one of denoc"),
        (("frobnicate",), "frobnicate"),
        (("info", "two-link", "--jsn"), "--jsn"),
        (("simulate",), "SCENARIO"),
    ],
)
def test_mistakes_give_a_message_and_two(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_the_installed_command_starts_light() -> None:
    """Help loads none of the libraries that cost half a second each."""
    code = (
        "import sys, pliant.cli\n"
        "try: pliant.cli.app(['info', '--schema'])\n"
        "except SystemExit as leave: assert not leave.code\n"
        "print([m for m in ('numba', 'xarray', 'matplotlib', 'scipy.integrate') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"'{sys.executable}' -c 'from pliant.cli import main; main()' info --schema | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
