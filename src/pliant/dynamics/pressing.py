"""Bodies that are pressed together, and the stops of joints.

Hunt and Crossley (1975): a depth u > 0 presses back by

    stiffness u^exponent (1 + damping u'),

of which the first part is a spring and stores energy. The second one takes energy and vanishes where contact begins;
cut at -1, it lets go and does not pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX


@dataclass(frozen=True)
class Pressing:
    """The law, by depth u and its rate; nothing acts where u is negative."""

    stiffness: SX
    damping: SX
    exponent: float = 1.0

    def elastic(self, depth: SX) -> SX:
        """What the spring presses back."""
        u = ca.fmax(depth, 0)
        return self.stiffness * (u if self.exponent == 1.0 else u**self.exponent)

    def energy(self, depth: SX) -> SX:
        """That the spring stores."""
        power = self.exponent + 1
        return self.stiffness / power * ca.fmax(depth, 0) ** power

    def resisting(self, depth: SX, rate: SX) -> SX:
        """What is pressed back beyond the spring, or less."""
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

    def _depth(self, q: SX) -> SX:
        return self.side * (q[self.place] - self.end)

    def energy(self, q: SX) -> SX:
        """Stored in the stop."""
        return self.law.energy(self._depth(q))

    def force(self, q: SX) -> SX:
        """Of its spring."""
        return self.side * self.law.elastic(self._depth(q))

    def resisting(self, q: SX, qd: SX) -> SX:
        """Of its damper."""
        return self.side * self.law.resisting(self._depth(q), self.side * qd[self.index])
