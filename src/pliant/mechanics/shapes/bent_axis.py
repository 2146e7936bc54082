"""Place and rotation of the sections of a bent and twisted beam beyond first order in the amplitudes.

Amplitudes are those of the curvature in section axes, as strain gauges measure: theta = (phi, -w', v') is the integral
of the curvature kappa, and R' = R [kappa]x, r' = R e_x hold along the inextensible axis; where the beam shears,
r' = R (e_x + gamma) with the shear angles in section axes, and theta has the rotation of the section in place of the
slope. By powers of the amplitudes
R = 1 + R1 + R2 + R3 with R1 = [theta]x, R2' = R1 [kappa]x, R3' = R2 [kappa]x: each power of place and rotation is a
form of the amplitudes with constant coefficients. Everything is dimensionless: lengths in units of the beam's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations

import numpy as np
from numpy.polynomial import polynomial

from pliant.arrays import Array
from pliant.mechanics.shapes.integrals import FIELDS, SectionProfile
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.shapes.quadrature import gauss

EX = np.array([1.0, 0.0, 0.0])


class IntegralNodes:
    """Gauss points between breaks, and rows that integrate functions known at these points.

    Attributes
    ----------
    eta, weight : (Q,) points and weights of integrals over [0, 1]
    cumulative : (Q, Q) integrals from 0 to each point
    """

    def __init__(self, breaks: Array, wavenumber: float, least: int = 16) -> None:
        self.edges = np.unique(breaks)
        self.counts = [least + int(np.ceil(wavenumber * h)) for h in np.diff(self.edges)]
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        local = [gauss(count) for count in self.counts]
        self.eta = np.concatenate([low + h * x for low, h, (x, _) in zip(self.edges, np.diff(self.edges), local)])
        self.weight = np.concatenate([h * w for h, (_, w) in zip(np.diff(self.edges), local)])
        self.cumulative = self.to(self.eta)

    def to(self, eta: Array) -> Array:
        """(len(eta), Q) rows that integrate from 0 to each station."""
        place = np.clip(np.searchsorted(self.edges, eta, side="right") - 1, 0, len(self.counts) - 1)
        rows = np.zeros((len(eta), len(self.weight)))
        for row, x, piece in zip(rows, eta, place):
            first, count = self.starts[piece], self.counts[piece]
            low, h = self.edges[piece], self.edges[piece + 1] - self.edges[piece]
            row[:first] = self.weight[:first]
            row[first : first + count] = h * _integral_row(2 * (x - low) / h - 1, count)
        return rows


def _integral_row(x: float, count: int) -> Array:
    """Weights of the integral from -1 to x, of half the interpolant through the Gauss points of [-1, 1]."""
    nodes, weights = gauss(count)
    at_nodes = np.polynomial.legendre.legvander(2 * nodes - 1, count - 1)
    ends = np.polynomial.legendre.legvander(np.array([x]), count)[0]
    degree = np.arange(count)
    upper = np.append(x + 1.0, (ends[2:] - ends[:-2]) / (2 * degree[1:] + 1))
    return np.asarray((upper * (2 * degree + 1) / 2) @ at_nodes.T * weights)


@dataclass(frozen=True)
class Forms:
    """A polynomial of the amplitudes without linear part: symmetric forms of second degree, (m, n, n), and of third,
    (m, n, n, n), where kept; `twist` (m, n, n) is the part of second degree that goes with I_p / (A L^2)."""

    second: Array
    twist: Array
    third: Array | None

    def __getitem__(self, rows: object) -> Forms:
        third = None if self.third is None else self.third[rows]  # type: ignore[call-overload]
        return Forms(self.second[rows], self.twist[rows], third)  # type: ignore[call-overload]

    def combined(self, matrix: Array) -> Forms:
        """Linear combinations of the rows."""
        second, twist = (np.tensordot(matrix, x, 1) for x in (self.second, self.twist))
        return Forms(second, twist, None if self.third is None else np.tensordot(matrix, self.third, 1))

    def columns(self) -> Array:
        """(m, products) coefficients of the products of amplitudes that occur."""
        found = [x.reshape(len(x), -1) for x in (self.second, self.twist, self.third) if x is not None]
        every = np.hstack(found)
        return every[:, np.abs(every).max(axis=0, initial=0.0) > 1e-12]

    def basis(self) -> Array:
        """(r, m) orthonormal combinations of the rows that hold all of them: few where there are few products."""
        rows: list[Array] = []
        for column in self.columns().T:
            rest = column - sum(((row @ column) * row for row in rows), np.zeros(len(column)))
            if np.linalg.norm(rest) > 1e-9 * np.linalg.norm(column) and len(rows) < len(column):
                rest = rest - sum(((row @ rest) * row for row in rows), np.zeros(len(column)))
                rows.append(rest / np.linalg.norm(rest))
        return np.array(rows).reshape(-1, len(self.second))


def stacked(forms: Sequence[Forms]) -> Forms:
    """Rows of several forms one below the other."""
    third = [form.third for form in forms if form.third is not None]
    return Forms(
        np.concatenate([form.second for form in forms]),
        np.concatenate([form.twist for form in forms]),
        np.concatenate(third) if third else None,
    )


class BentAxis:
    """Forms of place and rotation of a beam over its shapes, which leave the root section in place, to second or third
    degree.

    With `twist`, fibres away from the axis keep their length as the beam twists, so that its axis shortens by
    1/2 int (I_p / A) phi'^2: how tension resists twist.
    """

    def __init__(self, shapes: LinkShapes, profile: SectionProfile, degree: int, twist: bool = True) -> None:
        parts = [part.shapes for part in shapes.parts]
        breaks = np.concatenate([profile.breaks, [0.0, 1.0], *(part.breaks for part in parts)])
        self.shapes, self.profile, self.degree = shapes, profile, degree
        self.nodes = IntegralNodes(breaks, degree * max(part.wavenumber for part in parts))
        eta = self.nodes.eta
        self.theta, self.kappa = (self._turned(eta, order) for order in (0, 1))
        ratio = profile("polar_inertia", eta) / profile("mass_per_length", eta)
        self.twisting = twist * self.kappa[..., 0] * np.sqrt(ratio)
        self.bend = np.cross(self.kappa, EX)
        moved = np.array([FIELDS[name].axis for part in shapes.parts for name in [part.name] * part.shapes.size])
        self.gamma = shapes.shear(eta).T[..., None] * moved[:, None, :]

    def _turned(self, eta: Array, order: int) -> Array:
        """(n, len(eta), 3) rotation vector per amplitude, or its derivative."""
        values = (self.shapes.evaluate(eta, order + k) for k in (0, 1))
        torsion = np.array([name == "torsion" for name in self.shapes.fields])
        value, slope = values
        return np.asarray(np.where(torsion, value, slope).T[..., None] * self.shapes.integrals.turn[:, None, :])

    def along(self, rows: Array) -> Forms:
        """Forms (3 m rows: x, y, z of the first functional, then of the next) of functionals of the place, given as
        rows over r' at the nodes."""
        n, m = len(self.theta), len(rows)
        deep = rows @ self.nodes.cumulative
        second = self._crossed(deep, self.theta, self.bend)
        if self.gamma.any():
            second += self._crossed(rows, self.theta, self.gamma)
        twist = np.zeros_like(second)
        twist[:, 0] = -np.einsum("mq,iq,jq->mij", rows, self.twisting, self.twisting) / 2
        third = None
        if self.degree > 2:
            third = self._third_place(deep, self.bend)
            third = third + self._third_place(rows, self.gamma) if self.gamma.any() else third
        return _symmetric(second.reshape(3 * m, n, n), twist.reshape(3 * m, n, n), third)

    def turned(self, eta: float) -> Forms:
        """Forms (3 rows) of the rotation vector of the section at a station: terms of the Magnus expansion beyond
        theta."""
        row = self.nodes.to(np.array([eta]))
        second = self._crossed(row, self.theta, self.kappa)[0] / 2
        third = None
        if self.degree > 2:
            crossed = np.moveaxis(_cross_all(self.theta, self.kappa), -1, 0)  # (3, n, n, Q)
            one = 0.5 * np.stack(
                [self.nodes.cumulative @ x.reshape(-1, len(row[0])).T for x in crossed]
            )  # (3, Q, n n): second-degree rotation at the nodes
            n = len(self.theta)
            pairs = one.reshape(3, -1, n * n).transpose(2, 1, 0)
            third = self._crossed(row, pairs, self.kappa)[0].reshape(3, n, n, n) / 2
            twice = _cross_all(self.theta, self.kappa)  # (n, n, Q, 3): theta_j x kappa_k
            third += _weighted_cross(row[0], self.theta, twice).reshape(3, n, n, n) / 12
        return _symmetric(second, np.zeros_like(second), third)

    @staticmethod
    def _crossed(rows: Array, left: Array, right: Array) -> Array:
        """(m, 3, i, j) sums over the nodes of rows times left_i x right_j."""
        out = np.empty((len(rows), 3, len(left), len(right)))
        for m, row in enumerate(rows):
            out[m] = _weighted_cross(row, left, right)
        return out

    @cached_property
    def _rotations(self) -> Array:
        """(n, n, Q, 3, 3) R2 at the nodes."""
        inner = np.einsum("iqb,jqa->ijqab", self.theta, self.kappa)
        inner -= np.einsum("iqc,jqc->ijq", self.theta, self.kappa)[..., None, None] * np.eye(3)
        return np.asarray(np.einsum("pq,ijqab->ijpab", self.nodes.cumulative, inner))

    def _third_place(self, rows: Array, along: Array) -> Array:
        """Sums over the nodes of rows times R2 `along`."""
        n = len(self.theta)
        R2, along = self._rotations.transpose(0, 1, 3, 2, 4).reshape(n * n * 3, -1), along.reshape(n, -1)
        moved = (R2 @ (along * np.repeat(row, 3)).T for row in rows)
        return np.concatenate([x.reshape(n, n, 3, n).transpose(2, 0, 1, 3) for x in moved])


