"""Primitives of translated functions: pointers, packs, records, and arithmetic (`compute.compiled_loops.translate`).

Each primitive has a plain Python meaning as well, so that a translated function also runs in Python: pointers are those
of ctypes, and a pack has one lane.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray


class Doubles(Protocol):
    """Pointer to doubles."""

    def __getitem__(self, k: int, /) -> float: ...
    def __setitem__(self, k: int, x: float, /) -> None: ...


class Integers(Protocol):
    """Pointer to integers of 64 bits."""

    def __getitem__(self, k: int, /) -> int: ...
    def __setitem__(self, k: int, x: int, /) -> None: ...


Packs: TypeAlias = Doubles
"""Pointer to packs, each one double per lane."""
Lane: TypeAlias = float
"""One double per lane. A function of lanes is written for one of them: `a if c else b` chooses lane by lane."""

FLAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
"""``void f(const double *source, double *sink)``."""

Function = TypeVar("Function", bound=Callable[..., object])
Item = TypeVar("Item")
Pointer = TypeVar("Pointer", Doubles, Integers)


def doubles(address: int) -> Doubles:
    """The doubles at an address."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_double))


def integers(address: int) -> Integers:
    """The integers at an address."""
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))


def packs(pointer: Doubles) -> Packs:
    """The packs that begin at a pointer to doubles."""
    return pointer


def numbers(pointer: Packs) -> Doubles:
    """The doubles of packs, one lane behind the other."""
    return pointer


def in_lanes(x: float) -> Lane:
    """The same number in every lane."""
    return x


def shift(pointer: Pointer, offset: int) -> Pointer:
    """The pointer to pointer[offset]."""
    first: Any = pointer  # of ctypes
    return ctypes.cast(ctypes.byref(first.contents, 8 * offset), type(first))  # type: ignore[no-any-return]


def call(address: int, source: Doubles, sink: Doubles) -> None:
    """Call the flat function at an address."""
    FLAT(address)(source, sink)


def unpack(table: Integers, *records: type[Any]) -> Any:
    """Read records from a table, one behind the other: a field is a number or the address of an array, as annotated."""
    readers: dict[str, Callable[[int], object]] = {"int": int, "Doubles": doubles, "Integers": integers}
    return filled(records, lambda k, kind: readers[kind](table[k]))


def filled(records: Sequence[type[Any]], read: Callable[[int, str], object]) -> Any:
    """Make each record, with `read(place, kind)` for its fields."""
    places = itertools.count()
    kinds = [field_kinds(record).values() for record in records]
    return tuple(record(*(read(next(places), kind) for kind in own)) for record, own in zip(records, kinds))


def field_kinds(record: type[Any]) -> dict[str, str]:
    """Names of the fields of a record, with their annotations."""
    return {name: kind.__forward_arg__ for name, kind in record.__annotations__.items()}


def table(*records: tuple[object, ...]) -> NDArray[np.int64]:
    """Make the table that `unpack` reads: numbers, and addresses of arrays, which the caller keeps alive."""
    entries: list[Any] = [entry for record in records for entry in record]
    return np.array([e.ctypes.data if isinstance(e, np.ndarray) else int(e) for e in entries], dtype=np.int64)


def unrolled(items: Iterable[Item]) -> Iterable[Item]:
    """Items of a `for` loop that is written out when it is translated, each item known there."""
    return items


def any_lane(mask: bool) -> bool:
    """Whether a condition holds in any lane."""
    return mask


def fma(x: float, y: float, z: float) -> float:
    """x y + z, with one rounding where the processor has such an instruction."""
    return x * y + z


def floor(x: float) -> float:
    """The largest whole number <= x, within +-2^62."""
    return float(math.floor(x))


def exponent(x: float) -> float:
    """The largest whole number e with 2^e <= x, for an ordinary x > 0."""
    return float(math.frexp(x)[1] - 1)


def significand(x: float) -> float:
    """x over 2^exponent(x)."""
    return 2.0 * math.frexp(x)[0]


def power_of_two(e: float) -> float:
    """2^e for a whole number e within +-1000."""
    return math.ldexp(1.0, int(e))


def reassociated(function: Function) -> Function:
    """Mark a function whose sums may be added in any order."""
    function.reassociated = True  # type: ignore[attr-defined]
    return function


def called(function: Function) -> Function:
    """Mark a long function that is called and never inlined: the cost of a call is small beside its own."""
    function.called = True  # type: ignore[attr-defined]
    return function


def apart(function: Function) -> Function:
    """Mark a function whose pointers never overlap, and whose loops are short: no overlap is checked before a loop, and
    each of its rounds takes one vector."""
    function.apart = True  # type: ignore[attr-defined]
    return function
