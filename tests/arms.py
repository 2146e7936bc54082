"""Seeded random robots and states: spatial, rigid and flexible mixed, every joint, every shape."""

from __future__ import annotations

import numpy as np

from pliant.robot import Beam, Drive, Friction, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes

AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0), None)


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
        **({"boundary": "clamped-mass", "tip_load": "auto"} if rng.random() < 0.4 else {}),
    )  # fmt: skip


def _lump(rng: np.random.Generator, probability: float) -> Lump:
    if rng.random() > probability:
        return Lump()
    return Lump(mass=float(rng.uniform(0.1, 1.0)), inertia=(0.05, 0.06, 0.07), com=tuple(rng.normal(size=3) * 0.05))
