"""Where things are, and Python files of the package as the nodes of their trees, parsed and walked once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SOURCE = ROOT / "src"


def python_files() -> list[Path]:
    """All Python files of the three packages."""
    return sorted(SOURCE.rglob("*.py"))


def short(path: Path) -> str:
    """Path of a file as lists in tests write it: below `pliant`, or below the folder of the packages."""
    inside = path.relative_to(SOURCE).as_posix()
    return inside.removeprefix("pliant/")


def module_name(path: Path) -> str:
    """Dotted name of the module in a file."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, outer ones first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def functions(path: Path) -> frozenset[str]:
    """Names of all functions in a file."""
    return frozenset(node.name for node in nodes(path) if isinstance(node, ast.FunctionDef))
