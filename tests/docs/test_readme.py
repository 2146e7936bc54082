"""The first thing that anybody reads: what it shows runs as it is typed, and its arm bends for all to see."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.figures.run_panels import tip_shift
from sources import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("more", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_reader_who_has_only_the_readme_sees_an_arm_bend(
    more: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file and the first run; then all blocks in order, with a URDF arm and a tuned controller."""
    monkeypatch.chdir(tmp_path)
    (arm,), (first, urdf, tuned) = blocks("yaml"), blocks("python")
    Path("arm.yaml").write_text(arm, encoding="utf-8")
    names: dict = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(first, "README.md", "exec"), names)
        bent = names["run"]
        for code in (urdf, tuned) if more else ():
            exec(compile(code, "README.md", "exec"), names)
    assert np.linalg.norm(tip_shift(bent), axis=1).max() > 0.2  # m, of an arm of 1.9 m: seen without magnification
    numbers = [float(value) for value in re.findall(r"^\d+\.\d+$", said.getvalue(), re.MULTILINE)]
    assert f"bends by {100 * numbers[0]:.0f} cm" in TEXT
    assert f"oscillates by {100 * numbers[1]:.0f} cm" in TEXT
    assert not more or f"excites only {100 * numbers[2]:.0f} cm" in TEXT
    assert '"magnification":1.0' in Path("arm.html").read_text(encoding="utf-8")
    assert Path("arm.png").exists()


FILES = """
import sys
seen, loading = set(), 0

def look(frame, event, _):
    global loading
    code = frame.f_code
    if code.co_name == "<module>" and code.co_filename != "README.md":
        loading += {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not loading and code.co_flags & 1:  # a function, not the body of a class
        seen.add(code.co_filename)

code = compile(open("first.py").read(), "README.md", "exec")
sys.setprofile(look)
exec(code, {"__name__": "__main__"})
sys.setprofile(None)
import pliant
print(len([name for name in seen if name.startswith(pliant.__path__[0])]))
"""
"""Number of files of pliant in which a function runs, imports left out."""


@pytest.mark.slow
def test_a_known_run_passes_through_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run of the README in a second process, without and with its page and figure."""
    monkeypatch.chdir(tmp_path)
    Path("arm.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    whole, counts = blocks("python")[0], []
    for text in (whole, whole, whole.split("run.to_html")[0]):
        Path("first.py").write_text(text, encoding="utf-8")
        said = subprocess.run([sys.executable, "-c", FILES], capture_output=True, text=True, check=True).stdout
        counts.append(int(said.split()[-1]))
    _, page, plain = counts
    assert plain <= 84
    assert page <= 99


def test_it_is_the_arm_of_the_demo() -> None:
    """The picture, `make demo` and the text show the same."""
    scenario = pliant.Scenario.load(ROOT / "examples" / "scenarios" / "slender.yaml")
    assert pliant.robot.parse(blocks("yaml")[0]) == scenario.robot


def test_the_first_picture_moves_and_is_small() -> None:
    from PIL import Image

    first = re.search(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert first
    assert (ROOT / first[1]).stat().st_size < 2_000_000
    with Image.open(ROOT / first[1]) as picture:
        assert picture.n_frames > 20


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) < 120
