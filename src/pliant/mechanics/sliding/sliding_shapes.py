"""Shape functions of a beam that slides, as functions of its free length l: integrals over the free part, and tips.

A material point stands at x = l - s, eta = 1 - s/l. Its displacement by shape i is Psi_i(s, l) = l^p psi_i(eta);
velocities and accelerations need the derivatives of Psi_i in l with s held, order 0, 1, 2. Fixed functions of eta
(clamped-free modes, elements) have them in closed form,

    Psi = l^p psi,   Psi_l = l^(p-1) chi,   Psi_ll = l^(p-2) kappa,
    chi = p psi + (1 - eta) psi',   kappa = (p - 1) chi + (1 - eta) chi',

so that every integral is a number times a power of l. Modes that follow the load (`MovingModes`) change with l and are
summed over Gauss points inside the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Protocol

import casadi as ca
import numpy as np

from pliant.algebra.canonical import canonical
from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.mechanics.shapes.bent_axis import IntegralNodes
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.shapes.modes import BendingModes
from pliant.mechanics.shapes.quadrature import gauss, gauss_rule
from pliant.mechanics.sliding.sliding_modes import Jet, LengthModes, MovingModes

ORDERS = (0, 1, 2)
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2))  # products of derivatives that occur


@dataclass(frozen=True)
class SlidingIntegrals:
    """Integrals over the free length, x from 0 to l, of the derivatives Psi^(a) in l of the k shapes.

    `A[a]` (k,) of Psi^(a), `X[a]` (k,) of x Psi^(a), `G[a][b]` (k, k) of Psi_i^(a) Psi_j^(b); [2][2] is never needed.
    """

    A: list[SX]
    X: list[SX]
    G: list[list[SX]]


class SlidingShapes(Protocol):
    """Shapes of a sliding beam as functions of its free length."""

    @property
    def axis(self) -> Array:
        """(k, 3) direction of displacement."""

    @property
    def turn(self) -> Array:
        """(k, 3) direction of section rotation per slope."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Field of each shape."""

    def integrals(self, l: SX) -> SlidingIntegrals:
        """Integrals at a free length."""

    def tip(self, l: SX) -> tuple[Jet, Jet]:
        """Values and slopes d/dx at the tip, each (k,), with derivatives in l."""

    def station(self, eta: float, l: SX) -> tuple[SX, SX]:
        """Values and slopes d/dx at x = eta l."""

    def stiffness(self, l: SX) -> SX:
        """(k, k) integrals of the products of curvatures, to be multiplied by EI."""

    def against(self, l: SX, nodes: IntegralNodes, flow: Flows) -> list[list[SX]]:
        """[a][b] (k, m) integrals of Psi^(a) and derivatives b of further functions l f(eta), given by `length_flow`
        at nodes."""

    def slope_products(self, l: SX, nodes: IntegralNodes, rows: Array) -> list[SX]:
        """For each row of weights at the nodes, (k, k) sums of products of slopes d/dx within each plane."""


