"""Random bugs: what may be changed and what may not, that a seed gives the same ones, and which tests try them."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from mutants.command import main
from mutants.planting import SOURCE, Mutant
from mutants.random_mutants import Change, changes, drawn
from mutants.random_trial import Fate, Unsound, attempt, choose, table_of

SAMPLE = '''
"""A module of 3 lines."""

LIMIT: Literal[4] = 5


def law(x, y: "1 + 2" = 0.25) -> Annotated[float, 7]:
    """Of 8 numbers."""
    if len(x) <= 0 and not y:
        raise ValueError(f"got {x - 1}, expected {9}")
    z = -x * (y + 2.0) - µ(x, y)[1]  # µ takes two bytes
    z += 1
    table = zeros(11)  # as many as are quick: speed alone
    return A[x, y] @ B[1:x], "a" + "b", z
'''


def planted(text: str, change: Change) -> str:
    data = text.encode()
    return (data[: change.start] + change.new.encode() + data[change.end :]).decode()


def test_what_is_changed_in_a_text() -> None:
    found = changes(SAMPLE)
    lines = SAMPLE.splitlines()
    said = set()
    for change in found:
        after = planted(SAMPLE, change)
        ast.parse(after)
        different = [new.strip() for old, new in zip(lines, after.splitlines()) if old != new]
        assert len(different) == 1
        said.add((change.kind, different[0].partition("  #")[0].rstrip()))
    assert said >= {
        ("constant", "LIMIT: Literal[4] = 6"),
        ("constant", 'def law(x, y: "1 + 2" = 0.3) -> Annotated[float, 7]:'),
        ("comparison", "if len(x) > 0 and not y:"),
        ("comparison", "if len(x) < 0 and not y:"),
        ("comparison", "if len(x) <= 0 and  y:"),
        ("operator", "if len(x) <= 0 or not y:"),
        ("sign", "z = x * (y + 2.0) - µ(x, y)[1]"),
        ("sign", "z = -x * (y + 2.0) + µ(x, y)[1]"),
        ("sign", "z = -x * (y - 2.0) - µ(x, y)[1]"),
        ("operator", "z = -x / (y + 2.0) - µ(x, y)[1]"),
        ("constant", "z = -x * (y + 2.4) - µ(x, y)[1]"),
        ("dropped term", "z = -x * (y + 2.0)"),
        ("dropped term", "z = -x  - µ(x, y)[1]"),
        ("swapped arguments", "z = -x * (y + 2.0) - µ(y, x)[1]"),
        ("index", "z = -x * (y + 2.0) - µ(x, y)[2]"),
        ("index", "z = -x * (y + 2.0) - µ(x, y)[0]"),
        ("dropped term", "pass"),
        ("index", 'return A[y, x] @ B[1:x], "a" + "b", z'),
        ("index", 'return A[x, y] @ B[1:x + 1], "a" + "b", z'),
        ("swapped arguments", 'return (B[1:x]) @ (A[x, y]), "a" + "b", z'),
    }
    left = "\n".join(line for _, line in said)
    for never in ("zeros", "raise", "Literal[5]", '"1 -', "float, 8", "of 9", '"a" -'):
        assert never not in left, never


def test_drawn_bugs_can_be_planted() -> None:
    """Each in its room, in one place, as other code; the same ones by the same seed."""
    rooms = ("control", "mechanics.shapes")
    found = drawn(20, 7, rooms)
    assert found == drawn(20, 7, rooms)
    assert found[0] != drawn(1, 8, rooms)[0]
    assert len(found) == 20
    assert {mutant.room for mutant in found} == set(rooms)
    assert len({mutant.name for mutant in found}) == 20
    for mutant in found:
        before, after = (SOURCE / mutant.file).read_text(encoding="utf-8"), mutant.text()
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before)), mutant.name


NEAR, FAR, SLOW = (
    "tests/mechanics/shapes/test_a.py::near",
    "tests/physics/test_b.py::far",
    "tests/physics/test_b.py::slow",
)
TRIED_FILE = "pliant/mechanics/shapes/quadrature.py"
TRIED = Mutant(
    f"{TRIED_FILE}:1 sign: + -> -", "mechanics.shapes", TRIED_FILE, "import numpy as np",
    "import numpy as np  # changed", (),
)  # fmt: skip


def recorded(ran: set[str]) -> Any:
    seconds = {NEAR: 2.0, FAR: 0.1, SLOW: 30.0}
    return SimpleNamespace(seconds=seconds, files={node.split("::")[0] for node in seconds}, tests=lambda *_, **__: ran)


def test_cheap_tests_of_the_room_are_tried_first() -> None:
    assert choose(TRIED, recorded({NEAR, FAR, SLOW})) == ([NEAR, FAR], [SLOW, *choose(TRIED, recorded({NEAR}))[1]])
    assert choose(TRIED, recorded({SLOW}), 10.0)[0] == [SLOW]  # one at least
    assert NEAR in choose(TRIED, recorded(set()))[0]  # of the room, where nothing is known


class Bench:
    """Answers by the test in the place of runs."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, list[list[str]]()

    @contextmanager
    def planted(self, mutant: Mutant) -> Any:
        yield False

    def limited(self, asked: list[str], limit: float, fresh: bool) -> tuple[int | None, str, float]:
        self.asked.append(asked)
        for node in (each for each in asked if each.startswith("tests/")):
            name = node.split("::")[-1]
            if name in self.answers and f"--deselect={node}" not in asked:
                return self.answers[name], f"{node} - assert 1", 2.0
        return 0, "", 1.0

    def failing(self, nodes: list[str]) -> list[str]:
        return nodes


@pytest.mark.parametrize(
    ("answers", "fate", "by"),
    [
        ({"near": 1}, "killed", f"{NEAR} - assert 1"),
        ({"near": -24}, "killed", "no end"),
        ({}, "survived", ""),
    ],
)
def test_fates(answers: dict[str, int], fate: str, by: str) -> None:
    known = recorded({NEAR, SLOW})
    found = attempt(Bench(**answers), TRIED, known, Unsound(known), 60.0, 0.0)
    assert (found.fate, found.by) == (fate, by)


def test_a_test_that_fails_anyhow_kills_nothing() -> None:
    known = recorded({NEAR})
    unsound, bench = Unsound(known), Bench(near=1)
    unsound.passing.clear()
    assert attempt(bench, TRIED, known, unsound, 60.0, 0.0).fate == "survived"
    assert unsound.failing == {NEAR}
    assert f"--deselect={NEAR}" in bench.asked[1]


def test_the_table_of_random_bugs() -> None:
    fates = [Fate(str(k), "shapes", fate, "", 2.0, 1, "") for k, fate in enumerate(("killed", "late", "survived"))]
    assert table_of(fates)[2:] == ["| shapes | 3 | 1 | 1 | 1 | 6 |", "| **all** | 3 | 1 | 1 | 1 | 6 |"]


def test_random_bugs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--random", "4", "--seed", "5", "--room", "compute.nmpc", "--list"]) == 0
    assert [line.split("/")[2] for line in capsys.readouterr().out.splitlines()[1:]] == ["nmpc"] * 4
