"""Steps of a recursion: written out link by link, or one function for each kind of link, called for every link.

Written out, every number of every link enters the expressions, nothing is computed twice, and the length grows with the
links. Called, a step is traced once for each kind with symbols for what it is given, and the expressions hold calls of
it; what is the same constant for all links of the kind, most of all zero, stays a constant, so that a planar arm stays
planar.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, TypeVar

import casadi as ca

T = TypeVar("T")
SX = Any
Numbers = tuple[float | None, ...]
"""Of each entry, column by column: its value where that is a constant."""


class Steps(Protocol):
    """How the steps of a recursion are put together."""

    def __call__(self, kind: tuple[Any, ...], step: Callable[..., T], *given: Any) -> T:
        """What `step` gives for expressions, in containers of any kind; `kind` holds all that it depends on besides."""

    def settled(self, build: Callable[[], T]) -> T:
        """What `build` gives, which takes such steps."""


@dataclass(frozen=True)
class WrittenOut:
    """Every step in full."""

    def __call__(self, kind: tuple[Any, ...], step: Callable[..., T], *given: Any) -> T:
        return step(*given)

    def settled(self, build: Callable[[], T]) -> T:
        return build()


WRITTEN_OUT = WrittenOut()


@dataclass(eq=False)
class Called:
    """One function for each kind of step.

    A kind takes constants for what is constant in all its calls. That is found out by walking: whenever a call does not
    fit, its kind is made wider, and the walk is repeated until all calls of a kind are calls of one function.
    """

    kinds: dict[Hashable, Kind] = field(default_factory=dict)
    changed: bool = False
    _contents: dict[int, tuple[Any, Hashable]] = field(default_factory=dict)

    def __call__(self, kind: tuple[Any, ...], step: Callable[..., T], *given: Any) -> T:
        leaves: list[SX] = []
        kind, form = tuple(map(self._content, kind)), _form(given, leaves)
        entries = [entry for leaf in leaves for entry in ca.densify(leaf).nonzeros()]
        numbers = tuple(_number(entry) for entry in entries)
        known = self.kinds.get((kind, form))
        if known is None or not known.fits(numbers):
            met = numbers if known is None else known.joined(numbers)
            known = self.kinds[kind, form] = Kind(f"step_{len(self.kinds)}", met, form, step)
            self.changed = True
        made: T = known.call(entries)
        return made

    def _content(self, value: Any) -> Hashable:
        if not is_dataclass(value):
            return content_of(value)
        if id(value) not in self._contents:
            self._contents[id(value)] = value, content_of(value)
        return self._contents[id(value)][1]

    def settled(self, build: Callable[[], T]) -> T:
        while True:
            self.changed = False
            made = build()
            if not self.changed:
                return made


class Kind:
    """A step as a function of those numbers that are not the same constants in every call."""

    def __init__(self, name: str, numbers: Numbers, form: Hashable, step: Callable[..., Any]) -> None:
        self.numbers = numbers
        self._free = [k for k, number in enumerate(numbers) if number is None]
        symbols = ca.SX.sym("x", len(self._free))
        entries: list[SX] = [ca.SX(0) if number is None else ca.SX(number) for number in numbers]
        for k, symbol in zip(self._free, symbols.nonzeros()):
            entries[k] = symbol
        found: list[SX] = []
        self._form = _form(step(*_filled(form, iter(entries))), found)
        entries = [entry for leaf in found for entry in ca.densify(leaf).nonzeros()]
        self._found = tuple(_number(entry) for entry in entries)
        given = ca.vertcat(*(entry for entry, number in zip(entries, self._found) if number is None))
        (given,) = ca.cse([ca.SX(given)])
        own = {_identity(symbol) for symbol in symbols.nonzeros()}
        self._others = [symbol for symbol in ca.symvar(given) if _identity(symbol) not in own]
        inputs = [symbols, ca.vertcat(ca.SX(0, 1), *self._others)]
        self.function = ca.Function(name, inputs, [given], {"never_inline": True})

    def fits(self, numbers: Numbers) -> bool:
        """Whether what is constant here is the same constant there."""
        return all(own is None or own == number for own, number in zip(self.numbers, numbers))

    def joined(self, numbers: Numbers) -> Numbers:
        """What is constant in both."""
        return tuple(own if own == number else None for own, number in zip(self.numbers, numbers))

    def call(self, entries: Sequence[SX]) -> Any:
        """What the step gives for these entries of what it is given."""
        given = ca.vertcat(ca.SX(0, 1), *(entries[k] for k in self._free))
        results = iter(self.function(given, ca.vertcat(ca.SX(0, 1), *self._others)).nonzeros())
        return _filled(self._form, iter([next(results) if n is None else ca.SX(n) for n in self._found]))


def _number(entry: SX) -> float | None:
    return float(entry) if entry.is_constant() else None


def _identity(entry: SX) -> tuple[int]:
    """Of an expression that lives."""
    return (entry.element_hash(),)


def _form(value: Any, leaves: list[SX]) -> Hashable:
    """What of a value is not expressions, which go into `leaves`."""
    if isinstance(value, ca.SX):
        leaves.append(value)
        return "SX", value.shape
    if isinstance(value, tuple | list):
        return "items", type(value), tuple(_form(item, leaves) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((key, _form(item, leaves)) for key, item in value.items())
    if is_dataclass(value):
        return "object", type(value), tuple((f.name, _form(getattr(value, f.name), leaves)) for f in fields(value))
    return "plain", value


def _filled(form: Any, entries: Iterator[SX]) -> Any:
    """The value again, with other entries in its expressions."""
    kind, *rest = form
    if kind == "SX":
        rows, columns = rest[0]
        dense = ca.vertcat(ca.SX(0, 1), *(next(entries) for _ in range(rows * columns)))
        return ca.sparsify(ca.reshape(dense, rows, columns))
    if kind == "items":
        return rest[0](_filled(item, entries) for item in rest[1])
    if kind == "dict":
        return {key: _filled(item, entries) for key, item in rest[0]}
    if kind == "object":
        return rest[0](**{name: _filled(item, entries) for name, item in rest[1]})
    return rest[0]


def content_of(value: Any) -> Hashable:
    """What an object holds: equal for objects from which the same expressions follow."""
    if isinstance(value, ca.SX):
        held = tuple(_identity(entry) if (number := _number(entry)) is None else number for entry in value.nonzeros())
        return value.shape, tuple(value.sparsity().get_triplet()[0]), tuple(value.sparsity().get_triplet()[1]), held
    if isinstance(value, tuple | list):
        return tuple(map(content_of, value))
    if isinstance(value, dict):
        return tuple((key, content_of(item)) for key, item in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(content_of(getattr(value, f.name)) for f in fields(value))
    if hasattr(value, "tobytes"):
        return str(value.dtype), value.shape, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
