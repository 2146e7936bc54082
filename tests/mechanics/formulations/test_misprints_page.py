"""The page of misprints names tests that exist, and every test of a misprint stands on it."""

from __future__ import annotations

import re
from functools import cache

from sources import TESTS

PAGE = (TESTS.parent / "docs" / "misprints.md").read_text(encoding="utf-8")


@cache
def functions(pattern: str) -> frozenset[str]:
    """Names of the tests in files that match."""
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob(pattern))
    return frozenset(name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


def test_every_name_on_the_page_is_a_test() -> None:
    named = set(re.findall(r"`(test_\w+)(?:\[\w+\])?`", PAGE))
    assert named <= functions("test_*.py"), named - functions("test_*.py")


def test_every_test_of_a_misprint_is_on_the_page() -> None:
    tests = functions("test_misprints_*.py") - functions("test_misprints_page.py")
    missing = {name for name in tests if f"`{name}`" not in PAGE}
    assert not missing


def test_every_row_says_how_we_know() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| where")]
    assert len(rows) > 60
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 4, row
        assert all(cells), row
        assert "`test_" in cells[3] or cells[3] == "the same tests", row
