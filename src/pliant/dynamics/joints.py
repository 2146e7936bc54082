"""Joints as maps: where a link frame is in the frame that it hangs on, and how it moves with the joint's rates.

Every joint slides first, along axes of the frame before it, and turns then, about one axis after the other. Its rates
move the link frame by columns, angular and linear velocity in link axes per unit rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, about, compose
from pliant.options import JointType

Axis = tuple[float, float, float]
SLIDES: dict[JointType, int] = {"prismatic": 1, "cylindrical": 1, "planar": 2}
"""How many of its axes a joint slides along; it turns about the others."""


@dataclass(frozen=True)
class JointMap:
    """Frame of a link from the frame that it hangs on: fixed `origin`, then motion along and about `axes`."""

    kind: JointType
    axes: tuple[Axis, ...]
    origin_rotation: Rotation
    origin: SX

    @property
    def slides(self) -> tuple[Axis, ...]:
        """Axes that it slides along, in the axes before its motion."""
        return self.axes[: SLIDES.get(self.kind, 0)]

    @property
    def turning(self) -> tuple[Axis, ...]:
        """Axes that it turns about, one after the other."""
        return self.axes[SLIDES.get(self.kind, 0) :]

    def turns(self, q: SX) -> list[Rotation]:
        """Rotations by the coordinates, one after the other."""
        first = len(self.slides)
        return [about(axis, q[first + k]) for k, axis in enumerate(self.turning)]

    def turn(self, q: SX) -> Rotation:
        """Rotation by the coordinates alone."""
        whole: Rotation = Identity()
        for R in self.turns(q):
            whole = compose(whole, R)
        return whole

    def rotation(self, q: SX) -> Rotation:
        """R from the link frame to the frame that it hangs on."""
        return compose(self.origin_rotation, self.turn(q))

    def position(self, q: SX) -> SX:
        """Origin of the link frame in the frame that it hangs on."""
        return self.origin + sum((slide * q[k] for k, slide in enumerate(self.directions())), ca.SX.zeros(3))

    def directions(self) -> list[SX]:
        """What it slides along, in the frame that it hangs on."""
        return [self.origin_rotation.apply(vector(axis)) for axis in self.slides]

    def columns(self, q: SX) -> list[tuple[SX, SX]]:
        """Angular and linear velocity of the link frame per unit rate, in link axes."""
        turns, zero = self.turns(q), ca.SX.zeros(3)
        found = [(zero, _carried(turns, vector(axis))) for axis in self.slides]
        return found + [(_carried(turns[k + 1 :], vector(axis)), zero) for k, axis in enumerate(self.turning)]

    def drift(self, q: SX, qd: SX) -> tuple[SX, SX]:
        """Angular and linear part of (d columns/dt) qd, in link axes: what the rates alone do to the relative twist."""
        columns, first = self.columns(q), len(self.slides)
        turning = [turn * qd[k] for k, (turn, _) in enumerate(columns)]
        zero, w, v = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3)
        for k, (_, slide) in enumerate(columns[:first]):
            v = v + ca.cross(slide * qd[k], sum(turning[first:], zero)) if turning[first:] else v
        for k in range(first, len(columns) - 1):
            w = w + ca.cross(turning[k], sum(turning[k + 1 :], zero))
        return w, v

    def across(self, q: SX, qd: SX, omega: SX, alpha: SX, a: SX) -> tuple[SX, SX, SX]:
        """Angular velocity, angular acceleration and acceleration from the frame before the motion, in its axes, to the
        link frame; without the joint's own second derivatives."""
        for k, axis in enumerate(self.slides):
            a = a + 2 * ca.cross(omega, vector(axis)) * qd[k]
        first = len(self.slides)
        for k, (axis, R) in enumerate(zip(self.turning, self.turns(q))):
            omega, alpha, a = (R.unapply(x) for x in (omega, alpha, a))
            rate = qd[first + k]
            omega, alpha = omega + vector(axis) * rate, alpha + ca.cross(omega, vector(axis)) * rate
        return omega, alpha, a


def vector(axis: Axis) -> SX:
    """An axis as an expression."""
    return ca.SX(ca.DM(axis))


def _carried(turns: list[Rotation], v: SX) -> SX:
    """A vector in the axes behind some turns."""
    for R in turns:
        v = R.unapply(v)
    return v
