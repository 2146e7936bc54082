"""Value numbering: equal operations on equal values become one, and operations that change nothing are left out."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pliant.compute.tape.operations import CALL, CODES, COMMUTATIVE, CONST, RESULT

Ints = NDArray[np.int32]
Columns = tuple[Ints, Ints, Ints, NDArray[np.float64]]
ADD, SUB, MUL, NEG, SQ, TWICE = (CODES[name] for name in ("add", "sub", "mul", "neg", "sq", "twice"))
SPARE_BITS = 6
SAME = 2.0 ** (SPARE_BITS - 53)
"""Constants that differ by less, relatively, are one number: 64 roundings, more than about ten folded operations leave.

A trace forms the same product of masses, lengths and integrals in several orders, and the last bits of the factors
depend on the machine. If agreement in every bit decided which operations are equal, counts would depend on the
processor.
"""
FOLDED: dict[int, Callable[[float, float], float]] = {
    ADD: lambda x, y: x + y, SUB: lambda x, y: x - y, MUL: lambda x, y: x * y,
    NEG: lambda x, _: -x, SQ: lambda x, _: x * x, TWICE: lambda x, _: x + x,
}  # fmt: skip


class Numbering:
    """Numbers of the values of one tape: rows of operation, two operands and, of a constant, its value.

    CasADi has folded constants and dropped neutral elements before, comparing every bit. Here constants that differ by
    rounding alone are one number, so that further identities hold.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, float]] = []
        self._known: dict[tuple[int, int, int, float], int] = {}
        self._constants = _Constants()
        self.calls: list[tuple[int, tuple[int, ...]]] = []
        self._called: dict[tuple[int, tuple[int, ...]], int] = {}

    def call(self, callee: int, arguments: tuple[int, ...]) -> int:
        """The number of a call; `result(number, k)` is its result k."""
        made = self._called.setdefault((callee, arguments), len(self.calls))
        if made == len(self.calls):
            self.calls.append((callee, arguments))
        return self._row(CALL, made, -1, 0.0)

    def result(self, call: int, k: int) -> int:
        """The number of result `k` of a call."""
        return self._row(RESULT, call, k, 0.0)

    def constant(self, number: float) -> int:
        """The number of a constant."""
        return self._row(CONST, -1, -1, self._constants.kept(number))

    def value(self, op: int, a: int, b: int = -1) -> int:
        """The number of an operation on numbered values, or of an input at place `a`."""
        if b >= 0 and b < a and op in COMMUTATIVE:
            a, b = b, a
        same = self._without_operation(op, a, b) if op in FOLDED else None
        return self._row(op, a, b, 0.0) if same is None else same

    def _row(self, op: int, a: int, b: int, constant: float) -> int:
        number = self._known.setdefault((op, a, b, constant), len(self.rows))
        if number == len(self.rows):
            self.rows.append((op, a, b, constant))
        return number

    def _without_operation(self, op: int, a: int, b: int) -> int | None:
        """The value of an operation that need not be done, if there is one."""
        x, y = self._constant_of(a), self._constant_of(b) if b >= 0 else None
        if x is not None and (y is not None or b < 0):
            return self.constant(FOLDED[op](x, 0.0 if y is None else y))
        if op == NEG:
            return self.rows[a][1] if self.rows[a][0] == NEG else None
        if op == MUL and (x is not None or y is not None):
            return self._product(y, a) if x is None else self._product(x, b)
        if op == SUB and a == b:
            return self.constant(0.0)
        if op == ADD and x == 0.0:
            return b
        if op == SUB and x == 0.0:
            return self.value(NEG, b)
        return a if op in (ADD, SUB) and y == 0.0 else None

    def _product(self, factor: float | None, value: int) -> int | None:
        """`factor` times a value, if that needs no multiplication: for 0, 1, -1, 2."""
        if factor == 0.0:
            return self.constant(0.0)
        if factor == 1.0:
            return value
        needless = {-1.0: NEG, 2.0: TWICE}.get(factor) if factor is not None else None
        return None if needless is None else self.value(needless, value)

    def _constant_of(self, number: int) -> float | None:
        op, _, _, constant = self.rows[number]
        return constant if op == CONST else None

    def columns(self) -> Columns:
        """Operations, operands and constants as arrays."""
        op, a, b, constant = zip(*self.rows) if self.rows else ((), (), (), ())
        ints = (np.array(op, dtype=np.int32), np.array(a, dtype=np.int32), np.array(b, dtype=np.int32))
        return (*ints, np.array(constant, dtype=np.float64))


class AsWritten(Numbering):
    """A number for each operation in turn, none of them sought among others."""

    def constant(self, number: float) -> int:
        """The number of a constant."""
        self.rows.append((CONST, -1, -1, number))
        return len(self.rows) - 1

    def value(self, op: int, a: int, b: int = -1) -> int:
        """The number of an operation on numbered values, or of an input at place `a`."""
        self.rows.append((op, a, b, 0.0))
        return len(self.rows) - 1


class _Constants:
    """Constants of one tape; a number within `SAME` of a whole number or of one met before is that number."""

    def __init__(self) -> None:
        self._met: dict[int, float] = {}

    def kept(self, number: float) -> float:
        size = abs(number)
        if not 0.0 < size < math.inf:
            return number if size else 0.0
        if abs(size - round(size)) <= SAME * size:
            return math.copysign(round(size), number)
        place: int = struct.unpack("<q", struct.pack("<d", size))[0] >> SPARE_BITS
        for near in (place, place - 1, place + 1):
            known = self._met.get(near)
            if known is not None and abs(known - size) <= SAME * size:
                return math.copysign(known, number)
        self._met[place] = size
        return number
