"""Types of joints: what moves in each. A type is an entry here, and its name in `JointType` of `options`."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.options import JointType

Axis = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
OWN = None
"""Stands for the `axis` of the joint."""
QUATERNION = ("qw", "qx", "qy", "qz")


@dataclass(frozen=True, kw_only=True)
class JointKind:
    """How a joint moves: along the first of its axes, then about the others, one after the other.

    `names` are those of its coordinates behind the name of the joint, and `axes` their directions in the frame before
    the motion, of which the first `slides` are slid along. `own_axes`: each may be given another direction. One with a
    quaternion has `coordinates` and `speeds` of its own, and turns anyhow.
    """

    names: tuple[str, ...] = ()
    axes: tuple[Axis | None, ...] = ()
    slides: int = 0
    own_axes: bool = False
    holds: bool = True
    """Whether it carries any load."""
    coordinates: tuple[str, ...] = ()
    speeds: tuple[str, ...] = ()

    @property
    def is_ball(self) -> bool:
        """Whether it has a quaternion."""
        return bool(self.coordinates)


TURNING = ("wx", "wy", "wz")
JOINT_TYPES: dict[JointType, JointKind] = {
    "revolute": JointKind(names=("",), axes=(OWN,)),
    "prismatic": JointKind(names=("",), axes=(OWN,), slides=1),
    "fixed": JointKind(),
    "universal": JointKind(names=("first", "second"), axes=(Z, Y), own_axes=True),
    "cylindrical": JointKind(names=("slide", "turn"), axes=(OWN, OWN), slides=1),
    "planar": JointKind(names=("x", "y", "angle"), axes=(X, Y, Z), slides=2, holds=False),
    "spherical": JointKind(names=TURNING, axes=(X, Y, Z), coordinates=QUATERNION, speeds=TURNING),
    "free": JointKind(coordinates=("x", "y", "z", *QUATERNION), speeds=(*TURNING, "vx", "vy", "vz"), holds=False),
}
