"""A cylinder with mass is two links and a loop: a barrel on a universal joint at one of its frames, a rod that slides
in it, and a ball joint at the other frame.

The hydraulics stay a coupling between the same two frames. Both halves are uniform bars as long as the cylinder that is
drawn in. Where the barrel's frame is on the last link, whose tip is that of the arm, the tree goes the other way: the
rod hangs on its frame, and the barrel slides on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.robot.files.error_messages import clash
from pliant.robot.parts.angles import rotation_rpy, rpy_of
from pliant.robot.parts.bodies.rigid_body import RigidBody
from pliant.robot.parts.couplings import Coupling, Cylinder
from pliant.robot.parts.fields import Description
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import Joint, Origin, origin_transform
from pliant.robot.parts.link import At, BodyFrame, Link
from pliant.robot.parts.loop_joints import WORLD, Loop, LoopJoint
from pliant.robot.skeleton import HERE, Pose, joined, place
from pliant.robot.tree import BASE, parents

if TYPE_CHECKING:
    from pliant.robot.description import RobotDescription

ALONG = np.array([1.0, 0.0, 0.0])
BARREL, ROD = 0, 1
HALVES = ("barrel", "rod")


class CylinderEnd(NamedTuple):
    """Place of an end of a cylinder: the link that carries it (None for the base), the place on this link, and a pose
    from there."""

    link: str | None
    at: At
    origin: Pose


def with_halves(robot: RobotDescription) -> dict[str, tuple[Description, ...]]:
    """`links`, `loops` and `couplings` of a robot with its heavy cylinders as links."""
    halves: list[Link] = []
    loops, couplings = list(robot.loops), list[Coupling]()
    for coupling in robot.couplings:
        cylinder = coupling.cylinder
        if cylinder is None or not coupling.heavy:
            couplings.append(coupling)
            continue
        links, loop = _halves(robot, coupling)
        halves += links
        loops.append(loop)
        couplings.append(coupling.model_copy(update={"cylinder": cylinder.model_copy(update={"mass": None})}))
    *others, last = robot.links
    carrier = parents(robot.links)[-1]
    last = last.model_copy(update={"parent": BASE if carrier is None else robot.links[carrier].name})
    return {"links": (*others, *halves, last), "loops": tuple(loops), "couplings": tuple(couplings)}


def _halves(robot: RobotDescription, coupling: Coupling) -> tuple[list[Link], Loop]:
    """The link that hangs on a frame, the one that slides on it, and the loop at the other frame."""
    cylinder, last = coupling.cylinder, robot.links[-1].name
    assert cylinder is not None
    sides, ends = [BARREL, ROD], list(coupling.between)
    if not _carries(robot, ends[0], last):
        sides, ends = sides[::-1], ends[::-1]
        if not _carries(robot, ends[0], last):
            raise clash(
                f"coupling `{coupling.name}`: both frames of a cylinder with `mass` are on the last link or the world; "
                "let one be on a link before, or remove `mass`"
            )
    names = [f"{coupling.name}_{HALVES[side]}" for side in sides]
    foot = _seat(robot, ends[0])
    R, p = _pose(robot, foot)
    way = R.T @ (_pose(robot, _seat(robot, ends[1]))[1] - p)
    origin = joined(foot.origin, (_towards(way), np.zeros(3)))
    carried = Link(
        name=names[0], parent=BASE if foot.link is None else foot.link, at=foot.at, rigid=_bar(cylinder, sides[0], 0.5),
        joint=Joint(
            type="universal", actuated=False, origin=Origin(xyz=tuple(origin[1]), rpy=rpy_of(origin[0].tolist()))
        ),
    )  # fmt: skip
    sliding = Link(
        name=names[1], parent=names[0], rigid=_bar(cylinder, sides[1], -0.5),
        joint=Joint(
            type="prismatic", axis=(1.0, 0.0, 0.0), actuated=False, origin=Origin(xyz=(cylinder.dead_length, 0.0, 0.0))
        ),
    )  # fmt: skip
    pin = Loop(name=f"{coupling.name}_pin", between=(f"{names[1]}.tip", ends[1]), joint=LoopJoint(type="spherical"))
    return [carried, sliding], pin


def _bar(cylinder: Cylinder, side: int, middle: float) -> RigidBody:
    """Half a cylinder as a uniform bar, its middle at a part of its length."""
    assert cylinder.mass is not None
    mass, length, (bore, ring) = cylinder.mass[side], cylinder.dead_length, cylinder.areas
    area = bore if side == BARREL else bore - ring
    across, along = mass * length**2 / 12, mass * area / (2 * math.pi)
    return RigidBody(
        mass=mass, com=(middle * length, 0.0, 0.0), inertia=(along, across + along / 2, across + along / 2)
    )


def _carries(robot: RobotDescription, end: str, last: str) -> bool:
    """Whether a half may hang on a frame."""
    return end != WORLD and _seat(robot, end).link != last


def _seat(robot: RobotDescription, end: str) -> CylinderEnd:
    """Place of the frame that a coupling calls `end`."""
    named = {frame.name: frame for frame in robot.frames}
    if end in named:
        frame: Frame = named[end]
        origin = np.array(rotation_rpy(frame.origin.rpy), dtype=float), np.array(frame.origin.xyz, dtype=float)
        links = {link.name for link in robot.links}
        return CylinderEnd(
            frame.link if frame.link in links else None, frame.at if frame.link in links else "tip", origin
        )
    if end in (BASE, WORLD):
        return CylinderEnd(None, "tip", HERE)
    if end == "tip":
        return CylinderEnd(robot.links[-1].name, "tip", HERE)
    link, _, where = end.rpartition(".")
    return CylinderEnd(link, "tip" if where == "tip" else "root" if where == "root" else BodyFrame(frame=where), HERE)


def _pose(robot: RobotDescription, seat: CylinderEnd) -> Pose:
    """Pose of an end in the base, with all joints at zero and all beams straight."""
    poses: list[Pose] = []
    links: Sequence[Link] = robot.links
    for link, parent in zip(links, parents(links)):
        R, p = origin_transform(link.joint)
        before = HERE if parent is None else joined(poses[parent], place(links[parent], link.at))
        poses.append(joined(before, (np.array(R, dtype=float), np.array(p, dtype=float))))
    numbers = {link.name: k for k, link in enumerate(links)}
    if seat.link is None:
        return seat.origin
    k = numbers[seat.link]
    return joined(joined(poses[k], place(links[k], seat.at)), seat.origin)


def _towards(way: Array) -> Array:
    """The least rotation that takes x along a way; none where the way is nothing."""
    length = float(np.linalg.norm(way))
    if length == 0.0:
        return np.eye(3)
    u = way / length
    if u[0] < -1 + 1e-9:
        return np.diag([-1.0, -1.0, 1.0])
    axis = np.cross(ALONG, u)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + K + K @ K / (1 + u[0]))
