"""Rounding errors of a stiffness, and a test of its symmetry that allows for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.pencil import ROOM
from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model

SYMMETRIC = 1e-9
"""Skew part of the stiffness over its largest entry, coordinates measured by their inertia: rounding leaves 1e-15."""
ROUNDING = 2.0**-50
"""Change of angles (radians) and of other coordinates (relative) that shows what rounding does to the stiffness."""


def skew(K: Array) -> bool:
    """Return whether stiffnesses (..., k, k), with coordinates scaled, are not symmetric."""
    return bool(np.abs(K - np.swapaxes(K, -1, -2)).max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0))


def rounding(model: Model, K: Array, q: Array, loads: Sequence[Load], p: ArrayLike | None) -> Array:
    """Estimate the rounding error of each entry of the stiffness K at q from its change with the last bits of q.

    Gravity does not hold a joint with a vertical axis, but its moments about the axis cancel to rounding only.
    """
    angles = np.zeros(model.n_q)
    for shaft in model.layout.shafts:
        if shaft.place is not None:
            angles[shaft.place] = float(shaft.turns)
    random = np.random.default_rng(0)
    nearby = (q + ROUNDING * random.uniform(-1, 1, model.n_q) * (np.abs(q) + angles) for _ in range(3))
    return np.asarray(ROOM * np.max([np.abs(model.stiffness(state, loads, p) - K) for state in nearby], axis=0))
