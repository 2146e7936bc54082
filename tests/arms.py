"""Arms for tests: one that is unequal in everything, and seeded random ones, with their states.

Take `unequal_arm`, `unequal_beam` or `unequal_two_link` where a test has no reason to take another: an arm of length
one whose two planes are alike hides powers of the length, swapped planes and lost constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from pliant.robot import Beam, Drive, Friction, Joint, Link, Lump, Origin, RigidBody, Robot, Section, Shapes

BOX = Section(shape="box", width=0.03, height=0.05, thickness=0.002)
UNEQUAL = Beam(
    length=1.3, mass_per_length=2.1, EI_y=70.0, EI_z=160.0, GJ=45.0, EA=3e4, polar_inertia=0.013, rotary=(0.004, 0.009)
)
"""No number is another's, and none is one."""
SLENDER = UNEQUAL.model_copy(update={"rotary": None})
"""Without rotary inertia, which sections of a stiffened beam carry with them: a twentieth of the operations."""

MECHANISMS = ("five-bar", "hydraulic-crane", "parallelogram", "slider-crank")
"""Bundled arms with loops or cylinders, which URDF and MJCF would lose, and whose joints do not stand anywhere."""
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0), None)


def sampled(seeds: Iterable[int], *quick: int) -> list[Any]:
    """Seeds of a parametrized test: `quick` for every run of the tests, all of them for the large set."""
    return [seed if seed in quick else pytest.param(seed, marks=pytest.mark.full) for seed in seeds]


def unequal_beam(shapes: Shapes, beam: Beam = UNEQUAL, **link: Any) -> Robot:
    """One beam on a joint about z, for closed forms; no gravity."""
    return Robot(name="unequal beam", gravity=(0, 0, 0), links=[Link(name="arm", beam=beam, shapes=shapes, **link)])


def unequal_two_link() -> Robot:
    """The bundled two-link arm with nothing in it equal: it stands in for that one, name by name."""
    shapes = Shapes(boundary="clamped-free", bending_y=1)
    upper = Link(
        name="upper", beam=Beam(length=1.2, mass_per_length=4.0, EI_y=600.0, EI_z=1400.0), shapes=shapes,
        joint=Joint(hub=Lump(mass=0.2, inertia=(0.01, 0.02, 0.03))), tip=Lump(mass=0.4, com=(0.03, 0.02, 0.0)),
    )  # fmt: skip
    fore = Link(
        name="fore", beam=Beam(length=0.85, mass_per_length=5.5, EI_y=1500.0, EI_z=900.0), shapes=shapes,
        joint=Joint(origin=Origin(xyz=(0.05, -0.02, 0.0), rpy=(0.0, 0.0, 0.2))),
    )  # fmt: skip
    return Robot(name="unequal two-link arm", gravity=(0.0, -9.81, 0.0), links=[upper, fore])


def two_links(shapes: Shapes) -> Robot:
    """The unequal two-link arm with other shapes on both links."""
    data = unequal_two_link().to_dict()
    for link in data["links"]:
        link["shapes"] = shapes
    return Robot(**data)


def unequal_arm() -> Robot:
    """Two beams and a slide: oblique axes, offsets, gears, hubs, loads beside the axis, a box that is not square."""
    boom = Link(
        name="boom",
        joint=Joint(
            axis=(0.36, 0.48, 0.8), origin=Origin(xyz=(0.1, -0.2, 0.3), rpy=(0.3, -0.5, 0.7)),
            hub=Lump(mass=0.8, com=(0.02, -0.05, 0.03), inertia=(0.02, 0.03, 0.04)),
            drive=Drive(stiffness=400.0, rotor_inertia=0.002, gear_ratio=7.0, damping=0.3),
            friction=Friction(viscous=0.2),
        ),
        beam=UNEQUAL, shapes=Shapes(bending_y=2, bending_z=1, torsion=1, damping=0.01),
        tip=Lump(mass=0.4, com=(0.03, 0.04, -0.02), inertia=(0.003, 0.004, 0.005)),
    )  # fmt: skip
    fore = Link(
        name="fore",
        joint=Joint(
            axis=(0.0, 0.6, 0.8), origin=Origin(xyz=(0.05, 0.02, -0.04), rpy=(-0.4, 0.2, 1.1)),
            drive=Drive(rotor_inertia=0.003, gear_ratio=5.0), friction=Friction(viscous=0.1),
        ),
        beam=Beam(length=0.7, material="aluminium", section=BOX, rotary="section"),
        shapes=Shapes(bending_y=1, bending_z=2, damping=0.02),
    )  # fmt: skip
    hand = Link(
        name="hand",
        joint=Joint(type="prismatic", axis=(0.0, 1.0, 0.0), drive=Drive(rotor_inertia=0.4, gear_ratio=1.5)),
        rigid=RigidBody(mass=0.9, com=(0.02, 0.06, 0.01), inertia=(0.011, 0.005, 0.009), tip=(0.1, 0.25, -0.07)),
    )  # fmt: skip
    payload = Lump(mass=0.6, com=(0.01, -0.02, 0.05), inertia=(0.002, 0.0015, 0.001))
    return Robot(name="unequal arm", gravity=(1.5, -2.5, -9.0), links=[boom, fore, hand], payload=payload)


