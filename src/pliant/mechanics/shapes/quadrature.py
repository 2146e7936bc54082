"""Integrals of products of shape functions over the beam, eta in [0, 1], exact to rounding, and scales of shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.options import Normalization

Weight = Callable[[Array], Array]


class ShapeSet(Protocol):
    """Shape functions of one field (one bending plane, torsion or axial motion) of one beam."""

    @property
    def size(self) -> int:
        """Number of shape functions."""

    @property
    def powers(self) -> tuple[int, ...]:
        """Powers p_j of the length: field value = sum_j L**p_j psi_j(eta) c_j."""

    @property
    def breaks(self) -> Array:
        """Stations where a derivative jumps, both ends included."""

    @property
    def wavenumber(self) -> float:
        """Largest beta of the set, its highest wavenumber (0 for piecewise polynomials)."""

    @property
    def order(self) -> int:
        """Derivative that stores the strain energy: 2 for bending, 1 for torsion and axial motion."""

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k at each station, shape (len(eta), size).

        In bending the first derivative is the rotation of the section, v' - gamma where the beam shears, and the
        second is its curvature. For gamma see `shear_angles`.
        """


@runtime_checkable
class Shearing(Protocol):
    """Shapes of a bending plane whose sections may turn by less than the slope."""

    def shear(self, eta: ArrayLike) -> Array:
        """dv/d eta less the rotation of the section at each station, shape (len(eta), size)."""


def shear_angles(shapes: ShapeSet, eta: ArrayLike) -> Array:
    """Shear angles of shapes that shear, zero for all others, shape (len(eta), size)."""
    return shapes.shear(eta) if isinstance(shapes, Shearing) else np.zeros((np.size(eta), shapes.size))


class Rule(NamedTuple):
    """Quadrature points and weights."""

    eta: Array
    weight: Array


@lru_cache(maxsize=64)
def gauss(points: int) -> tuple[Array, Array]:
    """Points and weights of Gauss and Legendre on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(points)
    return 0.5 * (1 + x), 0.5 * w


def gauss_rule(breaks: ArrayLike, wavenumber: float = 0.0) -> Rule:
    """Gauss-Legendre rule between successive breaks.

    On a piece of length h, 16 + beta h points integrate products of two functions of wavenumber beta to rounding: the
    product has wavenumber 2 beta, and the Bessel-function tail of its Legendre series has died out at twice the points.
    """
    edges = np.unique(np.asarray(breaks, dtype=float))
    lengths = np.diff(edges)
    local = [gauss(16 + ceil(wavenumber * h)) for h in lengths]
    eta = np.concatenate([left + h * x for left, h, (x, _) in zip(edges[:-1], lengths, local)])
    return Rule(eta, np.concatenate([h * w for h, (_, w) in zip(lengths, local)]))


def gram(shapes: ShapeSet, derivative: int = 0, weight: Weight | None = None, breaks: ArrayLike = (0.0, 1.0)) -> Array:
    """Matrix of integrals of weight(eta) psi_j^(k) psi_l^(k); `breaks` are stations where the weight is not smooth."""
    rule = gauss_rule(np.concatenate([shapes.breaks, np.asarray(breaks, dtype=float)]), shapes.wavenumber)
    psi = shapes.evaluate(rule.eta, derivative)
    g = rule.weight if weight is None else rule.weight * weight(rule.eta)
    return np.asarray(psi.T @ (g[:, None] * psi))


def normalising_scales(shapes: ShapeSet, normalize: Normalization = "unit") -> Array:
    """Factors that bring each shape to int psi^2 d eta = 1 with a positive tip, or to psi(1) = 1.

    A shape that leaves its tip in place (below 1e-8 of its size) is made positive next to the tip.
    """
    norm = np.sqrt(np.diag(gram(shapes)))
    tip, slope = shapes.evaluate(1.0)[0], shapes.evaluate(1.0, 1)[0]
    still = np.abs(tip) < 1e-8 * norm
    if normalize == "unit":
        return np.asarray(np.where(np.where(still, -slope, tip) < 0, -1.0, 1.0) / norm)
    if still.any():
        names = [int(j) + 1 for j in np.flatnonzero(still)]
        raise ModelError(f"normalize 'tip': shapes {names} do not move the tip, expected motion; use normalize 'unit'")
    return np.asarray(1.0 / tip)
