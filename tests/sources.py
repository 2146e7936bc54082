"""Python files as the nodes of their trees, parsed and walked once for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, outer ones first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def functions(path: Path) -> frozenset[str]:
    """Names of all functions in a file."""
    return frozenset(node.name for node in nodes(path) if isinstance(node, ast.FunctionDef))
