"""Contact law of bodies that are pressed together, stops of joints, and cores of surfaces.

Hunt and Crossley (1975): a depth u > 0 presses back by

    stiffness u^exponent (1 + damping u'),

of which the first part is a spring and stores energy. The second part takes energy and vanishes where contact begins;
`damping u'` is cut at -1, so that the surfaces let go and do not pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX

NONE = 1e-30
"""m: depth that is added where surfaces do not touch, so that powers have derivatives there."""
TINY = 1e-20
"""m^2 or (m/s)^2, added under roots, so that they have a slope at zero."""


@dataclass(frozen=True)
class Pressing:
    """Contact law, by depth u and its rate; there is no force where u is negative."""

    stiffness: SX
    damping: SX
    exponent: SX = 1.0

    def elastic(self, depth: SX) -> SX:
        """Force of the spring."""
        return self.stiffness * self._power(depth, self.exponent)

    def energy(self, depth: SX) -> SX:
        """Energy that the spring stores."""
        power = self.exponent + 1
        return self.stiffness / power * self._power(depth, power)

    @staticmethod
    def _power(depth: SX, exponent: SX) -> SX:
        """Power of the depth, zero where there is none; a fractional power has all derivatives there too."""
        u = ca.fmax(depth, 0)
        if isinstance(exponent, float) and exponent.is_integer():
            return u if exponent == 1.0 else u**exponent
        return (u + NONE) ** exponent

    def resisting(self, depth: SX, rate: SX) -> SX:
        """Force of the damper, which adds to that of the spring or takes from it."""
        return self.elastic(depth) * ca.fmax(self.damping * rate, -1)


@dataclass(frozen=True)
class StopMap:
    """A stop of a freedom: at its upper end where `side` is 1, at its lower end where it is -1. Forces are positive
    against the coordinate."""

    index: int
    place: int
    side: int
    end: SX
    law: Pressing

    def depth(self, q: SX) -> SX:
        """Depth by which it is pressed in; negative where it is not met."""
        return self.side * (q[self.place] - self.end)

    def energy(self, q: SX) -> SX:
        """Energy stored in the stop."""
        return self.law.energy(self.depth(q))

    def force(self, q: SX) -> SX:
        """Force of its spring."""
        return self.side * self.law.elastic(self.depth(q))

    def resisting(self, q: SX, qd: SX) -> SX:
        """Force of its damper."""
        return self.side * self.law.resisting(self.depth(q), self.side * qd[self.index])


@dataclass(frozen=True)
class Core:
    """Core of a surface, which lies at a radius around it: a plane, a point, a segment along z, or a box; `extent` are
    half lengths."""

    kind: str
    radius: SX
    extent: tuple[SX, SX, SX]

    def away(self, d: SX) -> tuple[SX, SX]:
        """Distance of a point, and the direction to it, in the axes of the surface."""
        if self.kind == "plane":
            return d[2], ca.SX(ca.DM([0, 0, 1]))
        nearest = ca.vertcat(*(ca.fmin(ca.fmax(d[k], -half), half) for k, half in enumerate(self.extent)))
        distance = ca.sqrt(ca.sumsqr(d - nearest) + TINY)
        return distance - self.radius, (d - nearest) / distance
