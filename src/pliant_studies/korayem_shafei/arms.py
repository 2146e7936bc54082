"""Arms and starting positions of [KS09]."""

from __future__ import annotations

import numpy as np

from pliant.model.robot import Robot
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.joint import Joint, Origin
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import Shapes

START = (-np.pi / 2, np.radians(5.0))
LINKS = ("upper", "fore")
HANGING = (-np.pi / 2, 0.0)


def counted_arm(n: int, n_f: int, m: int) -> Robot:
    """`n` links, the outer `n_f` with `m` shapes over bending in two planes and torsion, each turned by 90 deg."""
    fields: dict[str, int] = dict(zip(("bending_y", "bending_z", "torsion"), [1] * m))
    beam = Beam(length=1.0, mass_per_length=5.0, EI_y=1000, EI_z=900, GJ=800, EA=1e7, polar_inertia=0.01)
    return Robot(
        name=f"{n} links, {n_f} flexible, {m} shapes",
        links=[
            Link(
                name=f"link{k}",
                joint=Joint(origin=Origin(rpy=("pi/2" if k % 2 else 0.0, 0.0, 0.0))),
                beam=beam,
                shapes=Shapes(boundary="clamped-free", **fields) if k >= n - n_f else None,
            )
            for k in range(n)
        ],
    )