def _weighted_cross(row: Array, left: Array, right: Array) -> Array:
    """(3, i, j) sums over q of row_q left_iq x right_jq; `right` may have more leading axes, which are flattened."""
    right = right.reshape(-1, *right.shape[-2:])
    out = [
        (left[..., b] * row) @ right[..., c].T - (left[..., c] * row) @ right[..., b].T
        for b, c in ((1, 2), (2, 0), (0, 1))
    ]
    return np.stack(out)


def _cross_all(left: Array, right: Array) -> Array:
    """(n, n, Q, 3) cross products of all left with all right vectors at each node."""
    return np.cross(left[:, None], right[None])


def _symmetric(second: Array, twist: Array, third: Array | None) -> Forms:
    """Forms with round-off taken out, the same for every order of their factors."""
    second, twist = ((x + x.swapaxes(1, 2)) / 2 for x in (second, twist))
    if third is not None:
        third = sum(third.transpose(0, *(1 + np.array(p))) for p in permutations(range(3))) / 6  # type: ignore[assignment]
    return Forms(_clean(second), _clean(twist), None if third is None else _clean(third))


def _clean(values: Array) -> Array:
    """Values with those at round-off of the largest set to zero."""
    return np.where(np.abs(values) <= 1e-13 * np.abs(values).max(initial=0.0), 0.0, values)


