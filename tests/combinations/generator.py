"""Random arms by seed, out of every part that an arm may have: joints, bodies, drives, couplings, loops, contacts,
bases, loads, lumps and orders of stiffening.

Parts that meet at a place (loops, springs at their length, contacts that press) are drawn last, where the state of the
arm has taken its links, so that no position has to be searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from bodies import random_body
from pliant.mechanics import Chain, build_chain
from pliant.mechanics.constraints.loop_constraints import ROWS, closing_rows
from pliant.mechanics.links.chain import BaseMotion
from pliant.mechanics.links.frames import frame_of, placed_frame
from pliant.mechanics.links.kinematics import placements
from pliant.robot import (
    BaseBody,
    Beam,
    BeamStation,
    Contact,
    Coupling,
    Drive,
    Friction,
    Joint,
    JointAxis,
    Limits,
    Link,
    Loop,
    LoopJoint,
    Lump,
    Origin,
    RigidBody,
    Robot,
    Section,
    Shapes,
)
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.bodies.rigid_body import Payload
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.link import BodyFrame
from pliant.robot.tree import parents

Array = np.ndarray
Rng = np.random.Generator
JOINTS = {
    "revolute": 0.32, "prismatic": 0.13, "fixed": 0.14, "universal": 0.1, "spherical": 0.09, "cylindrical": 0.08,
    "planar": 0.08, "free": 0.06,
}  # fmt: skip
BODIES = {
    "rigid": 0.3, "modes": 0.22, "elements": 0.1, "pieces": 0.05, "curved": 0.06, "tapered": 0.06, "shear": 0.06,
    "drawn": 0.05, "stiff": 0.04, "slides": 0.06, "file": 0.08,
}  # fmt: skip
"""Kinds of bodies: a `stiff` beam has no shapes, a `drawn` one a section without a formula."""
ORDERS: dict[Any, float] = {"off": 0.5, "second-order": 0.42, "third-order": 0.08}
LOOPS = ("revolute", "spherical", "universal", "prismatic", "fixed", "distance")
MOST_SHAPES = {"off": 5, "second-order": 3, "third-order": 2}
"""Amplitudes of an arm by the order of stiffening, so that its equations are traced in a second."""
TURNING = ("revolute", "universal", "spherical", "cylindrical", "planar")


@dataclass(frozen=True)
class Arm:
    """A robot with its options, a state, accelerations, inputs, the motion of its base and a load.

    `base` has the angular velocity and acceleration of the base and the acceleration of its origin, `load` moment and
    force in base axes on the frame `at`. `tau` has the torques of the joints, then forces of commanded couplings.
    """

    seed: int
    robot: Robot
    stiffening: Any
    q: Array
    qd: Array
    tau: Array
    base: tuple[Array, Array, Array] | None = None
    load: Array | None = None
    at: str = "tip"

    @cached_property
    def model(self) -> pliant.Model:
        """By the default formulation."""
        return self.robot.model(stiffening=self.stiffening)

    @cached_property
    def chain(self) -> Chain:
        """The chain of the model, on its base."""
        chain: Chain = self.model.chain
        if self.base is None:
            return chain
        return replace(chain, base=BaseMotion(*(ca.SX(ca.DM(x)) for x in self.base)))

    @property
    def text(self) -> str:
        """The robot as a file would have it, and the rest behind it; content of bodies is left out."""
        rest = {"stiffening": self.stiffening, "q": self.q, "qd": self.qd, "tau": self.tau, "base": self.base,
                "load": self.load, "at": self.at}  # fmt: skip
        data = self.robot.to_dict()
        for link in data["links"]:
            link.get("body", {}).pop("content", None)
        return f"{write_yaml(data)}# seed {self.seed}\n" + "".join(f"# {name}: {x!r}\n" for name, x in rest.items())

    def with_robot(self, robot: Robot, **changes: Any) -> Arm:
        """Another description of the arm."""
        return replace(self, robot=robot, **changes)


def arm(seed: int, small: bool = False) -> Arm:
    """The arm of a seed, or a `small` one of one or two links. Raises `ModelError` where the product refuses what was
    drawn."""
    rng = np.random.default_rng((seed, 12, small))
    order = _choice(rng, ORDERS)
    count = int(rng.choice([1, 2]) if small else rng.choice([1, 2, 3, 4], p=[0.2, 0.45, 0.28, 0.07]))
    tree = _tree(rng, seed, count, 2 if small else MOST_SHAPES[order])
    chain = build_chain(tree, stiffening=order)
    q, qd = _state(rng, tree, chain)
    base = _moving_base(rng) if not tree.base.is_free and rng.random() < 0.25 else None
    world = _World(tree, chain, q)
    frames: list[Frame] = []
    loops = _loops(rng, world, frames) if rng.random() < 0.35 else []
    couplings = _couplings(rng, world, frames) if rng.random() < 0.3 else []
    contacts = _contacts(rng, world, frames) if rng.random() < 0.2 else []
    robot = Robot(**{
        **{name: getattr(tree, name) for name in ("name", "gravity", "links", "payload", "base")},
        "frames": frames, "loops": loops, "couplings": couplings, "contacts": contacts,
    })  # fmt: skip
    inputs = sum(link.joint.actuated * len(link.joint.freedoms) for link in robot.links)
    inputs += sum(coupling.commanded for coupling in robot.couplings)
    tau = rng.normal(size=inputs) * 4
    load, ends = None, ["tip", *(f"{link.name}.root" for link in robot.links)]
    at = ends[int(rng.integers(len(ends)))]
    if rng.random() < 0.4:
        load = rng.normal(size=6) * 3
    drawn = Arm(seed, robot, order, q, qd, tau, base, load, at)
    return closed(drawn) if robot.loops else drawn


def closed(drawn: Arm) -> Arm:
    """With speeds that keep the loops closed."""
    chain = drawn.model.chain
    J = number(closing_rows(chain, ca.SX(ca.DM(drawn.q)), ca.SX.zeros(chain.n)).J)
    return replace(drawn, qd=drawn.qd - np.linalg.pinv(J) @ (J @ drawn.qd))


def number(value: Any) -> Array:
    """An expression without symbols as an array."""
    return np.array(ca.evalf(ca.SX(value)))


# ------------------------------------------------------------------------------------------------------------- tree


def _choice(rng: Rng, weights: dict[Any, float]) -> Any:
    names, share = list(weights), np.array(list(weights.values()))
    return names[int(rng.choice(len(names), p=share / share.sum()))]


def _tree(rng: Rng, seed: int, count: int, left: int) -> Robot:
    """So many links with at most so many amplitudes."""
    made: list[Link] = []
    for k in range(count):
        kind = _choice(rng, JOINTS | ({"fixed": 0.06} if k == 0 else {}))
        body, size = _body(rng, left)
        left -= size
        joint = _joint(rng, kind, sliding=bool(getattr(body.get("beam"), "slides", False)))
        link = {"name": f"l{k}", "joint": joint, "tip": _lump(rng, 0.4), **body}
        made.append(Link(**link, **_place(rng, made)))
    base = BaseBody()
    if rng.random() < 0.25:
        base = BaseBody(type="free", mass=2.7, com=(0.1, -0.2, 0.05), inertia=(0.5, 0.62, 0.71))
    loads = [Payload(**_lump(rng, 0.4).model_dump())]
    if rng.random() < 0.3:
        loads.append(Payload(link=made[int(rng.integers(count))].name, **_lump(rng, 1.0).model_dump()))
    gravity = tuple(rng.normal(size=3) * 5)
    return Robot(name=f"combination {seed}", gravity=gravity, links=made, payload=loads, base=base)


def _place(rng: Rng, made: Sequence[Link]) -> dict[str, Any]:
    """On which link, and where on it, one hangs."""
    if not made:
        return {}
    if rng.random() < 0.15:
        return {"parent": "base"}
    carrier = made[-1] if rng.random() < 0.6 else made[int(rng.integers(len(made)))]
    places: list[Any] = ["tip", "tip"]
    if carrier.beam is None or not carrier.beam.slides:
        places.append("root")
    if carrier.beam is not None and not carrier.beam.slides:
        places += [BeamStation(x=float(rng.uniform(0.05, 1.0)) * carrier.beam.length)] * 2
    if carrier.body is not None:
        places += [BodyFrame(frame="elbow")] * 2
    return {"parent": carrier.name, "at": places[int(rng.integers(len(places)))]}


def _origin(rng: Rng, probability: float = 0.7) -> Origin:
    if rng.random() > probability:
        return Origin()
    return Origin(xyz=tuple(rng.normal(size=3) * 0.2), rpy=tuple(rng.normal(size=3)))


def _lump(rng: Rng, probability: float) -> Lump:
    if rng.random() > probability:
        return Lump()
    inertia = (0.021, 0.027, 0.034, 0.002, -0.003, 0.001) if rng.random() < 0.5 else (0.021, 0.027, 0.034)
    return Lump(mass=float(rng.uniform(0.1, 1.0)), inertia=inertia, com=tuple(rng.normal(size=3) * 0.05))


def _joint(rng: Rng, kind: str, sliding: bool) -> Joint:
    kind = "prismatic" if sliding else kind
    given: dict[str, Any] = {"type": kind, "hub": _lump(rng, 0.5), "origin": _origin(rng)}
    if kind in ("fixed", "free"):
        return Joint(**given)
    passive = rng.random() < 0.25
    given["actuated"] = not passive
    if kind == "spherical":
        return Joint(**given)
    counts = {"universal": 2, "cylindrical": 2, "planar": 3}
    own = [_shaft(rng, passive, sliding) for _ in range(counts.get(kind, 1))]
    if kind in counts:
        oblique = [rng.normal(size=3) for _ in own] if kind == "universal" else [None] * len(own)
        given["axes"] = [JointAxis(axis=axis, **shaft) for axis, shaft in zip(oblique, own)]
    else:
        given |= own[0]
    if kind in ("revolute", "prismatic", "cylindrical"):
        given["axis"] = (1.0, 0.0, 0.0) if sliding else rng.normal(size=3)
    return Joint(**given)


def _shaft(rng: Rng, passive: bool, sliding: bool) -> dict[str, Any]:
    """What drives, rubs and stops one axis."""
    found: dict[str, Any] = {}
    if rng.random() < 0.5:
        found["friction"] = _friction(rng)
    if rng.random() < 0.15 and not sliding:
        stop = {"stiffness": 300.0, "damping": 0.3}
        found["limits"] = Limits(lower=-1.0, upper=float(rng.uniform(-0.2, 0.6)), stop=stop)
    if passive or rng.random() < 0.3:
        return found
    gear = float(rng.uniform(2, 9))
    if rng.random() < 0.4:
        drive: dict[str, Any] = {"rotor_inertia": 0.003, "gear_ratio": gear}
    else:
        drive = {"stiffness": float(rng.uniform(100, 500)), "rotor_inertia": 0.004, "gear_ratio": gear, "damping": 0.3}
        more: list[dict[str, Any]] = [
            {}, {"hardening": 4e3}, {"play": 0.01, "play_smoothing": 0.002},
            {"hysteresis": {"fraction": 0.3, "yield_twist": 0.01}}, {"errors": [{"amplitude": 2e-3, "phase": 0.3}]},
            {"table": [[0, 0], [0.01, 3.0], [0.05, 40.0]], "stiffness": None}, {"efficiency": 0.85},
            {"friction": {"viscous": 0.2, "coulomb": 0.1, "coulomb_speed": 0.1}},
        ]  # fmt: skip
        drive |= more[int(rng.integers(len(more)))]
    found["drive"] = Drive(**drive)
    if rng.random() < 0.3:
        found["motor"] = {"command": "current", "torque_constant": 0.08, "bandwidth": 60.0, "offset": 0.1}
    return found


def _friction(rng: Rng) -> Friction:
    laws: list[dict[str, Any]] = [
        {"viscous": 0.3}, {"viscous": 0.1, "coulomb": 0.2, "coulomb_speed": 0.2},
        {"coulomb": 0.2, "stiction": 0.3, "stribeck_speed": 0.4, "coulomb_speed": 0.1},
        {"law": "dahl", "coulomb": 0.2, "stiffness": 500.0, "coulomb_speed": 0.1},
        {"law": "lugre", "coulomb": 0.2, "stiction": 0.3, "stiffness": 500.0, "micro_damping": 0.3, "viscous": 0.2,
         "coulomb_speed": 0.1},
    ]  # fmt: skip
    return Friction(**laws[int(rng.integers(len(laws)))])


# ----------------------------------------------------------------------------------------------------------- bodies


def _body(rng: Rng, left: int) -> tuple[dict[str, Any], int]:
    """A body with at most so many amplitudes, and how many it has."""
    kind = _choice(rng, BODIES)
    if left < 2 and kind not in ("rigid", "stiff", "modes"):
        kind = "rigid"
    if kind == "rigid" or left < 1:
        body = RigidBody(
            mass=float(rng.uniform(0.5, 3)), com=tuple(rng.normal(size=3) * 0.1),
            inertia=(0.1, 0.12, 0.15, 0.01, 0, 0.02), tip=tuple(rng.normal(size=3) * 0.4),
            tip_rpy=tuple(rng.normal(size=3)),
        )  # fmt: skip
        return {"rigid": body}, 0
    if kind == "file":
        k = int(rng.integers(1, min(left, 3) + 1))
        return {"body": {"content": random_body(rng, k), "damping": 0.02}}, k
    beam = _beam(rng, kind)
    shapes = None if kind == "stiff" else _shapes(rng, kind, beam, min(left, 4))
    joint = Joint(type="prismatic", axis=(1.0, 0.0, 0.0)) if kind == "slides" else Joint()
    link = Link(name="x", beam=beam, shapes=shapes, joint=joint)
    return {"beam": beam, "shapes": shapes}, link.amplitudes


def _beam(rng: Rng, kind: str) -> Beam:
    length = float(rng.uniform(0.5, 1.4))
    if kind in ("tapered", "drawn"):
        taper = {"x": [0.0, 0.4, 1.0], "width": [0.03, 0.026, 0.02], "height": 0.04, "thickness": 0.002}
        section = (
            Section(shape="box", **taper) if kind == "tapered"
            else Section(shape="angle", width=0.04, height=0.06, thickness=0.004, offset=(0.01, -0.02))
        )  # fmt: skip
        return Beam(
            length=length, material="aluminium", section=section, rotary="section" if rng.random() < 0.5 else None
        )
    given: dict[str, Any] = {
        "length": length, "mass_per_length": float(rng.uniform(1, 3)), "EI_y": float(rng.uniform(60, 200)),
        "EI_z": float(rng.uniform(60, 200)), "GJ": float(rng.uniform(60, 200)), "EA": float(rng.uniform(1e4, 5e4)),
        "polar_inertia": float(rng.uniform(0.01, 0.05)),
    }  # fmt: skip
    if kind == "slides":
        return Beam(**given | {"total_length": 1.5 * length, "slides": True})
    if kind == "shear" or rng.random() < 0.4:
        given["rotary"] = (float(rng.uniform(0.002, 0.01)), float(rng.uniform(0.002, 0.01)))
    if kind == "shear":
        given |= {"GA_y": 4e3, "GA_z": 2.5e3}
    if kind in ("pieces", "curved"):
        given["pieces"] = 2
    if kind == "curved":
        given |= {"curvature": (0.4, -0.7), "twist": 0.3}
    return Beam(**given)


def _shapes(rng: Rng, kind: str, beam: Beam, left: int) -> Shapes:
    damping: dict[str, Any] = [{}, {"damping": 0.02}, {"rayleigh": (0.2, 1e-3)}, {"kelvin_voigt": 1e-3}][
        rng.integers(4)
    ]
    fields = ["bending_y", "bending_z"] if kind == "slides" else ["bending_y", "bending_z", "torsion", "axial"]
    if kind == "elements":
        own = {"bending_y": 2} if rng.random() < 0.5 else {"bending_z": 2}
        rest = left - 2
        if rest >= 2 and rng.random() < 0.5:
            own["torsion" if rng.random() < 0.5 else "axial"], rest = 1, rest - 1
        count = 2 if sum(own.values()) * 2 <= left and rng.random() < 0.5 else 1
        return Shapes(method="elements", count=count, **{name: name in own for name in fields}, **damping)
    total = max(1, left // beam.parts)
    counts = dict.fromkeys(fields, 0)
    for _ in range(int(rng.integers(1, total + 1))):
        counts[fields[int(rng.choice(len(fields), p=[0.4, 0.3, 0.2, 0.1] if len(fields) == 4 else [0.6, 0.4]))]] += 1
    boundary = {"boundary": "clamped-free"} if kind == "slides" or rng.random() < 0.3 else {}
    grows = {"damping_per_amplitude": 0.3} if kind == "modes" and rng.random() < 0.1 and "damping" in damping else {}
    return Shapes(**counts, **boundary, **damping, **grows)


# ------------------------------------------------------------------------------------------------------------ state


def _state(rng: Rng, robot: Robot, chain: Chain) -> tuple[Array, Array]:
    q, qd = rng.normal(size=chain.n_q) * 0.8, rng.normal(size=chain.n)
    for link, own in zip(chain.links[chain.first :], _pieces(robot, chain)):
        q[list(link.body_places)] *= 0.02
        qd[list(link.body_indices)] *= 0.3
        if link.slides:
            q[link.body_places[0]] = own.beam.length * rng.uniform(0.6, 1.3)  # type: ignore[union-attr]
    for first in chain.quaternions:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    motors = [shaft.drive.place for shaft in chain.driven if shaft.drive is not None]
    q[motors] = chain.followed(q.copy())[motors] + 0.02 * q[motors]
    return q, qd


def _pieces(robot: Robot, chain: Chain) -> list[Link]:
    return [robot.link(link.piece.owner or link.name) for link in chain.links[chain.first :]]


def _moving_base(rng: Rng) -> tuple[Array, Array, Array]:
    omega, alpha, a = rng.normal(size=(3, 3))
    return omega, alpha, 3 * a


# ----------------------------------------------------------------------------------------------- what joins frames


class _World:
    """Where the links of a tree are, and frames that are put on them."""

    def __init__(self, robot: Robot, chain: Chain, q: Array) -> None:
        self.robot, self.chain, self.q = robot, chain, q
        self.placed = placements(chain, ca.SX(ca.DM(q)))

    def ends(self, rng: Rng) -> list[str]:
        """Two links, or a link and the base."""
        names = [link.name for link in self.robot.links] + ["base"]
        return [names[int(k)] for k in rng.choice(len(names), 2, replace=False)]

    def freedoms(self, ends: Sequence[str]) -> int:
        """How many the joints between two links have."""
        links, carried_by = self.robot.links, parents(self.robot.links)
        names = [link.name for link in links]
        ways = []
        for end in ends:
            k, way = names.index(end) if end in names else None, set()
            while k is not None:
                way.add(k)
                k = carried_by[k]
            ways.append(way)
        return sum(len(links[k].joint.speeds(names[k])) for k in ways[0] ^ ways[1])

    def seat(self, rng: Rng, owner: str) -> dict[str, Any]:
        """Somewhere on a link."""
        if owner == "base":
            return {"link": "base"}
        link = self.robot.link(owner)
        seats: list[Any] = ["tip", "tip"]
        if link.beam is not None and not link.beam.slides:
            seats += ["root", BeamStation(x=float(rng.uniform(0.1, 1.0)) * link.beam.length)]
        if link.body is not None:
            seats.append(BodyFrame(frame="elbow"))
        return {"link": owner, "at": seats[int(rng.integers(len(seats)))]}

    def pose(self, seat: dict[str, Any]) -> tuple[Array, Array]:
        """Of a seat, in the base."""
        probe = self.robot.model_copy(update={"frames": (Frame(name="probe", **seat),)})
        chain = replace(self.chain, frames=_maps(probe))
        R, p = placed_frame(chain, ca.SX(ca.DM(self.q)), self.placed, frame_of(chain, "probe"))
        return number(R), number(p).ravel()

    def frame(self, name: str, seat: dict[str, Any], R: Array, p: Array) -> Frame:
        """A frame on a seat that now stands at a pose."""
        R_seat, p_seat = self.pose(seat)
        return Frame(name=name, **seat, origin=origin_of(R_seat.T @ R, R_seat.T @ (p - p_seat)))


def _maps(robot: Robot) -> Any:
    from pliant.mechanics.links.builders.build_connections import named_frames
    from pliant.robot.symbolic_view import RobotView

    return named_frames(RobotView(robot, {}))


def origin_of(R: Array, p: Array) -> Origin:
    """A pose as a description has it."""
    rpy = Rotation.from_matrix(R).as_euler("xyz")
    return Origin(xyz=tuple(p), rpy=tuple(rpy))


def pose_of(origin: Origin) -> tuple[Array, Array]:
    """The way back."""
    return Rotation.from_euler("xyz", origin.rpy).as_matrix(), np.array(origin.xyz)


def _loops(rng: Rng, world: _World, frames: list[Frame]) -> list[Loop]:
    """One whose joints have more freedoms between them than it takes, or none."""
    kinds = LOOPS if rng.random() < 0.7 else ("distance",)
    kind, ends = kinds[int(rng.integers(len(kinds)))], world.ends(rng)
    free = world.freedoms(ends)
    kind = kind if free > len(ROWS[kind]) else "distance"
    if free < 2:
        return []
    seats = [world.seat(rng, end) for end in ends]
    poses = [world.pose(seat) for seat in seats]
    middle = sum(p for _, p in poses) / 2 + rng.normal(size=3) * 0.2
    meeting = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), middle
    if kind == "distance":
        meetings = [(R, p + rng.normal(size=3) * 0.1) for R, p in poses]
        joint = LoopJoint(type=kind, length=float(np.linalg.norm(meetings[1][1] - meetings[0][1])))
    else:
        meetings = [meeting, meeting]
        named = {"axis": rng.normal(size=3)} if kind in ("revolute", "prismatic") else {}
        joint = LoopJoint(type=kind, **named)
    frames += [world.frame(f"loop{k}", seat, *at) for k, (seat, at) in enumerate(zip(seats, meetings))]
    return [Loop(name="loop", between=("loop0", "loop1"), joint=joint)]


def _couplings(rng: Rng, world: _World, frames: list[Frame]) -> list[Coupling]:
    found = []
    for k in range(1 + (rng.random() < 0.25)):
        seats = [world.seat(rng, end) for end in world.ends(rng)]
        points = [world.pose(seat)[1] + rng.normal(size=3) * 0.15 for seat in seats]
        L = float(np.linalg.norm(points[1] - points[0]))
        turns = [Rotation.from_rotvec(rng.normal(size=3)).as_matrix() for _ in range(2)]
        frames += [world.frame(f"c{k}{j}", seat, turns[j], points[j]) for j, seat in enumerate(seats)]
        kinds: list[dict[str, Any]] = [
            {"spring": {"stiffness": 400.0, "length": 0.8 * L, "preload": 5.0}}, {"damping": 20.0},
            {"force": {"value": 7.0}}, {"force": {"value": 3.0, "commanded": True}},
            {"cable": {"stiffness": 800.0, "length": L - 0.01, "damping": 0.4, "smoothing": 0.005}},
            {"cylinder": {"areas": (8e-4, 5e-4), "stroke": L, "dead_length": 0.6 * L, "valve": {"flow": 1e-4}}},
            {"spring": {"stiffness": 300.0, "length": 1.1 * L}, "damping": 10.0, "force": {"value": -4.0}},
        ]  # fmt: skip
        own = kinds[int(rng.integers(len(kinds)))]
        found.append(Coupling(name=f"c{k}", between=(f"c{k}0", f"c{k}1"), **own))
    return found


def _contacts(rng: Rng, world: _World, frames: list[Frame]) -> list[Contact]:
    """One that presses, or is apart by little."""
    seats = [world.seat(rng, end) for end in world.ends(rng)]
    center = world.pose(seats[0])[1] + rng.normal(size=3) * 0.1
    R = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    gap = float(rng.choice([-0.01, -0.004, 0.006]))
    kind = ("plane", "sphere", "capsule", "box")[int(rng.integers(4))]
    radius = float(rng.uniform(0.02, 0.06))
    own: dict[str, Any] = {"plane": {}, "sphere": {"radius": 0.2}, "capsule": {"radius": 0.1, "length": 0.3},
                           "box": {"size": (0.3, 0.2, 0.25)}}[kind]  # fmt: skip
    away = {"plane": 0.0, "sphere": 0.2, "capsule": 0.1, "box": 0.125}[kind]
    normal = np.array([0.0, 0.0, 1.0]) if kind in ("plane", "box") else np.array([0.6, 0.8, 0.0])
    beside = np.array([0.05, -0.04, 0.0]) if kind == "box" else np.array([0.0, 0.0, 0.07]) if kind == "capsule" else 0.0
    surface = center - R @ (normal * (away + radius + gap) + beside)
    frames += [world.frame("ball", seats[0], np.eye(3), center), world.frame("wall", seats[1], R, surface)]
    law: dict[str, Any] = [{"damping": 0.3}, {"restitution": {"value": 0.7, "speed": 0.5}}, {}][int(rng.integers(3))]
    return [Contact(name="touch", frame="ball", radius=radius, stiffness=2e4, friction=0.4, stick_speed=0.05,
                    exponent=float(rng.choice([1.0, 1.5])), surface={"type": kind, "frame": "wall", **own},
                    **law)]  # fmt: skip
