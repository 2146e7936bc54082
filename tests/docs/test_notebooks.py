"""Every notebook runs from top to bottom; none is stored with outputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
COURSE = [path for path in NOTEBOOKS if path.parent.name == "course"]
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (the notebooks extra has it)")


def test_there_are_three_and_a_course_without_outputs() -> None:
    assert len(NOTEBOOKS) - len(COURSE) == 3
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") for cell in cells), f"{path.name}: clear its outputs before committing"


def test_the_course_has_seven_that_draw_check_and_ask() -> None:
    """In the order of their numbers, each listed on the page of the course."""
    listed = re.findall(
        r"^\| `(\S+\.ipynb)` \|", (ROOT / "docs" / "learn" / "index.md").read_text("utf-8"), re.MULTILINE
    )
    assert [path.name for path in COURSE] == listed
    assert [name[0] for name in listed] == list("1234567")
    for path in COURSE:
        cells = nbformat.read(path, as_version=4).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        assert code.count("plt.subplots(") >= 2 or "plot(" in code, f"{path.name}: a figure"
        assert len(re.findall(r"^ *(?:assert |np\.testing\.)", code, re.MULTILINE)) >= 5, f"{path.name}: checks"
        assert re.match(r"## Questions\n\n1\. ", cells[-1].source), f"{path.name}: questions at its end"


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    client = pytest.importorskip("nbclient", reason="nbclient is not installed (the notebooks extra has it)")
    book = nbformat.read(path, as_version=4)
    client.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert any("text/html" in output.get("data", {}) for output in shown), "robot, model or result shows itself"
