"""Arms to run in batches, and where they start."""

from __future__ import annotations

import numpy as np

from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.robot import Limits, Origin


def two_links(limits: Limits | None = None) -> Robot:
    """A planar arm with a mode in each link."""
    beams = {
        "upper": Beam(length=1.2, mass_per_length=4.0, EI_y=600, EI_z=1400, GJ=800, EA=1e7),
        "fore": Beam(length=0.85, mass_per_length=5.5, EI_y=1500, EI_z=900, GJ=700, EA=2e7),
    }
    links = [
        Link(name=name, joint=Joint(limits=limits), beam=beam, shapes=Shapes(bending_y=1, damping=0.01))
        for name, beam in beams.items()
    ]
    return Robot(name="two links", gravity=(0, -9.81, 0), links=links)


def spatial() -> Robot:
    """Two links at right angles, bending in both planes."""
    beam = Beam(length=0.8, mass_per_length=3.0, EI_y=200, EI_z=300, GJ=100, EA=1e5, polar_inertia=0.01)
    both, one = (Shapes(boundary="clamped-free", bending_y=1, bending_z=count) for count in (1, 0))
    turned = Joint(origin=Origin(rpy=(np.pi / 2, 0, 0)))
    links = [Link(name="upper", beam=beam, shapes=both), Link(name="fore", joint=turned, beam=beam, shapes=one)]
    return Robot(name="spatial", links=links)


def starts(model, arms: int, seed: int = 0) -> np.ndarray:
    """Joints anywhere, deflections of a hundredth."""
    q = np.random.default_rng(seed).normal(size=(arms, model.n)) * 0.01
    q[:, : model.n_joints] *= 100
    return q
