"""Finite elements of a beam that is clamped at its root, and their reduction to few shapes.

Bending uses cubic Hermite elements, [TG95] eqs. (12)-(14); torsion and axial motion linear ones. A beam that shears has
the interdependent elements of Timoshenko's beam: deflection v and rotation psi of its sections are those that forces at
the nodes give, so that nothing locks; without shear they are Hermite's. Between nodes its own inertia shears an element
further, by 4 xi (1 - xi) s: with this third coordinate the third frequency of a beam five times as long as high is
right to 3e-4 in twelve elements, without it to 5e-3. The elements are equally long; node 0 is the root and does not
move. Matrices are dimensionless (see `ModalIntegrals`): a slope is taken per eta here, d/d eta = L d/dx, and `powers`
says where the caller puts the length back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.shapes.quadrature import ShapeSet, Weight, gauss_rule, gram, normalising_scales, shear_angles
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios
from pliant.options import Normalization

# Coefficients of 1, xi, xi^2, xi^3: value and slope of the left node, then of the right one.
HERMITE = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float)
LINEAR = np.array([[1, -1], [0, 1]], dtype=float)
# Terms by shear of (1 + Phi) times the deflection, and of the shear angle v' - psi, per Phi = 12 EI/(G A h^2).
YIELDING = np.array([[1, -1, 0, 0], [0, 0.5, -0.5, 0], [0, 1, 0, 0], [0, -0.5, 0.5, 0]])
ANGLE = np.array([-1, -0.5, 1, -0.5])


@dataclass(frozen=True)
class Elements:
    """`count` equal elements; coordinates node by node from node 1 on, that of the shear before a node in front of it.

    Attributes
    ----------
    count : int
    order : {2, 1}
        2 for bending (deflection v and rotation psi of each node, dv/dx without shear), 1 for torsion and axial motion
        (one value per node).
    yields : (count,) tuple
        EI/(G A L^2) of each element of a beam that shears; empty otherwise.
    """

    wavenumber: ClassVar[float] = 0.0
    count: int
    order: Literal[1, 2]
    yields: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1 or self.order not in (1, 2):
            raise ModelError(f"elements: count {self.count}, order {self.order}: expected count >= 1 and order 1 or 2")

    @property
    def size(self) -> int:
        return self._step * self.count

    @property
    def _step(self) -> int:
        """Coordinates per element."""
        return self.order + bool(self.yields)

    @property
    def powers(self) -> tuple[int, ...]:
        return ((0,) * bool(self.yields) + tuple(range(self.order))) * self.count

    @property
    def breaks(self) -> Array:
        return np.linspace(0.0, 1.0, self.count + 1)

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, see `ShapeSet`; at a node the element on its left counts."""
        element, xi = self._places(eta)
        local = self._local(xi, derivative)
        if self.yields:
            Phi = self._Phi[element]
            local = (local + Phi * self._local(xi, derivative, YIELDING)) / (1 + Phi)
            local = local - self._angles(Phi) if derivative == 1 else local
            between = 4 * xi * (1 - xi) if derivative == 0 else 0 * xi
            local = np.column_stack([local, between])
        return self._placed(element, local)

    def shear(self, eta: ArrayLike) -> Array:
        """Shear angles, see `shear_angles`: linear along each element."""
        element, xi = self._places(eta)
        if not self.yields:
            return np.zeros((len(element), self.size))
        between = 4 * self.count * (1 - 2 * xi)
        return self._placed(element, np.column_stack([self._angles(self._Phi[element]), between]))

    @property
    def _Phi(self) -> Array:
        """(count, 1) 12 EI/(G A h^2)."""
        return 12.0 * self.count**2 * np.array(self.yields)[:, None]

    def _angles(self, Phi: Array) -> Array:
        """Shear angles of the four nodal functions of an element."""
        lengths = np.tile([1.0, 1.0 / self.count], 2)
        return np.asarray(Phi / (1 + Phi) * ANGLE * self.count * lengths)

    def _places(self, eta: ArrayLike) -> tuple[Array, Array]:
        """Element of each station, and the place xi in [0, 1] within it."""
        x = np.atleast_1d(np.asarray(eta, dtype=float)) * self.count
        element = np.clip(np.ceil(x).astype(int) - 1, 0, self.count - 1)
        return element, x - element

    def _placed(self, element: Array, local: Array) -> Array:
        """(stations, size) from values of the functions of one element per station: of its nodes, of its shear."""
        step, nodal = self._step, np.arange(self.order) + bool(self.yields)
        values = np.zeros((len(element), self.size + step))
        columns = step * element[:, None] + np.concatenate([nodal, step + nodal, [step][: bool(self.yields)]]).astype(
            int
        )
        values[np.arange(len(element))[:, None], columns] = local
        return values[:, step:]

    def _local(self, xi: Array, derivative: int, table: Array | None = None) -> Array:
        """Shape functions of one element at xi in [0, 1]; those of slopes carry the element length 1/count."""
        table = (HERMITE if self.order == 2 else LINEAR) if table is None else table
        coefficients = polynomial.polyder(table.T, derivative) * float(self.count) ** derivative
        lengths = np.tile([1.0, 1.0 / self.count][: self.order], 2)
        return np.asarray(polynomial.polyval(xi, coefficients).T * lengths)


