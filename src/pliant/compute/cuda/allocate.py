"""Places of values while a long tape runs: at most K at once in registers, the others in shared memory.

The compiler for graphics processors alone would spill long tapes to slow memory. Here the tape is walked once; when K
values are alive, the one that is needed last is evicted (Belady's rule), stored once and loaded again before its next
use. Stored values then share slots by a linear scan over their lifetimes; where fast slots run out, the value that is
needed longest goes to local memory.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pliant.compute.cuda.program import Nodes


@dataclass(frozen=True)
class Compute:
    """Do operation `index`; each operand is read under its current name."""

    index: int
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """Put a value into a slot, a wide one into two."""

    name: str
    value: int
    spills: tuple[int, ...]


@dataclass(frozen=True)
class Reload:
    """Load a value again under a new name: from its slots, or, if it has none, from its permanent place."""

    name: str
    value: int
    spills: tuple[int, ...]


Action = Compute | Store | Reload


@dataclass(frozen=True)
class Allocation:
    """Actions in order, and the slot of every stored value: fast slots are numbered first, then slow ones."""

    actions: tuple[Action, ...]
    slots: tuple[int, ...]
    fast: int
    slow: int


def allocate(
    nodes: Nodes, first: int, last: int, registers: int, fast_slots: int, has_home: Callable[[int], bool]
) -> Allocation:
    """Plan operations first ... last - 1.

    Parameters
    ----------
    registers : int
        Most numbers alive in registers.
    fast_slots : int
        Slots of shared memory.
    has_home : callable
        Whether a value can always be read again from memory (inputs, values of earlier kernels).
    """
    walk = _Walk(nodes, first, last, registers, has_home)
    slots, fast, slow = _color(walk.spans, fast_slots)
    return Allocation(actions=tuple(walk.actions), slots=slots, fast=fast, slow=slow)


class _Walk:
    def __init__(self, nodes: Nodes, first: int, last: int, registers: int, has_home: Callable[[int], bool]) -> None:
        self.nodes, self.last, self.capacity, self.has_home = nodes, last, registers, has_home
        self.actions: list[Action] = []
        self.spans: list[list[int]] = []
        """First and last operation during which a stored value must be kept."""
        self._names: dict[int, str] = {}
        self._next: dict[int, int] = {}
        self._spills: dict[int, tuple[int, ...]] = {}
        self._loads = 0
        for i in range(first, last):
            self._operation(i)

    def _next_use(self, value: int, i: int) -> int:
        """The first use of a value behind operation i, or `last`."""
        uses = self.nodes.uses.get(value, [])
        place = bisect.bisect_right(uses, i)
        return min(uses[place], self.last) if place < len(uses) else self.last

    def _operation(self, i: int) -> None:
        node = self.nodes.nodes[i]
        needed = [v for v in dict.fromkeys(node.operands) if v not in self.nodes.constants]
        busy = {*needed, *node.results}
        for value in needed:
            if value not in self._names:
                self._make_room(i, busy)
                self._load(value, i)
        operands = tuple(self._names.get(v, "") for v in node.operands)
        for value in needed:
            self._next[value] = self._next_use(value, i)
            if self._next[value] >= self.last:
                del self._names[value]
        for value in node.results:
            self._next[value] = self._next_use(value, i)
            if self._next[value] < self.last:
                self._make_room(i, busy)
                self._names[value] = f"v{value}"
        self.actions.append(Compute(i, operands))

    def _load(self, value: int, i: int) -> None:
        self._loads += 1
        name = f"r{self._loads}"
        spills = self._spills.get(value, ())
        for spill in spills:
            self.spans[spill][1] = i
        self.actions.append(Reload(name, value, spills))
        self._names[value] = name

    def _make_room(self, i: int, busy: set[int]) -> None:
        while sum(map(self.nodes.width, self._names)) >= self.capacity:
            victim = max((v for v in self._names if v not in busy), key=self._next.__getitem__, default=-1)
            if victim < 0:
                return
            name = self._names.pop(victim)
            if victim not in self._spills and not self.has_home(victim):
                first, count = len(self.spans), self.nodes.width(victim)
                self._spills[victim] = tuple(range(first, first + count))
                self.spans += [[i, i] for _ in range(count)]
                self.actions.append(Store(name, victim, self._spills[victim]))


def _color(spans: list[list[int]], fast_slots: int) -> tuple[tuple[int, ...], int, int]:
    """Slots of stored values (slow ones numbered from `fast_slots`), and the numbers of fast and slow slots."""
    slots, slow = linear_scan(spans, range(len(spans)), fast_slots)
    fast = max(slots.values(), default=-1) + 1
    others, rest = linear_scan(spans, slow, len(slow))
    assert not rest
    slots |= {k: fast_slots + slot for k, slot in others.items()}
    return tuple(slots[k] for k in range(len(spans))), fast, max(others.values(), default=-1) + 1


def linear_scan(spans: list[list[int]], chosen: Iterable[int], limit: int) -> tuple[dict[int, int], list[int]]:
    """Assign slots by a linear scan over lifetimes, which come by rising start; return slots, and those without one."""
    slots: dict[int, int] = {}
    free = list(range(limit))
    active: set[int] = set()
    left: list[int] = []
    for k in chosen:
        start, end = spans[k]
        for other in [o for o in active if spans[o][1] < start]:
            active.remove(other)
            heapq.heappush(free, slots[other])
        farthest = max(active, key=lambda o: spans[o][1], default=k)
        if free:
            slots[k] = heapq.heappop(free)
            active.add(k)
        elif spans[farthest][1] > end:
            slots[k] = slots.pop(farthest)
            active.remove(farthest)
            active.add(k)
            left.append(farthest)
        else:
            left.append(k)
    return slots, sorted(left)
