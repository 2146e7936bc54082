"""A complete series of shapes of a clamped beam: their strains are polynomials between stations.

A strain may be any function, and jumps where something sits on the beam. The shapes of a model are measured against
these: the first ones have the order of its own shapes, so that a few of them can be compared with a few of those.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.mechanics.shapes.elements import ReducedShapes, eigenpairs, mass_matrix, stiffness_matrix
from pliant.mechanics.shapes.quadrature import Weight
from pliant.mechanics.shapes.tip_load import LoadRatios


@dataclass(frozen=True)
class StrainSeries:
    """`count` shapes on each piece between `stations`, whose strain is a Legendre polynomial there and zero elsewhere.

    The strain is the derivative `order` of the shape: 2 for bending, 1 for torsion and axial motion.
    """

    count: int
    order: int
    stations: tuple[float, ...] = (0.0, 1.0)

    @property
    def size(self) -> int:
        return self.count * (len(self.stations) - 1)

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def breaks(self) -> Array:
        return np.array(self.stations)

    @property
    def wavenumber(self) -> float:
        return float(self.count)  # as many points more than the rule has for polynomials: exact for products

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, see `ShapeSet`, up to the strain; at a station the piece before it counts."""
        x = np.atleast_1d(np.asarray(eta, dtype=float))
        return np.hstack([self._piece(x, low, high, self.order - derivative) for low, high in pairwise(self.stations)])

    def _piece(self, x: Array, low: float, high: float, times: int) -> Array:
        """(len(x), count) polynomials of one piece, integrated so many times from the root."""
        strains: Array = np.eye(self.count)
        if times == 0:
            inside = ((x > low) | (low == 0.0)) & (x <= high)
            return np.asarray(np.where(inside, legendre.legval(_local(x, low, high), strains), 0.0).T)
        within, scale = np.clip(x, low, high), (high - low) / 2
        once, twice = (legendre.legint(strains, k, lbnd=-1, scl=scale) for k in (1, 2))
        if times == 1:
            return np.asarray(legendre.legval(_local(within, low, high), once).T)
        beyond = np.outer(np.maximum(x - high, 0.0), legendre.legval(1.0, once))
        return np.asarray(legendre.legval(_local(within, low, high), twice).T + beyond)


def _local(x: Array, low: float, high: float) -> Array:
    return np.asarray(2 * (x - low) / (high - low) - 1)


def series_of_modes(base: StrainSeries, load: LoadRatios) -> ReducedShapes:
    """All shapes of a series, turned to the modes of the uniform beam with its load."""
    return ReducedShapes(base, eigenpairs(stiffness_matrix(base), mass_matrix(base, load=load))[1])


def series_of_tip(
    base: StrainSeries, rigidity: Weight | None, density: Weight | None, breaks: ArrayLike
) -> ReducedShapes:
    """All shapes of a series in the order of Craig and Bampton: first the static shapes of a motion of the tip, then
    the modes of the beam with its tip held."""
    K, M = stiffness_matrix(base, rigidity, breaks), mass_matrix(base, density, breaks=breaks)
    tip = np.vstack([base.evaluate(1.0, k) for k in range(base.order)])
    static = np.linalg.solve(K, tip.T)
    held = np.linalg.qr(tip.T, mode="complete")[0][:, base.order :]
    modes = held @ eigenpairs(held.T @ K @ held, held.T @ M @ held)[1]
    return ReducedShapes(base, np.hstack([static @ np.linalg.inv(tip @ static), modes]))