def random_robot(
    seed: int,
    links: int | None = None,
    *,
    prismatic: bool = True,
    elements: bool = True,
    drives: bool = False,
    damping: bool = True,
    bending_only: bool = False,
    all_flexible: bool = False,
) -> Robot:
    """A robot of 1 to 4 links (or `links`); the same seed gives the same robot."""
    rng = np.random.default_rng(seed)
    count = links or int(rng.integers(1, 5))
    made = []
    for k in range(count):
        flexible = all_flexible or rng.random() < 0.7 or (k == count - 1 and all(link.shapes is None for link in made))
        made.append(_link(rng, k, flexible, prismatic, elements, drives, damping, bending_only))
    return Robot(
        name=f"random-{seed}",
        gravity=tuple(rng.normal(size=3) * 5),
        links=made,
        payload=_lump(rng, 0.5),
    )


def random_state(
    robot: Robot, n: int, n_joints: int, seed: int, deflection: float = 0.02
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joint angles of order one, elastic amplitudes of `deflection`, rates of order one; q, qd, tau."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=n) * deflection
    q[:n_joints] = rng.normal(size=n_joints)
    qd = rng.normal(size=n)
    qd[n_joints:] *= deflection * 20
    return q, qd, rng.normal(size=n_joints) * 5


def _link(
    rng: np.random.Generator,
    k: int,
    flexible: bool,
    prismatic: bool,
    elements: bool,
    drives: bool,
    damping: bool,
    bending_only: bool,
) -> Link:
    axis = AXES[int(rng.integers(len(AXES)))] or tuple(rng.normal(size=3))
    kinds = ["revolute", "revolute", "revolute", "prismatic" if prismatic else "revolute", "fixed" if k else "revolute"]
    kind = kinds[int(rng.integers(len(kinds)))]
    drive = None
    if drives and kind != "fixed" and rng.random() < 0.8:
        drive = Drive(stiffness=float(rng.uniform(50, 500)), rotor_inertia=0.01, gear_ratio=5.0, damping=0.3)
    joint = Joint(
        type=kind,
        axis=axis,
        origin=Origin(xyz=tuple(rng.normal(size=3) * 0.2), rpy=tuple(rng.normal(size=3)))
        if rng.random() < 0.7
        else Origin(),
        hub=_lump(rng, 0.7),
        drive=drive,
        friction=Friction(viscous=float(rng.uniform(0, 0.5))) if damping and kind != "fixed" else Friction(),
    )
    name = f"link{k}"
    if not flexible and rng.random() < 0.6:
        body = RigidBody(
            mass=2.0,
            com=tuple(rng.normal(size=3) * 0.1),
            inertia=(0.1, 0.12, 0.15),
            tip=tuple(rng.normal(size=3) * 0.4),
        )
        return Link(name=name, joint=joint, rigid=body, tip=_lump(rng, 0.5))
    beam = Beam(
        length=float(rng.uniform(0.5, 1.5)), mass_per_length=float(rng.uniform(1, 4)),
        EI_y=float(rng.uniform(50, 200)), EI_z=float(rng.uniform(50, 200)), GJ=float(rng.uniform(50, 200)),
        EA=float(rng.uniform(1e4, 5e4)), polar_inertia=float(rng.uniform(0.01, 0.05)),
        rotary=(float(rng.uniform(0, 0.02)), float(rng.uniform(0, 0.02))) if rng.random() < 0.4 else None,
    )  # fmt: skip
    shapes = _shapes(rng, elements, damping, bending_only) if flexible else None
    return Link(name=name, joint=joint, beam=beam, shapes=shapes, tip=_lump(rng, 0.5))


def _shapes(rng: np.random.Generator, elements: bool, damping: bool, bending_only: bool) -> Shapes:
    ratio = 0.01 if damping else 0.0
    if elements and rng.random() < 0.3:
        which = rng.random(3) < 0.5
        return Shapes(
            method="elements", count=int(rng.integers(1, 3)), bending_y=True, bending_z=bool(which[0]),
            torsion=bool(which[1]) and not bending_only, axial=bool(which[2]) and not bending_only, damping=ratio,
        )  # fmt: skip
    y, z, t, a = (int(x) for x in rng.integers(0, 3, size=4))
    return Shapes(
        bending_y=max(y, 1), bending_z=z, torsion=0 if bending_only else t, axial=0 if bending_only else a,
        damping=ratio,
        **({"boundary": "clamped-mass", "tip_load": "auto"} if rng.random() < 0.4 else {"boundary": "clamped-free"}),
    )  # fmt: skip


def _lump(rng: np.random.Generator, probability: float) -> Lump:
    if rng.random() > probability:
        return Lump()
    return Lump(mass=float(rng.uniform(0.1, 1.0)), inertia=(0.05, 0.06, 0.07), com=tuple(rng.normal(size=3) * 0.05))
