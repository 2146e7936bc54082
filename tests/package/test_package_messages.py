"""What pliant does without and a user asks for: messages name an extra of ours that brings it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from pliant.errors import install
from sources import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
OPTIONAL = {
    "control": "control", "zarr": "zarr", "pyarrow": "sweep", "distributed": "sweep", "cupy": "gpu", "viser": "studio",
    "imageio_ffmpeg": "video", "gymnasium": "rl", "jax": "jax", "torch": "torch",
}  # fmt: skip


def test_messages_name_an_extra_that_is_there() -> None:
    """By one function: no bare package, whose version nobody chose, and none from an index, where pliant is not."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found += [name for name in re.findall(r"""\binstall\(['"](\w+)['"]\)""", text) if name not in EXTRAS]
        if path.name != "errors.py":
            found += [f"{path.name}: {match}" for match in re.findall("pip install.*", text)]
    assert found == []
    assert install("studio") == "in the folder of pliant's source, run: pip install '.[studio]'"


def test_pages_promise_nothing_that_is_on_no_index() -> None:
    """Install commands of the pages are for a clone, and name extras that are there."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install[^\n`]*[ \"']pliant\b", text), path.name
        assert set(re.findall(r"pip install [^\n`]*\.\[(\w+)\]", text)) <= set(EXTRAS), path.name


def test_the_notebooks_extra_brings_jupyter() -> None:
    assert any(re.match("jupyterlab|notebook", entry) for entry in EXTRAS["notebooks"])


def test_extras_bring_what_is_asked_for() -> None:
    for module, name in OPTIONAL.items():
        assert any(entry.replace("-", "_").startswith(module) for entry in EXTRAS[name]), module


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pliant import PliantError
    from pliant.sweeps.outputs import SweepResult

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PliantError, match=r"pip install '\.\[sweep\]'"):
        SweepResult.to_parquet(None, tmp_path / "table.parquet")  # type: ignore[arg-type]
