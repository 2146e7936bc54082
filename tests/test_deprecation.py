"""Names that go away warn in time, and go."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from pathlib import Path

import pytest

import pliant
from pliant.deprecation import deprecated, warn_deprecated
from pliant.version import VERSION
from sources import nodes

MARKS = ("deprecated", "warn_deprecated")


def number(version: str) -> tuple[int, ...]:
    """`0.3` and `0.3.0rc1` as numbers to compare; a release candidate counts as its release."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in version.split("rc")[0].split("."))


def overdue(tree: Iterable[ast.AST], version: str) -> list[str]:
    """Calls of the helpers whose version of removal is this one or an older one, or is not written down."""
    late = []
    for node in tree:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKS:
            removed = next((k.value for k in node.keywords if k.arg == "removed"), None)
            stated = isinstance(removed, ast.Constant) and isinstance(removed.value, str)
            if not stated or number(removed.value) <= number(version):
                late.append(ast.unparse(node))
    return late


@deprecated("new", removed="9.0")
def old(x: float) -> float:
    """Doubles."""
    return 2 * x


@deprecated("New", removed="9.0")
class Old:
    """Holds x."""

    def __init__(self, x: float) -> None:
        self.x = x


def test_a_call_site_warns_once_and_the_call_works() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert [old(1.0) for _ in range(3)] == [2.0, 2.0, 2.0]
        assert old(2.0) == 4.0
    assert [str(w.message) for w in caught] == ["old is deprecated and goes away with pliant 9.0; use new"] * 2
    assert {w.category for w in caught} == {DeprecationWarning}
    assert {Path(w.filename).name for w in caught} == {"test_deprecation.py"}
    assert old.__doc__ == "Doubles."


def test_a_class_warns_and_stays_a_class() -> None:
    with pytest.warns(DeprecationWarning, match="^Old is deprecated and goes away with pliant 9.0; use New$") as caught:
        assert Old(3.0).x == 3.0
    assert isinstance(Old, type)
    assert Path(caught[0].filename).name == "test_deprecation.py"


def test_anything_else_may_warn() -> None:
    def reader() -> None:
        warn_deprecated("simulate(tol=)", "rtol", removed="9.0")

    with pytest.warns(DeprecationWarning, match=r"^simulate\(tol=\) is deprecated .* use rtol$") as caught:
        reader()
    assert Path(caught[0].filename).name == "test_deprecation.py"


def test_nothing_has_outlived_its_removal() -> None:
    """A release that reaches the stated version removes the name first."""
    for path in sorted(Path(pliant.__file__).parent.rglob("*.py")):
        if path.name != "deprecation.py":
            assert overdue(nodes(path), VERSION) == [], path


@pytest.mark.parametrize(("removed", "late"), [("'0.3'", False), ("'0.2'", True), ("'0.2.0'", True), ("when", True)])
def test_the_reminder_reminds(removed: str, late: bool) -> None:
    source = f"@deprecated('b', removed={removed})\ndef a(): ..."
    assert bool(overdue(ast.walk(ast.parse(source)), "0.2.0")) is late
    assert overdue(ast.walk(ast.parse("deprecated('b')")), "0.2.0") == ["deprecated('b')"]
