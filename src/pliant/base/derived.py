"""What is derived from an object and worth keeping with it: a cache that belongs to its owner and has a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Generic, TypeVar

from pliant.base.stages import stage

T = TypeVar("T")
MOST = 32
"""Entries of one kind."""
SYMBOLS = threading.RLock()
"""Held by whoever makes expressions: CasADi lets other threads run while it computes with symbols, and two of them at
once crash the process. A fork waits for it and then for that of the compiler (`compute/llvm/llvm.py`), which is taken
in the same order by who traces and compiles."""


class Same:
    """An object as a key: equal only to itself, and alive as long as the key is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Derived:
    """Things made from the owner, by kind and key; of each kind those that were asked for last.

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
        """What `make` gave for this key, or gives now."""
        with SYMBOLS:
            kept = self._kinds.setdefault(kind, {})
            if key in kept:
                value: T = kept.pop(key)
            else:
                with stage(f"preparing {kind}"):
                    value = make()
            kept[key] = value  # the last one asked for goes last
            while len(kept) > self._most:
                kept.pop(next(iter(kept)))
            return value

    def count(self, kind: str) -> int:
        """How many things of a kind are kept."""
        return len(self._kinds.get(kind, ()))


class symbolic_property(cached_property[T], Generic[T]):
    """A cached property that makes expressions."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with SYMBOLS:
            return super().__get__(instance, owner)


class shared_property(symbolic_property[T]):
    """What objects that differ in numbers alone have in common; the `first` of them keeps it."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return super().__get__(instance.first, owner)
