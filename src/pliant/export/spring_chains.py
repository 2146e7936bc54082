"""A robot as rigid bodies and joints alone: its beams as chains of bodies with springs between them.

An engine of rigid bodies can simulate such an arm. The rule of cutting is that of `robot.lumped_segments`. The small
vibrations of the chain are computed here, so that the number of bodies follows from an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.robot import Robot
from pliant.robot.files.unique_names import UniqueNames
from pliant.robot.lumped_segments import mass_between, section_place, springs, stiffness, stretches
from pliant.robot.mass_sum import PLAUSIBLE, MassSum
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.joint import Freedom
from pliant.robot.parts.link import At, BeamStation, Link
from pliant.robot.pieces import BeamPiece, pieces
from pliant.robot.skeleton import HERE, Bone, Pose, Skeleton, skeleton
from pliant.robot.tree import BASE

COUNTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48)
FINE = 14
"""Springs per link of the coarser of two chains from whose difference the frequencies of the beams are extrapolated."""
TIP = "tip"
"""Place at the end of a link, and name of the frame at the end of the last link."""
WORLD = "world"
"""Name of the ground in MuJoCo, which no other body may have."""
FIRST = 3
"""Number of frequencies, joints held and free, whose error is bounded."""
LEAST = 1e-9
"""Part of its largest moment of inertia that a body has at least about each axis, and kg of a body without mass:
engines divide by them."""
_SPRINGS = {
    "bending_y": ("hinge", "EI_z", (0.0, 0.0, 1.0)), "bending_z": ("hinge", "EI_y", (0.0, -1.0, 0.0)),
    "torsion": ("hinge", "GJ", (1.0, 0.0, 0.0)), "axial": ("slide", "EA", (1.0, 0.0, 0.0)),
}  # fmt: skip
_SHEAR = {"bending_y": ("GA_y", (0.0, 1.0, 0.0)), "bending_z": ("GA_z", (0.0, 0.0, 1.0))}


@dataclass
class SpringJoint:
    """A joint of a body: about or along an axis through `pos`, or `ball`, or `free`.

    `role` is "joint" if a torque drives it, "motor" for a motor behind a spring, "drive" for that spring, "base" for a
    free base, or the field of a beam for one of its springs. `freedom` is that of the robot."""

    name: str
    kind: str
    role: str
    axis: Array = field(default_factory=lambda: np.zeros(3))
    pos: Array = field(default_factory=lambda: np.zeros(3))
    stiffness: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    freedom: Freedom | None = None
    owner: str = ""

    @property
    def coordinate(self) -> Freedom:
        """Freedom of the robot, of a joint that stands for one (role "joint", "motor" or "drive", and no ball)."""
        assert self.freedom is not None
        return self.freedom

    @property
    def size(self) -> int:
        """Number of its speeds."""
        return {"ball": 3, "free": 6}.get(self.kind, 1)


@dataclass
class ChainBody:
    """A rigid body on its parent (None: the ground), moved by its joints; the next body is attached at `end`."""

    name: str
    parent: int | None
    pose: Pose
    mass: MassSum
    joints: list[SpringJoint]
    end: Array
    radius: float = 0.0
    owner: str = ""


@dataclass
class SpringChain:
    """The bodies, each behind its parent, and the places of named frames on them."""

    robot: Robot
    bodies: list[ChainBody]
    frames: list[tuple[str, int | None, Pose]]
    count: int
    raised: list[str] = field(default_factory=list)

    @property
    def joints(self) -> list[SpringJoint]:
        """Joints of all bodies, in order."""
        return [joint for body in self.bodies for joint in body.joints]

    def per_speed(self, what: str) -> Array:
        """Attribute `what` of the joints, for each speed."""
        return np.array([getattr(joint, what) for joint in self.joints for _ in range(joint.size)])

    def inertia(self) -> Array:
        """Inertia matrix (n, n) at q = 0, by composite bodies."""
        poses: list[Pose] = []
        above: list[list[int]] = []
        total: list[Array] = []
        columns: list[Array] = []
        holder: list[tuple[int, int]] = []  # body of each column, and how many come before it or are it on its path
        for k, body in enumerate(self.bodies):
            R0, p0 = HERE if body.parent is None else poses[body.parent]
            R, p = R0 @ body.pose[0], p0 + R0 @ body.pose[1]
            poses.append((R, p))
            total.append(_spatial(body.mass.moved(R, p)))
            path = [] if body.parent is None else above[body.parent][:]
            for joint in body.joints:
                for column in _twists(joint, R, p):
                    path.append(len(columns))
                    columns.append(column)
                    holder.append((k, len(path)))
            above.append(path)
        for k in reversed(range(len(self.bodies))):
            parent = self.bodies[k].parent
            if parent is not None:
                total[parent] = total[parent] + total[k]
        S = np.array(columns).T if columns else np.zeros((6, 0))
        M = np.diag(self.per_speed("armature"))
        paths = [np.array(path, dtype=int) for path in above]
        for j, (k, size) in enumerate(holder):
            path_in = paths[k][:size]
            M[path_in, j] += (total[k] @ S[:, j]) @ S[:, path_in]
        return np.asarray(np.triu(M) + np.triu(M, 1).T)

    def squares(self, M: Array, locked: bool) -> Array:
        """Rising squares of the frequencies above zero, (rad/s)^2, with joints and motors held or free."""
        held = np.array([joint.role in ("joint", "motor") for joint in self.joints for _ in range(joint.size)])
        k = self.per_speed("stiffness")
        stiff, loose = k > 0.0, (k == 0.0) & ~(held if locked else np.zeros(len(k), dtype=bool))
        scale = 1 / np.sqrt(k[stiff])
        A = M[np.ix_(stiff, stiff)]
        if loose.any():
            meets = M[np.ix_(loose, stiff)]
            A = A - meets.T @ np.linalg.lstsq(M[np.ix_(loose, loose)], meets, rcond=None)[0]
        inverse = np.linalg.eigvalsh(A * np.outer(scale, scale))[::-1]
        return np.asarray(1 / np.maximum(inverse, np.finfo(float).tiny))


def _twists(joint: SpringJoint, R: Array, p: Array) -> list[Array]:
    """Columns (6,), angular then linear at the origin of the ground, of a joint on a body that stands at R, p."""
    a = p + R @ joint.pos
    turns = [np.concatenate([axis, np.cross(a, axis)]) for axis in R.T]
    if joint.kind in ("ball", "free"):
        return turns + ([np.concatenate([np.zeros(3), axis]) for axis in R.T] if joint.kind == "free" else [])
    axis = R @ joint.axis
    return [np.concatenate([axis, np.cross(a, axis)] if joint.kind == "hinge" else [np.zeros(3), axis])]


def _spatial(mass: MassSum) -> Array:
    """Spatial inertia (6, 6), angular then linear, about the origin."""
    x, y, z = mass.s
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[mass.I, S], [S.T, mass.m * np.eye(3)]])


class Cut(NamedTuple):
    """A robot as a chain, the relative error of its first frequencies, and its inertia matrix."""

    chain: SpringChain
    error: float
    inertia: Array


def cut(robot: Robot, count: int | None, error: float) -> Cut:
    """The robot with `count` springs in each of its beams that bend, or the fewest for which the first frequencies,
    joints held and free, straight and without gravity, are within a relative `error`."""
    for link in robot.links:
        if link.body is not None and link.amplitudes:
            raise UnsupportedModel(
                f"to_mjcf: link `{link.name}` is a body from a file that bends, which no chain of bodies follows; "
                "write `modes: 0` in its body for a rigid one"
            )
        if link.beam is not None and link.beam.slides:
            raise UnsupportedModel(
                f"to_mjcf: the beam of link `{link.name}` slides, and a chain of bodies has a fixed length; "
                "to_urdf writes it as a rigid rod"
            )
    if not any(link.fields for link in robot.links):
        chain = sound(spring_chain(robot, 1))
        return Cut(chain, 0.0, chain.inertia())
    coarse, fine = (_first(spring_chain(robot, FINE * m)) for m in (1, 2))
    exact = [f + (f - c) / 3 for c, f in zip(coarse, fine)]  # errors fall like 1/N^2
    for n in COUNTS if count is None else (count,):
        chain = sound(spring_chain(robot, n))
        M = chain.inertia()
        found = max(float(np.abs(f[: len(x)] / x[: len(f)] - 1).max()) for f, x in zip(_first(chain, M), exact))
        if count is not None or found <= error:
            return Cut(chain, found, M)
    raise ModelError(
        f"error: got {error:g}, which {COUNTS[-1]} bodies per link do not reach; ask for less, or `bodies`"
    )


def _first(chain: SpringChain, M: Array | None = None) -> list[Array]:
    M = chain.inertia() if M is None else M
    return [np.sqrt(chain.squares(M, locked)[:FIRST]) for locked in (True, False)]


def spring_chain(robot: Robot, count: int) -> SpringChain:
    """The bodies of a robot whose beams have `count` springs each."""
    return _Cutter(skeleton(robot), robot, count).chain()


def sound(chain: SpringChain) -> SpringChain:
    """The chain with masses and moments as engines want them: above zero, and no moment above the sum of the others.

    Otherwise hubs, and short stretches of a beam whose sections have a moment about x alone, would be no bodies; the
    links in `raised` get larger moments about the other axes.
    """
    for body in chain.bodies:
        m, com, inertia = body.mass.about_com()
        moments, axes = np.linalg.eigh(inertia)
        least = LEAST * max(moments[2], 1e-3)
        lack = max(moments[2] * (1 + PLAUSIBLE) - moments[0] - moments[1], 0.0)
        if m >= LEAST and moments[0] >= least and not lack:
            continue
        if lack > 2 * PLAUSIBLE * moments[2] and body.owner not in chain.raised:
            chain.raised.append(body.owner)
        full = (axes * np.maximum(moments + np.array([lack, lack, 0.0]) / 2, least)) @ axes.T
        body.mass = MassSum.of(max(m, LEAST), com, (full + full.T) / 2)
    return chain


class _Cutter:
    """Make the bodies link by link."""

    def __init__(self, frame: Skeleton, robot: Robot, count: int) -> None:
        self.frame, self.robot, self.count = frame, robot, count
        self.bodies: list[ChainBody] = []
        self.parts: list[list[tuple[float, int, Array]]] = []  # of each bone: from where, number of body, its origin
        self.names = UniqueNames((link.name for link in robot.links), taken=(WORLD,))
        self.joint_names = UniqueNames(body.joint.name or body.name for body in robot.bodies if body.joint.moves)

    def chain(self) -> SpringChain:
        ground = None
        if self.frame.base is not None:
            ground = 0
            joint = SpringJoint(self.joint_names.give(BASE, own=True), "free", "base")
            self.bodies.append(ChainBody(self.names.give(BASE), None, HERE, self.frame.base, [joint], np.zeros(3)))
        for bone, piece in zip(self.frame.bones, pieces(self.robot)):
            parent, pose = ground, bone.pose
            if bone.parent is not None:
                parent, pose = self._hung(bone.parent, bone.link.at, bone.pose)
            self._bone(bone, piece, parent, pose)
        frames = []
        for frame in self.frame.robot.frames:
            number, pose = self.frame.frame(frame)
            at = (ground, pose) if number is None else self._hung(number, frame.at, pose)
            frames.append((frame.name, *at))
        frames.append((TIP, *self._hung(len(self.parts) - 1, "tip", self.frame.bones[-1].tip)))
        return SpringChain(self.robot, self.bodies, frames, self.count)

    def _hung(self, bone: int, at: At, pose: Pose) -> tuple[int, Pose]:
        """Number of the body that a place of a bone is on, and a pose on the bone as one on that body."""
        parts = self.parts[bone]
        x = at.x if isinstance(at, BeamStation) else np.inf if at == "tip" else 0.0
        _, body, origin = next(part for part in reversed(parts) if part[0] <= x)
        return body, (pose[0], pose[1] - origin)

    def _bone(self, bone: Bone, piece: BeamPiece, parent: int | None, pose: Pose) -> None:
        link, own_name = bone.link, "." not in bone.link.name  # else a piece of a beam
        name = self.names.give(link.name, own_name)
        bends = tuple(link.fields)
        mass = bone.mass if not bends else MassSum.lump(link.joint.hub)
        self.bodies.append(
            ChainBody(name, parent, pose, mass, self._joints(link, own_name), np.zeros(3), 0.0, piece.owner)
        )
        own = [(0.0, len(self.bodies) - 1, np.zeros(3))]
        if bends:
            self._beam(link, name, piece, bends, own)
        self.parts.append(own)
        _, number, origin = own[-1]
        last, (R, p) = self.bodies[number], bone.tip
        last.end = p - origin
        for _, load in bone.carried:
            last.mass = last.mass + load.moved(R, p - origin)

    def _joints(self, link: Link, own: bool) -> list[SpringJoint]:
        """Joints of a bone; their names are those of the robot where the bone is a link of its `own`."""
        joint, give = link.joint, self.joint_names.give
        if joint.type in ("spherical", "free"):
            kind, role = ("ball", "joint") if joint.type == "spherical" else ("free", "base")
            return [SpringJoint(give(joint.name or link.name, own), kind, role)]
        found = []
        for freedom in joint.freedoms:
            name = give(freedom.name(link.name), own and not freedom.suffix)
            kind, axis, drive = "hinge" if freedom.turns else "slide", np.array(freedom.axis), freedom.drive
            rotor = 0.0 if drive is None else drive.rotor_inertia * drive.gear_ratio**2
            if not freedom.elastic:
                found.append(SpringJoint(name, kind, "joint", axis, armature=rotor, freedom=freedom))
                continue
            motor = give(f"{name}_motor")
            found.append(SpringJoint(motor, kind, "motor", axis, armature=rotor, freedom=freedom))
            spring = {"stiffness": drive.stiffness, "damping": drive.damping}
            found.append(SpringJoint(name, kind, "drive", axis, freedom=freedom, **spring))
        return found

    def _beam(
        self, link: Link, name: str, piece: BeamPiece, fields: Sequence[str], own: list[tuple[float, int, Array]]
    ) -> None:
        """The stretches of a beam: the first is part of the body that is there."""
        beam = link.beam
        assert beam is not None
        b = beam_properties(beam)
        turn, root = section_place(beam, link.joint.offset)
        center = turn @ np.array([0.0, *b.shear_center])
        bones = self.frame.bones
        hung = [other.link.at for other in bones if other.parent is not None and bones[other.parent].link is link]
        marks = [at.x / b.length for at in hung if isinstance(at, BeamStation)]
        found = springs(max(1, round(self.count * (piece.high - piece.low))), marks)
        radius = _radius(link)
        for k, (low, high) in enumerate(stretches(found)):
            if k == 0:
                self.bodies[own[0][1]].mass += mass_between(b, low, high).moved(turn, root)
                self.bodies[own[0][1]].radius = radius
                continue
            origin, before = root + np.array([low * b.length, 0.0, 0.0]), own[-1]
            joints = []
            for which in fields:
                kind, of, axis = _SPRINGS[which]
                spring = found[k - 1]
                entries = [(which, kind, of, axis)]
                if which in beam.shearing:
                    entries.append((f"{which}_shear", "slide", *_SHEAR[which]))
                for label, how, constant, along in entries:
                    joints.append(
                        SpringJoint(
                            self.joint_names.give(f"{name}_{k}_{label}"), how, label, turn @ np.array(along),
                            center if which == "torsion" else np.zeros(3), stiffness(b, constant, spring),
                            owner=piece.owner,
                        )
                    )  # fmt: skip
            mass = mass_between(b, low, high).moved(turn, np.zeros(3))
            self.bodies[before[1]].end = origin - before[2]
            pose = (np.eye(3), origin - before[2])
            self.bodies.append(
                ChainBody(
                    self.names.give(f"{name}_{k}"), before[1], pose, mass, joints, np.zeros(3), radius, piece.owner
                )
            )
            own.append((low * b.length, len(self.bodies) - 1, origin))


def _radius(link: Link) -> float:
    """Radius of the capsules that are drawn for a beam."""
    beam = link.beam
    assert beam is not None
    if beam.section is None:
        return beam.length / 50
    sizes, _ = beam.section.half_sizes(np.array([0.0, 0.5, 1.0]))
    return float(np.mean(sizes))


def damp(chain: SpringChain, M: Array) -> None:
    """Set dampers beside the springs of beams, in proportion to them: the viscosity of the material, and the `damping`
    ratio and mass part of `rayleigh` at the first frequency of each field of a link with its root held."""
    roles = [(joint.owner, joint.role.removesuffix("_shear")) for joint in chain.joints for _ in range(joint.size)]
    k = chain.per_speed("stiffness")
    for link in chain.robot.links:
        for which in link.fields:
            assert link.shapes is not None
            if link.shapes.damping_per_amplitude:
                raise UnsupportedModel(
                    f"links.{link.name}.shapes.damping_per_amplitude: dampers of MuJoCo do not grow with amplitudes; "
                    "set it to 0"
                )
            own = [place for place, role in enumerate(roles) if role == (link.name, which)]
            scale = 1 / np.sqrt(k[own])
            omega = 1 / np.sqrt(np.linalg.eigvalsh(M[np.ix_(own, own)] * np.outer(scale, scale))[-1])
            alpha, beta = link.shapes.rayleigh
            time = beta + link.shapes.kelvin_voigt + (2 * link.shapes.damping + alpha / omega) / omega
            for joint in chain.joints:
                if (joint.owner, joint.role.removesuffix("_shear")) == (link.name, which):
                    joint.damping = time * joint.stiffness
