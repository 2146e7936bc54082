"""Times on either side of a jump.

A step that ends at a break sees what was before it, the next one what comes after, however the equations compare the
time: evaluations keep inside the open stretch between two breaks, by more roundings than a break and the number in the
equations that means the same may differ by.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np

from pliant.arrays import Array

FloatKind: TypeAlias = type[np.float64] | type[np.float32]
"""Double or single precision."""
Time = TypeVar("Time", float, Array)
MARGIN = 4.0
"""Roundings of a time between a break and the evaluations beside it."""


def margin(t: Time, kind: FloatKind = np.float64) -> Time:
    """Time between a break at `t` and the evaluations beside it, in the precision `kind`."""
    limits = np.finfo(kind)
    width: Time = np.maximum(MARGIN * float(limits.eps) * np.abs(t), float(limits.tiny))
    return width


def before(t: Time, kind: FloatKind = np.float64) -> Time:
    """The latest time of an evaluation that sees nothing of a jump at `t`."""
    return t - margin(t, kind)


def after(t: Time, kind: FloatKind = np.float64) -> Time:
    """The earliest time of an evaluation behind a jump at `t`."""
    return t + margin(t, kind)
