"""Free-flying arms for tests: unequal in all that could hide a mistake, and what their base rows say of momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant import Model
from pliant.robot import Beam, Drive, Frame, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes

BODY = {"type": "free", "mass": 40.0, "com": [0.1, -0.2, 0.05], "inertia": [9.0, 14.0, 11.0]}


def satellite(damping: float = 0.0, ball: bool = True, **changes: object) -> Robot:
    """A free base with a flexible arm of two links, one behind an elastic drive, a panel, and a camera on a ball."""
    beam = Beam(length=1.4, mass_per_length=1.1, EI_y=900.0, EI_z=600.0, GJ=500.0, polar_inertia=0.004)
    fore = Beam(length=0.9, mass_per_length=0.8, EI_y=300.0, EI_z=420.0)
    panel = Beam(length=2.1, mass_per_length=1.6, EI_y=500.0, EI_z=90.0)
    drive = Drive(stiffness=900.0, rotor_inertia=2e-3, gear_ratio=8.0, damping=0.3 if damping else 0.0)
    camera = Joint(type="spherical", origin=Origin(xyz=(0.1, 0.0, 0.2), rpy=(0.2, 0.4, -0.3)))
    links = [
        Link(name="upper", joint=Joint(axis=(0.2, 1.0, 0.1), origin=Origin(xyz=(0.4, 0.1, 0.3), rpy=(0.3, -0.2, 0.5)),
                                       hub=Lump(mass=0.7, inertia=(0.01, 0.02, 0.015))),
             beam=beam, shapes=Shapes(bending_y=2, bending_z=1, torsion=1, damping=damping)),
        Link(name="fore", joint=Joint(axis=(0.0, 0.3, 1.0), drive=drive), beam=fore,
             shapes=Shapes(bending_y=1, bending_z=1, damping=damping),
             tip=Lump(mass=1.3, com=(0.05, 0.02, 0.0), inertia=(0.01, 0.03, 0.02))),
        Link(name="panel", parent="base", joint=Joint(type="fixed", origin=Origin(xyz=(-0.5, 0.2, 0), rpy=(0, 0, 2.8))),
             beam=panel, shapes=Shapes(bending_y=1, bending_z=1, damping=damping)),
    ]  # fmt: skip
    if ball:
        body = RigidBody(mass=0.9, com=(0.1, 0.02, -0.05), inertia=(0.006, 0.009, 0.008), tip=(0.2, 0.0, 0.0))
        links.append(Link(name="camera", parent="upper", at={"x": 0.9}, joint=camera, rigid=body))
    given = {"gravity": (0.0, 0.0, 0.0), "base": BODY, **changes}
    port = Frame(name="port", link="base", origin=Origin(xyz=(0.2, 0.3, -0.1), rpy=(0.1, 0.0, 0.4)))
    frames = [port] if given["base"]["type"] == "free" else []  # type: ignore[index]
    return Robot(name="satellite", links=links, frames=frames, **given)  # type: ignore[arg-type]


def small(ball: bool = True, **changes: object) -> Robot:
    """A free body with a link, and a ball joint behind it, rigid."""
    body = RigidBody(mass=1.0, com=(0.3, 0, 0.1), inertia=(0.02, 0.05, 0.06), tip=(0.5, 0, 0))
    links = [Link(name="arm", joint=Joint(axis=(0.1, 1, 0.3)), rigid=body)]
    if ball:
        body = RigidBody(mass=0.4, com=(0.2, 0.05, -0.1), inertia=(0.02, 0.03, 0.04))
        links.append(Link(name="ball", joint=Joint(type="spherical"), rigid=body))
    base = {"type": "free", "mass": 3.0, "com": [0.1, -0.2, 0.05], "inertia": [0.5, 0.9, 0.7]}
    return Robot(name="small", links=links, **{"gravity": (0.0, 0.0, 0.0), "base": base, **changes})  # type: ignore[arg-type]


def states(model: Model, rng: np.random.Generator, count: int | None = None) -> tuple[NDArray, NDArray]:
    """Random states (count, n_q) and (count, n): joints anywhere, small amplitudes."""
    found = []
    for _ in range(count or 1):
        q = 0.01 * rng.normal(size=model.n_q)
        for link in model.chain.links:
            q[list(link.joint_places)] = rng.normal(size=len(link.joint_places))
        for first in model.chain.quaternions:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        found.append((model.chain.followed(q), model.chain.following(0.3 * rng.normal(size=model.n))))
    q, qd = (np.array(x) for x in zip(*found))
    return (q, qd) if count else (q[0], qd[0])


def world_momentum(model: Model, q: NDArray, qd: NDArray) -> NDArray:
    """(6,) [angular about the origin of the world; linear], from the rows of the free base: what they say is the
    momentum about its origin, in its axes."""
    p, R = model.pose(q, frame="base")[:3, 3], model.pose(q, frame="base")[:3, :3]
    rows = (model.mass_matrix(q) @ qd)[:6]
    linear = R @ rows[3:]
    return np.concatenate([R @ rows[:3] + np.cross(p, linear), linear])


def displaced(model: Model, q: NDArray, step: NDArray) -> NDArray:
    """The state a small step along the speeds away, by rotation vectors."""
    from scipy.spatial.transform import Rotation

    out = q.copy()
    for link in model.chain.links:
        places, moved = list(link.joint_places), step[list(link.joint_indices)]
        if link.joint.is_ball:
            turn = Rotation.from_quat(q[places[-4:]], scalar_first=True)
            out[places[-4:]] = (turn * Rotation.from_rotvec(moved[:3])).as_quat(scalar_first=True)
            out[places[:-4]] += turn.apply(moved[3:]) if len(moved) == 6 else 0
        else:
            out[places] += moved
        out[list(link.body_places)] += step[list(link.body_indices)]
        for shaft in link.shafts:
            if shaft.drive is not None:
                out[shaft.drive.place] += step[shaft.drive.index]
    return out
