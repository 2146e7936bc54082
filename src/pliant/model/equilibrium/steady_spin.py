"""Steady spin: rates of joints under which nothing bends further, and forces that do not change as they turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.errors import ModelError
from pliant.model.states import read_state

if TYPE_CHECKING:
    from pliant.mechanics.formulations import terms
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.equilibrium import force_functions
    from pliant.model.model import Model
else:  # an arm whose joints stand needs no expressions
    terms, force_functions = (
        LaterModule("pliant.mechanics.formulations.terms"),
        LaterModule("pliant.model.equilibrium.force_functions"),
    )

STEADY = 1e-9
"""Change of a force per turn over the force itself, at which a spin counts as steady: rounding leaves 1e-15."""


def steady_rates(model: Model, rates: StateLike | None) -> Array:
    """Return rates (n,) of an arm whose joints spin steadily. Nothing bends meanwhile."""
    qd = read_state(model, rates, "rates")
    bends = [k for k in np.flatnonzero(qd) if k in terms.partition(model.chain)[1]]
    if bends:
        raise ModelError(f"rates: got one of {model.speeds[bends[0]]!r}, expected rates of joints and motors only")
    return qd


def require_steady(
    model: Model, q: Array, qd: Array, loads: Sequence[Load], p: ArrayLike | None, rows: list[int]
) -> None:
    """Raise `ModelError` for a spin in which forces on the arm change as it turns."""
    by_q, _ = force_functions.slopes(model, q, qd, loads, p)
    turned = by_q[rows] * qd
    room = STEADY * (
        np.abs(model.bias(q, qd, p)[rows]).max(initial=0.0) * np.abs(qd).max() + np.abs(turned).max(initial=0.0)
    )
    if (np.abs(turned.sum(axis=1)) > room).any():
        names = ", ".join(model.speeds[k] for k in np.flatnonzero((np.abs(turned) > room).any(axis=0)))
        raise ModelError(
            f"rates: forces on the arm change as {names} turns, so that it does not settle; expected a spin about an "
            "axis along gravity, under loads that turn with the arm (axes='link' or 'section'), or no gravity"
        )
