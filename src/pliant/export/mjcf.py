"""A robot as a MuJoCo model (MJCF): rigid bodies, and beams as chains of bodies with springs."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from pliant.algebra.quaternions import from_matrix
from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.export.spring_chains import FIRST, WORLD, ChainBody, SpringChain, SpringJoint, cut, damp
from pliant.model.robot import Robot
from pliant.robot.closed_chains import require_tree
from pliant.robot.files.unique_names import UniqueNames
from pliant.version import VERSION

DEEPEST = 450
"""Most bodies in one another that MuJoCo's reader of XML takes."""
LONGEST_STEP, STEP = 2e-3, 0.5
"""s, and the product of step and highest frequency (rad/s): springs are stable up to 2."""


def mjcf_text(robot: Robot, bodies: int | None = None, error: float = 0.01) -> str:
    """Write the robot as an MJCF document; `Robot.to_mjcf` describes its elements."""
    require_tree(robot, "MJCF")
    made, said, M = cut(robot, bodies, error)
    _require_flat(made)
    damp(made, M)
    writer = _Mjcf(made, M)
    root = writer.model()
    comment = [f"A robot as rigid bodies and springs, written by pliant {VERSION}."]
    if any(joint.owner for joint in made.joints):
        comment.append(
            f"Beams are chains of bodies, {made.count} springs per link. Stated error of the first {FIRST} frequencies "
            f"(q = 0, no gravity, joints held and free): {100 * max(said, error if bodies is None else said):.2g} %."
        )
    comment += [f"- {note}" for note in writer.notes]
    root.insert(0, ET.Comment("\n  " + "\n  ".join(comment).replace("--", "- -") + "\n"))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _require_flat(chain: SpringChain) -> None:
    depth: list[int] = []
    for body in chain.bodies:
        depth.append(1 if body.parent is None else depth[body.parent] + 1)
    if max(depth) > DEEPEST:
        raise ModelError(
            f"to_mjcf: {max(depth)} bodies one behind the other; MuJoCo reads at most {DEEPEST}; ask for fewer `bodies`"
        )


