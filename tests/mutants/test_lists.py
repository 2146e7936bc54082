"""The lists of mutants fit the source: every entry can be planted, names files and tests that exist, and differs."""

from __future__ import annotations

from collections import Counter

import pytest

from mutants.command import main, table
from mutants.planting import SOURCE, TESTS, BrokenEntry, Mutant, mutants, room_of
from mutants.trial import Verdict
from sources import functions

ALL = mutants()
PACKAGES = sorted(path.parent.name for path in (SOURCE / "pliant").glob("*/__init__.py"))


def test_every_mutant_can_be_planted() -> None:
    for mutant in ALL:
        assert mutant.text() != (SOURCE / mutant.file).read_text(encoding="utf-8"), mutant.name
        assert room_of(mutant.file) == mutant.room, mutant.name


def test_every_named_test_exists() -> None:
    for name in sorted({name for mutant in ALL for name in mutant.tests}):
        file, _, test = name.partition("::")
        assert not test or test.split("[")[0] in functions(TESTS / file), name


def test_the_lists_cover_the_house() -> None:
    assert len(ALL) >= 150
    assert set(PACKAGES) <= {mutant.room.split(".")[0] for mutant in ALL} | {mutant.room for mutant in ALL}
    assert [name for name, count in Counter(mutant.name for mutant in ALL).items() if count > 1] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("no such text", "x", "0 times"), ("pliant", "x", "times"), ("from __future__", "for", "does not compile")],
)
def test_a_broken_entry_is_named(old: str, new: str, said: str) -> None:
    with pytest.raises(BrokenEntry, match=said):
        Mutant("planted", "mechanics.loads", "pliant/mechanics/loads/wrenches.py", old, new, ()).text()


def test_the_table_counts_by_room() -> None:
    one, two = ALL[0], next(mutant for mutant in ALL if mutant.room != ALL[0].room)
    said = table([Verdict(one, "killed", 1.0), Verdict(one, "survived", 1.0), Verdict(two, "killed", 1.0)])
    assert said[2:] == [
        f"| `{one.room}` | 2 | 1 | 1 | 0 |",
        f"| `{two.room}` | 1 | 1 | 0 | 0 |",
        "| **all** | 3 | 2 | 1 | 0 |",
    ]


def test_a_sample_is_drawn_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in ("3", "3", "4"):
        assert main(["--list", "--sample", "5", "--seed", seed]) == 0
        drawn.append(capsys.readouterr().out.splitlines()[1:])
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 5
