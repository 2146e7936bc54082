"""Tunable numbers: gains, goals, durations. They may change without a new trace.

A class of controllers or motions names them in `tunable`: attributes that are numbers, or hold objects with such
numbers. Its expressions accept symbols in their place, so that a run takes the numbers as inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TypeVar, cast

import numpy as np

from pliant.arrays import Array, Booleans
from pliant.base.content import content

FOLLOWING = ("breaks", "_function", "_kernel")
"""Attributes that follow from the numbers and enter no expression."""

T = TypeVar("T")
Change = Callable[[Array], object]


def mapped(part: T, change: Change) -> T:
    """Return a copy with `change(number or array)` in place of every tunable number; a part without any is returned.

    User-defined classes are not changed: they may use operations that symbols do not support.

    Examples
    --------
    >>> move = mapped(pliant.control.Quintic([0.0], [1.0], 2.0), lambda number: 10 * number)
    >>> float(move.goal[0]), float(move.duration), move.n
    (10.0, 20.0, 1)
    """
    return cast(T, _mapped(part, change))


def _mapped(part: object, change: Change) -> object:
    if type(part) is tuple or type(part) is list:
        return type(part)(_mapped(item, change) for item in part)
    if type(part) is dict:
        return {key: _mapped(item, change) for key, item in part.items()}
    names = getattr(part, "tunable", ()) if type(part).__module__.startswith("pliant.") else ()
    if not names:
        return part
    changed = copy(part)
    held = vars(changed)
    for name in FOLLOWING:
        held.pop(name, None)
    for name in names:
        held[name] = _changed(getattr(part, name), change)
    return changed


def _changed(value: object, change: Change) -> object:
    if type(value) is tuple or type(value) is list:
        return type(value)(_changed(item, change) for item in value)
    if isinstance(value, float | np.floating | np.ndarray):
        return change(np.asarray(value, dtype=float))
    return _mapped(value, change)


def numbers_of(part: object) -> Array:
    """Return all tunable numbers in one array."""
    found: list[Array] = []
    mapped(part, lambda number: found.append(number[entries(number)]))
    return np.concatenate(found) if found else np.zeros(0)


def entries(number: Array) -> Booleans:
    """Return which entries of a number or an array are inputs: the diagonal and nonzero entries of a square matrix,
    such as a gain; all entries of other arrays."""
    if number.ndim == 2 and number.shape[0] == number.shape[1]:
        chosen: Booleans = (number != 0) | np.eye(len(number), dtype=bool)
        return chosen
    return np.ones(number.shape, dtype=bool)


def form(part: object) -> str | None:
    """Return all that determines the expressions of a part, except its tunable numbers, as text; see `content`.

    Examples
    --------
    >>> first, second = (pliant.control.Quintic([0.0], [goal], 2.0) for goal in (1.0, 3.0))
    >>> form(first) == form(second) != form(pliant.control.Cycloidal([0.0], [1.0], 2.0))
    True
    """
    return content(mapped(part, entries), by="form")
