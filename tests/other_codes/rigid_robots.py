"""Seeded random rigid robots: chains and trees, with lumps everywhere and inertias that no axis is principal of."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant import Joint, Link, Robot
from pliant.robot import DH, BaseBody, JointAxis, Lump, Origin, RigidBody
from pliant.robot.parts.bodies.rigid_body import Payload

JOINTS = ("revolute", "prismatic", "fixed", "universal", "spherical", "cylindrical", "planar", "free")


def inertia(rng: np.random.Generator, mass: float) -> tuple[float, ...]:
    """Six numbers of a body of six random point masses."""
    points = rng.normal(size=(6, 3)) * 0.2
    points -= points.mean(axis=0)
    D = points.T @ points * mass / 6
    I = np.trace(D) * np.eye(3) - D
    return tuple(float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def lump(rng: np.random.Generator) -> Lump:
    mass = float(rng.uniform(0.1, 2.0))
    return Lump(mass=mass, com=tuple(rng.normal(size=3) * 0.1), inertia=inertia(rng, mass))


def body(rng: np.random.Generator) -> RigidBody:
    """With its tip anywhere."""
    mass = float(rng.uniform(0.5, 5.0))
    return RigidBody(
        mass=mass, com=tuple(rng.normal(size=3) * 0.2), inertia=inertia(rng, mass),
        tip=tuple(rng.normal(size=3) * 0.5), tip_rpy=tuple(rng.normal(size=3)),
    )  # fmt: skip


def place(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Where a joint stands: an origin, or a row of either DH convention."""
    if kind == "origin":
        axis = tuple(rng.normal(size=3))
        return {"axis": axis, "origin": Origin(xyz=tuple(rng.normal(size=3)), rpy=tuple(rng.normal(size=3)))}
    a, alpha, d, theta = (float(x) for x in rng.normal(size=4))
    return {"dh": DH(a=a if kind == "modified" else 0.0, alpha=alpha, d=d, theta=theta, convention=kind)}


def random_arm(seed: int, joints: int) -> Robot:
    """A spatial chain of revolute, prismatic and fixed joints, placed by origins and by DH rows, lumps everywhere."""
    rng = np.random.default_rng([7, seed])
    links = []
    for k in range(joints):
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "fixed" if k else "revolute"]))
        row = "origin" if kind == "fixed" else str(rng.choice(["origin", "modified", "standard"]))
        own = body(rng)
        joint = Joint(type=kind, hub=lump(rng), **place(rng, row))
        links.append(Link(name=f"link{k}", joint=joint, rigid=own, tip=lump(rng)))
    return Robot(name=f"rigid {seed}", gravity=tuple(rng.normal(size=3) * 9), links=links, payload=lump(rng))


def any_joint(rng: np.random.Generator, kind: str) -> Joint:
    """A joint of any type, oblique in everything that may be."""
    where = place(rng, "origin")
    own: dict[str, Any] = {"axis": where["axis"]} if kind in ("revolute", "prismatic", "cylindrical") else {}
    if kind == "universal":
        own["axes"] = [JointAxis(axis=tuple(rng.normal(size=3))) for _ in range(2)]
    return Joint(type=kind, hub=lump(rng), origin=where["origin"], **own)


def rigid_tree(seed: int, links: int) -> Robot:
    """Links on tips and roots of any before them or on the base, which flies in every other tree; joints of every type
    in turn, payloads and frames on several links."""
    rng = np.random.default_rng([8, seed])
    made: list[Link] = []
    for k in range(links):
        kind = JOINTS[(seed + 3 * k) % len(JOINTS)] if rng.random() < 0.7 else str(rng.choice(JOINTS))
        if not k and kind == "fixed":
            kind = "revolute"
        on = "base" if rng.random() < 0.15 or not k else f"link{rng.integers(k)}"
        made.append(
            Link(
                name=f"link{k}", parent=on, at="tip" if on == "base" else str(rng.choice(["tip", "tip", "root"])),
                joint=any_joint(rng, kind), rigid=body(rng), tip=lump(rng),
            )
        )  # fmt: skip
    carriers = [link.name for link in made if rng.random() < 0.4]
    loads = [Payload(link=name, **lump(rng).model_dump()) for name in carriers]
    frames = [
        {"name": f"eye{k}", "link": f"link{rng.integers(links)}", "at": ("tip", "root")[k],
         "origin": {"xyz": tuple(rng.normal(size=3)), "rpy": tuple(rng.normal(size=3))}} for k in range(2)
    ]  # fmt: skip
    mass = float(rng.uniform(2.0, 9.0))
    flying = BaseBody(type="free", mass=mass, com=tuple(rng.normal(size=3) * 0.3), inertia=inertia(rng, mass))
    return Robot(
        name=f"rigid tree {seed}", gravity=tuple(rng.normal(size=3) * 9), links=made, payload=loads, frames=frames,
        base=flying if seed % 2 else BaseBody(),
    )  # fmt: skip
