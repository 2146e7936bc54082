"""The first thing that a newcomer types: the commands of `make demo`, as the Makefile has them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.figures.run_panels import tip_shift

ROOT = Path(__file__).parents[2]
START = "from pliant.cli import main; main()"


def commands() -> list[list[str]]:
    """Arguments of every `pliant` of the target `demo`."""
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe
    return [shlex.split(line) for line in re.findall(r"^\t\$\(BIN\)/pliant (.*)$", recipe[1], re.MULTILINE)]


@pytest.mark.full  # `make demo` itself runs before `make test`, wherever both do
def test_demo(tmp_path: Path) -> None:
    """It runs a scenario and ends with the page of an arm that bends visibly, whose address it prints."""
    assert [arguments[0] for arguments in commands()] == ["simulate", "view"]
    for arguments in commands():
        placed = [str(ROOT / a) if a.startswith("examples/") else a for a in arguments]
        run = subprocess.run([sys.executable, "-c", START, *placed], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, f"pliant {' '.join(arguments)}\n{run.stdout}\n{run.stderr}"
    page = tmp_path / "out" / "demo" / "arm.html"
    assert page.resolve().as_uri() in run.stderr
    assert "does not hold" not in run.stdout + run.stderr
    swung = pliant.Result.load(tmp_path / "out" / "demo" / "run.nc")
    assert np.linalg.norm(tip_shift(swung), axis=1).max() > 0.2  # m, of an arm of 1.9 m
