"""Steps of a recursion: written out link by link, or one function for each kind of link, called for every link.

Written out, every number of every link enters the expressions, nothing is computed twice, and the length grows with the
links. Called, a step is traced once for each kind with symbols for its arguments, and the expressions hold calls of
it. A constant that is the same for all links of the kind, most of all zero, stays a constant, so that a planar arm
stays planar.

Arguments and results of a step are values of any kind: tuples, lists, dicts and dataclasses that hold expressions. A
value is taken apart into its *form*, which may be a key of a dict, and its *leaves*, the expressions in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import reduce
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX

T = TypeVar("T")
Token = float | tuple[int]
"""Entry of an expression: a number, or the identity of a symbol or an operation."""
Form = tuple[Any, ...]
"""Value without its expressions: ("SX", shape), ("items", type, forms), ("dict", pairs), ("object", type, pairs) or
("plain", value)."""
Kind = tuple[Hashable, ...]
"""Name of a step, and all that it depends on besides its arguments."""

OFTEN = 4
"""Calls from which on a kind has a function of its own."""
SHORTER = 0.75
"""A function that is shorter by this factor is kept though it is called less often."""
LONG = 3000
"""Instructions of a function beyond which there is one for all calls."""
WALK = 4.0
"""Instructions that compile while a walk makes one call."""
MOST_WALKS = 5
"""Limit of walks; two are usual. A constant that is not a number (NaN) equals nothing, so that every walk would meet a
new kind."""


@dataclass(eq=False)
class Called:
    """One function for each kind of step, and for each pattern of zeros among its arguments.

    Walks over the arm find the patterns that occur. Towards the ends of an arm more is zero than in its midst: a
    pattern that is called seldom takes the function of a wider one on the next walk, until a walk meets nothing new.
    """

    kinds: dict[tuple[Kind, Form], list[StepFunction]] = field(default_factory=dict)
    changed: bool = False
    traced: dict[Key, StepFunction] = field(default_factory=dict)
    _used: set[StepFunction] = field(default_factory=set)
    _constants: dict[int, tuple[SX, list[Token]]] = field(default_factory=dict)
    _results: dict[int, tuple[SX, list[Token]]] = field(default_factory=dict)
    _count: int = 0

    def __call__(self, kind: Kind, step: Callable[..., T], *given: object) -> T:
        """Return `step(*given)` as a call of its function; `kind` is all that it depends on besides `given`."""
        leaves: list[SX] = []
        form = _form(given, leaves)
        tokens = [token for leaf in leaves for token in self._tokens(leaf)]
        known = self.kinds.setdefault((kind, form), [])
        fitting = [one for one in known if one.fits(tokens)]
        if not fitting:
            zeros = _zeros(tokens)
            alike = next((one for one in known if one.zeros == zeros), None)
            if alike is not None:
                known.remove(alike)
            classes = Classes.met(tokens, None if alike is None else alike.classes)
            fitting = [self._kind((kind, form, classes), step)]
            known += fitting
            self.changed = True
        best = min(fitting, key=lambda one: one.length)
        best.calls += 1
        self._used.add(best)
        made: T = best.call(leaves, self._note)
        return made

    def _kind(self, key: Key, step: Callable[..., object]) -> StepFunction:
        """Function of a step, traced now or before, with no calls counted yet."""
        if key not in self.traced:
            self.traced[key] = StepFunction(key, step)
        found = copy(self.traced[key])
        found.calls = 0
        return found

    def _drop_rare(self, known: list[StepFunction]) -> None:
        """Drop functions that are called seldom, or not at all, where a wider one can take their calls; put one in
        place of several that would take long to compile."""
        longest = max((one.length for one in known), default=0)  # none are left of a step that another build took
        large = [one for one in known if one.length > SHORTER * longest]
        if len(large) > 1 and longest > LONG:
            known[:] = [one for one in known if one not in large] + [reduce(self._joined, large)]
            return
        for one in sorted(known, key=lambda one: one.calls):
            others = [other for other in known if other is not one and other.calls >= one.calls]
            wider = [other.length for other in others if other.fits(one.classes.tokens())]
            if one.calls == 0 or (one.calls < OFTEN and wider and one.length > SHORTER * min(wider)):
                known.remove(one)

    def _joined(self, one: StepFunction, other: StepFunction) -> StepFunction:
        """A function that takes the calls of both."""
        kind, form, classes = one.key
        made = self._kind((kind, form, Classes.met(other.classes.tokens(), classes)), one.step)
        made.calls = one.calls + other.calls
        return made

    def _note(self, leaf: SX, numbers: Sequence[float | None]) -> None:
        """Remember the entries of a result, so that they need not be looked at again."""
        first, self._count = self._count, self._count + len(numbers)
        tokens: list[Token] = [(first + k,) if number is None else number for k, number in enumerate(numbers)]
        self._results[id(leaf)] = leaf, tokens

    def settled(self, build: Callable[[], T]) -> T:
        """Return what `build` gives, which takes these steps, after as many walks as it takes to settle the kinds."""
        for walk in range(MOST_WALKS):
            self.changed = False
            self._results.clear()
            for known in self.kinds.values():
                for one in known:
                    one.calls = 0
            self._used.clear()
            made = build()
            if not self.changed or walk == MOST_WALKS - 1:
                break
            for known in self.kinds.values():
                self._drop_rare(known)
            kept = {one for known in self.kinds.values() for one in known}
            calls = sum(one.calls for one in self._used)
            if sum(one.length for one in self._used - kept) < WALK * calls:
                break
        return made

    def lengths(self) -> tuple[int, int]:
        """Instructions of all steps of the last build, written out, and of the functions that they call."""
        return sum(one.calls * one.length for one in self._used), sum(one.length for one in self._used)

    def _tokens(self, leaf: SX) -> list[Token]:
        """Tokens of all entries of an expression, column by column."""
        if id(leaf) in self._results:
            return self._results[id(leaf)][1]
        if id(leaf) in self._constants:
            return self._constants[id(leaf)][1]
        found: list[Token] = [_token(entry) for entry in leaf.nonzeros()]
        found = found if leaf.is_dense() else _spread(found, leaf)
        if leaf.is_constant():
            self._constants[id(leaf)] = leaf, found
        return found


def _zeros(tokens: Sequence[Token]) -> frozenset[int]:
    return frozenset(k for k, token in enumerate(tokens) if token == 0.0)


@dataclass(frozen=True)
class Classes:
    """Entries that equal each other in every call.

    `of` is the class of each entry, `numbers` the number that a class is in every call, None where that differs or is
    no number.
    """

    of: tuple[int, ...]
    numbers: tuple[float | None, ...]

    @classmethod
    def met(cls, tokens: Sequence[Token], before: Classes | None) -> Classes:
        """Classes of the calls `before` and of one more, with these `tokens`."""
        found: dict[tuple[int, Token], int] = {}
        old = before.of if before is not None else (0,) * len(tokens)
        of = tuple(found.setdefault(pair, len(found)) for pair in zip(old, tokens))
        kept = [token if isinstance(token, float) else None for _, token in found]
        if before is not None:
            kept = [n if n == before.numbers[k] else None for n, (k, _) in zip(kept, found)]
        return cls(of, tuple(kept))

    def tokens(self) -> list[Token]:
        """Tokens of a call that fits these classes, and no narrower ones."""
        return [(k,) if (number := self.numbers[k]) is None else number for k in self.of]


Key = tuple[Kind, Form, Classes]
"""All that determines the function of a step."""


class StepFunction:
    """A step as a function of those numbers that are not the same constants in every call."""

    def __init__(self, key: Key, step: Callable[..., object]) -> None:
        self.key, self.step = key, step
        (name, *_), form, self.classes = key
        self.zeros = _zeros(self.classes.tokens())
        of, numbers = self.classes.of, self.classes.numbers
        symbols = [ca.SX.sym(f"x{k}") if number is None else ca.SX(number) for k, number in enumerate(numbers)]
        entries = [symbols[k] for k in of]
        shapes: list[tuple[int, int]] = []
        _shapes(form, shapes)
        sizes = [rows * columns for rows, columns in shapes]
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        given = [_matrix(shape, entries[start : start + size]) for shape, start, size in zip(shapes, starts, sizes)]
        found: list[SX] = []
        self._form = _form(step(*_filled(form, iter(given))), found)
        self._results = [_Result(leaf) for leaf in found]
        results = _column([entry for result in self._results for entry in result.entries])
        (results,) = ca.cse([results])
        used = {_token(symbol): symbol for symbol in ca.symvar(results)}
        free = {_token(symbol): of.index(k) for k, symbol in enumerate(symbols) if _token(symbol) in used}
        self._others = _column([symbol for key, symbol in used.items() if key not in free])
        places = sorted(free.values())
        self._free = [[k for k in range(size) if start + k in places] for start, size in zip(starts, sizes)]
        inputs = [_column([entries[k] for k in places]), self._others]
        self.function = ca.Function(str(name).replace(" ", "_"), inputs, [results], {"never_inline": True})
        self.length, self.calls = int(self.function.n_instructions()), 0

    def fits(self, tokens: Sequence[Token]) -> bool:
        """Whether entries of one class are equal in a call with these tokens."""
        met: list[Token | None] = list(self.classes.numbers)
        for k, token in zip(self.classes.of, tokens):
            if met[k] is None:
                met[k] = token
            elif met[k] != token:
                return False
        return True

    def call(self, leaves: Sequence[SX], note: Callable[[SX, Sequence[float | None]], None]) -> Any:
        """Result of the step for these expressions; `note` is called with each leaf of it, and the numbers in it."""
        if not any(result.entries for result in self._results):
            return _filled(self._form, iter([result.of(ca.SX(0, 1), 0) for result in self._results]))
        given = [_chosen(leaf, free) for leaf, free in zip(leaves, self._free) if free]
        results = self.function(ca.vertcat(*given) if given else ca.SX(0, 1), self._others)
        found, place = [], 0
        for result in self._results:
            found.append(result.of(results, place))
            note(found[-1], result.numbers)
            place += len(result.entries)
        return _filled(self._form, iter(found))


class _Result:
    """One expression of the result of a step: its `entries` that are not constant, and where they stand."""

    def __init__(self, leaf: SX) -> None:
        entries = ca.densify(leaf).nonzeros()
        tokens = map(_token, entries)
        self.numbers = numbers = [token if isinstance(token, float) else None for token in tokens]
        self.shape = rows, columns = leaf.shape
        places = [k for k, number in enumerate(numbers) if number is None]
        self.entries = [entries[k] for k in places]
        triplet = [k % rows for k in places], [k // rows for k in places]
        self._pattern = ca.Sparsity.triplet(rows, columns, *triplet) if places else None
        self._rest = _matrix(self.shape, [number or 0.0 for number in numbers]) if any(numbers) else None

    def of(self, results: SX, first: int) -> SX:
        """This expression in the results of a call, where it stands from `first` on."""
        if self._pattern is None:
            return ca.SX(*self.shape) if self._rest is None else self._rest
        part = results[first : first + len(self.entries)]
        found = part if part.shape == self.shape else ca.SX(self._pattern, part)
        return found if self._rest is None else found + self._rest


def _spread(tokens: list[Token], leaf: SX) -> list[Token]:
    """Tokens of all entries of an expression from those of its nonzeros."""
    out: list[Token] = [0.0] * leaf.numel()
    for place, token in zip(leaf.sparsity().find(), tokens):
        out[place] = token
    return out


def _chosen(leaf: SX, free: list[int]) -> SX:
    """Entries `free` of an expression, as a column."""
    dense = leaf if leaf.is_dense() else ca.densify(leaf)
    column = dense if dense.size2() == 1 else ca.vec(dense)
    return column if len(free) == dense.numel() else column[free]


def _column(entries: Sequence[SX]) -> SX:
    return ca.vertcat(ca.SX(0, 1), *entries)


def _matrix(shape: tuple[int, int], entries: Sequence[SX]) -> SX:
    """An expression from its entries, column by column, zeros left out."""
    return ca.sparsify(ca.reshape(_column([ca.SX(entry) for entry in entries]), *shape))


def _token(entry: SX) -> Token:
    """Token of a scalar; numbers to 14 digits, so that equality does not depend on the last bits of a library."""
    return float(f"{float(entry):.13e}") if entry.is_constant() else (entry.element_hash(),)


class Taken:
    """An argument of many steps, taken apart once."""

    def __init__(self, value: object) -> None:
        self.leaves: list[SX] = []
        self.form = _form(value, self.leaves)


def _form(value: object, leaves: list[SX]) -> Form:
    """Form of a value, whose expressions are appended to `leaves`."""
    if isinstance(value, ca.SX):
        leaves.append(value)
        return "SX", value.shape
    if isinstance(value, Taken):
        leaves += value.leaves
        return value.form
    if isinstance(value, ca.DM | float):
        return _form(ca.SX(value), leaves)
    if isinstance(value, tuple | list):
        return "items", type(value), tuple(_form(item, leaves) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((key, _form(item, leaves)) for key, item in value.items())
    if is_dataclass(value):
        return "object", type(value), tuple((f.name, _form(getattr(value, f.name), leaves)) for f in fields(value))
    return "plain", value


def _shapes(form: Form, shapes: list[tuple[int, int]]) -> None:
    """Append the shapes of the expressions in a form, in order."""
    kind, *rest = form
    if kind == "SX":
        shapes.append(rest[0])
    elif kind == "items":
        for item in rest[1]:
            _shapes(item, shapes)
    elif kind in ("dict", "object"):
        for _, item in rest[-1]:
            _shapes(item, shapes)


def _filled(form: Form, leaves: Iterator[SX]) -> Any:
    """Value of a form with these expressions in it."""
    kind, *rest = form
    if kind == "SX":
        return next(leaves)
    if kind == "items":
        return rest[0](_filled(item, leaves) for item in rest[1])
    if kind == "dict":
        return {key: _filled(item, leaves) for key, item in rest[0]}
    if kind == "object":
        return rest[0](**{name: _filled(item, leaves) for name, item in rest[1]})
    return rest[0]


def content_of(value: object) -> Hashable:
    """Key of an object by its content: equal for objects from which the same expressions follow, while they live."""
    if isinstance(value, ca.SX | ca.DM):
        value = ca.SX(value)
        return value.sparsity().hash(), tuple(map(_token, value.nonzeros()))
    if isinstance(value, tuple | list):
        return tuple(map(content_of, value))
    if isinstance(value, dict):
        return tuple((key, content_of(item)) for key, item in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(content_of(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), value.shape, value.tobytes()
    if value is None or isinstance(value, str | int | float | type | frozenset):
        return type(value), value
    if hasattr(value, "__dict__") and not callable(value):
        return type(value), tuple((name, content_of(item)) for name, item in sorted(vars(value).items()))
    return id(value)
