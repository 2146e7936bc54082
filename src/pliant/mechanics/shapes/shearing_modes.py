"""Modes of clamped beams that bend and shear, tapered or not: curvature and shear angle as series of polynomials.

Curvature psi' and shear angle gamma may be any functions, and v = int (psi + gamma): a basis of strains meets the
clamped root by itself, knows no locking, and its stiffness is a diagonal for a uniform beam. The natural modes of
Timoshenko's beam converge faster than any power of the number of polynomials, and stay smooth along the beam.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.mechanics.shapes.elements import ReducedShapes, eigenpairs, mass_matrix, stiffness_matrix
from pliant.mechanics.shapes.quadrature import Weight, normalising_scales
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios
from pliant.options import Normalization

SPARE = 12
"""Polynomials of each strain beyond four per mode: the last mode of a thick uniform beam errs by less than 1e-9."""


@dataclass(frozen=True)
class StrainPolynomials:
    """`count` shapes whose curvature is a Legendre polynomial on [0, 1], then as many whose shear angle is one."""

    order: ClassVar[int] = 2
    breaks: ClassVar[Array] = np.array([0.0, 1.0])
    count: int

    @property
    def size(self) -> int:
        return 2 * self.count

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def wavenumber(self) -> float:
        return float(self.count)  # as many points more than the rule has for polynomials: exact for products

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, see `ShapeSet`: deflection, rotation of the section, curvature."""
        bent, sheared = self._polynomials(eta, derivative - 2), self._polynomials(eta, -1)
        return np.hstack([bent, sheared if derivative == 0 else 0 * sheared])

    def shear(self, eta: ArrayLike) -> Array:
        """Shear angles, see `shear_angles`."""
        angle = self._polynomials(eta, 0)
        return np.hstack([0 * angle, angle])

    def _polynomials(self, eta: ArrayLike, derivative: int) -> Array:
        """(len(eta), count) derivatives, or integrals from the root where negative."""
        series: Array = np.eye(self.count)
        if derivative < 0:
            series = np.asarray(legendre.legint(series, -derivative, lbnd=-1, scl=0.5), dtype=float)
        elif derivative:
            series = np.asarray(legendre.legder(series, derivative, scl=2.0), dtype=float)
        x = np.atleast_1d(np.asarray(eta, dtype=float))
        return np.asarray(legendre.legval(2 * x - 1, series).T)


def shearing_modes(
    n: int,
    shear: Weight,
    load: LoadRatios = FREE,
    *,
    rigidity: Weight | None = None,
    density: Weight | None = None,
    rotary: Weight | None = None,
    breaks: ArrayLike = (0.0, 1.0),
    normalize: Normalization = "unit",
) -> ReducedShapes:
    """First n modes; weights as in `stiffness_matrix` and `mass_matrix`."""
    base = StrainPolynomials(4 * n + SPARE)
    K = stiffness_matrix(base, rigidity, breaks, shear)
    M = mass_matrix(base, density, load, rotary, breaks)
    raw = ReducedShapes(base, eigenpairs(K, M, n)[1])
    return replace(raw, basis=raw.basis * normalising_scales(raw, normalize))
