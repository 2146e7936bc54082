"""The package as users get it: the wheel holds everything that the source tree has, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pliant"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, cwd=folder)
    (found,) = folder.glob("pliant-*.whl")
    return zipfile.ZipFile(found)


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    """Robot files, templates and page assets as well as modules."""
    here = {
        f"pliant/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {name for name in wheel.namelist() if not name.startswith("pliant-")}
    assert there == here


def test_what_the_wheel_says_of_itself(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(wheel.read(name).decode())
    assert said["Version"] == pliant.__version__
    assert said["License-Expression"] == "Apache-2.0"
    (scripts,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "pliant = pliant.cli:main" in wheel.read(scripts).decode()


def test_the_tests_run_against_what_they_should() -> None:
    """`make test-wheel` and `make test-full` test the installed wheel: the source tree must not slip in its place."""
    asked = os.environ.get("PLIANT_TESTED")
    folder = Path(pliant.__file__).resolve().parent
    assert folder == (Path(asked).resolve() / "pliant" if asked else SOURCE)
