"""Arms for which speed is quoted: 1 m links, joint axes alternately parallel and at right angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.model.robot import Robot
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.bodies.rigid_body import RigidBody
from pliant.robot.parts.joint import Joint, Origin
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import Shapes
from pliant_bench.rigid_peers import RigidChain, RigidJoint


def arm(links: int, modes: int = 0) -> Robot:
    """`links` links of 5 kg/m with `modes` bending shapes each; rigid bodies without."""
    made = []
    for k in range(links):
        joint = Joint(origin=Origin(rpy=("pi/2", 0, 0)) if k % 2 and links > 2 else Origin())
        if modes:
            beam = Beam(length=1.0, mass_per_length=5.0, EI_y=1e3, EI_z=1e3)
            made.append(
                Link(name=f"link{k}", joint=joint, beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=modes))
            )
        else:
            body = RigidBody(mass=5.0, com=(0.5, 0, 0), inertia=(0.01, 0.42, 0.42), tip=(1, 0, 0))
            made.append(Link(name=f"link{k}", joint=joint, rigid=body))
    return Robot(name=f"{links} links, {modes} modes", links=made)


def rigid_chain(robot: Robot) -> RigidChain:
    """The numbers of a rigid arm whose joints turn about z, for peers; `UnsupportedModel` for any other."""
    from pliant.mechanics.links.builders.build_chain import build_chain

    joints = []
    R, p = np.eye(3), np.zeros(3)
    for link in build_chain(robot).links:
        if link.joint.turning != ((0.0, 0.0, 1.0),) or link.joint.slides or link.flexible:
            raise UnsupportedModel(f"links.{link.name}: peers are given rigid links on revolute joints about z")
        p = p + R @ _numbers(link.joint.origin).ravel()
        R = R @ _numbers(link.joint.origin_rotation.matrix)
        body: Any = link.body
        m, s, D = float(body.inertia.m), _numbers(body.inertia.s).ravel(), _numbers(body.inertia.D)
        com = s / m if m else np.zeros(3)
        inertia = np.trace(D) * np.eye(3) - D - m * (com @ com * np.eye(3) - np.outer(com, com))
        joints.append(RigidJoint(_row(R), _row(p), m, _row(com), _row(inertia)))
        R, p = _numbers(body.tip_rotation.matrix), _numbers(body.tip_position).ravel()
    return RigidChain(tuple(joints), tuple(robot.gravity))


def _numbers(x: Any) -> Array:
    import casadi as ca

    return np.array(ca.DM(x), dtype=float)


def _row(x: Array) -> tuple[float, ...]:
    return tuple(x.ravel().tolist())


def states(n: int, joints: int, count: int = 1) -> tuple[Array, Array, Array]:
    """Random states and torques, small amplitudes."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(count, n)) * 0.01
    q[:, :joints] = rng.normal(size=(count, joints))
    return q, rng.normal(size=(count, n)) * 0.1, rng.normal(size=(count, joints))
