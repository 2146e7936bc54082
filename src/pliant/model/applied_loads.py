"""Forces of loads on an arm that does not accelerate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.later import LaterModule

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model import force_functions
    from pliant.model.model import Model
else:  # an arm without loads needs no expressions
    force_functions = LaterModule("pliant.model.force_functions")

Applied = Callable[[ArrayLike], tuple[Array, Array]]
"""q -> generalized forces (n,) and their slopes (n, n)."""


def applied(model: Model, loads: Sequence[Load], p: ArrayLike | None, qd: Array | None = None) -> Applied:
    """Forces of the loads at t = 0 on the arm at rest, or with rates `qd`."""
    if not len(loads):
        return lambda q: (np.zeros(model.n), np.zeros((model.n, model.n)))
    function, values = force_functions.load_forces(model, loads, qd), model.values(p)

    def at(state: ArrayLike) -> tuple[Array, Array]:
        force, slope = function(np.asarray(state, dtype=float), values)
        return np.array(force, dtype=float).ravel(), np.array(slope, dtype=float)

    return at
