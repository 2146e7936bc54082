"""URDF out: the rigid skeleton of a robot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from pliant.arrays import Array
from pliant.errors import UnsupportedModel, warn_user
from pliant.robot.description import RobotDescription
from pliant.robot.files.unique_names import UniqueNames
from pliant.robot.files.urdf import UNLIMITED
from pliant.robot.files.urdf_text import GRAVITY
from pliant.robot.mass_sum import MassSum
from pliant.robot.parts.angles import rpy_of
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.drives.friction import Friction
from pliant.robot.parts.drives.gear import Drive
from pliant.robot.parts.joint import Freedom, Joint
from pliant.robot.parts.loop_joints import Loop
from pliant.robot.skeleton import HERE, Bone, Pose, skeleton
from pliant.robot.tree import BASE
from pliant.version import VERSION

NAMESPACE = "https://pliant.readthedocs.io/urdf"


def urdf_text(robot: RobotDescription) -> str:
    """Write the skeleton as a URDF document; a comment lists what the format cannot hold."""
    writer = _Writer(robot)
    body = "\n".join(writer.lines())
    if robot.loops:
        names = ", ".join(loop.name for loop in robot.loops)
        warn_user(f"to_urdf: URDF has no closed loops; the file holds the open tree, without {names}")
    notes = "".join(f"\n  - {escape(note).replace('--', '- -')}" for note in writer.notes)
    told = f"\n  Not in this file:{notes}" if notes else ""
    gravity = " ".join(map(repr, robot.gravity))
    head = f'<robot name={quoteattr(robot.name)} xmlns:pliant="{NAMESPACE}" {GRAVITY}="{gravity}">'
    comment = f"<!-- The rigid skeleton of a robot, written by pliant {VERSION}.{told}\n-->"
    return f'<?xml version="1.0"?>\n{comment}\n{head}\n{body}\n</robot>\n'


class _Writer:
    """Links and joints as lines, and notes of what is left out."""

    def __init__(self, robot: RobotDescription) -> None:
        self.robot, self.frame = robot, skeleton(robot)
        self.notes: list[str] = []
        self._links = UniqueNames(link.name for link in robot.links)
        self._joints = UniqueNames(body.joint.name or body.name for body in robot.bodies if body.joint.moves)

    def lines(self) -> Iterator[str]:
        """Lines of all links and joints, parents first."""
        for bone in self.frame.bones:
            if bone.link.joint.type == "spherical":
                raise UnsupportedModel(
                    f"to_urdf: link `{bone.link.name}` has a spherical joint, which URDF has not; to_mjcf has"
                )
        root = self._links.give("world")
        yield f"  <link name={quoteattr(root)}/>"
        base = root
        if self.frame.base is not None:
            base = self._links.give("base")
            yield from self._link(base, self.frame.base)
            yield from self._joint(self._joints.give(BASE, own=True), "floating", root, base, HERE)
        names: list[str] = []
        for bone in self.frame.bones:
            names.append(self._links.give(bone.link.name, own="." not in bone.link.name))  # else a piece of a beam
            yield from self._bone(bone, base if bone.parent is None else names[bone.parent], names[-1])
        for frame in self.frame.robot.frames:
            number, pose = self.frame.frame(frame)
            yield from self._fixed(self._links.give(frame.name), base if number is None else names[number], pose)
        self._tell_about()

    def _bone(self, bone: Bone, parent: str, name: str) -> Iterator[str]:
        joint, pose = bone.link.joint, bone.pose
        free = joint.freedoms
        for freedom in free[:-1]:  # several axes are several joints, one behind the other
            between = self._links.give(f"{name}_{freedom.suffix}")
            yield f"  <link name={quoteattr(between)}/>"
            yield from self._moving(bone, freedom, parent, between, pose)
            parent, pose = between, HERE
        yield from self._link(name, bone.mass)
        if free:
            yield from self._moving(bone, free[-1], parent, name, pose)
        else:
            kind = "floating" if joint.type == "free" else "fixed"
            called = (joint.name or name, True) if joint.moves else (f"{name}_joint", False)
            yield from self._joint(self._joints.give(*called), kind, parent, name, pose)
        for what, mass in bone.carried:
            yield from self._fixed(self._links.give(f"{name}_{what}"), name, bone.tip, mass)

    def _fixed(self, name: str, parent: str, pose: Pose, mass: MassSum | None = None) -> Iterator[str]:
        yield from self._link(name, mass or MassSum.nothing())
        yield from self._joint(self._joints.give(f"{name}_joint"), "fixed", parent, name, pose)

    def _link(self, name: str, mass: MassSum) -> Iterator[str]:
        body, spin = mass.split()
        yield f"  <link name={quoteattr(name)}>" if body else f"  <link name={quoteattr(name)}/>"
        if body:
            yield from _inertial(body)
            yield "  </link>"
        if spin:  # a moment about one axis alone, that of no body, is a link of its own
            rotor = self._links.give(f"{name}_rotor")
            yield f"  <link name={quoteattr(rotor)}>"
            yield from _inertial(spin)
            yield "  </link>"
            yield from self._joint(self._joints.give(f"{rotor}_joint"), "fixed", name, rotor, HERE)

    def _moving(self, bone: Bone, freedom: Freedom, parent: str, child: str, pose: Pose) -> Iterator[str]:
        """Lines of a joint that has the name of its coordinate."""
        kind = "revolute" if freedom.turns else "prismatic"
        limits, friction = freedom.limits, freedom.friction
        bounded = limits is not None and (limits.lower is not None or limits.upper is not None)
        if kind == "revolute" and not bounded:
            kind = "continuous"
        inside = [f'<axis xyz="{_numbers(freedom.axis)}"/>']
        if limits is not None or kind == "prismatic":
            lower, upper, speed, effort = (
                None if limits is None else getattr(limits, key) for key in ("lower", "upper", "speed", "effort")
            )
            ends = [] if kind == "continuous" else [("lower", lower, -UNLIMITED), ("upper", upper, UNLIMITED)]
            given = [*ends, ("effort", effort, UNLIMITED), ("velocity", speed, UNLIMITED)]
            entries = " ".join(f'{key}="{without if value is None else value!r}"' for key, value, without in given)
            inside.append(f"<limit {entries}/>")
        if friction.viscous or friction.coulomb:
            inside.append(f'<dynamics damping="{friction.viscous!r}" friction="{friction.coulomb!r}"/>')
        name = self._joints.give(freedom.name(bone.link.name), own=not freedom.suffix)
        yield from self._joint(name, kind, parent, child, pose, inside)

    def _joint(
        self, name: str, kind: str, parent: str, child: str, pose: Pose, inside: Sequence[str] = ()
    ) -> Iterator[str]:
        yield f'  <joint name={quoteattr(name)} type="{kind}">'
        yield f"    <parent link={quoteattr(parent)}/><child link={quoteattr(child)}/>"
        if pose is not HERE:
            yield f"    {_origin(*pose)}"
        yield from (f"    {line}" for line in inside)
        yield "  </joint>"

    # ------------------------------------------------------------------------------------------------------ notes

    def _tell_about(self) -> None:
        if tuple(self.robot.gravity) != (0.0, 0.0, -9.81):
            self.notes.append("gravity, which URDF has no place for; pliant reads the attribute `pliant:gravity`")
        parts: dict[str, tuple[Loop | Coupling | Contact, ...]] = {
            "loop": self.robot.loops, "coupling": self.robot.couplings, "contact": self.robot.contacts,
        }  # fmt: skip
        for kind, found in parts.items():
            self.notes += [f"{kind} {part.name}: between {' and '.join(part.between)}" for part in found]
        for link in self.robot.links:
            if not link.joint.actuated:
                self.notes.append(f"link {link.name}: that its joint is passive, without a torque")
            if link.bends:
                self.notes.append(f"link {link.name}: its beam bends; here it is rigid, straight at rest")
            if link.body is not None and link.amplitudes:
                self.notes.append(f"link {link.name}: its body bends; here it is rigid, as it is when nothing acts")
            for freedom in link.joint.freedoms:
                name = freedom.name(link.name)
                if freedom.drive is not None:
                    self.notes.append(f"joint {name}: its drive, {_drive(freedom.drive)}")
                usual = Friction(viscous=freedom.friction.viscous, coulomb=freedom.friction.coulomb)
                if freedom.friction != usual and freedom.friction.coulomb:
                    self.notes.append(
                        f"joint {name}: coulomb_speed and bristle of its friction, or its law and stiction"
                    )
                if freedom.motor is not None:
                    self.notes.append(f"joint {name}: its motor and amplifier; efforts are torques on the joint")
                if freedom.limits is not None and freedom.limits.stop is not None:
                    self.notes.append(f"joint {name}: the stop at its limits")
                for key in ("acceleration", "jerk"):
                    if freedom.limits is not None and getattr(freedom.limits, key) is not None:
                        self.notes.append(f"joint {name}: its limit of {key}")
                if freedom.limits is not None and freedom.limits.effort == 0.0:
                    self.notes.append(f"joint {name}: that its effort is zero, which is read as no limit")
            if len(link.joint.freedoms) > 1:
                self.notes.append(f"link {link.name}: its {link.joint.type} joint is several, one behind the other")
        if any(limited(link.joint) for link in self.robot.links):
            self.notes.append(f"limits that are not given: they are {UNLIMITED:g}, since the format wants numbers")


def limited(joint: Joint) -> bool:
    """Whether the joint lacks a limit that URDF requires."""
    return any(
        (free.limits is None and not free.turns)
        or (free.limits is not None and None in (free.limits.lower, free.limits.upper, free.limits.speed))
        for free in joint.freedoms
    )


def _drive(drive: Drive) -> str:
    parts = [f"rotor_inertia {drive.rotor_inertia!r} kg m^2 (kg) behind gear_ratio {drive.gear_ratio!r}"]
    if drive.stiffness is not None:
        parts.append(f"stiffness {drive.stiffness!r} N m/rad (N/m), damping {drive.damping!r}")
        parts += [
            f"its {name}" for name in ("hardening", "table", "play", "hysteresis", "errors") if getattr(drive, name)
        ]
        parts += ["its friction on the motor"] if drive.friction != Friction() else []
    parts += [f"efficiency {drive.efficiency!r}"] if drive.efficiency != 1.0 else []
    return ", ".join(parts)


def _inertial(mass: MassSum) -> Iterator[str]:
    m, com, I = mass.about_com()
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    values = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    yield "    <inertial>"
    yield f'      <origin xyz="{_numbers(com)}"/><mass value="{float(m)!r}"/>'
    moments = " ".join(f'{name}="{float(value)!r}"' for name, value in zip(names, values))
    yield f"      <inertia {moments}/>"
    yield "    </inertial>"


def _origin(R: Array, p: Array) -> str:
    return f'<origin xyz="{_numbers(p)}" rpy="{_numbers(rpy_of(R))}"/>'


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(value) + 0.0) for value in np.asarray(values, dtype=float))


__all__ = ["urdf_text"]
