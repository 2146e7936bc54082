"""The workflow for GitHub Actions: valid without asking the network, calling make targets that are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from sources import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
NO_NETWORK = """
import runpy, socket
socket.socket.connect = None
runpy.run_module("check_jsonschema", None, "__main__")
"""


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    return found


def validate(path: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed (the dev extra has it)")
    command = [sys.executable, "-c", NO_NETWORK, "--builtin-schema", "vendor.github-workflows", str(path)]
    return subprocess.run(command, capture_output=True, text=True)


def test_it_follows_the_schema() -> None:
    done = validate(WORKFLOW)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow_cases("- run:-- runs:", "fail-fast: false-fail-fast: 3", "runs-on:-run-on:")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("runs-on:", "run-on:"), ("steps:", "step:"), ("fail-fast: false", "fail-fast: 3"), ("- run:", "- runs:")],
)
def test_the_schema_sees_mistakes(tmp_path: Path, right: str, wrong: str) -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "tests.yml").write_text(text.replace(right, wrong), encoding="utf-8")
    assert validate(tmp_path / "tests.yml").returncode == 1


def make_targets() -> list[str]:
    runs = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    return [word for run in runs for call in re.findall(r"^\s*make (.*)$", run, re.M) for word in call.split()]


def test_every_target_is_in_the_makefile() -> None:
    assert {"demo", "test"} <= set(make_targets())
    for target in make_targets():
        assert re.search(rf"^(?:[\w-]+ )*{re.escape(target)}(?: [\w-]+)*:", MAKEFILE, re.M), target


def test_it_covers_every_python_we_promise() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = int(re.fullmatch(r">=3\.(\d+)", project["requires-python"])[1])
    matrix = jobs()["test"]["strategy"]["matrix"]
    minors = sorted(int(version.split(".")[1]) for version in matrix["python"])
    assert minors == list(range(lowest, 15))
    assert {f"Programming Language :: Python :: 3.{k}" for k in minors} <= set(project["classifiers"])


def test_it_covers_every_system() -> None:
    matrix = jobs()["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert {"ubuntu-24.04-arm", "macos-15-intel"} <= set(matrix["system"])
    assert "windows-11-arm" in {job["system"] for job in matrix["include"]}


@pytest.mark.parametrize(("system", "folder"), [("Windows_NT", ".venv/Scripts"), ("", ".venv/bin")])
def test_the_makefile_finds_programs_on_every_system(system: str, folder: str) -> None:
    environment = {**os.environ, "OS": system}
    command = ["make", "--dry-run", "--always-make", "lint", "test", "demo"]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("make is not installed")
    used = set(re.findall(r"\.venv/(?:bin|Scripts)", done.stdout))
    assert used == {folder}
