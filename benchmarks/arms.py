"""The arms that speed is quoted for: 1 m links, joint axes alternately parallel and at right angles."""

from __future__ import annotations

import numpy as np

from pliant import Beam, Joint, Link, Origin, RigidBody, Robot, Shapes

INERTIA = (0.01, 0.42, 0.42)


def arm(links: int, modes: int = 0) -> Robot:
    """`links` links of 5 kg/m with `modes` bending shapes each; rigid bodies without."""
    made = []
    for k in range(links):
        joint = Joint(origin=Origin(rpy=("pi/2", 0, 0)) if k % 2 and links > 2 else Origin())
        if modes:
            beam = Beam(length=1.0, mass_per_length=5.0, EI_y=1e3, EI_z=1e3)
            made.append(Link(name=f"link{k}", joint=joint, beam=beam, shapes=Shapes(bending_y=modes)))
        else:
            body = RigidBody(mass=5.0, com=(0.5, 0, 0), inertia=INERTIA, tip=(1, 0, 0))
            made.append(Link(name=f"link{k}", joint=joint, rigid=body))
    return Robot(name=f"{links} links, {modes} modes", links=made)


def pinocchio_arm(links: int):  # type: ignore[no-untyped-def]
    """The same rigid arm in Pinocchio: model and data."""
    import pinocchio as pin

    model, parent = pin.Model(), 0
    for k in range(links):
        R = pin.utils.rotate("x", np.pi / 2) if k % 2 and links > 2 else np.eye(3)
        place = pin.SE3(R, np.array([1.0, 0, 0]) if k else np.zeros(3))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{k}")
        body = pin.Inertia(5.0, np.array([0.5, 0, 0]), np.diag(INERTIA))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return model, model.createData()


def states(n: int, joints: int, count: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random states and torques, small amplitudes."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(count, n)) * 0.01
    q[:, :joints] = rng.normal(size=(count, joints))
    return q, rng.normal(size=(count, n)) * 0.1, rng.normal(size=(count, joints))
