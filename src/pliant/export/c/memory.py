"""Memory of statements in C: places of their values in an array, and bytes of stack."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Sequence

from pliant.export.statements import Statements

FRAME = 192
"""Bytes of stack besides the values of a function: registers of its caller (160 on a 64-bit Arm) and alignment."""

SCHEDULED = 1.5
"""Factor on the values that are alive at once: compilers move statements, and keep up to a third more alive."""

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\[\d+\])?")


def _last_uses(
    assignments: Sequence[tuple[str, str]], outputs: Sequence[str], names: Collection[str]
) -> dict[str, int]:
    """Number of the last assignment that reads each value; a result is read behind all assignments."""
    last: dict[str, int] = {}
    for i, text in enumerate([*(text for _, text in assignments), " ".join(outputs)]):
        last.update((name, i) for name in _NAME.findall(text) if name in names)
    return last


def stack_bytes(body: Statements, size: int, part: int | None = None) -> int:
    """Bytes of stack of a function of these statements if the compiler optimizes (-O1 and above): each value is kept
    until its last use. With `part`, those of the largest of its parts of so many assignments, which read values of
    earlier parts from memory.
    """
    names, step = {name for name, _ in body.assignments}, part or len(body.assignments) or 1
    most = 0
    for first in range(0, len(body.assignments), step):
        piece = body.assignments[first : first + step]
        last, living = _last_uses(piece, () if part else body.outputs, names), set[str]()
        for i, (name, text) in enumerate(piece):
            living |= {name, *(other for other in _NAME.findall(text) if other in last)}
            most = max(most, sum(8 if other in body.wide else size for other in living))
            living = {other for other in living if last.get(other, i) > i}
    return -(-(FRAME + int(SCHEDULED * most)) // 16) * 16


def in_places(body: Statements, work: str, number: str) -> tuple[Statements, int]:
    """The same statements with values in elements of an array, whose places are used again; and its size. Where some
    values are wide, all elements are, and the other values are read as a `number`."""
    last, count = _last_uses(body.assignments, body.outputs, {name for name, _ in body.assignments}), 0
    free: list[int] = []
    places: dict[str, str] = {}
    casts = {name: f"({number})" if body.wide and name not in body.wide else "" for name, _ in body.assignments}

    def placed(text: str) -> str:
        return _NAME.sub(lambda found: f"{casts[found[0]]}{places[found[0]]}" if found[0] in places else found[0], text)

    assignments = []
    for i, (name, text) in enumerate(body.assignments):
        value = placed(text)
        for other in {other for other in _NAME.findall(text) if last.get(other) == i and other in places}:
            heapq.heappush(free, int(places.pop(other)[len(work) + 1 : -1]))
        place = heapq.heappop(free) if free else count
        count = max(count, place + 1)
        places[name] = f"{work}[{place}]"
        assignments.append((places[name], value))
    return Statements(assignments, [placed(text) for text in body.outputs], body.used, body.wide), count
