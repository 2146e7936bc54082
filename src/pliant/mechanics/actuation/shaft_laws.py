"""Laws of one shaft that may have states in a run, such as friction that holds, or a gear that yields.

Each has `n_states` states r without unit, some 1 in size (a column; of one state a number), and is a function of the
shaft's position x and rate v:

    force(x, v, r)          force against the motion
    rate(x, v, r)           rates of the states
    carrying(x, v, load)    states at a start under a load
    smooth(v)               force without states

`Placed` says on which speeds a law acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from pliant.algebra.rotations import SX


class ShaftLaw(Protocol):
    """A law of one shaft: friction, or a gear that yields."""

    @property
    def n_states(self) -> int:
        """Numbers that a run has to carry for it."""

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Force against the motion."""

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Rates of the states."""

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """States at a start under a load."""

    def smooth(self, v: SX) -> SX:
        """Force without states."""


@dataclass(frozen=True)
class Placed:
    """A law on the sum of some speeds, each with its sign, and viscous friction beside it. `name` is that of
    its first state."""

    name: str
    law: ShaftLaw
    indices: tuple[int, ...]
    places: tuple[int, ...]
    signs: tuple[int, ...] = (1,)
    viscous: SX = 0.0

    @property
    def states(self) -> tuple[str, ...]:
        """Names of its states in a run: `friction`, `friction2`, ..."""
        return tuple(f"{self.name}{k + 1}" if k else self.name for k in range(self.law.n_states))

    def position(self, q: SX) -> SX:
        """Position along the law; friction, which asks for none, may act on a speed without a coordinate."""
        return sum((sign * q[k] for k, sign in zip(self.places, self.signs)), start=ca.SX(0))

    def speed(self, qd: SX) -> SX:
        """Speed along the law."""
        first, *others = (qd[k] if sign > 0 else -qd[k] for k, sign in zip(self.indices, self.signs))
        return sum(others, start=first)

    def force(self, q: SX, qd: SX, r: SX | None) -> SX:
        """Force against the motion; without states the law is smooth."""
        v = self.speed(qd)
        held = self.law.smooth(v) if r is None else self.law.force(self.position(q), v, r)
        return self.viscous * v + held

    def rate(self, q: SX, qd: SX, r: SX) -> SX:
        """Rates of the states."""
        return self.law.rate(self.position(q), self.speed(qd), r)

    def carrying(self, q: SX, qd: SX, load: SX) -> SX:
        """States at a start."""
        return self.law.carrying(self.position(q), self.speed(qd), load)
