"""Content of an object as text. Objects with equal text give equal results."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

DEEPEST = 12
"""Largest depth of nested objects; deeper ones may be circular."""


class _Unknown(Exception):
    pass


def content(*values: object, by: str = "recipe") -> str | None:
    """Return the content of numbers, text, arrays, containers and objects of pliant's own classes as text.

    None if anything else is inside, such as a function, whose effect cannot be known. `by` names the attribute that
    stands for a model: its `recipe`, or its `form`, which leaves the values of its parameters open.

    Examples
    --------
    >>> content(1.0, [2, "a"]) == content(1.0, [2, "a"]) != content(1, [2, "a"])
    True
    >>> content(print) is None
    True
    """
    try:
        return repr(tuple(_text(value, DEEPEST, by) for value in values))
    except _Unknown:
        return None


def _text(value: object, depth: int, by: str) -> object:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value.hex(), "float"
    if depth == 0:
        raise _Unknown
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        array = np.ascontiguousarray(value)
        return array.dtype.str, np.shape(value), hashlib.sha256(array.tobytes()).hexdigest()
    if type(value) is list or type(value) is tuple:
        return type(value).__name__, [_text(item, depth - 1, by) for item in value]
    if type(value) is dict:
        return "dict", [(_text(key, depth - 1, by), _text(item, depth - 1, by)) for key, item in value.items()]
    return _object(value, depth - 1, by)


def _object(value: object, depth: int, by: str) -> object:
    kind = type(value)
    if not kind.__module__.startswith("pliant."):
        raise _Unknown
    if hasattr(value, "recipe"):  # a model knows its own content
        known = getattr(value, by, value.recipe)
        if known is None:
            raise _Unknown
        return kind.__qualname__, known
    if hasattr(value, "digest") and callable(value.digest):
        return kind.__qualname__, value.digest()
    if isinstance(value, tuple):
        held: Mapping[Any, object] = dict(enumerate(value))
    elif is_dataclass(value):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "__dict__"):
        held = vars(value)
    else:
        raise _Unknown
    texts = [(str(name), _text(item, depth, by)) for name, item in sorted(held.items())]
    return kind.__module__, kind.__qualname__, texts
