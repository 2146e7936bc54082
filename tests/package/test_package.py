"""The package as users get it: the wheel holds everything that the source tree has, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import pliant
from sources import ROOT

SOURCE = ROOT / "src"
PLIANT = SOURCE / "pliant"


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
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {name for name in wheel.namelist() if not name.startswith("pliant-")}
    assert there == here


def test_what_the_wheel_says_of_itself(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    said = Parser().parsestr(wheel.read(name).decode())
    assert said["Version"] == pliant.__version__
    assert said["License-Expression"] == "Apache-2.0 AND MIT"
    licenses = {"LICENSE", "NOTICE", *(f"src/pliant/viewer/web/LICENSE-{name}.txt" for name in ("three", "uplot"))}
    licenses |= {f"src/pliant_studies/measured/{rig}/LICENSE" for rig in ("quanser_2dsfl", "ist_bar")}
    assert set(said.get_all("License-File")) == licenses
    assert licenses <= {name.partition(".dist-info/licenses/")[2] for name in wheel.namelist()}
    (scripts,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "pliant = pliant.cli:main" in wheel.read(scripts).decode()


def test_the_notice_names_all_that_ships() -> None:
    """Every bundled arm with its source, and every library in the pages with its version and license."""
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert [path.name for path in (PLIANT / "robot" / "arms").glob("*.yaml") if path.name not in notice] == []
    web = PLIANT / "viewer" / "web"
    libraries = dict(re.findall(r"(three|uplot)@(\d+\.\d+\.\d+)", (web / "README.md").read_text(encoding="utf-8")))
    assert set(libraries) == {path.stem.removeprefix("LICENSE-") for path in web.glob("LICENSE-*.txt")}
    for name, version in libraries.items():
        assert re.search(rf"{name}(\.js)? {re.escape(version)}", notice, re.IGNORECASE), name
        assert f"pliant/viewer/web/LICENSE-{name}.txt" in notice


def test_the_tests_run_against_what_they_should() -> None:
    """`make test-wheel` and `make test-full` test the installed wheel: the source tree must not slip in its place."""
    asked = os.environ.get("PLIANT_TESTED")
    folder = Path(pliant.__file__).resolve().parent
    assert folder == (Path(asked).resolve() / "pliant" if asked else PLIANT)
