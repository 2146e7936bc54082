"""A tape that calls functions, planned as a table: the order of functions, and the places of their numbers.

Own arithmetic, calls and copies become rows, which a loop runs one after the other (`emit_calls.py`), so that machine
code grows with the functions and not with the number of calls. A function reads its arguments where they were written:
results of one call stand side by side, and pointers to runs of them are handed on. Only arguments that lie apart are
copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.compute.tape.lower import Block, Instruction, Program, angles_first, leaves_of, lower, outputs_of, steps_of
from pliant.compute.tape.operations import CALL, RESULT
from pliant.compute.tape.tape import Tape

IN, OUT, WORK, CONSTANTS = range(4)
"""Base that a place in memory is counted from; the table holds places as 4 place + base."""
COPY = 0
"""Kind of a row that copies; parts of own arithmetic are the next kinds, then functions."""
OWN, CONSTANT = -2, -1


@dataclass(frozen=True)
class CallPlan:
    """A table of rows, and the programs of the functions that it runs.

    Attributes
    ----------
    main : Program
        Own arithmetic; its parts are rows of the table.
    callees : tuple of Program
    starts : tuple of tuples of int
        Places at which the arguments of each callee are cut: each run of them has its own pointer.
    rows : tuple of tuples of int
        (COPY, first, count), (1 + part,), or (1 + parts + callee, place of results, places of runs of arguments ...).
    copies : tuple of (from, to)
    constants : tuple of float
    work_size : int
        Slots of the work buffer, those of the callees from `callee_work` on.
    callee_work : int
    """

    main: Program
    callees: tuple[Program, ...]
    starts: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    copies: tuple[tuple[int, int], ...]
    constants: tuple[float, ...]
    work_size: int
    callee_work: int


def lowered(tape: Tape, fma: bool, part_length: int, angle_width: int = 1) -> Program | CallPlan:
    """Plan the machine code of a tape, whether it calls or not."""
    if not tape.calls:
        return lower(tape, fma, part_length, angle_width)
    return _Planner(tape, fma, part_length, angle_width).plan()


class _Planner:
    def __init__(self, tape: Tape, fma: bool, part_length: int, angle_width: int) -> None:
        self.tape, self.part_length = tape, part_length
        self.callees = tuple(lower(callee, fma, part_length, angle_width) for callee in tape.callees)
        self.leaves = leaves_of(tape)
        numbers = {row: int(tape.a[row]) for row in np.flatnonzero(tape.op == CALL).tolist()}
        results = np.flatnonzero(tape.op == RESULT).tolist()
        self.results = {i: (numbers[int(tape.a[i])], int(tape.b[i])) for i in results}
        self.of_call: list[list[int]] = [[] for _ in tape.calls]
        for i, (call, _) in self.results.items():
            self.of_call[call].append(i)
        skipped = {*self.leaves, *self.results, *numbers}
        self.steps = angles_first(list(steps_of(tape, fma, self.leaves, skipped)), self.leaves, angle_width)
        self.outputs, self.zeros = outputs_of(tape)
        self.room, self.place = _Room(), dict[int, int]()
        self.rows: list[tuple[int, ...]] = []
        self.copies: list[tuple[int, int]] = []
        self.constants: list[float] = []
        self._pools: dict[tuple[float, ...], int] = {}
        self.asked: dict[int, tuple[int, int]] = {}
        """First call that reads a value, and place in it: neighbors there become neighbors in memory."""
        for number, made in enumerate(tape.calls):
            for k, value in enumerate(made.arguments.tolist()):
                self.asked.setdefault(value, (number, k))

    def plan(self) -> CallPlan:
        starts = self._starts()
        order = self._order()
        last = self._last_uses(order)
        parts: list[Block] = []
        count = sum(isinstance(step, list) for step in order)
        for now, step in enumerate(order):
            self.room.settle(now)
            if isinstance(step, list):
                parts.append(self._part(step, now, last))
                self.rows.append((len(parts),))
            else:
                self._call(step, now, last, starts[self.tape.calls[step].callee], 1 + count)
        self._copy([(self._source(value), 4 * place + OUT) for value, place in self._still()])
        placed = {value: ("work", self.place[value]) for value in self.results if value in self.place}
        main = Program(parts, {**self.leaves, **placed}, self._computed(), [], self.room.size)
        work = max((callee.work_size for callee in self.callees), default=0)
        return CallPlan(
            main=main, callees=self.callees, starts=starts, rows=tuple(self.rows), copies=tuple(self.copies),
            constants=tuple(self.constants), work_size=self.room.size + work, callee_work=self.room.size,
        )  # fmt: skip

    def _order(self) -> list[list[Instruction] | int]:
        """Parts of own arithmetic and numbers of calls: first the calls that need no arithmetic, then the others in the
        order of the tape. Arithmetic comes when a call needs it, with all else that can be computed by then."""
        known, waiting, order = {*self.leaves}, self.steps, list[list[Instruction] | int]()

        def compute() -> None:
            nonlocal waiting
            later, now = [], []
            for step in waiting:
                if known.issuperset(step.operands):
                    now.append(step)
                    known.update(step.results)
                else:
                    later.append(step)
            order.extend(now[k : k + self.part_length] for k in range(0, len(now), self.part_length))
            waiting = later

        arguments = [call.arguments.tolist() for call in self.tape.calls]
        first = [k for k, given in enumerate(arguments) if known.issuperset(given)]
        for number in [*first, *sorted({*range(len(arguments))} - {*first})]:
            if not known.issuperset(arguments[number]):
                compute()
            order.append(number)
            known.update(self.of_call[number])
        compute()
        return order

    def _last_uses(self, order: Sequence[list[Instruction] | int]) -> dict[int, int]:
        """The last row that reads a value; outputs that are copied are read behind all rows."""
        last: dict[int, int] = {}
        for now, step in enumerate(order):
            if isinstance(step, list):
                last.update(dict.fromkeys((value for one in step for value in one.operands), now))
            else:
                last.update(dict.fromkeys(self.tape.calls[step].arguments.tolist(), now))
        return last | {value: len(order) for value, _ in self._still()}

    def _computed(self) -> dict[int, list[int]]:
        """Outputs that own arithmetic computes."""
        return {v: places for v, places in self.outputs.items() if v not in self.leaves and v not in self.results}

    def _still(self) -> list[tuple[int, int]]:
        """Outputs that are copied: (value, place), -1 for zero."""
        own = self._computed()
        copied = [(value, place) for value, places in self.outputs.items() if value not in own for place in places]
        return copied + [(-1, place) for place in self.zeros]

    def _part(self, steps: list[Instruction], now: int, last: dict[int, int]) -> Block:
        born = {value for step in steps for value in step.results}
        read = {value for step in steps for value in step.operands} - born - self.leaves.keys() - self.results.keys()
        part = Block(steps, reads={value: self.place[value] for value in sorted(read)})
        kept = sorted((v for v in born if last.get(v, now) > now), key=lambda v: self.asked.get(v, (0, v)))
        if kept:
            block = self.room.take(len(kept), max(last[value] for value in kept))
            self.place.update({value: block + k for k, value in enumerate(kept)})
            part.writes.update({value: self.place[value] for value in kept})
        return part

    def _call(self, number: int, now: int, last: dict[int, int], starts: tuple[int, ...], first_kind: int) -> None:
        call = self.tape.calls[number]
        values = call.arguments.tolist()
        runs = [values[a:b] for a, b in zip(starts, [*starts[1:], len(values)])]
        staged: list[tuple[int, int]] = []
        places = [self._run(run, staged, now) for run in runs]
        self._copy(staged)
        until = max((last.get(value, now) for value in self.of_call[number]), default=now)
        block = self.room.take(self.tape.callees[call.callee].n_out, until)
        for value in self.of_call[number]:
            self.place[value] = block + self.results[value][1]
        self.rows.append((first_kind + call.callee, 4 * block + WORK, *places))

    def _run(self, values: list[int], staged: list[tuple[int, int]], now: int) -> int:
        """Place of a run of arguments; a run that is not contiguous in memory is staged for copying."""
        if self._kind(values[0]) == CONSTANT:
            return 4 * self._pooled(tuple(float(self.leaves[value][1]) for value in values)) + CONSTANTS
        if self._kind(values[0]) == OWN and any(
            self.place[v] != self.place[values[0]] + k for k, v in enumerate(values)
        ):
            block = self.room.take(len(values), now)
            staged += [(self._source(value), 4 * (block + k) + WORK) for k, value in enumerate(values)]
            return 4 * block + WORK
        return self._source(values[0])

    def _kind(self, value: int) -> int:
        """Number of an argument by its place: neighbors in memory have numbers that follow each other."""
        if value in self.results:
            call, k = self.results[value]
            return 2**40 * (call + 1) + k
        kind, place = self.leaves.get(value, ("own", 0))
        return {"own": OWN, "const": CONSTANT}.get(kind, int(place))

    def _source(self, value: int) -> int:
        if value == -1 or (value in self.leaves and self.leaves[value][0] == "const"):
            return 4 * self._pooled((0.0 if value == -1 else float(self.leaves[value][1]),)) + CONSTANTS
        return 4 * int(self.leaves[value][1]) + IN if value in self.leaves else 4 * self.place[value] + WORK

    def _pooled(self, numbers: tuple[float, ...]) -> int:
        if numbers not in self._pools:
            self._pools[numbers] = len(self.constants)
            self.constants += numbers
        return self._pools[numbers]

    def _copy(self, pairs: list[tuple[int, int]]) -> None:
        if pairs:
            self.rows.append((COPY, len(self.copies), len(pairs)))
            self.copies += pairs

    def _starts(self) -> tuple[tuple[int, ...], ...]:
        """Places at which the arguments of each callee are cut: where they are not neighbors in one of its calls."""
        cuts = [np.zeros(callee.n_in, dtype=bool) for callee in self.tape.callees]
        for call in self.tape.calls:
            kinds = np.array([self._kind(value) for value in call.arguments.tolist()])
            apart = np.where(kinds[1:] < 0, kinds[1:] != kinds[:-1], kinds[1:] != kinds[:-1] + 1)
            cuts[call.callee] |= np.array([True, *apart])[: len(kinds)]
        return tuple(tuple(np.flatnonzero(cut).tolist()) for cut in cuts)


class _Room:
    """Places in the work buffer; a block is used again after its last reader."""

    def __init__(self) -> None:
        self.size = 0
        self._free: dict[int, list[int]] = {}
        self._ending: dict[int, list[tuple[int, int]]] = {}
        self._now = 0

    def settle(self, now: int) -> None:
        """Free the blocks whose last reader stands before row `now`."""
        for row in range(self._now, now):
            for place, size in self._ending.pop(row, ()):
                self._free.setdefault(size, []).append(place)
        self._now = now

    def take(self, size: int, until: int) -> int:
        """A block that is read up to row `until`."""
        free = self._free.get(size)
        place = free.pop() if free else self.size
        self.size = max(self.size, place + size)
        self._ending.setdefault(until, []).append((place, size))
        return place
