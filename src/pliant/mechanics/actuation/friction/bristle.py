"""Dry friction by bristles that bend and then slip: the default, one state."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.actuation.friction.dry_friction import DryLevel
from pliant.mechanics.links.maps.link_maps import is_zero
from pliant.robot.parts.drives.friction import Friction

HOLDS = 0.7
"""Part of the level up to which bristles bend without slipping, so that a joint does not creep under vibration."""


@dataclass(frozen=True)
class Bristle:
    """The two sides of a joint meet in bristles that bend by `deflection` before they slip.

    The state r is the bend over the one at which the bristles slip. With s the rate over `width`, cut at +-1,

        force = level ((1 - |s|) r + s)
        rd = s width / deflection, less what slips.

    A joint at rest under less than the level stays where it is: r carries the load, and what bends by less than `HOLDS`
    springs back. One that slides has r = +-1, and the force is the level. The bristles store level deflection r^2 / 2;
    what remains of the power is never negative, as long as |r| <= 1: friction takes energy, and gives back what it has
    stored.
    """

    level: DryLevel = field(default_factory=DryLevel)
    deflection: SX = 0.0

    @property
    def n_states(self) -> int:
        """One state; none where there is no friction, or no bend."""
        return 0 if is_zero(self.level.highest) or is_zero(self.deflection) else 1

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Force against the motion."""
        s = self._share(v)
        return self.level.at(v) * ((1 - ca.fabs(s)) * r + s)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Rate of the bend."""
        bends = self._share(v) * (self.level.width / self.deflection)
        return ca.fmax(bends, 0) * (1 - _slipping(r)) + ca.fmin(bends, 0) * (1 - _slipping(-r))

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """State at a start: at rest the bristles carry what they can, in motion they slip."""
        level = self.level.highest
        carried = ca.if_else(level > 0, load / level, 0)
        slips = ca.fabs(v) > self.level.width
        return ca.if_else(slips, ca.sign(v), ca.fmin(ca.fmax(carried, -1), 1))

    def smooth(self, v: SX) -> SX:
        """Friction without a state."""
        return self.level.smooth(v)

    def _share(self, v: SX) -> SX:
        """Part of the friction that follows the rate, not the bristles."""
        return ca.fmin(ca.fmax(v / self.level.width, -1), 1)


def law(friction: Friction, level: DryLevel) -> Bristle:
    """The law from the numbers of a description."""
    return Bristle(level, friction.bristle)


def _slipping(r: SX) -> SX:
    """Part of the motion that slips, for motion in the direction of r."""
    return ca.fmax((r - HOLDS) / (1 - HOLDS), 0) ** 2
