"""Bounded cache of things that are derived from an object. The object owns the cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Generic, TypeVar

from pliant.base.stages import stage

T = TypeVar("T")
MOST = 32
"""Largest number of entries of one kind."""
SYMBOLS = threading.RLock()
"""Lock of all code that makes expressions. CasADi lets other threads run while it computes with symbols, and two such
threads crash the process. A fork takes this lock and then that of the compiler (`compute/llvm/llvm.py`). Code that
traces and compiles takes both in the same order."""


class Same:
    """Object as a key: equal only to itself, and kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Derived:
    """Things made from the owner, by kind and key. Of each kind the most recently used are kept.

    Examples
    --------
    >>> derived = Derived()
    >>> derived("squares", 3, lambda: 9)
    9
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kinds: dict[str, dict[Hashable, Any]] = {}

    def __call__(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the kept result of `make` for this key, or call `make` and keep the result."""
        with SYMBOLS:
            kept = self._kinds.setdefault(kind, {})
            if key in kept:
                value: T = kept.pop(key)
            else:
                with stage(f"preparing {kind}"):
                    value = make()
            kept[key] = value  # the most recently used one goes last
            while len(kept) > self._most:
                kept.pop(next(iter(kept)))
            return value

    def count(self, kind: str) -> int:
        """Number of things of a kind that are kept."""
        return len(self._kinds.get(kind, ()))


class symbolic_property(cached_property[T], Generic[T]):
    """Cached property that makes expressions."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        with SYMBOLS:
            return super().__get__(instance, owner)


class shared_property(symbolic_property[T]):
    """Property that is shared by objects which differ in numbers alone. The `first` of them keeps it."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return super().__get__(instance.first, owner)