@dataclass(frozen=True)
class FixedShapes:
    """Functions of eta that do not change with the length."""

    shapes: LinkShapes

    @property
    def axis(self) -> Array:
        return self.shapes.integrals.axis

    @property
    def turn(self) -> Array:
        return self.shapes.integrals.turn

    @property
    def fields(self) -> tuple[str, ...]:
        return self.shapes.fields

    @cached_property
    def _powers(self) -> Array:
        return np.array(self.shapes.powers)

    @cached_property
    def _constants(self) -> tuple[list[Array], list[Array], list[list[Array]]]:
        """Integrals over eta in [0, 1] of psi, chi, kappa, of eta times them, and of their products."""
        parts = [part.shapes for part in self.shapes.parts]
        rule = gauss_rule(np.concatenate([part.breaks for part in parts]), max(part.wavenumber for part in parts))
        f = shape_flow(self.shapes, self._powers, rule.eta)
        norms = [np.sqrt(rule.weight @ a**2) for a in f]
        grams = [
            [canonical(a.T @ (rule.weight[:, None] * b), np.outer(m, n)) for b, n in zip(f, norms)]
            for a, m in zip(f, norms)
        ]
        means, firsts = ([canonical(w @ a, n) for a, n in zip(f, norms)] for w in (rule.weight, rule.weight * rule.eta))
        return means, firsts, grams

    def _scaled(self, values: Array, l: SX, power: int) -> SX:
        """values_i l^(power + p_i), or values_ij l^(power + p_i + p_j)."""
        p = self._powers
        exponents = power + (p if values.ndim == 1 else p[:, None] + p)
        out = ca.SX(*(values.shape if values.ndim == 2 else (len(p), 1)))
        for index in np.ndindex(values.shape):
            if (value := float(values[index])) != 0.0:
                out[index] = value * l ** int(exponents[index])
        return ca.densify(out)

    def integrals(self, l: SX) -> SlidingIntegrals:
        A, X, G = self._constants
        return SlidingIntegrals(
            [self._scaled(A[a], l, 1 - a) for a in ORDERS],
            [self._scaled(X[a], l, 2 - a) for a in ORDERS],
            [[self._scaled(G[a][b], l, 1 - a - b) for b in ORDERS] for a in ORDERS],
        )

    def tip(self, l: SX) -> tuple[Jet, Jet]:
        value, slope, p = self.shapes.integrals.tip, self.shapes.integrals.tip_slope, self._powers
        values = (value, p * value, p * (p - 1) * value)
        slopes = (slope, (p - 1) * slope, (p - 1) * (p - 2) * slope)
        return (
            Jet(*(self._scaled(f, l, -a) for a, f in enumerate(values))),
            Jet(*(self._scaled(f, l, -1 - a) for a, f in enumerate(slopes))),
        )

    def station(self, eta: float, l: SX) -> tuple[SX, SX]:
        found = (self.shapes.evaluate(np.array([eta]), order)[0] for order in (0, 1))
        values, slopes = (canonical(x, norm) for x, norm in zip(found, self.shapes.integrals.norms))
        return self._scaled(values, l, 0), self._scaled(slopes, l, -1)

    def stiffness(self, l: SX) -> SX:
        return self._scaled(self.shapes.integrals.stiffness, l, -3)

    def against(self, l: SX, nodes: IntegralNodes, flow: Flows) -> list[list[SX]]:
        own = shape_flow(self.shapes, self._powers, nodes.eta)
        powers = [ca.vertcat(*(l ** int(p) for p in self._powers)) * l**k for k in range(-2, 3)]
        return [
            [ca.DM(own[a].T @ (nodes.weight[:, None] * flow[b])) * powers[4 - a - b] for b in ORDERS] for a in ORDERS
        ]

    def slope_products(self, l: SX, nodes: IntegralNodes, rows: Array) -> list[SX]:
        slope, same = self.shapes.evaluate(nodes.eta, 1), same_plane(self.axis)
        return [self._scaled(same * (slope.T @ (row[:, None] * slope)), l, -2) for row in rows]


Flows = tuple[Array, Array, Array]


def same_plane(axis: Array) -> Array:
    """(k, k) one where two shapes bend in one plane."""
    return axis @ axis.T


def shape_flow(shapes: LinkShapes, p: Array, eta: Array) -> Flows:
    """psi, chi and kappa of shapes at the stations, (len(eta), k) each."""
    y, y1, y2 = (shapes.evaluate(eta, order) for order in ORDERS)
    return length_flow(y, y1, y2, p, eta)


def length_flow(y: Array, y1: Array, y2: Array, p: Array, eta: Array) -> Flows:
    """psi, chi and kappa from values and derivatives in eta."""
    left = 1 - eta[:, None]
    chi = p * y + left * y1
    return y, chi, (p - 1) * chi + left * ((p - 1) * y1 + left * y2)


