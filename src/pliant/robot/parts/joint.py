"""Joints: their places, axes, drives, friction and limits."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.options import DHConvention, JointType
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.angles import Matrix, Numeric, cosine, matmul, rotation_rpy, rotation_x, rotation_z, sine
from pliant.robot.parts.bodies.rigid_body import Lump
from pliant.robot.parts.drives.friction import Friction
from pliant.robot.parts.drives.gear import Drive
from pliant.robot.parts.drives.motor import Motor
from pliant.robot.parts.drives.stops import Stop
from pliant.robot.parts.fields import (
    Alternatives,
    Angle,
    Angles,
    Description,
    LinkName,
    NonNegative,
    Number,
    Positive,
    Vector,
    number,
    sequence,
)
from pliant.robot.parts.joint_types import JOINT_TYPES, OWN, Z

_UNIT = 1e-12  # an axis this near to unit length is kept as it is, so that files are read back unchanged


def _axis(value: object) -> tuple[float, ...]:
    """A unit vector along the numbers given."""
    entries = [number(entry) for entry in sequence(value, "three numbers")]
    if len(entries) != 3:
        raise fault(f"three numbers, not {len(entries)}")
    norm = math.hypot(*entries)
    if norm < 1e-150:
        raise fault("an axis that is not of zero length", "[0, 0, 1] is the usual one")
    if not math.isfinite(norm):
        raise fault("an axis of sensible length", "[0, 0, 1] is the usual one")
    return tuple(entries) if abs(norm - 1.0) <= _UNIT else tuple(entry / norm + 0.0 for entry in entries)


AXIS_SCHEMA = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
Axis = Annotated[tuple[float, float, float], BeforeValidator(_axis), WithJsonSchema(AXIS_SCHEMA)]


class Origin(Description):
    """Fixed place of a joint in the tip frame of the previous link: translation, then URDF's `Rz Ry Rx`.

    Examples
    --------
    >>> pliant.robot.Origin(xyz=[0, 0, 0.3], rpy=["pi/2", 0, 0]).rpy
    (1.5707963267948966, 0.0, 0.0)
    """

    xyz: Vector = Field((0.0, 0.0, 0.0), description="m, translation", examples=[[0, 0, 0.3]])
    rpy: Angles = Field(
        (0.0, 0.0, 0.0), description="rad, roll, pitch and yaw; also pi/2, 90 deg", examples=[["pi/2", 0, 0]]
    )


class DH(Description):
    """A Denavit-Hartenberg row in place of an origin.

    `modified`: Rx(alpha) Tx(a) Tz(d) Rz(theta) stands before the joint. `standard`: Rz(theta) Tz(d) stands before the
    joint, the body supplies a, and Rx(alpha) turns its tip frame; a link hands its `a` to the body and keeps 0.

    Examples
    --------
    >>> pliant.robot.DH(a=0.5, alpha="90 deg").alpha
    1.5707963267948966
    """

    a: Number = Field(
        0.0, description="m, length; with a standard row a rigid body without `tip` ends at (a, 0, 0)", examples=[0.5]
    )
    alpha: Angle = Field(0.0, description="rad, twist", examples=["90 deg"])
    d: Number = Field(0.0, description="m, offset", examples=[0.1])
    theta: Angle = Field(0.0, description="rad, added to the joint's position", examples=["pi/2"])
    convention: DHConvention = Field("modified", description="which frames the row joins", examples=["standard"])


class Limits(Description):
    """Limits of a joint. A run ends where a joint leaves `lower` or `upper`, unless it is told `limits=False`;
    nothing stops the joint there. With a `stop` runs go on, and the joint rests on it or comes back. `speed` tells
    `stiffening="auto"` how fast the arm may spin. Runs do not hold `speed`, `acceleration`, `jerk` and `effort`;
    motions that `pliant plan` plans do, behind an elastic drive those of the motor.

    Examples
    --------
    >>> pliant.robot.Limits(lower="-90 deg", upper="90 deg", effort=50.0).upper
    1.5707963267948966
    """

    lower: Angle | None = Field(None, description="rad (m), least position", examples=["-90 deg"])
    upper: Angle | None = Field(None, description="rad (m), greatest position", examples=["90 deg"])
    speed: Positive | None = Field(None, description="rad/s (m/s), greatest rate", examples=[2.0])
    acceleration: Positive | None = Field(
        None, description="rad/s^2 (m/s^2), greatest acceleration of a planned motion", examples=[8.0]
    )
    jerk: Positive | None = Field(
        None, description="rad/s^3 (m/s^3), greatest rate of acceleration of a planned motion", examples=[80.0]
    )
    effort: NonNegative | None = Field(
        None, description="N m (N), greatest torque; 0 for a joint that nothing drives or holds", examples=[50.0]
    )
    stop: Stop | None = Field(
        None, description="what it meets at `lower` and `upper`", examples=[{"stiffness": 50000.0, "damping": 0.4}]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise clash(f"`lower` {self.lower:g} is above `upper` {self.upper:g}")
        if self.stop is not None and self.lower is None and self.upper is None:
            raise clash("a `stop` stands at limits, and there are none; give `lower` or `upper`")
        return self


class JointAxis(Description):
    """One axis of a joint that has several: its direction, drive, motor, friction and limits.

    Examples
    --------
    >>> pliant.robot.JointAxis(axis=[0, 1, 0], friction=pliant.robot.Friction(viscous=0.2)).axis
    (0.0, 1.0, 0.0)
    """

    axis: Axis | None = Field(
        None, description="of a universal joint; others have theirs by their type", examples=[[0, 1, 0]]
    )
    drive: Drive | None = Field(None, description="rotor, gear and spring", examples=[{"rotor_inertia": 0.001}])
    motor: Motor | None = Field(None, description="motor and amplifier", examples=[{"bandwidth": 300.0}])
    friction: Friction = Field(Friction(), description="on the link side", examples=[{"viscous": 0.1}])
    limits: Limits | None = Field(
        None, description="of position, speed, acceleration, jerk and effort", examples=[{"lower": -1.0, "upper": 1.0}]
    )


def _axes(value: object) -> list[object]:
    """Read axes, each a mapping, or three numbers that stand for its direction."""
    return [entry if isinstance(entry, (dict, JointAxis)) else {"axis": entry} for entry in sequence(value, "a list")]


Axes = Annotated[tuple[Annotated[JointAxis, Alternatives((AXIS_SCHEMA,))], ...], BeforeValidator(_axes)]


class Freedom(NamedTuple):
    """One coordinate of a joint: its name, its axis, and its drive, motor, friction and limits, or views of these."""

    joint: str | None
    suffix: str
    axis: tuple[float, float, float]
    turns: bool
    drive: Any
    motor: Any
    friction: Friction
    limits: Limits | None
    actuated: bool = True

    def name(self, link: str) -> str:
        """Name of the coordinate: that of the joint, or of its `link` if the joint has none, and the suffix."""
        return ".".join(part for part in (self.joint or link, self.suffix) if part)

    @property
    def elastic(self) -> bool:
        """Whether it has a motor behind a spring."""
        return self.drive is not None and self.drive.stiffness is not None


class Joint(Description):
    """A fixed place, then a motion: about or along `axis`, or along and about several.

    `universal` turns about the first and then the second of its `axes`; `cylindrical` slides along `axis`, then turns
    about it; `planar` slides along x and y of the frame that it stands on, then turns about z. `spherical` turns
    anyhow, `free` moves and turns anyhow: they have quaternions, and speeds in the axes of the link.

    Examples
    --------
    >>> elbow = pliant.Joint(axis=[0, 1, 0], origin=pliant.robot.Origin(xyz=[1.0, 0, 0]))
    >>> elbow.moves, elbow.flexible
    (True, False)
    """

    type: JointType = Field("revolute", description="how it moves", examples=["prismatic"])
    name: LinkName | None = Field(
        None, description="of its coordinates; that of its link by default", examples=["shoulder_pan"]
    )
    axis: Axis = Field((0.0, 0.0, 1.0), description="direction about or along which it moves", examples=[[0, 1, 0]])
    axes: Axes = Field(
        (),
        description="of a joint with several: axis, drive, friction, limits of each",
        examples=[[[0, 0, 1], [0, 1, 0]]],
    )
    origin: Origin = Field(Origin(), description="where it stands on the link before", examples=[{"xyz": [0, 0, 0.3]}])
    dh: DH | None = Field(
        None, description="a Denavit-Hartenberg row instead", examples=[{"a": 0.5, "alpha": "90 deg"}]
    )
    hub: Lump = Field(Lump(), description="lump that moves with the frame after the joint", examples=[{"mass": 0.2}])
    offset: Number = Field(
        0.0, description="m, along x from the frame after the joint to the clamp of its beam", examples=[0.05]
    )
    drive: Drive | None = Field(
        None, description="rotor, gear and spring", examples=[{"stiffness": 10000.0, "rotor_inertia": 0.001}]
    )
    motor: Motor | None = Field(
        None, description="motor and amplifier", examples=[{"command": "current", "torque_constant": 0.119}]
    )
    friction: Friction = Field(Friction(), description="on the link side", examples=[{"viscous": 0.1}])
    limits: Limits | None = Field(
        None,
        description="of position, speed, acceleration, jerk and effort",
        examples=[{"lower": "-90 deg", "upper": "90 deg"}],
    )
    actuated: bool = Field(True, description="false: nothing drives it, it has no torque", examples=[False])

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_passive()
        if self.dh is not None and self.origin != Origin():
            raise clash("`origin` and `dh` both place the joint; give one of them")
        if self.dh is not None and self.axis != (0.0, 0.0, 1.0):
            raise clash("a `dh` row moves about z; remove `axis`, or give `origin` instead of `dh`")
        extra = {
            "drive": self.drive,
            "motor": self.motor,
            "limits": self.limits,
            "friction": self.friction != Friction() or None,
        }
        given = [name for name, value in extra.items() if value is not None]
        if self.type == "fixed" and given:
            raise clash(f"a fixed joint has no `{given[0]}`; remove it, or make the joint revolute or prismatic")
        if JOINT_TYPES[self.type].is_ball:
            given += [name for name, wrong in (("axes", self.axes), ("axis", self.axis != Z)) if wrong]
            if given:
                raise clash(f"a {self.type} joint has no axes, and no `{given[0]}`; remove it")
            return self
        self._check_axes(given)
        return self

    def _check_passive(self) -> None:
        if self.actuated:
            return
        if self.type in ("fixed", "free"):
            raise clash(f"a {self.type} joint has no torque; remove `actuated`")
        for name in ("drive", "motor"):
            if any(getattr(part, name) is not None for part in (self, *self.axes)):
                raise clash(f"a joint with `actuated: false` has no `{name}`; remove one of them")

    def _check_axes(self, given: list[str]) -> None:
        kind = JOINT_TYPES[self.type]
        count = len(kind.names)
        if count < 2:
            if self.axes:
                raise clash(f"a {self.type} joint has no `axes`; give `axis`")
            return
        if given:
            raise clash(f"a {self.type} joint has `{given[0]}` for each of its `axes`, not for itself; move it there")
        if self.axes and len(self.axes) != count:
            raise clash(f"a {self.type} joint has {count} `axes`, not {len(self.axes)}")
        own = [entry.axis for entry in self.axes if entry.axis is not None]
        if not kind.own_axes and own:
            raise clash(f"the `axes` of a {self.type} joint have their directions by its type; leave `axis` out there")
        if OWN not in kind.axes and self.axis != Z:
            remedy = "give `axes`" if kind.own_axes else "turn the joint by `origin.rpy`"
            raise clash(f"a {self.type} joint has its directions by its type; remove `axis`, and {remedy}")
        if kind.own_axes and own:
            if len(own) != count:
                raise clash(f"a {self.type} joint needs an `axis` for all of its `axes`, or for none")
            if any(np.linalg.norm(np.cross(*pair)) < 1e-6 for pair in pairwise(own)):
                raise clash(f"the two `axes` of a {self.type} joint are parallel")

    @property
    def freedoms(self) -> tuple[Freedom, ...]:
        """Its coordinates, in order."""
        kind, freedom = JOINT_TYPES[self.type], partial(Freedom, self.name, actuated=self.actuated)
        several = self.axes or tuple(JointAxis() for _ in kind.names)
        given: tuple[Joint | JointAxis, ...] = (self,) if len(kind.names) == 1 else several
        return tuple(
            freedom(
                suffix=name,
                axis=own.axis or axis or self.axis,
                turns=k >= kind.slides,
                drive=own.drive,
                motor=own.motor,
                friction=own.friction,
                limits=own.limits,
            )
            for k, (name, axis, own) in enumerate(zip(kind.names, kind.axes, given))
        )

    def coordinates(self, link: str) -> tuple[str, ...]:
        """Names of its coordinates on a link so called.

        Parameters
        ----------
        link : str
            Name of the link.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> pliant.Joint(type="spherical").coordinates("eye")
        ('eye.qw', 'eye.qx', 'eye.qy', 'eye.qz')
        """
        given = JOINT_TYPES[self.type].coordinates
        return tuple(f"{self.name or link}.{x}" for x in given) or tuple(free.name(link) for free in self.freedoms)

    def speeds(self, link: str) -> tuple[str, ...]:
        """Names of its speeds on a link so called: those of the coordinates, unless it has a quaternion.

        Parameters
        ----------
        link : str
            Name of the link.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> pliant.Joint(type="spherical").speeds("eye")
        ('eye.wx', 'eye.wy', 'eye.wz')
        """
        given = JOINT_TYPES[self.type].speeds
        return tuple(f"{self.name or link}.{x}" for x in given) or self.coordinates(link)

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.type != "fixed"

    @property
    def flexible(self) -> bool:
        """Whether the joint has a motor coordinate behind a spring."""
        return any(freedom.elastic for freedom in self.freedoms)


def origin_transform(joint: Joint) -> tuple[Matrix, list[Numeric]]:
    """Fixed rotation (3x3 nested list) and translation from the previous tip frame to the joint, before it moves.

    Works on a `Joint` or a view of one, for an origin and for both kinds of DH row.
    """
    dh = joint.dh
    if dh is None:
        return rotation_rpy(joint.origin.rpy), [joint.origin.xyz[k] for k in range(3)]
    if dh.convention == "standard":
        return rotation_z(dh.theta), [0.0, 0.0, dh.d]
    c, s = cosine(dh.alpha), sine(dh.alpha)
    return matmul(rotation_x(dh.alpha), rotation_z(dh.theta)), [dh.a, -s * dh.d, c * dh.d]
