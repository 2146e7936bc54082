"""Natural modes of uniform beams, from their boundary conditions alone; they are checked when they are made.

Every bending mode is y = sum_i c_i f_i(eta) over four solutions f_i of y'''' = beta^4 y. The coefficients are the null
vector of the four boundary rows, so no formula such as [TG95] (10) is typed in. For beta >= 2 the solutions are cos,
sin, exp(-beta eta), exp(-beta (1 - eta)): nothing grows, nothing cancels, at any beta. Below, where these four become
dependent, they are Duncan's functions eta^k/k! + beta^4 eta^(k+4)/(k+4)! + ...
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import perm
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.shapes.quadrature import gram, normalising_scales
from pliant.mechanics.shapes.roots import CLAMPED, PINNED, SERIES_BELOW, RootSupport, bending_roots, pinned_pinned_roots
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios
from pliant.options import Normalization

ENDS = np.array([0.0, 1.0])
SMALL_FACTORIALS = np.array([1.0, 1.0, 2.0, 6.0])
STEPS = np.array([[perm(p + 4 * j, 4) for p in range(4)] for j in range(11, 0, -1)], dtype=float)
"""(p + 4j)! / (p + 4j - 4)!, the last of twelve terms first."""
TRUST = 1e-8
"""Largest error of a boundary condition or of orthogonality that modes may have.

