"""A satellite that tests of views and exports share: a free base, panels, an arm behind spherical and other joints."""

from __future__ import annotations

import numpy as np

from pliant.model import Model
from pliant.model.states import normalized
from pliant.robot import Beam, Drive, Joint, Link, Origin, Payload, RigidBody, Robot, Section, Shapes
from pliant.robot.parts.base import BaseBody


def satellite() -> Robot:
    """A panel at the side, a wheel without a length, an upper arm on a spherical joint, a forearm behind a drive."""
    panel = Beam(
        length=1.2, section=Section(shape="rectangle", width=0.012, height=0.5),
        material={"E": 3e9, "G": 1e9, "density": 90.0},
    )  # fmt: skip
    tube = Section(shape="tube", outer_diameter=0.05, inner_diameter=0.046)
    links = (
        Link(
            name="panel", parent="base", joint=Joint(origin=Origin(xyz=(0.0, 0.4, 0.1), rpy=(0.2, 0.0, "pi/2"))),
            beam=panel, shapes=Shapes(bending_y=2, torsion=1, damping=0.01),
        ),
        Link(
            name="wheel", parent="base", joint=Joint(axis=(1.0, 0.0, 0.0), origin=Origin(xyz=(-0.2, 0.1, 0.0))),
            rigid=RigidBody(mass=3.0, com=(0.02, 0.0, 0.01), inertia=(0.05, 0.03, 0.04, 0.0, 0.002, 0.0)),
        ),
        Link(
            name="upper", parent="base", joint=Joint(type="spherical", origin=Origin(xyz=(0.4, 0.0, -0.1))),
            beam=Beam(length=0.9, section=tube, material="aluminium"), shapes=Shapes(bending_y=1, bending_z=1),
        ),
        Link(
            name="fore", at={"x": 0.7},
            joint=Joint(axis=(0.0, 1.0, 0.0), drive=Drive(stiffness=900.0, rotor_inertia=2e-4, gear_ratio=60.0)),
            beam=Beam(length=0.6, section=tube, material="aluminium"), shapes=Shapes(bending_y=1),
        ),
    )  # fmt: skip
    base = BaseBody(type="free", mass=60.0, com=(0.05, -0.02, 0.03), inertia=(8.0, 9.0, 7.0, 0.3, -0.2, 0.1))
    payloads = (Payload(mass=1.5), Payload(mass=0.4, link="panel"))
    return Robot(name="satellite", gravity=(0.0, 0.0, 0.0), links=links, base=base, payload=payloads)


def states(model: Model, count: int, seed: int = 0) -> np.ndarray:
    """(count, n_q) with any attitudes and places, joints of a tenth and amplitudes of a hundredth."""
    rng = np.random.default_rng(seed)
    q = model.chain.rest() + 0.01 * rng.normal(size=(count, model.n_q))
    for link in model.chain.links:
        q[:, list(link.joint_places)] += rng.normal(size=(count, len(link.joint_places)))
    return normalized(model, q)
