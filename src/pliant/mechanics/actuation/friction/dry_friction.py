"""Level of dry friction by the rate: Coulomb friction in motion, stiction at rest, and the fall between (Stribeck)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX


@dataclass(frozen=True)
class DryLevel:
    """Dry friction by the rate: `slipping` in motion, `holding` at rest, and the fall between them.

    `width` is the rate over which it turns sign where it has no state.
    """

    slipping: SX = 0.0
    holding: SX | None = None
    speed: SX = 1.0
    exponent: SX = 2.0
    width: SX = 1.0

    def at(self, v: SX) -> SX:
        """Friction at a rate."""
        if self.holding is None:
            return self.slipping
        ratio = v / self.speed
        power = (
            ratio**2 if isinstance(self.exponent, float) and self.exponent == 2.0 else ca.fabs(ratio) ** self.exponent
        )
        return self.slipping + (self.holding - self.slipping) * ca.exp(-power)

    @property
    def highest(self) -> SX:
        """Friction at rest."""
        return self.slipping if self.holding is None else self.holding

    def smooth(self, v: SX) -> SX:
        """Friction without a state, under which a loaded joint creeps."""
        return self.at(v) * ca.tanh(v / self.width)
