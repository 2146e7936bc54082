"""What `import pliant` offers, and the version it has."""

from __future__ import annotations

import ast
import inspect
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import pliant
from pliant.cli import COMMANDS
from pliant.export import export
from pliant.version import VERSION
from sources import ROOT

EXTRAS = {"environments"}
"""Rooms that need an extra: reached by name, not by `from pliant import *`."""
UNLISTED = set(pliant._INNER)
MOST = 40
"""Public names, at most."""


def imported() -> set[str]:
    """Names that `pliant/__init__.py` imports, for the interpreter or for type checkers."""
    tree = ast.parse(Path(pliant.__file__).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.asname or alias.name for node in found for alias in node.names if "pliant" in _source(node, alias)}
    return {name for name in names if name not in ("VERSION", "near") and not name.startswith("_")}


def _source(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    return node.module or "" if isinstance(node, ast.ImportFrom) else alias.name


def test_public_names_are_one_set() -> None:
    """`__all__`, `dir`, what type checkers see, and what is loaded on first use."""
    assert sorted(pliant.__all__) == sorted(set(pliant.__all__))
    assert set(pliant.__all__) | EXTRAS == imported() - UNLISTED
    assert {name for name in dir(pliant) if not name.startswith("_")} == imported() - UNLISTED
    assert len(set(pliant.__all__) | EXTRAS) <= MOST
    tree = ast.parse(Path(pliant.__file__).read_text(encoding="utf-8"))
    (lazy,) = (node for node in tree.body if isinstance(node, ast.If))
    assert {alias.asname or alias.name for node in lazy.body for alias in node.names} - UNLISTED == set(
        pliant._LATER
    ) | set(pliant._ROOMS)


def test_help_is_short() -> None:
    """`help(pliant)` is a map of the package, and that of a description shows nothing of pydantic."""
    assert len(pydoc.plain(pydoc.render_doc(pliant)).splitlines()) < 70
    told = pydoc.plain(pydoc.render_doc(pliant.Beam)).splitlines()
    wrapped = 0 if sys.version_info >= (3, 13) else len(inspect.signature(pliant.Beam).parameters) + 1
    assert len(told) + wrapped < 120  # from 3.13 on a long signature has a line for each parameter
    assert not any(name in line for line in told for name in ("model_dump", "model_copy", "__pydantic"))
    beam = pliant.Beam(length=1.0, mass_per_length=1.0)
    assert {"EI_y", "length", "from_dict"} <= set(dir(beam))
    assert not any(name.startswith(("model_", "__")) or name in ("copy", "json") for name in dir(beam))
    assert {name for name in pliant.__all__ if not re.search(rf"\b{name}\b", pliant.__doc__)} == set()


@pytest.mark.parametrize("name", sorted({*pliant.__all__, *EXTRAS}))
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(pliant, name) is not None


def test_everything_may_be_imported() -> None:
    code = "from pliant import *; import pliant; print(all(name in globals() for name in pliant.__all__))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


def test_an_unknown_name_has_a_neighbor() -> None:
    with pytest.raises(AttributeError, match=r"'pliant' has no attribute 'simulat'; did you mean 'simulate'\?$"):
        _ = pliant.simulat
    with pytest.raises(AttributeError, match=r"no attribute 'Cylinder'; did you mean pliant\.robot\.Cylinder\?$"):
        _ = pliant.Cylinder
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        _ = pliant.xyzzy


def test_the_version_stands_once(tmp_path: Path) -> None:
    """One assignment in the source; package, metadata, citation and what is written all show it."""
    assert pliant.__version__ == VERSION
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", VERSION)
    written = export(pliant.load("two-link").model(), "c", tmp_path / "c")
    assert f"pliant {VERSION}" in (written / "README.md").read_text(encoding="utf-8")
    if not (ROOT / "CITATION.cff").exists():
        pytest.skip("not in the source tree")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == VERSION
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in text
    assert 'path = "src/pliant/version.py"' in text
    source = [
        p.name for p in (ROOT / "src").rglob("*.py") if re.search(rf'["\']{re.escape(VERSION)}["\']', p.read_text())
    ]
    assert source == ["version.py"]


def test_the_overview_of_commands_is_whole() -> None:
    """In a terminal of 80 columns no line is cut off, and every command has one."""
    code = "import sys; sys.argv = ['pliant', '--help']; from pliant.cli import main; main()"
    surroundings = {**os.environ, "COLUMNS": "80"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=surroundings).stdout
    assert "..." not in told.partition("Commands:")[2]
    assert all(re.search(rf"^  {name} +\S", told, re.MULTILINE) for name in COMMANDS)
