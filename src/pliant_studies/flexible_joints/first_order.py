"""First-order model of [ZZZ] of one beam: of second order, it keeps the terms that act on the undeformed beam.

The place of the axis is that of the shapes plus a field s(c) of second degree in the amplitudes. Kinetic and gravity
energy keep what is linear in s and ds/dt where all amplitudes and their rates vanish: spin and weight act through the
shortening, and products of shortening and deflection are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.motion_equations import Equations
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.mechanics.links.maps.link_maps import Moments
from pliant.mechanics.links.maps.stiffening import StiffenedBeam
from pliant.model.model import Model
from pliant.model.robot import Robot


def first_order(robot: Robot) -> Model:
    """First-order model of an arm of one beam without a load at its tip."""
    # Lagrange needs the moments of energies alone; under another name no trace of the plain arm is taken for this one
    by = replace(FORMULATIONS["lagrange"], name="lagrange, first order")
    return FirstOrder(robot, by, stiffening="second-order")


class FirstOrder(Model):
    """Model whose one beam has the moments of the first order."""

    @cached_property
    def equations(self) -> Equations:
        """Equations of motion of the first order."""
        second = super().equations
        (link,) = second.chain.links
        assert isinstance(link.body, StiffenedBeam)
        assert link.load is None  # it would move with the square of the field
        body = FirstOrderBeam(**{one.name: getattr(link.body, one.name) for one in fields(StiffenedBeam)})
        return replace(second, chain=replace(second.chain, links=(replace(link, body=body),)))


@dataclass(frozen=True)
class FirstOrderBeam(StiffenedBeam):
    """Stiffened beam with the moments that enter its energies to first degree in s and ds/dt."""

    def moments(self, c: SX, cd: SX) -> Moments:
        """Mass integrals at `c`, `cd`."""
        k, none = self.size, ca.SX.zeros(self.beyond)
        g, G, gd, _ = self.rates(c, cd)
        straight = self.inner.moments(ca.SX.zeros(g.shape), ca.SX.zeros(g.shape))
        bent = self.inner.moments(ca.vertcat(c, none), ca.vertcat(cd, none))
        eps, H = straight.eps[:, k:], straight.H[k:]
        turned, swept = (sum(H_k * x for H_k, x in zip(H, ca.vertsplit(values))) for values in (g[k:], gd[k:]))
        return Moments(
            m=bent.m, s=bent.s + ca.mtimes(eps, g[k:]), D=bent.D + turned + turned.T,
            eps=bent.eps[:, :k] + ca.mtimes(eps, G[k:, :]), gram=bent.gram[:k, :k], spin=bent.spin[:, :k],
            P=bent.P + swept,
        )  # fmt: skip
