"""Every notebook runs from top to bottom; none is stored with outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (the notebooks extra has it)")


def test_there_are_three_without_outputs() -> None:
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") for cell in cells), f"{path.name}: clear its outputs before committing"


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