def bending_elements(count: int) -> Elements:
    """Cubic Hermite elements of one bending plane."""
    return Elements(count, 2)


def rod_elements(count: int) -> Elements:
    """Linear elements of torsion or axial motion."""
    return Elements(count, 1)


def stiffness_matrix(
    shapes: ShapeSet, rigidity: Weight | None = None, breaks: ArrayLike = (0.0, 1.0), shear: Weight | None = None
) -> Array:
    """int rigidity(eta) psi^(k) psi^(k) with k = 2 for bending, 1 for torsion and axial motion; `shear` is G A L^2 in
    units of the rigidity, for shapes that shear."""
    bent = gram(shapes, shapes.order, rigidity, breaks)
    if shear is None:
        return bent
    rule = gauss_rule(np.concatenate([shapes.breaks, np.asarray(breaks, dtype=float)]), shapes.wavenumber)
    angle = shear_angles(shapes, rule.eta)
    return np.asarray(bent + angle.T @ ((rule.weight * shear(rule.eta))[:, None] * angle))


def mass_matrix(
    shapes: ShapeSet,
    density: Weight | None = None,
    load: LoadRatios = FREE,
    rotary: Weight | None = None,
    breaks: ArrayLike = (0.0, 1.0),
) -> Array:
    """Consistent mass int density psi psi, with the tip load and the sections' rotary inertia int rotary psi' psi'.

    `rotary` is j(eta)/(mu L^2) in units of the density; a load's slope is d/d eta.
    """
    tip = np.vstack([shapes.evaluate(1.0), shapes.evaluate(1.0, 1)])
    total = gram(shapes, 0, density, breaks) + tip.T @ load.matrix @ tip
    return np.asarray(total if rotary is None else total + gram(shapes, 1, rotary, breaks))


def eigenpairs(K: Array, M: Array, count: int | None = None) -> tuple[Array, Array]:
    """Rising eigenvalues of K x = lambda M x and vectors with X^T M X = 1; K positive definite. The first `count` of
    them, for which M need not be definite, or all.

    The reciprocal problem M x = (1/lambda) K x is solved, whose leading eigenvalues are the accurate ones.
    """
    scale = 1 / np.sqrt(np.diag(K))
    factor = np.linalg.inv(np.linalg.cholesky(K * np.outer(scale, scale))) * scale
    inverse, vectors = (x[..., ::-1][..., :count] for x in np.linalg.eigh(factor @ M @ factor.T))
    if not inverse[-1] > 0:
        raise ModelError(
            "mass matrix of a beam is not positive definite: expected mass in every shape; check the profile"
        )
    values = 1 / inverse
    return values, np.asarray(factor.T @ vectors * np.sqrt(values))


@dataclass(frozen=True)
class ReducedShapes:
    """Combinations of the shapes of a finer set: column k of `basis` makes shape k."""

    base: ShapeSet
    basis: Array = field(repr=False)

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def breaks(self) -> Array:
        return self.base.breaks

    @property
    def wavenumber(self) -> float:
        return self.base.wavenumber

    @property
    def order(self) -> int:
        return self.base.order

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, shape (len(eta), size)."""
        return np.asarray(self.base.evaluate(eta, derivative) @ self.basis)

    def shear(self, eta: ArrayLike) -> Array:
        """Shear angles, see `shear_angles`."""
        return np.asarray(shear_angles(self.base, eta) @ self.basis)


def reduce_elements(
    elements: Elements,
    k: int,
    K: Array,
    M: Array,
    *,
    method: Literal["craig-bampton", "clamped"] = "craig-bampton",
    normalize: Normalization = "unit",
) -> ReducedShapes:
    """Keep k shapes of a finite-element beam with stiffness K and mass M (tip load included).

    "craig-bampton" spans the static shapes of a unit tip motion (deflection and slope in bending, one value otherwise)
    and, for what is left of k, the lowest modes with the tip held. The static shapes count among the k and come first,
    so that outer links may bend the tip in any way; k = 1 in bending keeps the lowest combination of the two.
    "clamped" takes the k lowest modes with the tip as M has it. Either way the span is turned to its own modes (an
    eigen-solve of the reduced pair): rising frequency, orthogonal in K and in M.
    """
    if not 1 <= k <= elements.size:
        raise ModelError(
            f"reduce {k}: expected 1 to {elements.size}, what {elements.count} elements have; use more elements"
        )
    span = _craig_bampton(elements, k, K, M) if method == "craig-bampton" else np.eye(elements.size)
    _, vectors = eigenpairs(span.T @ K @ span, span.T @ M @ span)
    raw = ReducedShapes(elements, np.asarray(span @ vectors[:, :k]))
    return replace(raw, basis=raw.basis * normalising_scales(raw, normalize))


def _craig_bampton(elements: Elements, k: int, K: Array, M: Array) -> Array:
    """Static tip shapes and the lowest modes with the tip held, as columns."""
    tip = elements.order  # the tip's coordinates stand last
    inner = elements.size - tip
    static = np.vstack([-np.linalg.solve(K[:inner, :inner], K[:inner, inner:]), np.eye(tip)])
    held = eigenpairs(K[:inner, :inner], M[:inner, :inner])[1] if inner else np.zeros((0, 0))
    kept = held[:, : max(k - tip, 0)]
    return np.hstack([static, np.vstack([kept, np.zeros((tip, kept.shape[1]))])])
