"""Every example runs, is short, says its number and asserts it."""

from __future__ import annotations

import ast
import os
import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from sources import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SLOW = ("urdf_arm", "still_payloads")  # a quarter of a minute and more to compile
CASES = [pytest.param(path, marks=pytest.mark.full if path.stem in SLOW else (), id=path.stem) for path in EXAMPLES]


PICTURES = ROOT / "docs" / "images" / "gallery"
WITHOUT = ("neural_residual",)  # takes PyTorch: its picture is drawn by itself


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= 12


def test_each_has_its_picture_in_the_gallery() -> None:
    """Drawn by docs/images/make_gallery.py; a picture without its script would link to nothing."""
    names = {path.stem for path in EXAMPLES}
    assert {path.stem for path in PICTURES.glob("*.png")} - set(WITHOUT) == names - set(WITHOUT)


@pytest.mark.slow_cases(
    "free_flyer",
    "identify_arm",
    "learn_to_rest",
    "optimal_casadi",
    "predictive_control",
    "real_link",
    "scenario_file",
    "still_payloads",
    "sweep_payload",
    "telescoping_arm",
    "trajectory_optimization",
    "weigh_payload",
    "wipe_wall",
)
@pytest.mark.parametrize("path", CASES)
def test_example(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    for library in sorted(
        {"jax", "torch"} & {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    ):
        pytest.importorskip(library, reason=f"{library} is not installed (pliant[{library}]; make test-learning)")
    assert ast.get_docstring(tree), "an example begins with its idea"
    assert len(text.splitlines()) < 80
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree)), "an example asserts its number"
    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example prints its number"
    ax = Figure().add_subplot()
    made["picture"](ax)
    assert ax.has_data(), "an example draws its picture"
    assert ax.get_title(), "and says what it shows"
    assert os.listdir(tmp_path) == [], "an example leaves nothing behind"
