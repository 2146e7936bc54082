"""A rigid robot rebuilt in Pinocchio from its description alone: no number passes through pliant's chain.

Coordinates and speeds of the two, which `Twin` takes to each other:

| joint | pliant | Pinocchio |
| --- | --- | --- |
| revolute, prismatic | one coordinate, its rate | the same |
| universal, cylindrical | two of them | two joints in a row, the first without a body |
| planar | x, y along axes of the predecessor, angle; their rates | x, y, cos, sin; velocity in *moved* axes, rate |
| spherical | quaternion w, x, y, z; angular velocity in moved axes | quaternion x, y, z, w; the same velocity |
| free | x, y, z, quaternion w, x, y, z; [angular; linear], moved axes | x, y, z, w; [linear; angular], moved axes |

Joints stand in Pinocchio depth first, in pliant as in the file, so that every number is found by its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from pliant import Robot

Array = Any


@dataclass
class Twin:
    """Pinocchio's model, its frames by pliant's names, and where the coordinates of each joint stand."""

    model: Any
    frames: dict[str, int] = field(default_factory=dict)
    joints: list[tuple[str, str, int]] = field(default_factory=list)
    """(pliant's name, kind, Pinocchio's number) of every joint."""

    def configuration(self, q: dict[str, float]) -> Array:
        """Pinocchio's configuration from pliant's coordinates by name."""
        out = pin.neutral(self.model)
        for name, kind, number in self.joints:
            first = self.model.joints[number].idx_q
            if kind == "planar":
                angle = q[f"{name}.angle"]
                out[first : first + 4] = q[f"{name}.x"], q[f"{name}.y"], np.cos(angle), np.sin(angle)
            elif kind in ("spherical", "free"):
                place = [q[f"{name}.{x}"] for x in ("x", "y", "z")] if kind == "free" else []
                turn = [q[f"{name}.{x}"] for x in ("qx", "qy", "qz", "qw")]  # w stands last
                out[first : first + len(place) + 4] = [*place, *turn]
            else:
                out[first] = q[name]
        return out

    def change(self, q: dict[str, float], speeds: tuple[str, ...]) -> Array:
        """T of v_pinocchio = T v_pliant."""
        T = np.zeros((self.model.nv, len(speeds)))
        for name, kind, number in self.joints:
            first = self.model.joints[number].idx_v
            if kind == "planar":
                x, y = speeds.index(f"{name}.x"), speeds.index(f"{name}.y")
                c, s = np.cos(q[f"{name}.angle"]), np.sin(q[f"{name}.angle"])
                T[first, [x, y]], T[first + 1, [x, y]] = (c, s), (-s, c)  # into the moved axes: R(angle)^T
                T[first + 2, speeds.index(f"{name}.angle")] = 1.0
            else:
                # linear before angular in Pinocchio
                parts = {"spherical": ("wx", "wy", "wz"), "free": ("vx", "vy", "vz", "wx", "wy", "wz")}.get(kind)
                for k, whole in enumerate([name] if parts is None else [f"{name}.{part}" for part in parts]):
                    T[first + k, speeds.index(whole)] = 1.0
        return T

    def drift(self, q: dict[str, float], v: dict[str, float]) -> Array:
        """(dT/dt) v: the moved axes of a planar joint turn, and with them the velocity that Pinocchio has."""
        out = np.zeros(self.model.nv)
        for name, kind, number in self.joints:
            if kind == "planar":
                first, rate = self.model.joints[number].idx_v, v[f"{name}.angle"]
                c, s = np.cos(q[f"{name}.angle"]), np.sin(q[f"{name}.angle"])
                out[first : first + 2] = rate * np.array([[-s, c], [-c, -s]]) @ [v[f"{name}.x"], v[f"{name}.y"]]
        return out


def twin(robot: Robot) -> Twin:
    """Of a chain or a tree of rigid links on a fixed or a free base."""
    made = Twin(pin.Model())
    made.model.gravity.linear = np.array(robot.gravity)
    parent = 0
    if robot.base.is_free:
        parent = _moving(made, 0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base", "free")
        made.model.appendBodyToJoint(parent, _inertia(robot.base), pin.SE3.Identity())
    _hang(made, robot, None, {"tip": (parent, pin.SE3.Identity()), "root": (parent, pin.SE3.Identity())})
    made.frames["tip"] = made.frames[f"{robot.links[-1].name}.tip"]
    return made


def _hang(made: Twin, robot: Robot, carrier: str | None, places: dict[str, tuple[int, Any]]) -> None:
    """All that a link carries, branch after branch: Pinocchio wants its joints depth first."""
    for k, link in enumerate(robot.links):
        on = link.parent or (robot.links[k - 1].name if k else "base")
        if on != (carrier or "base"):
            continue
        parent, place = places[link.at]
        joint, body = link.joint, link.rigid
        place = place * _origin(joint)
        for name, kind, model in _moves(link.name, joint):
            parent, place = _moving(made, parent, model, place, name, kind), pin.SE3.Identity()
        root = place
        made.model.appendBodyToJoint(parent, _inertia(joint.hub), root)
        made.model.appendBodyToJoint(parent, _inertia(body), root)
        tip = root * pin.SE3(pin.rpy.rpyToMatrix(*body.tip_rpy), np.array(body.tip))
        if joint.dh is not None and joint.dh.convention == "standard":
            tip = tip * pin.SE3(pin.utils.rotate("x", joint.dh.alpha), np.zeros(3))
        made.model.appendBodyToJoint(parent, _inertia(link.tip), tip)
        for load in robot.payloads:
            if (load.link or robot.links[-1].name) == link.name:
                made.model.appendBodyToJoint(parent, _inertia(load), tip)
        found = {f"{link.name}.root": root, f"{link.name}.tip": tip}
        for frame in robot.frames:
            if frame.link == link.name:
                away = pin.SE3(pin.rpy.rpyToMatrix(*frame.origin.rpy), np.array(frame.origin.xyz))
                found[frame.name] = {"root": root, "tip": tip}[frame.at] * away
        for name, where in found.items():
            made.frames[name] = made.model.addFrame(pin.Frame(name, parent, 0, where, pin.FrameType.OP_FRAME))
        _hang(made, robot, link.name, {"tip": (parent, tip), "root": (parent, root)})


def _moves(name: str, joint: Any) -> list[tuple[str, str, Any]]:
    """(pliant's name, kind, Pinocchio's joint) for what a joint is made of, in a row."""
    turn, slide = pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned
    axis = np.array(joint.axis)
    if joint.type == "universal":
        first, second = (np.array(entry.axis) for entry in joint.axes)
        return [(f"{name}.first", "one", turn(first)), (f"{name}.second", "one", turn(second))]
    return {
        "fixed": [],
        "revolute": [(name, "one", turn(axis))],
        "prismatic": [(name, "one", slide(axis))],
        "cylindrical": [(f"{name}.slide", "one", slide(axis)), (f"{name}.turn", "one", turn(axis))],
        "planar": [(name, "planar", pin.JointModelPlanar())],
        "spherical": [(name, "spherical", pin.JointModelSpherical())],
        "free": [(name, "free", pin.JointModelFreeFlyer())],
    }[joint.type]


def _moving(made: Twin, parent: int, model: Any, place: Any, name: str, kind: str) -> int:
    number: int = made.model.addJoint(parent, model, place, name)
    made.joints.append((name, kind, number))
    return number


def _origin(joint: Any) -> Any:
    dh = joint.dh
    if dh is None:
        return pin.SE3(pin.rpy.rpyToMatrix(*joint.origin.rpy), np.array(joint.origin.xyz))
    Rx, Rz = pin.utils.rotate("x", dh.alpha), pin.utils.rotate("z", dh.theta)
    if dh.convention == "standard":
        return pin.SE3(Rz, np.zeros(3)) * pin.SE3(np.eye(3), np.array([0.0, 0.0, dh.d]))
    return pin.SE3(Rx, np.zeros(3)) * pin.SE3(np.eye(3), np.array([dh.a, 0.0, dh.d])) * pin.SE3(Rz, np.zeros(3))


def _inertia(body: Any) -> Any:
    """Of a lump or a rigid body, about its center of mass."""
    xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(body.mass, np.array(body.com), I)
