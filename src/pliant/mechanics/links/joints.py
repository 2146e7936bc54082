"""Joints as maps: where a link frame is in the frame that it hangs on, and how it moves with the joint's rates.

Joints with axes first slide, along axes of the frame before them, then turn, about one axis after the other. A
spherical joint has a quaternion, a free one a position and a quaternion; their speeds are the angular velocity, and the
linear one of a free joint, of the link frame in its own axes. The speeds of any joint move the link frame by columns,
angular and linear velocity in link axes per unit speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, about, compose, of_quaternion, quaternion_rate
from pliant.options import JointType
from pliant.robot.parts.joint_types import JOINT_TYPES, Axis, X, Y, Z

UNIT: tuple[Axis, ...] = (X, Y, Z)


@dataclass(frozen=True)
class JointMap:
    """Frame of a link from the frame that it hangs on: fixed `origin`, then motion along and about `axes`."""

    kind: JointType
    axes: tuple[Axis, ...]
    origin_rotation: Rotation
    origin: SX

    @property
    def is_ball(self) -> bool:
        """Whether it has a quaternion."""
        return JOINT_TYPES[self.kind].is_ball

    @property
    def n_q(self) -> int:
        """Number of its coordinates."""
        return len(JOINT_TYPES[self.kind].coordinates or self.axes)

    @property
    def n_v(self) -> int:
        """Number of its speeds."""
        return len(JOINT_TYPES[self.kind].speeds or self.axes)

    @property
    def rest(self) -> SX:
        """Coordinates of the joint that has not moved."""
        return ca.SX(ca.DM([0.0] * (self.n_q - 4) + [1.0, 0.0, 0.0, 0.0] if self.is_ball else [0.0] * self.n_q))

    def rates(self, q: SX, speeds: SX) -> SX:
        """Rates of its coordinates."""
        if not self.is_ball:
            return speeds
        turning = quaternion_rate(q[-4:], speeds[:3])
        return turning if self.kind == "spherical" else ca.vertcat(of_quaternion(q[3:]).apply(speeds[3:]), turning)

    @property
    def slides(self) -> tuple[Axis, ...]:
        """Axes that it slides along, in the axes before its motion."""
        return self.axes[: JOINT_TYPES[self.kind].slides]

    @property
    def turning(self) -> tuple[Axis, ...]:
        """Axes that it turns about, one after the other."""
        return self.axes[JOINT_TYPES[self.kind].slides :]

    def turns(self, q: SX) -> list[Rotation]:
        """Rotations by the coordinates, one after the other."""
        if self.is_ball:
            return [of_quaternion(q[-4:])]
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
        if self.kind == "free":
            return self.origin + self.origin_rotation.apply(q[:3])
        slides = (self.origin_rotation.apply(vector(axis)) for axis in self.slides)
        return self.origin + sum((slide * q[k] for k, slide in enumerate(slides)), ca.SX.zeros(3))

    @property
    def linear(self) -> range:
        """Which of its speeds move the link frame and do not turn it; the others turn it."""
        return range(3, 6) if self.kind == "free" else range(len(self.slides))

    def directions(self, q: SX) -> list[SX]:
        """Directions of its linear speeds, in the frame that it hangs on."""
        R = self.rotation(q) if self.kind == "free" else self.origin_rotation
        return [R.apply(vector(axis)) for axis in (UNIT if self.kind == "free" else self.slides)]

    def swing(self, q: SX, qd: SX) -> SX:
        """Acceleration of the link frame, in the frame that it hangs on: linear speeds turn with their axes."""
        return self.rotation(q).apply(ca.cross(qd[:3], qd[3:])) if self.kind == "free" else ca.SX(3, 1)

    def columns(self, q: SX) -> list[tuple[SX, SX]]:
        """Angular and linear velocity of the link frame per unit speed, in link axes."""
        zero = ca.SX.zeros(3)
        if self.is_ball:
            turning = [(vector(axis), zero) for axis in UNIT]
            return turning if self.kind == "spherical" else turning + [(zero, vector(axis)) for axis in UNIT]
        turns = self.turns(q)
        found = [(zero, _carried(turns, vector(axis))) for axis in self.slides]
        return found + [(_carried(turns[k + 1 :], vector(axis)), zero) for k, axis in enumerate(self.turning)]

    def drift(self, q: SX, qd: SX) -> tuple[SX, SX]:
        """Angular and linear part of (d columns/dt) qd, in link axes: the rate of the relative twist that follows from
        the speeds alone."""
        if self.is_ball:
            return ca.SX.zeros(3), ca.SX.zeros(3)
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
        if self.is_ball:
            (R,) = self.turns(q)
            omega, alpha, a = (R.unapply(x) for x in (omega, alpha, a))
            turning = qd[:3]
            if self.kind == "free":
                a = a + ca.cross(2 * omega + turning, qd[3:])
            return omega + turning, alpha + ca.cross(omega, turning), a
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
