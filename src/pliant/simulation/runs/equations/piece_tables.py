"""Tables that a run looks up by the time: pieces of sampled torques and of long series, each held in p from its start.

The equations contain the polynomial of the present piece only, so that they do not depend on the number of pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array, Integers

DEEPEST = 12
"""Most levels of parts inside parts that are searched, as in `pliant.base.content`."""


@dataclass(frozen=True)
class PieceTable:
    """`starts` (K,) of the pieces, the first of them -inf; `pieces` (A, K, width) numbers that hold from there on, for
    one arm or for A."""

    starts: Array
    pieces: Array

    def piece(self, t: Array) -> Integers:
        """Number of the piece at each time."""
        return np.searchsorted(self.starts, t, side="right") - 1

    def beside(self, other: PieceTable) -> PieceTable:
        """Both tables side by side, the numbers of the other one last."""
        starts = np.union1d(self.starts, other.starts)
        own, others = (table.pieces[:, table.piece(starts)] for table in (self, other))
        arms = max(len(own), len(others))
        wide = [np.broadcast_to(part, (arms, *part.shape[1:])) for part in (own, others)]
        return PieceTable(starts, np.ascontiguousarray(np.concatenate(wide, axis=2)))


def series_in(parts: object) -> tuple[Any, ...]:
    """Series inside motions, controllers, loads and other parts, each once, in the order in which they are found."""
    found: dict[int, Any] = {}
    for part in _walk(parts, DEEPEST):
        found.setdefault(id(part), part)
    return tuple(found.values())


def pattern(parts: object) -> str:
    """Places of the series as text: equal parts with equal patterns have equal equations."""
    order = [id(part) for part in _walk(parts, DEEPEST)]
    known = {one: k for k, one in enumerate(dict.fromkeys(order))}
    return " ".join(str(known[one]) for one in order)


def _walk(part: object, depth: int) -> Iterator[Any]:
    """Series inside a part, down to a depth."""
    if getattr(part, "is_series", False) is True:
        yield part
    if depth == 0:
        return
    if isinstance(part, Mapping):
        inner: Iterable[object] = part.values()
    elif isinstance(part, list | tuple):
        inner = part
    elif type(part).__module__.startswith("pliant.") and not hasattr(part, "recipe"):  # a model is no part of a run
        inner = getattr(part, "__dict__", {}).values()
    else:
        return
    for item in inner:
        yield from _walk(item, depth - 1)


def series_table(series: Sequence[Any]) -> PieceTable | None:
    """Pieces of all series side by side, each followed by its start, as the equations read them."""
    table: PieceTable | None = None
    for one in series:
        rows = one.series_rows.reshape(len(one.series_starts), -1)
        starts = np.where(np.isfinite(one.series_starts), one.series_starts, 0.0)
        own = PieceTable(one.series_starts, np.column_stack([rows, starts])[None])
        table = own if table is None else table.beside(own)
    return table
