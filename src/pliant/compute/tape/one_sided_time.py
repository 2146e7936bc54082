"""Times on either side of a jump.

A step that ends at a break sees what was before it, the next one what comes after, however the equations compare the
time: evaluations keep inside the open stretch between two breaks, by more roundings than a break and the number in the
equations that means the same may differ by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MARGIN = 4.0
"""Roundings of a time between a break and the evaluations beside it."""


def margin(t: Any, kind: Any = np.float64) -> Any:
    """What lies between a break at `t` and the evaluations beside it, in numbers of this kind."""
    limits = np.finfo(kind)
    return np.maximum(MARGIN * float(limits.eps) * np.abs(t), float(limits.tiny))


def before(t: Any, kind: Any = np.float64) -> Any:
    """The latest time of an evaluation that sees nothing of a jump at `t`."""
    return t - margin(t, kind)


def after(t: Any, kind: Any = np.float64) -> Any:
    """The earliest time of an evaluation behind a jump at `t`."""
    return t + margin(t, kind)
