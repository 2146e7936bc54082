"""Rules of the source that a reader feels: docstrings start with what the thing is, long calls name their arguments."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from sources import nodes, python_files, short

RIDDLE = re.compile(r"(What|Who|Whom|Whose|Of)\b")
MOST = 8
"""Positional arguments of a call."""
ROOMS = sorted({short(path).split("/")[0] for path in python_files()})
LISTS = ("vertcat", "horzcat", "max", "min", "hypot", "zip", "concatenate")
"""Functions of any number of equal arguments."""


def files_of(room: str) -> list[Path]:
    return [path for path in python_files() if short(path).split("/")[0] == room]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_start_with_the_thing(room: str) -> None:
    """Not with a question word: "Friction laws", "Return the mass matrix"."""
    found = []
    for path in files_of(room):
        for node in nodes(path):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                said = ast.get_docstring(node)
                if said and RIDDLE.match(said):
                    found.append(f"{short(path)}:{getattr(node, 'lineno', 1)}: {said.splitlines()[0]}")
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_long_calls_name_their_arguments(room: str) -> None:
    found = []
    for path in files_of(room):
        for node in nodes(path):
            if isinstance(node, ast.Call) and len(node.args) > MOST:
                name = ast.unparse(node.func)
                if name.rpartition(".")[2] not in LISTS:
                    found.append(f"{short(path)}:{node.lineno}: {name} with {len(node.args)}")
    assert found == []


def test_any_stands_at_the_border_to_libraries() -> None:
    """Names of real types say more; `Any` is for what comes from libraries without types."""
    used = [node for path in python_files() for node in nodes(path) if isinstance(node, ast.Name) and node.id == "Any"]
    assert len(used) < 480
