"""The table of core tests covers the house; no dependency is without a lowest version."""

from __future__ import annotations

import re
import tomllib

import pytest

from machines import selection
from machines.dependencies import floor, stated
from sources import ROOT, SOURCE, functions

ROOMS = sorted(
    path.stem
    for path in (*(SOURCE / "pliant").iterdir(), *(SOURCE / name for name in ("pliant_bench", "pliant_studies")))
    if not path.name.startswith("_") and (path.is_dir() or path.suffix == ".py")
)
TABLE = tomllib.loads(selection.TABLE.read_text(encoding="utf-8"))


def test_every_room_has_a_core_test_and_says_what_it_holds() -> None:
    assert sorted(TABLE) == ROOMS
    assert all(part["holds"] and (part.get("core") or part.get("smoke")) for part in TABLE.values())


def test_every_entry_names_a_test() -> None:
    """Cases are found when the file is collected, which fails for those that do not exist (tests/conftest.py)."""
    for entry in selection.entries():
        assert entry.name.split("::")[-1].split("[")[0] in functions(entry.file) or "::" not in entry.name, entry.name


def test_an_entry_that_names_nothing_is_found() -> None:
    chosen = [selection.Entry("robot", name) for name in ("a.py", "a.py::test_b", "a.py::test_b[2]", "c.py")]
    assert selection.idle(chosen, ["tests/a.py::test_b[1]", "tests/a.py::test_d"]) == ["a.py::test_b[2]"]


def test_the_page_has_the_table() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", text, re.MULTILINE))
    assert rows == {room: part["holds"] for room, part in TABLE.items()}


def test_the_smoke_set_is_small_and_light(request: pytest.FixtureRequest) -> None:
    """Forty tests at most, in files that need no extra."""
    light = {entry.file for entry in selection.entries() if entry.smoke}
    assert not [file for file in light if re.search(r"^(\w+ = )?pytest.importorskip", file.read_text(), re.MULTILINE)]
    marked = [item for item in request.session.items if item.get_closest_marker("smoke")]
    assert len(marked) <= 40


@pytest.mark.parametrize("extra", stated(), ids=lambda extra: extra or "pliant")
def test_every_dependency_has_a_lowest_version(extra: str) -> None:
    assert [str(requirement) for requirement in stated()[extra] if floor(requirement) is None] == []


def test_one_package_has_one_lowest_version() -> None:
    """What stands in an extra and among the tools of developers is the same requirement."""
    said: dict[str, set[str]] = {}
    for requirement in (requirement for part in stated().values() for requirement in part):
        said.setdefault(requirement.name, set()).add(str(floor(requirement)))
    assert {name: found for name, found in said.items() if len(found) > 1} == {}