True modes err by some 1e-14. Modes of two frequencies that coincide to round-off are mixed at random, an error of order
one. The limit lies six decades or more from either.
"""


def fundamental_solutions(beta: float, eta: ArrayLike, derivative: int = 0) -> Array:
    """Four independent solutions of y'''' = beta^4 y, differentiated `derivative` times, shape (len(eta), 4)."""
    x = np.atleast_1d(np.asarray(eta, dtype=float))
    if beta < SERIES_BELOW:
        return _duncan(beta, x, derivative)
    b = beta * x
    c, s = np.cos(b), np.sin(b)
    circle = (c, -s, -c, s)  # successive derivatives of cos; sin follows three places behind
    decay = (-1.0) ** derivative * np.exp(-b)
    columns = [circle[derivative % 4], circle[(derivative + 3) % 4], decay, np.exp(b - beta)]
    return np.asarray(beta**derivative * np.stack(columns, axis=1))


def _duncan(beta: float, x: Array, derivative: int) -> Array:
    """Derivatives of sum_j beta^(4j) eta^(k+4j)/(k+4j)! for k = 0 to 3, nested from the last term inwards."""
    k = np.arange(4)
    first = np.maximum(0, -((k - derivative) // 4))  # terms before it are differentiated away
    power = k + 4 * first - derivative
    z, total = (beta * x[:, None]) ** 4, np.ones((len(x), 4))
    for step in STEPS[:, power]:
        total = 1.0 + z * total / step
    return np.asarray(beta ** (4 * first) * x[:, None] ** power / SMALL_FACTORIALS[power] * total)


@dataclass(frozen=True)
class BendingModes:
    """Modes of a uniform bending beam; make them with `bending_modes`.

    Attributes
    ----------
    support : RootSupport
        Clamped or pinned root.
    load : LoadRatios
        Load at the tip.
    roots : (n,) array
        Roots beta of the frequency equation, rising.
    coefficients : (n, 4) array
        Of the fundamental solutions.
    pinned_tip : bool
        The tip is held in place and may turn; there is no load then.
    """

    order: ClassVar[int] = 2
    breaks: ClassVar[Array] = ENDS
    support: RootSupport
    load: LoadRatios
    roots: Array
    coefficients: Array = field(repr=False)
    pinned_tip: bool = False

    @property
    def size(self) -> int:
        return len(self.roots)

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def wavenumber(self) -> float:
        return float(max(self.roots, default=0.0))

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, shape (len(eta), n)."""
        columns = [fundamental_solutions(b, eta, derivative) @ c for b, c in zip(self.roots, self.coefficients)]
        return np.stack(columns, axis=1) if columns else np.zeros((np.size(eta), 0))

    def boundary_residuals(self) -> Array:
        """Residual of each boundary condition over the largest psi^(k)/beta^k that enters it, shape (n, 4)."""
        ends = np.stack([self.evaluate(ENDS, k) for k in range(4)])  # (derivative, end, mode)
        return np.array([self._residual(b, ends[:, :, j]) for j, b in enumerate(self.roots)]).reshape(-1, 4)

    def _residual(self, beta: float, ends: Array) -> Array:
        rows = boundary_rows(self.support, self.load, self.pinned_tip, beta)
        values = np.concatenate([rows[:2] @ ends[:, 0], rows[2:] @ ends[:, 1]])
        return np.asarray(values / np.abs(rows * beta ** np.arange(4)).max(axis=1))

    def loaded_gram(self) -> Array:
        """int psi_j psi_k + M psi psi + D (psi psi' + psi' psi) + J psi' psi' at the tip: diagonal for true modes."""
        tip = np.vstack([self.evaluate(1.0), self.evaluate(1.0, 1)])
        return np.asarray(gram(self) + tip.T @ self.load.matrix @ tip)

    def __post_init__(self) -> None:
        if not self.size:
            return
        product = self.loaded_gram()
        norm = np.sqrt(np.diag(product))
        fault = np.abs(product / np.outer(norm, norm) - np.eye(self.size)).max()
        missed = np.abs(self.boundary_residuals()).max()
        if not max(fault, missed) < TRUST:
            raise ModelError(
                f"{self.size} {self.support.name} modes with {self.load}: boundary conditions missed by {missed:.1e}, "
                f"orthogonality by {fault:.1e}, expected {TRUST:.0e}; two frequencies coincide or the load is extreme: "
                "change the tip load or use elements"
            )


def bending_modes(
    n: int,
    support: RootSupport = CLAMPED,
    load: LoadRatios = FREE,
    *,
    pinned_tip: bool = False,
    normalize: Normalization = "unit",
) -> BendingModes:
    """First n modes of a beam clamped or pinned at its root and free, loaded or pinned at its tip.

    Scaled to int psi^2 d eta = 1 with psi(1) > 0, or to psi(1) = 1. A mode that does not move its tip (pinned-pinned)
    is positive next to the tip.
    """
    if pinned_tip and (support is not PINNED or load):
        raise ModelError("pinned tip: expected a pinned root and no tip load; use clamped-free or clamped-mass instead")
    roots = pinned_pinned_roots(n) if pinned_tip else bending_roots(n, support, load)
    coefficients = [_null_vector(boundary_rows(support, load, pinned_tip, b), b) for b in roots]
    raw = BendingModes(support, load, roots, np.reshape(coefficients, (-1, 4)), pinned_tip)
    return replace(raw, coefficients=raw.coefficients * normalising_scales(raw, normalize)[:, None])


def boundary_rows(support: RootSupport, load: LoadRatios, pinned_tip: bool, beta: float) -> Array:
    """Four rows over (y, y', y'', y''') that vanish: two at the root, two at the tip.

    Tip: y'' = beta^4 (J y' + D y), y''' = -beta^4 (M y + D y'), [TG95] with the signs of its frequency equation.
    """
    if pinned_tip:
        tip = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0]])
    else:
        b4 = beta**4
        tip = np.array([[-b4 * load.D, -b4 * load.J, 1, 0], [b4 * load.M, b4 * load.D, 0, 1]])
    return np.vstack([support.conditions, tip])


def _null_vector(rows: Array, beta: float) -> Array:
    """Coefficients of the fundamental solutions that meet the boundary rows."""
    ends = np.stack([fundamental_solutions(beta, ENDS, k) for k in range(4)])  # (derivative, end, solution)
    conditions = np.vstack([rows[:2] @ ends[:, 0], rows[2:] @ ends[:, 1]])
    conditions /= np.abs(rows * beta ** np.arange(4)).max(axis=1, keepdims=True)
    return np.asarray(np.linalg.svd(conditions)[2][-1])