class _Mjcf:
    """Write elements, and notes about differences from the robot."""

    def __init__(self, chain: SpringChain, M: Array) -> None:
        self.chain, self.notes = chain, ["Torques of motors act on the link's side of the gear."]
        self.joint_names = UniqueNames(joint.name for joint in chain.joints)
        springy = chain.per_speed("stiffness").any()
        highest = max(float(np.sqrt(chain.squares(M, locked)[-1])) for locked in (True, False)) if springy else 0.0
        step = min(LONGEST_STEP, STEP / highest) if highest else LONGEST_STEP
        digits = 10.0 ** (math.floor(math.log10(step)) - 1)
        self.step = math.floor(step / digits) * digits
        if any(joint.owner and joint.damping for joint in chain.joints):
            self.notes.append(
                "Dampers of beams are in proportion to their springs; a damping ratio holds for the first mode of each "
                "field of a link, root held, and grows with frequency."
            )
        if WORLD in (link.name for link in chain.robot.links):
            self.notes.append(f"link {WORLD}: its body has another name, since MuJoCo calls the ground so.")
        for owner in chain.raised:
            self.notes.append(
                f"link {owner}: moments of inertia across an axis are raised, since one about it alone is of no body."
            )
        for name in (f.name for f in chain.robot.links if any(x.friction.coulomb for x in f.joint.freedoms)):
            self.notes.append(f"link {name}: Coulomb friction is `frictionloss`, without coulomb_speed and bristle.")
        for name, freedom in chain.robot.freedoms.items():
            if freedom.limits is not None and freedom.limits.stop is not None:
                self.notes.append(
                    f"joint {name}: its limits are MuJoCo's own, without stiffness and damping of the stop."
                )

    def model(self) -> ET.Element:
        """Root element with the whole model."""
        robot = self.chain.robot
        root = ET.Element("mujoco", model=robot.name)
        ET.SubElement(root, "compiler", angle="radian", autolimits="true")
        ET.SubElement(
            root, "option", gravity=_numbers(robot.gravity), integrator="implicitfast", timestep=f"{self.step:.2g}"
        )
        default = ET.SubElement(root, "default")
        ET.SubElement(default, "geom", type="capsule", contype="0", conaffinity="0", mass="0")
        world = ET.SubElement(root, "worldbody")
        made: list[ET.Element] = []
        for body in self.chain.bodies:
            made.append(self._body(world if body.parent is None else made[body.parent], body))
        for name, number, (R, p) in self.chain.frames:
            onto = world if number is None else made[number]
            ET.SubElement(onto, "site", name=name, pos=_numbers(p), quat=_quaternion(R))
        self._tendons(root)
        self._actuators(root)
        return root

    def _body(self, above: ET.Element, body: ChainBody) -> ET.Element:
        own = ET.SubElement(above, "body", name=body.name, pos=_numbers(body.pose[1]))
        if not np.array_equal(body.pose[0], np.eye(3)):
            own.set("quat", _quaternion(body.pose[0]))
        nested = body.parent is not None
        moves = False
        for joint in body.joints:
            moves = True
            self._joint(own, joint, nested)
        if body.mass or moves:
            self._inertial(own, body)
        if body.end.any():
            size = body.radius or float(np.linalg.norm(body.end)) / 20
            ET.SubElement(own, "geom", fromto=_numbers([*np.zeros(3), *body.end]), size=_numbers([size]))
        return own

    def _joint(self, own: ET.Element, joint: SpringJoint, nested: bool) -> None:
        if joint.kind == "free" and not nested:
            ET.SubElement(own, "freejoint", name=joint.name)
            return
        if joint.kind == "free":  # MuJoCo has free joints on the ground alone
            for axis, along in zip("xyz", np.eye(3)):
                ET.SubElement(
                    own, "joint", name=self.joint_names.give(f"{joint.name}_{axis}"), type="slide", axis=_numbers(along)
                )
        if joint.kind in ("free", "ball"):
            ET.SubElement(own, "joint", name=joint.name, type="ball")
            return
        made = ET.SubElement(own, "joint", name=joint.name, type=joint.kind, axis=_numbers(joint.axis))
        if joint.pos.any():
            made.set("pos", _numbers(joint.pos))
        for name in ("stiffness", "damping", "armature"):
            if getattr(joint, name):
                made.set(name, _numbers([getattr(joint, name)]))
        if joint.role == "joint":
            friction = joint.coordinate.friction
            self._rubs(made, friction.viscous, friction.coulomb, joint.coordinate.limits)

    def _rubs(self, made: ET.Element, viscous: float, coulomb: float, limits: object) -> None:
        if viscous:
            made.set("damping", _numbers([viscous]))
        if coulomb:
            made.set("frictionloss", _numbers([coulomb]))
        lower, upper = (getattr(limits, key, None) for key in ("lower", "upper"))
        if lower is not None or upper is not None:
            made.set("range", _numbers([-1e9 if lower is None else lower, 1e9 if upper is None else upper]))

    def _tendons(self, root: ET.Element) -> None:
        """The position of a joint behind an elastic drive is the sum of two, on which friction and limits act."""
        group = ET.Element("tendon")
        joints = self.chain.joints
        for motor, joint in pairwise(joints):  # that of a drive stands behind that of its motor
            if joint.role != "drive":
                continue
            free = joint.coordinate
            bounded = free.limits is not None and (free.limits.lower is not None or free.limits.upper is not None)
            if not (free.friction.viscous or free.friction.coulomb or bounded):
                continue
            both = ET.SubElement(group, "fixed", name=f"{joint.name}_link")
            self._rubs(both, free.friction.viscous, free.friction.coulomb, free.limits)
            for name in (motor.name, joint.name):
                ET.SubElement(both, "joint", joint=name, coef="1")
        if len(group):
            root.append(group)

    def _actuators(self, root: ET.Element) -> None:
        group = ET.SubElement(root, "actuator")
        names = UniqueNames(joint.name for joint in self.chain.joints if joint.kind != "ball")
        for joint in self.chain.joints:
            if joint.kind == "ball" and joint.role == "joint":
                for axis, gear in zip("xyz", ("1 0 0 0 0 0", "0 1 0 0 0 0", "0 0 1 0 0 0")):
                    ET.SubElement(group, "motor", name=names.give(f"{joint.name}_w{axis}"), joint=joint.name, gear=gear)
            elif joint.role in ("joint", "motor"):
                made = ET.SubElement(group, "motor", name=joint.name, joint=joint.name)
                limits = joint.coordinate.limits
                if limits is not None and limits.effort:
                    made.set("ctrlrange", _numbers([-limits.effort, limits.effort]))

    def _inertial(self, own: ET.Element, body: ChainBody) -> None:
        m, com, I = body.mass.about_com()
        values = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        ET.SubElement(own, "inertial", pos=_numbers(com), mass=_numbers([m]), fullinertia=_numbers(values))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{float(value) + 0.0:.17g}" for value in values)


def _quaternion(R: Array) -> str:
    return _numbers(from_matrix(R))
