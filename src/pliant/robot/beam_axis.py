"""Axis of an unloaded beam, straight or curved: where its sections stand, and which is nearest to a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import ValidationError

from pliant.arrays import Array
from pliant.robot.description import RobotDescription
from pliant.robot.files.error_messages import Entries
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.link import Link
from pliant.robot.skeleton import HERE, Pose, joined, skeleton


@dataclass(frozen=True)
class BeamAxis:
    """The straight pieces of a beam, in the frame of its root.

    Attributes
    ----------
    starts : (K,) array
        Length of the axis before each piece, m.
    poses : tuple of Pose
        Where each piece begins; it runs along its own x.
    length : float
        Length of the whole axis, m.
    """

    starts: Array
    poses: tuple[Pose, ...]
    length: float

    @classmethod
    def of(cls, beam: Entries, length: float) -> BeamAxis:
        """Axis of a beam from its entries in a file. A beam with faults, which are reported with the robot, counts as
        straight."""
        straight = cls(np.zeros(1), (HERE,), length)
        try:
            known = Beam.model_validate(beam if "section" in beam else {"mass_per_length": 1.0, **beam})
        except (TypeError, ValidationError):
            return straight
        if not known.curved:
            return straight
        bones = skeleton(RobotDescription(name="axis", links=[Link(name="beam", beam=known)])).bones
        poses = [HERE]
        for bone in bones[1:]:
            poses.append(joined(poses[-1], bone.pose))
        lengths = [bone.link.beam.length for bone in bones if bone.link.beam is not None]
        return cls(np.cumsum([0.0, *lengths[:-1]]), tuple(poses), known.length)

    def nearest(self, point: Array) -> float:
        """Length of the axis up to the section that is nearest to a point."""
        ends = [*self.starts[1:], self.length]
        found = []
        for start, end, (R, p) in zip(self.starts, ends, self.poses):
            x = float(np.clip((R.T @ (point - p))[0], 0.0, end - start))
            found.append((float(np.linalg.norm(p + x * R[:, 0] - point)), float(start + x)))
        return min(found)[1]

    def straightened(self, x: float) -> Pose:
        """Rotation and shift that take a body on the section at `x` to where the section of a straight beam has it."""
        k = max(int(np.searchsorted(self.starts, x * (1 - 1e-12))) - 1, 0)
        R, p = self.poses[k]
        return R.T, np.array([self.starts[k], 0.0, 0.0]) - R.T @ p
