"""Numbers that change without anything being traced anew: gains, goals, durations.

A class of controllers or motions names them in `tunable`: attributes that are numbers, or hold objects with such
numbers. Its expressions hold as well when symbols stand there, so that a run takes the numbers as inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.base.content import content

FOLLOWING = ("breaks", "_function", "_kernel")
"""Attributes that follow from the numbers and enter no expression."""

Change = Callable[[Array], Any]


def mapped(part: Any, change: Change) -> Any:
    """A copy with `change(number or array)` in place of every tunable number; what has none is given back as it is.

    Only classes of pliant's own are looked into: another may do with its numbers what no symbol can.

    Examples
    --------
    >>> move = mapped(pliant.control.Quintic([0.0], [1.0], 2.0), lambda number: 10 * number)
    >>> float(move.goal[0]), float(move.duration), move.n
    (10.0, 20.0, 1)
    """
    if type(part) in (tuple, list):
        return type(part)(mapped(item, change) for item in part)
    if type(part) is dict:
        return {key: mapped(item, change) for key, item in part.items()}
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


def _changed(value: Any, change: Change) -> Any:
    if type(value) in (tuple, list):
        return type(value)(_changed(item, change) for item in value)
    if isinstance(value, float | np.floating | np.ndarray):
        return change(np.asarray(value, dtype=float))
    return mapped(value, change)


def numbers_of(part: Any) -> Array:
    """All tunable numbers, one after the other."""
    found: list[Array] = []
    mapped(part, lambda number: found.append(number[entries(number)]))
    return np.concatenate(found) if found else np.zeros(0)


def entries(number: Array) -> Any:
    """Which entries of a number or an array are inputs: of a square matrix, such as a gain, its diagonal and what is
    not zero, else all."""
    if number.ndim == 2 and number.shape[0] == number.shape[1]:
        return (number != 0) | np.eye(len(number), dtype=bool)
    return np.ones(number.shape, dtype=bool)


def form(part: Any) -> str | None:
    """All that the expressions of a part follow from but its tunable numbers, as text; see `content`.

    Examples
    --------
    >>> first, second = (pliant.control.Quintic([0.0], [goal], 2.0) for goal in (1.0, 3.0))
    >>> form(first) == form(second) != form(pliant.control.Cycloidal([0.0], [1.0], 2.0))
    True
    """
    return content(mapped(part, lambda number: entries(number)), by="form")