@dataclass(frozen=True)
class FollowedShapes:
    """Clamped-mass modes that follow the load: one `MovingModes` per bending plane."""

    shapes: LinkShapes
    planes: tuple[MovingModes, ...]

    @property
    def axis(self) -> Array:
        return self.shapes.integrals.axis

    @property
    def turn(self) -> Array:
        return self.shapes.integrals.turn

    @property
    def fields(self) -> tuple[str, ...]:
        return self.shapes.fields

    def _at(self, l: SX) -> list[LengthModes]:
        """Modes of each plane at a length; planes with the same load share them."""
        known = {modes: modes.at(l) for modes in dict.fromkeys(self.planes)}
        return [known[modes] for modes in self.planes]

    def integrals(self, l: SX) -> SlidingIntegrals:
        values = list(self._integrals(l))
        G: list[list[SX]] = [[ca.SX()] * len(ORDERS) for _ in ORDERS]
        for (a, b), gram in zip(PAIRS, values[2 * len(ORDERS) :]):
            G[a][b], G[b][a] = gram, gram.T
        return SlidingIntegrals(values[: len(ORDERS)], values[len(ORDERS) : 2 * len(ORDERS)], G)

    @cached_property
    def _integrals(self) -> ca.Function:
        """l -> A, X and the grams, by Gauss quadrature: traced once, since they depend on nothing else."""
        l = ca.SX.sym("l")
        eta, w = (x.tolist() for x in gauss(self.points))
        planes = self._at(l)
        jets = [_gathered([plane.values(x) for plane in planes]) for x in eta]
        A = [l * sum(wk * jet[a] for wk, jet in zip(w, jets)) for a in ORDERS]
        X = [l**2 * sum(wk * x * jet[a] for wk, x, jet in zip(w, eta, jets)) for a in ORDERS]
        G = [l * sum(ca.mtimes(wk * jet[a], jet[b].T) for wk, jet in zip(w, jets)) for a, b in PAIRS]
        return ca.Function("integrals", [l], [*A, *X, *G], {"cse": True})

    @property
    def points(self) -> int:
        """Gauss points: twelve serve two or three modes to rounding; each further half wave needs about three more."""
        return max(12, 5 + ceil(max(part.shapes.wavenumber for part in self.shapes.parts)))

    def tip(self, l: SX) -> tuple[Jet, Jet]:
        planes = self._at(l)
        return _gathered([plane.values(1.0) for plane in planes]), _gathered([plane.tip_slopes() for plane in planes])

    def station(self, eta: float, l: SX) -> tuple[SX, SX]:
        planes = self._at(l)
        values = _gathered([plane.values(eta) for plane in planes]).value
        return values, ca.vertcat(*(slope for plane in planes for slope in plane.slopes(eta)))

    def against(self, l: SX, nodes: IntegralNodes, flow: Flows) -> list[list[SX]]:
        planes = self._at(l)
        jets = [_gathered([plane.values(x) for plane in planes]) for x in nodes.eta.tolist()]
        weighted = [[ca.DM(w * f).T for w, f in zip(nodes.weight, flow[b])] for b in ORDERS]
        return [
            [l ** (2 - b) * sum(ca.mtimes(jet[a], row) for jet, row in zip(jets, weighted[b])) for b in ORDERS]
            for a in ORDERS
        ]

    def slope_products(self, l: SX, nodes: IntegralNodes, rows: Array) -> list[SX]:
        planes, same = self._at(l), ca.DM(same_plane(self.axis))
        slopes = [ca.vertcat(*(slope for plane in planes for slope in plane.slopes(x))) for x in nodes.eta.tolist()]
        squares = [same * ca.mtimes(slope, slope.T) for slope in slopes]
        return [sum((w * square for w, square in zip(row.tolist(), squares)), ca.SX(*same.shape)) for row in rows]

    def stiffness(self, l: SX) -> SX:
        """Modes are orthogonal in strain: beta^4 N / l^3."""
        return self._diagonal(l, 4, -3)

    def damping(self, l: SX) -> SX:
        """(k, k) matrix that damps all modes alike, to be multiplied by 2 zeta sqrt(EI mu)."""
        return self._diagonal(l, 2, -1)

    def _diagonal(self, l: SX, order: int, power: int) -> SX:
        planes = self._at(l)
        entries = [b.value**order * n * l**power for plane in planes for b, n in zip(plane.beta, plane.norm)]
        return ca.diag(ca.vertcat(*entries))


def _gathered(planes: list[list[Jet]]) -> Jet:
    """Jets of all planes in the order of the coordinates."""
    return Jet(*(ca.vertcat(*column) for column in zip(*(jet for plane in planes for jet in plane))))


def sliding_shapes(
    shapes: LinkShapes, length: float, travel: tuple[float, float], normalize: str = "unit"
) -> SlidingShapes:
    """Shapes of a sliding link; modes that were shaped by a load at the free `length` follow it over the travel."""
    if not any(isinstance(part.shapes, BendingModes) and part.load for part in shapes.parts):
        return FixedShapes(shapes)
    planes = tuple(
        MovingModes(
            part.shapes.size, (part.load.M * length, part.load.J * length**3, part.load.D * length**2),
            travel, length, normalize,
        )
        for part in shapes.parts
    )  # fmt: skip
    return FollowedShapes(shapes, planes)
