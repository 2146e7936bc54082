"""The rigid skeleton of a robot as numbers: poses of its frames, and the masses that move with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.robot.description import RobotDescription
from pliant.robot.lumped_segments import rigid_beam, section_place
from pliant.robot.mass_sum import MassSum
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.bodies.reduced_body import TIP
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import origin_transform
from pliant.robot.parts.link import At, BeamStation, BodyFrame, Link, tip_rotation
from pliant.robot.pieces import in_pieces
from pliant.robot.tree import parents

Pose = tuple[Array, Array]
HERE: Pose = (np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class Bone:
    """A link, or a piece of one, in the frame after its joint: its pose on its parent at q = 0, its mass with the hub,
    and the masses that its tip carries, by name."""

    link: Link
    parent: int | None
    pose: Pose
    mass: MassSum
    tip: Pose
    carried: tuple[tuple[str, MassSum], ...]


@dataclass(frozen=True)
class Skeleton:
    """All bones of a robot, each behind its parent; `robot` has the pieces of beams as links, and `base` the mass of a
    free base."""

    robot: RobotDescription
    bones: tuple[Bone, ...]
    base: MassSum | None

    def frame(self, frame: Frame) -> tuple[int | None, Pose]:
        """Number of the bone that carries a named frame, and where it is on it."""
        R, p = np.array(rotation_rpy(frame.origin.rpy), dtype=float), np.array(frame.origin.xyz)
        names = [bone.link.name for bone in self.bones]
        if frame.link not in names:
            return None, (R, p)
        number = names.index(frame.link)
        return number, joined(place(self.bones[number].link, frame.at), (R, p))


def skeleton(robot: RobotDescription) -> Skeleton:
    """Skeleton of a robot, its beams straight or curved as described, its joints at zero.

    A beam that slides is a rod of all its material whose end is the frame after its joint, as which it moves.
    """
    cut = in_pieces(robot)
    bones: list[Bone] = []
    for k, (link, parent) in enumerate(zip(cut.links, parents(cut.links))):
        R, p = origin_transform(link.joint)
        before = HERE if parent is None else place(cut.links[parent], link.at)
        carried = [("tip", MassSum.lump(link.tip)), *(("payload", MassSum.lump(one)) for one in cut.carried(k))]
        bones.append(
            Bone(
                link, parent, joined(before, (np.array(R, dtype=float), np.array(p, dtype=float))),
                _own(link) + MassSum.lump(link.joint.hub), place(link, "tip"), tuple(one for one in carried if one[1]),
            )
        )  # fmt: skip
    return Skeleton(cut, tuple(bones), MassSum.lump(robot.base) if robot.base.is_free else None)


def place(link: Link, at: At) -> Pose:
    """Pose of a place of a straight link in the frame after its joint."""
    if at == "root":
        return HERE
    along = np.array([1.0, 0.0, 0.0])
    if at == "tip":
        R = np.array(tip_rotation(link), dtype=float)
        if link.body is not None:
            return R, link.body.pose(TIP)[1]
        if link.beam is None:
            assert link.rigid is not None
            return R, np.array(link.rigid.tip, dtype=float)
        return R, section_place(link.beam, link.joint.offset)[1] + (
            0.0 if link.beam.slides else link.beam.length
        ) * along
    if link.body is not None:
        assert isinstance(at, BodyFrame)
        return link.body.pose(at.frame)
    assert link.beam is not None
    assert isinstance(at, BeamStation)
    return np.eye(3), section_place(link.beam, link.joint.offset)[1] + min(at.x, link.beam.length) * along


def joined(outer: Pose, inner: Pose) -> Pose:
    """Compose two poses: that of `inner`, given in the frame of `outer`, in the frame in which `outer` is given."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def _own(link: Link) -> MassSum:
    if link.rigid is not None:
        return MassSum.lump(link.rigid)
    if link.body is not None:
        body = link.body.reduced
        return MassSum(body.mass, body.first, np.trace(body.second) * np.eye(3) - body.second)
    assert link.beam is not None
    if not link.beam.slides:
        return rigid_beam(link.beam, link.joint.offset)
    assert link.beam.total_length is not None
    whole = link.beam.model_copy(update={"length": link.beam.total_length, "slides": False, "total_length": None})
    return rigid_beam(whole).moved(np.eye(3), np.array([-whole.length, 0.0, 0.0]))
