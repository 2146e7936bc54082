"""The LuGre law of friction: one state, with stiction and the damping of bristles while they bend."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.actuation.friction.dry_friction import DryLevel
from pliant.robot.parts.drives.friction import Friction


@dataclass(frozen=True)
class LuGre:
    """The law of Canudas de Wit, Olsson, Astrom and Lischinsky (1995); without `micro_damping` and stiction, Dahl's.

    With z the bend of the bristles, zd = v - stiffness |v| / level(v) z and force = stiffness z + micro_damping zd; the
    state is r = stiffness z / level of slipping. Passive where viscous friction is at least
    micro_damping (stiction - coulomb) / coulomb (Barabanov and Ortega, 2000).
    """

    level: DryLevel
    stiffness: SX
    micro_damping: SX

    n_states = 1

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Force against the motion."""
        bend = self.level.slipping / self.stiffness
        return self.level.slipping * r + self.micro_damping * bend * self.rate(x, v, r)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Rate of the bend."""
        return self.stiffness * (v / self.level.slipping - ca.fabs(v) * r / self.level.at(v))

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """State at a start: at rest the bristles carry what they can, in motion they slip."""
        most = self.level.at(v) / self.level.slipping
        carried = ca.fmin(ca.fmax(load / self.level.slipping, -most), most)
        return ca.if_else(ca.fabs(v) > self.level.width, ca.sign(v) * most, carried)

    def smooth(self, v: SX) -> SX:
        """Friction without a state."""
        return self.level.smooth(v)


def law(friction: Friction, level: DryLevel) -> LuGre:
    """The law from the numbers of a description."""
    return LuGre(level, friction.stiffness, friction.micro_damping)
