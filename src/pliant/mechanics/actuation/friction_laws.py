"""Laws of one shaft that have a state in a run: dry friction that holds, and a gear that yields.

Each has one state r without unit, some 1 in size, and is a function of the shaft's position x and rate v:

    force(x, v, r)      against the motion
    rate(x, v, r)       of the state
    carrying(x, v, load)   the state at a start under a load
    smooth(v)           the force for those who know no state

`Placed` says on which speeds a law acts. Friction has besides `r` a level that may fall with the rate (Stribeck).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.links.link_maps import is_zero

HOLDS = 0.7
"""Part of the level up to which bristles bend without slipping, so that a joint does not creep under vibration."""


class ShaftLaw(Protocol):
    """What all laws have."""

    @property
    def has_state(self) -> bool:
        """Whether a run has to carry its state."""

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Against the motion."""

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Of the state."""

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """The state at a start."""

    def smooth(self, v: SX) -> SX:
        """The force without a state."""


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
        """At a rate."""
        if self.holding is None:
            return self.slipping
        ratio = v / self.speed
        power = ratio**2 if _is(self.exponent, 2.0) else ca.fabs(ratio) ** self.exponent
        return self.slipping + (self.holding - self.slipping) * ca.exp(-power)

    @property
    def highest(self) -> SX:
        """At rest."""
        return self.slipping if self.holding is None else self.holding

    def smooth(self, v: SX) -> SX:
        """Friction without a state, under which a loaded joint creeps."""
        return self.at(v) * ca.tanh(v / self.width)


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
    def has_state(self) -> bool:
        """Unless there is no friction, or no bend."""
        return not (is_zero(self.level.highest) or is_zero(self.deflection))

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Against the motion."""
        s = self._share(v)
        return self.level.at(v) * ((1 - ca.fabs(s)) * r + s)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Of the bend."""
        bends = self._share(v) * (self.level.width / self.deflection)
        return ca.fmax(bends, 0) * (1 - _slipping(r)) + ca.fmin(bends, 0) * (1 - _slipping(-r))

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """At rest the bristles carry what they can, in motion they slip."""
        level = self.level.highest
        carried = ca.if_else(level > 0, load / level, 0)
        slips = ca.fabs(v) > self.level.width
        return ca.if_else(slips, ca.sign(v), ca.fmin(ca.fmax(carried, -1), 1))

    def smooth(self, v: SX) -> SX:
        """Without a state."""
        return self.level.smooth(v)

    def _share(self, v: SX) -> SX:
        """Of the friction that follows the rate, not the bristles."""
        return ca.fmin(ca.fmax(v / self.level.width, -1), 1)


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

    @property
    def has_state(self) -> bool:
        """Always."""
        return True

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """Against the motion."""
        bend = self.level.slipping / self.stiffness
        return self.level.slipping * r + self.micro_damping * bend * self.rate(x, v, r)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Of the bend."""
        return self.stiffness * (v / self.level.slipping - ca.fabs(v) * r / self.level.at(v))

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """At rest the bristles carry what they can, in motion they slip."""
        most = self.level.at(v) / self.level.slipping
        carried = ca.fmin(ca.fmax(load / self.level.slipping, -most), most)
        return ca.if_else(ca.fabs(v) > self.level.width, ca.sign(v) * most, carried)

    def smooth(self, v: SX) -> SX:
        """Without a state."""
        return self.level.smooth(v)


@dataclass(frozen=True)
class Yielding:
    """The part of a gear's stiffness that yields, after Bouc and Wen, less the spring that stands for it elsewhere.

    A spring `stiffness` acts on the bend `twist` r in place of the twist x of the gear. Without a state it does not
    yield, and the gear has all its stiffness.
    """

    stiffness: SX
    twist: SX
    exponent: SX
    loading: SX

    @property
    def has_state(self) -> bool:
        """Always."""
        return True

    def force(self, x: SX, v: SX, r: SX) -> SX:
        """What the yielding spring has more, or less, than the elastic one."""
        return self.stiffness * (self.twist * r - x)

    def rate(self, x: SX, v: SX, r: SX) -> SX:
        """Of the bend."""
        size = ca.fabs(r) if _is(self.exponent, 1.0) else ca.fabs(r) ** self.exponent
        return (v - size * (self.loading * ca.fabs(v) * ca.sign(r) + (1 - self.loading) * v)) / self.twist

    def carrying(self, x: SX, v: SX, load: SX) -> SX:
        """Bent as the gear is, as far as it can be."""
        return ca.fmin(ca.fmax(x / self.twist, -1), 1)

    def smooth(self, v: SX) -> SX:
        """It does not yield."""
        return ca.SX(0)


@dataclass(frozen=True)
class Placed:
    """A law on the sum of some speeds, each with its sign, and viscous friction beside it. `state` names its state."""

    state: str
    law: ShaftLaw
    indices: tuple[int, ...]
    places: tuple[int, ...]
    signs: tuple[int, ...] = (1,)
    viscous: SX = 0.0

    def position(self, q: SX) -> SX:
        """Along the law; friction, which asks for none, may act on a speed without a coordinate."""
        return sum((sign * q[k] for k, sign in zip(self.places, self.signs)), start=ca.SX(0))

    def speed(self, qd: SX) -> SX:
        """Along the law."""
        first, *others = (qd[k] if sign > 0 else -qd[k] for k, sign in zip(self.indices, self.signs))
        return sum(others, start=first)

    def force(self, q: SX, qd: SX, r: SX | None) -> SX:
        """Against the motion; without a state the law is smooth."""
        v = self.speed(qd)
        held = self.law.smooth(v) if r is None else self.law.force(self.position(q), v, r)
        return self.viscous * v + held

    def rate(self, q: SX, qd: SX, r: SX) -> SX:
        """Of the state."""
        return self.law.rate(self.position(q), self.speed(qd), r)

    def carrying(self, q: SX, qd: SX, load: SX) -> SX:
        """The state at a start."""
        return self.law.carrying(self.position(q), self.speed(qd), load)


def _slipping(r: SX) -> SX:
    """Part of the motion that slips, for motion in the direction of r."""
    return ca.fmax((r - HOLDS) / (1 - HOLDS), 0) ** 2


def _is(exponent: SX, number: float) -> bool:
    return isinstance(exponent, float) and exponent == number
