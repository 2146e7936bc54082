"""Rigid arms in Pinocchio, MuJoCo and Exudyn, from plain numbers.

This page imports nothing of pliant: fresh processes run it by its path, so that a peer's start-up is its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

Row = tuple[float, ...]


@dataclass(frozen=True)
class RigidJoint:
    """A joint about z and the body behind it; lengths in m, the inertia about the center of mass, all row by row."""

    rotation: Row  # (9,) of the joint frame at rest, in the frame of the joint before
    offset: Row  # (3,)
    mass: float
    com: Row  # (3,)
    inertia: Row  # (9,)


@dataclass(frozen=True)
class RigidChain:
    """Joints from the base outwards."""

    joints: tuple[RigidJoint, ...]
    gravity: Row

    def to_json(self) -> str:
        """Return the task as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RigidChain:
        """Read a task from the text of `to_json`."""
        data = json.loads(text)
        joints = tuple(
            RigidJoint(tuple(j["rotation"]), tuple(j["offset"]), j["mass"], tuple(j["com"]), tuple(j["inertia"]))
            for j in data["joints"]
        )
        return cls(joints, tuple(data["gravity"]))


def pinocchio_arm(chain: RigidChain) -> tuple[Any, Any]:
    """Pinocchio's model and data."""
    import pinocchio as pin

    model, parent = pin.Model(), 0
    model.gravity.linear = np.array(chain.gravity)
    for k, joint in enumerate(chain.joints):
        place = pin.SE3(np.reshape(joint.rotation, (3, 3)), np.array(joint.offset))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{k}")
        body = pin.Inertia(joint.mass, np.array(joint.com), np.reshape(joint.inertia, (3, 3)))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return model, model.createData()


def mujoco_arm(chain: RigidChain, step: float = 1e-3) -> tuple[Any, Any]:
    """MuJoCo's model and data, with contacts and constraints switched off, RK4."""
    import mujoco

    text = [
        f'<mujoco><compiler angle="radian"/><option gravity="{_words(chain.gravity)}" timestep="{step}" '
        'integrator="RK4"><flag contact="disable" constraint="disable"/></option><worldbody>'
    ]
    for joint in chain.joints:
        R, inertia = np.reshape(joint.rotation, (3, 3)), np.reshape(joint.inertia, (3, 3))
        upper = (inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2])
        text.append(
            f'<body pos="{_words(joint.offset)}" xyaxes="{_words((*R[:, 0], *R[:, 1]))}"><joint axis="0 0 1"/>'
            f'<inertial pos="{_words(joint.com)}" mass="{joint.mass!r}" fullinertia="{_words(upper)}"/>'
        )
    model = mujoco.MjModel.from_xml_string("".join(text) + "</body>" * len(chain.joints) + "</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def _words(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)


def exudyn_arm(chain: RigidChain, q: Any, qd: Any) -> tuple[Any, Any, int]:
    """Exudyn's container, its system with a kinematic tree that starts at (q, qd), and a sensor of the angles."""
    import exudyn as exu
    import exudyn.itemInterface as items

    n = len(chain.joints)
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    node = mbs.AddNode(
        items.NodeGenericODE2(
            numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n, initialCoordinates=list(q),
            initialCoordinates_t=list(qd),
        )
    )  # fmt: skip
    mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node, gravity=list(chain.gravity), jointTypes=[exu.JointType.RevoluteZ] * n,
            linkParents=list(range(-1, n - 1)),
            jointTransformations=exu.Matrix3DList([np.reshape(j.rotation, (3, 3)) for j in chain.joints]),
            jointOffsets=exu.Vector3DList([list(j.offset) for j in chain.joints]),
            linkInertiasCOM=exu.Matrix3DList([np.reshape(j.inertia, (3, 3)) for j in chain.joints]),
            linkCOMs=exu.Vector3DList([list(j.com) for j in chain.joints]),
            linkMasses=[j.mass for j in chain.joints],
        )
    )  # fmt: skip
    sensor = mbs.AddSensor(
        items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=exu.OutputVariableType.Coordinates)
    )
    mbs.Assemble()
    return container, mbs, int(sensor)


def exudyn_settings(t_end: float, step: float, output_step: float) -> Any:
    """A run of fixed steps without files and words, histories kept in memory. Exudyn 1.13 renamed some settings."""
    import exudyn as exu

    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(t_end / step)
    settings.timeIntegration.endTime = t_end
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = output_step
    return settings
