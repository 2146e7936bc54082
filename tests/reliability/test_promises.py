"""Every promise of docs/reliability.md names a test that exists, and links of the page lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources import functions

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGES = ("reliability.md", "measurements.md")
TEXT = (DOCS / PAGES[0]).read_text(encoding="utf-8")
NAMED = re.compile(r"`(?:tests/([\w/]+)/|tests/)?(test_\w+\.py)(?:::(\w+))?`")


def _rows() -> list[str]:
    """Rows of the tables whose last column is headed `test`."""
    tables = re.findall(r"^(\|.*\|\n)\|[-|]+\|\n((?:\|.*\|\n)+)", TEXT, re.MULTILINE)
    return [row for head, rows in tables if head.endswith("| test |\n") for row in rows.splitlines()]


def test_every_promise_names_a_test() -> None:
    rows = _rows()
    assert len(rows) > 60
    assert [row for row in rows if not NAMED.search(row.split("|")[-2])] == []


@pytest.mark.parametrize("page", PAGES)
def test_named_tests_exist(page: str) -> None:
    for place, file, function in NAMED.findall((DOCS / page).read_text(encoding="utf-8")):
        candidates = [TESTS / place / file] if place else [TESTS / "reliability" / file, TESTS / file]
        path = next((path for path in candidates if path.is_file()), None)
        assert path is not None, f"{page}: no file {file} in tests/{place}"
        assert not function or function in functions(path), f"{page}: {path.name} has no {function}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", (DOCS / page).read_text(encoding="utf-8")):
        path = DOCS / (target or page)
        assert path.is_file(), f"{page}: {target}"
        heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w\s-]", "", head).strip().lower().replace(" ", "-") for head in heads}
        assert not anchor or anchor in slugs, f"{page}: {target}#{anchor}"


def test_a_promise_without_a_test_is_seen() -> None:
    assert not NAMED.search("in short, `make test`")
    assert NAMED.findall("`tests/viewer/test_access.py::test_a`, `test_b.py`") == [
        ("viewer", "test_access.py", "test_a"),
        ("", "test_b.py", ""),
    ]
