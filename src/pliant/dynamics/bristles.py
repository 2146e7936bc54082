"""Coulomb friction that holds: the two sides of a joint meet in bristles that bend before they slip.

One state r per joint, the bend over the one at which the bristles slip. With s the rate over `width`, the rate over
which friction turns sign, cut at +-1,

    force = level ((1 - |s|) r + s)
    rd = s width / deflection, less what slips.

A joint at rest under less than the level stays where it is: r carries the load, and what bends by less than `HOLDS`
springs back. One that slides has r = +-1, and the force is the level. The bristles store level deflection r^2 / 2; what
remains of the power is never negative, as long as |r| <= 1: friction takes energy, and gives back what it has stored.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX

HOLDS = 0.7
"""Part of the level up to which bristles bend without slipping, so that a joint does not creep under vibration."""


class Bristle(NamedTuple):
    """Friction of one joint: level (N m or N), rate over which it turns sign, and bend at which the bristles slip."""

    level: SX
    width: SX
    deflection: SX

    def force(self, rate: SX, r: SX) -> SX:
        """Against the motion."""
        s = self._share(rate)
        return self.level * ((1 - ca.fabs(s)) * r + s)

    def rate(self, rate: SX, r: SX) -> SX:
        """Of the state r."""
        bends = self._share(rate) * (self.width / self.deflection)
        return ca.fmax(bends, 0) * (1 - _slipping(r)) + ca.fmin(bends, 0) * (1 - _slipping(-r))

    def _share(self, rate: SX) -> SX:
        """Of the friction that follows the rate, not the bristles."""
        return ca.fmin(ca.fmax(rate / self.width, -1), 1)


NO_FRICTION = Bristle(0.0, 1.0, 0.0)


def _slipping(r: SX) -> SX:
    """Part of the motion that slips, for motion in the direction of r."""
    return ca.fmax((r - HOLDS) / (1 - HOLDS), 0) ** 2
