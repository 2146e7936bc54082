"""Explicit Runge-Kutta methods: a file `NAME.py` with `tableau()` each, and its name in `ExplicitName` of `options`."""

from __future__ import annotations

from functools import cache
from typing import get_args

from pliant.algebra.tableau import ExplicitTableau
from pliant.base.later import implementation
from pliant.options import ExplicitName

EXPLICIT: tuple[str, ...] = get_args(ExplicitName)


@cache
def explicit(name: str) -> ExplicitTableau:
    """The tableau of a method by its name."""
    found: ExplicitTableau = implementation(__name__, name).tableau()
    return found