@dataclass(frozen=True)
class MassPolynomials:
    """Polynomials that vanish at the root, orthonormal under the mass.

    `rows` (k, Q) give the amplitudes of a place from its slope r' at the nodes: tip and the moments of mass of zeroth
    and first degree exact, the rest by least squares.
    """

    power: int
    mixing: Array
    rows: Array

    @staticmethod
    def over(nodes: IntegralNodes, mass: Array, power: int, count: int) -> MassPolynomials:
        """`count` polynomials from eta^power on, for a mass per length at the nodes."""
        values = _powers(nodes.eta, power, count)
        mixing = np.linalg.inv(np.linalg.cholesky(values.T @ ((nodes.weight * mass)[:, None] * values)))
        values = values @ mixing.T
        weights = np.vstack([mass, mass * nodes.eta, mass * values.T])
        tails = (weights @ nodes.weight)[:, None] - weights @ nodes.cumulative.T
        tip = mixing @ _powers(np.ones(1), power, count)[0]
        exact = np.vstack([tip, (weights[:2] * nodes.weight) @ values])
        correct = exact.T @ np.linalg.inv(exact @ exact.T)
        fitted = np.hstack([correct, np.eye(count) - correct @ exact])
        return MassPolynomials(power, mixing, fitted @ (nodes.weight * np.vstack([np.ones_like(mass), tails])))

    def turned(self, basis: Array) -> MassPolynomials:
        """Orthonormal combinations of them."""
        return MassPolynomials(self.power, basis @ self.mixing, basis @ self.rows)

    def functions(self, eta: Array, derivative: int = 0) -> Array:
        """(len(eta), k) values, or derivatives, at stations."""
        return _powers(eta, self.power, self.mixing.shape[1], derivative) @ self.mixing.T

    @property
    def size(self) -> int:
        return len(self.mixing)


def _powers(eta: Array, power: int, count: int, derivative: int = 0) -> Array:
    """(len(eta), count) eta^power times Legendre's polynomials on [0, 1]."""
    values = polynomial.polyval(np.asarray(eta, dtype=float), _coefficients(power, count, derivative))
    return np.ascontiguousarray(values.T)


@cache
def _coefficients(power: int, count: int, derivative: int) -> Array:
    """(degree + 1, count) of their powers of eta. Kept, since a model asks for them at every station."""
    out = np.zeros((power + count, count))
    for j in range(count):
        found = np.polynomial.Legendre.basis(j, domain=[0, 1]).convert(kind=np.polynomial.Polynomial, domain=[-1, 1])
        found = found * np.polynomial.Polynomial([0.0, 1.0]) ** power
        coefficients = (found.deriv(derivative) if derivative else found).coef
        out[: len(coefficients), j] = coefficients
    return out


@dataclass(frozen=True)
class Projection:
    """The place beyond first degree along one axis: polynomials, and their amplitudes as forms."""

    direction: int
    polynomials: MassPolynomials
    forms: Forms

    @property
    def size(self) -> int:
        return self.polynomials.size


def project(axis: BentAxis, direction: int, count: int) -> Projection | None:
    """The place along x, y or z over at most `count` polynomials; None where nothing moves."""
    mass = axis.profile("mass_per_length", axis.nodes.eta)
    every = MassPolynomials.over(axis.nodes, mass, 2 if axis.gamma.any() else 3, count)  # psi gamma begins as x
    forms = axis.along(every.rows)[direction::3]
    if not forms.columns().size:
        return None
    basis = forms.basis()
    return Projection(direction, every.turned(basis), forms.combined(basis))


__all__ = ["BentAxis", "Forms", "IntegralNodes", "MassPolynomials", "Projection", "project", "stacked"]
