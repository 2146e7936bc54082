"""A sliding beam that shortens as it bends: the field -1/2 int_0^x (v'^2 + w'^2) between the mouth and each section.

As in `stiffening`, the field along x is projected on a few polynomials of eta = x/l, u = l sum P_k(eta) b_k(l, c),
which join the shapes of the sliding beam: material that passes the mouth carries them with it. So the body is a sliding
beam over (l, c, b), seen through b(l, c): its inertia is a square. Only second order is kept, and the roll of sections
by bending in both planes is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.mechanics.links.maps.link_maps import Moments, TipMap
from pliant.mechanics.links.maps.stiffening import seen_through, seen_tip
from pliant.mechanics.shapes.bent_axis import IntegralNodes, MassPolynomials
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_modes import Jet
from pliant.mechanics.sliding.sliding_shapes import ORDERS, FollowedShapes, SlidingIntegrals, SlidingShapes, length_flow


@dataclass(frozen=True)
class LengthenedShapes:
    """Shapes of a sliding beam and, behind them, l P_k(eta) along x."""

    base: SlidingShapes
    polynomials: MassPolynomials
    nodes: IntegralNodes

    @property
    def axis(self) -> Array:
        return np.vstack([self.base.axis, np.tile([1.0, 0.0, 0.0], (self.polynomials.size, 1))])

    @property
    def turn(self) -> Array:
        return np.vstack([self.base.turn, np.zeros((self.polynomials.size, 3))])

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.base.fields, *("axial",) * self.polynomials.size)

    @cached_property
    def _flow(self) -> tuple[Array, Array, Array]:
        """l^(a-1) times the derivatives in l of l P_k(eta), the material point held, at the nodes."""
        eta = self.nodes.eta
        y, y1, y2 = (self.polynomials.functions(eta, order) for order in ORDERS)
        return length_flow(y, y1, y2, np.ones(1), eta)

    def integrals(self, l: SX) -> SlidingIntegrals:
        own, w, eta = self.base.integrals(l), self.nodes.weight, self.nodes.eta
        A = [ca.vertcat(own.A[a], l ** (2 - a) * ca.DM(w @ self._flow[a])) for a in ORDERS]
        X = [ca.vertcat(own.X[a], l ** (3 - a) * ca.DM((w * eta) @ self._flow[a])) for a in ORDERS]
        across = self.base.against(l, self.nodes, self._flow)
        G = [[ca.SX()] * len(ORDERS) for _ in ORDERS]
        for a in ORDERS:
            for b in ORDERS:
                if a + b < 4:
                    gram = self._flow[a].T @ (w[:, None] * self._flow[b])
                    corner = l ** (3 - a - b) * ca.DM(gram)
                    G[a][b] = ca.blockcat([[own.G[a][b], across[a][b]], [across[b][a].T, corner]])
        return SlidingIntegrals(A, X, G)

    def tip(self, l: SX) -> tuple[Jet, Jet]:
        values, slopes = self.base.tip(l)
        end, none = ca.SX(ca.DM(self.polynomials.functions(np.ones(1))[0])), ca.SX.zeros(self.polynomials.size)
        moved = Jet(*(ca.vertcat(x, y) for x, y in zip(values, (l * end, end, none))))
        return moved, Jet(*(ca.vertcat(x, none) for x in slopes))

    def station(self, eta: float, l: SX) -> tuple[SX, SX]:
        values, slopes = self.base.station(eta, l)
        own = l * ca.DM(self.polynomials.functions(np.array([eta]))[0])
        return ca.vertcat(values, own), ca.vertcat(slopes, ca.SX.zeros(self.polynomials.size))

    def against(self, l: SX, nodes: IntegralNodes, flow: tuple[Array, Array, Array]) -> list[list[SX]]:
        return self.base.against(l, nodes, flow)

    def slope_products(self, l: SX, nodes: IntegralNodes, rows: Array) -> list[SX]:
        return self.base.slope_products(l, nodes, rows)

    def stiffness(self, l: SX) -> SX:
        return self.base.stiffness(l)


@dataclass(frozen=True)
class LengthenedBeam(SlidingBeam):
    """A sliding beam with amplitudes of the polynomials behind those of its shapes."""

    lengthened: LengthenedShapes | None = None

    @property
    def size(self) -> int:
        assert self.lengthened is not None
        return len(self.lengthened.fields)

    @property
    def functions(self) -> SlidingShapes | None:
        return self.lengthened


@dataclass(frozen=True)
class StiffenedSlidingBeam(SlidingBeam):
    """A sliding beam whose bending shortens it."""

    @cached_property
    def _nodes(self) -> IntegralNodes:
        assert self.shapes is not None
        if isinstance(self.functions, FollowedShapes):  # its own points, so that what stands there is traced once
            return IntegralNodes(np.array([0.0, 1.0]), 0.0, self.functions.points)
        parts = [part.shapes for part in self.shapes.parts]
        return IntegralNodes(np.concatenate([part.breaks for part in parts]), 2 * max(p.wavenumber for p in parts))

    @cached_property
    def _polynomials(self) -> MassPolynomials:
        assert self.shapes is not None
        count = min(5, 2 + max(part.shapes.size for part in self.shapes.parts))
        return MassPolynomials.over(self._nodes, np.ones_like(self._nodes.eta), 3, count)

    def _lengthened(self) -> LengthenedBeam:
        """The beam over (l, amplitudes, amplitudes of the polynomials), which is linear in the last two."""
        assert self.functions is not None
        shapes = LengthenedShapes(self.functions, self._polynomials, self._nodes)
        return LengthenedBeam(
            data=self.data, shapes=self.shapes, rotation=self.rotation, total_length=self.total_length,
            travel=self.travel, rest_length=self.rest_length, normalize=self.normalize,
            end_rotation=self.end_rotation, rotor=self.rotor, lengthened=shapes,
        )  # fmt: skip

    def _shortening(self, c: SX, rows: Array) -> SX:
        """Functionals of u / l, given as rows over its slope at the nodes."""
        assert self.functions is not None
        forms = self.functions.slope_products(c[0], self._nodes, -rows / 2)
        return ca.vertcat(*(ca.mtimes([c[1:].T, form, c[1:]]) for form in forms))

    @cached_property
    def _lifting(self) -> tuple[SX, SX, list[SX]]:
        """Symbols of c and cd, and g, dg/dc and (d/dt dg/dc) cd of them."""
        c, cd = ca.SX.sym("c", 1 + self.size), ca.SX.sym("cd", 1 + self.size)
        b = self._shortening(c, self._polynomials.rows)
        slope = ca.jacobian(b, c)
        bias = ca.jtimes(ca.mtimes(slope, cd), c, cd)
        g, G = ca.vertcat(c, b), ca.vertcat(ca.SX.eye(1 + self.size), slope)
        return c, cd, [g, ca.densify(G), ca.vertcat(ca.SX.zeros(1 + self.size), bias)]

    def _seen(self, c: SX, cd: SX) -> tuple[SX, SX, SX]:
        """g, dg/dc and (d/dt dg/dc) cd."""
        own, rates, expressions = self._lifting
        g, G, bias = ca.substitute(expressions, [own, rates], [ca.densify(c), ca.densify(cd)])
        return g, ca.sparsify(G), bias

    def moments(self, c: SX, cd: SX) -> Moments:
        g, G, bias = self._seen(c, cd)
        return seen_through(self._lengthened().moments(g, ca.mtimes(G, cd)), G, bias)

    def tip(self, c: SX, cd: SX) -> TipMap:
        g, G, bias = self._seen(c, cd)
        return seen_tip(self._lengthened().tip(g, ca.mtimes(G, cd)), G, bias)

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        r, theta = SlidingBeam.point(self, c, eta)
        shorter = c[0] * self._shortening(c, self._nodes.to(np.array([eta])))
        return r + ca.vertcat(shorter, 0, 0), theta
