"""A rigid robot rebuilt in Pinocchio from its description alone: no number passes through pliant's chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from pliant import Robot


def twin(robot: Robot) -> tuple[Any, int]:
    """Pinocchio's model and the id of its tip frame."""
    model, parent, place = pin.Model(), 0, pin.SE3.Identity()
    model.gravity.linear = np.array(robot.gravity)
    for k, link in enumerate(robot.links):
        joint = link.joint
        place = place * _origin(joint)
        axis = np.array(joint.axis)
        if joint.type != "fixed":
            kind = pin.JointModelRevoluteUnaligned if joint.type == "revolute" else pin.JointModelPrismaticUnaligned
            parent, place = model.addJoint(parent, kind(axis), place, link.name), pin.SE3.Identity()
        model.appendBodyToJoint(parent, _inertia(joint.hub), place)
        body = link.rigid
        model.appendBodyToJoint(parent, _inertia(body), place)
        place = place * pin.SE3(pin.rpy.rpyToMatrix(*body.tip_rpy), np.array(body.tip))
        if joint.dh is not None and joint.dh.convention == "standard":
            place = place * pin.SE3(pin.utils.rotate("x", joint.dh.alpha), np.zeros(3))
        model.appendBodyToJoint(parent, _inertia(link.tip), place)
        if k == len(robot.links) - 1:
            model.appendBodyToJoint(parent, _inertia(robot.payload), place)
    tip = model.addFrame(pin.Frame("tip", parent, 0, place, pin.FrameType.OP_FRAME))
    return model, tip


def _origin(joint: Any) -> Any:
    dh = joint.dh
    if dh is None:
        return pin.SE3(pin.rpy.rpyToMatrix(*joint.origin.rpy), np.array(joint.origin.xyz))
    Rx, Rz = pin.utils.rotate("x", dh.alpha), pin.utils.rotate("z", dh.theta)
    if dh.convention == "standard":
        return pin.SE3(Rz, np.zeros(3)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, dh.d]))
    return pin.SE3(Rx, np.zeros(3)) * pin.SE3(np.eye(3), np.array([dh.a, 0.0, dh.d])) * pin.SE3(Rz, np.zeros(3))


def _inertia(body: Any) -> Any:
    """Of a lump or a rigid body, about its centre of mass."""
    xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(body.mass, np.array(body.com), I)
