"""Stability of a rest or a steady spin: buckling, and motions that grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.natural_modes import natural_modes
from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.model.equilibrium.steady_spin import steady_rates
from pliant.model.small_vibrations import SYMMETRIC, finite, roots, skew, small_motions
from pliant.model.validity import tell

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.equilibrium import force_functions
    from pliant.model.model import Model
else:  # a rest under dead loads needs no expressions
    force_functions = LaterModule("pliant.model.equilibrium.force_functions")


def curves_upwards(K: Array) -> bool:
    """Return whether stiffnesses (..., k, k) are those of a minimum: symmetric and positive definite."""
    size = np.sqrt(np.abs(np.diagonal(K, axis1=-2, axis2=-1)))
    size = np.maximum(size, SYMMETRIC * size.max(axis=-1, initial=1.0, keepdims=True))  # a gear in its play has none
    if skew(K / (size[..., None] * size[..., None, :])):
        return False
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


class Growth(NamedTuple):
    """The fastest motion that grows about a rest: its frequency (Hz) or rate of growth over 2 pi, the coordinate that
    moves most, by energy, and whether the forces have no potential."""

    frequency: float
    name: str
    follows: bool

    @property
    def words(self) -> str:
        if self.follows:
            return f"a motion of {self.frequency:.4g} Hz about it grows"
        rate = 2 * np.pi * self.frequency
        return (
            f"along {self.name} the stiffness is negative, {-(rate**2):.4g} (rad/s)^2 of the inertia, and a deflection "
            f"grows e-fold in {1 / rate:.3g} s"
        )


def growing(
    model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None, rates: StateLike | None = None
) -> Growth | None:
    """Return the fastest growth about a rest along the speeds `free`; None where nothing grows.

    Arms under their weight and dead loads are judged by the sign of their stiffness, others by the roots of their
    motion.
    """
    if rates is None:
        motion = small_motions(model, q, free, loads, p)
        if not motion.follows:
            squares, shapes = natural_modes(motion.K, motion.M, motion.noise)
            if squares.min(initial=0.0) >= 0:
                return None
            energy = np.diag(model.mass_matrix(q, p)) * (motion.Z @ shapes[:, 0]) ** 2
            return Growth(float(np.sqrt(-squares[0])) / (2 * np.pi), model.speeds[int(np.argmax(energy))], False)
        K, M, by_qd = motion.K, motion.M, np.zeros(motion.K.shape)
    else:
        both = force_functions.slopes(model, q, steady_rates(model, rates), loads, p)
        by_q, by_qd = (slope[np.ix_(free, free)] for slope in both)
        K, M = finite(by_q, model.mass_matrix(q, p)[np.ix_(free, free)])
    lowest = float(roots(K, by_qd, M).min(initial=0.0))
    return Growth(-lowest, "", True) if lowest < 0 else None


def tell_unstable(
    model: Model, q: Array, free: list[int], loads: Sequence[Load], p: ArrayLike | None, rates: StateLike | None = None
) -> None:
    """Warn of a rest that the arm would leave."""
    growth = growing(model, q, free, loads, p, rates)
    if growth is None:
        return
    remedy = "reduce the loads or stiffen the links"
    if model.layout.is_open and not growth.follows:
        remedy += ", or ask equilibrium(..., stable=True) for the bent rest, with `pieces` in beams that buckle"
    tell(model, {"unstable rest": f"equilibrium: got an unstable rest: {growth.words}; {remedy}"})
