"""The same arm described in another way: each function gives the arm that must move alike, and how its names and units
go with those of the first, or None where the arm has nothing to restate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from pydantic import BaseModel
from scipy.spatial.transform import Rotation

from combinations.generator import Arm, Array, number, origin_of, pose_of
from pliant.mechanics.links.builders.build_chain import tip_loads
from pliant.mechanics.links.kinematics import placements, twists
from pliant.model.coordinate_units import coordinate_units, speed_units
from pliant.robot import (
    BaseBody,
    BeamStation,
    Contact,
    Coupling,
    Drive,
    Friction,
    Joint,
    Link,
    Loop,
    LoopJoint,
    Lump,
    Origin,
    RigidBody,
    Robot,
)
from pliant.robot.parts.bodies.imported_body import ImportedBody
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.bodies.rigid_body import Payload, inertia_matrix
from pliant.robot.parts.frames import Frame
from pliant.robot.tree import BASE, parents

Pose = tuple[Array, Array]
UNITS = {"m": (1, 0, 0), "kg": (0, 1, 0), "s": (0, 0, 1), "rad": (0, 0, 0), "N": (1, 1, -2), "Pa": (-1, 1, -2),
         "Hz": (0, 0, -1), "A": (0, 0, 0), "V": (2, 1, -3), "ohm": (2, 1, -3), "H": (2, 1, -2),
         "1": (0, 0, 0)}  # fmt: skip
"""Powers of length, mass and time; currents keep their unit."""


@dataclass(frozen=True)
class Restated:
    """An arm in other words. `names` are those of speeds, tips and links that changed, new ones by old ones; `units`
    are the new units of length, mass and time as parts of the old ones; `moved` is the pose of the old base in the new
    one. Names in `lost` have no counterpart. `energies` and `matrix` tell whether they can be compared, `first` is the
    arm where that had to be made plainer."""

    arm: Arm
    names: Mapping[str, str] = field(default_factory=dict)
    units: tuple[float, float, float] = (1.0, 1.0, 1.0)
    moved: Pose = (np.eye(3), np.zeros(3))
    lost: tuple[str, ...] = ()
    energies: bool = True
    matrix: bool = True
    first: Arm | None = None

    def factor(self, unit: str) -> float:
        """Numbers of the new arm over those of the old one."""
        return float(np.prod(np.array(self.units) ** np.array(powers(unit))))


def robot_of(robot: Robot, **changes: Any) -> Robot:
    """With other parts, checked."""
    return Robot(**{name: getattr(robot, name) for name in type(robot).model_fields} | changes)


def part_of(part: Any, **changes: Any) -> Any:
    """With other entries, checked."""
    return type(part)(**{name: getattr(part, name) for name in type(part).model_fields} | changes)


def explicit(robot: Robot) -> list[Link]:
    """Links that name the ones that carry them."""
    carried_by = parents(robot.links)
    return [
        part_of(link, parent=BASE if k is None else robot.links[k].name) for link, k in zip(robot.links, carried_by)
    ]


def loads_by_name(robot: Robot) -> list[Payload]:
    """Payloads that name their links."""
    last = robot.links[-1].name
    return [part_of(load, link=load.link or last) for load in robot.payloads]


def tip_by_name(arm: Arm) -> str:
    """The frame of the load without the word for the last link."""
    return f"{arm.robot.links[-1].name}.tip" if arm.at == "tip" else arm.at


def joined(a: Pose, b: Pose) -> Pose:
    """Pose b, seen from a, seen from where a is."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def seen_from(a: Pose, b: Pose) -> Pose:
    """Pose b, seen from a."""
    return a[0].T @ b[0], a[0].T @ (b[1] - a[1])


def random_pose(rng: np.random.Generator) -> Pose:
    return Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), rng.normal(size=3) * 0.4


def inputs(arm: Arm) -> list[str]:
    """Names of what `tau` has."""
    chain = arm.chain
    return [shaft.name for shaft in chain.shafts] + [line.name for line in chain.commanded]


def with_state(new: Arm, old: Arm, names: Mapping[str, str], more: Mapping[str, float] | None = None) -> Arm:
    """The new arm with coordinates, speeds and inputs of the old one, by their names."""
    chain, known = new.chain, dict(more or {})
    for own, values in ((old.chain.coordinates, old.q), (old.chain.speeds, old.qd)):
        kind = "q" if values is old.q else "v"
        known |= {f"{kind} {names.get(name, name)}": float(x) for name, x in zip(own, values)} | known
    tau = dict(zip((names.get(name, name) for name in inputs(old)), old.tau))
    return replace(
        new, q=np.array([known[f"q {name}"] for name in chain.coordinates]),
        qd=np.array([known[f"v {name}"] for name in chain.speeds]), tau=np.array([tau[name] for name in inputs(new)]),
    )  # fmt: skip


# --------------------------------------------------------------------------------------------- where the base stands


def on_a_turned_base(arm: Arm, rng: np.random.Generator) -> Restated:
    """The base frame somewhere else, turned; gravity, load and the motion of the base with it."""
    T, robot = random_pose(rng), arm.robot
    R, p = T
    changes: dict[str, Any] = {"gravity": tuple(R @ robot.gravity)}
    q = arm.q.copy()
    if robot.base.is_free:
        places = [arm.chain.coordinates.index(f"base.{x}") for x in ("x", "y", "z", "qx", "qy", "qz", "qw")]
        turn = Rotation.from_matrix(R) * Rotation.from_quat(q[places[3:]])
        q[places] = [*(p + R @ q[places[:3]]), *turn.as_quat()]
    else:
        links = explicit(robot)
        for k, link in enumerate(links):
            if link.parent == BASE:
                joint = part_of(link.joint, origin=origin_of(*joined(T, pose_of(link.joint.origin))))
                links[k] = part_of(link, joint=joint)
        changes |= {"links": links, "frames": [
            part_of(frame, origin=origin_of(*joined(T, pose_of(frame.origin)))) if frame.link == BASE else frame
            for frame in robot.frames
        ]}  # fmt: skip
    base, load = arm.base, arm.load
    if base is not None:
        omega, alpha, a = (R @ x for x in base)
        base = omega, alpha, a - np.cross(alpha, p) - np.cross(omega, np.cross(omega, p))
    if load is not None:
        load = np.concatenate([R @ load[:3], R @ load[3:]])
    return Restated(arm.with_robot(robot_of(robot, **changes), q=q, base=base, load=load), moved=T)


def under_acceleration(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """A base that accelerates upwards in place of gravity."""
    if arm.robot.base.is_free:
        return None
    g, still = np.array(arm.robot.gravity), np.zeros(3)
    omega, alpha, a = arm.base or (still, still, still)
    robot = robot_of(arm.robot, gravity=(0.0, 0.0, 0.0))
    return Restated(arm.with_robot(robot, base=(omega, alpha, a - g)), energies=False)


def base_as_link(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """A free base as a link on a free joint."""
    base = arm.robot.base
    if not base.is_free:
        return None
    links = [part_of(link, parent="hull") if link.parent == BASE else link for link in explicit(arm.robot)]
    body = RigidBody(mass=base.mass, com=base.com, inertia=base.inertia)
    hull = Link(name="hull", joint=Joint(type="free"), rigid=body)
    frames = [part_of(frame, link="hull") if frame.link == BASE else frame for frame in arm.robot.frames]
    robot = robot_of(arm.robot, base=BaseBody(), links=[hull, *links], frames=frames, payload=loads_by_name(arm.robot))
    names = {
        f"base.{x}": f"hull.{x}" for x in ("x", "y", "z", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "vx", "vy", "vz")
    }
    new = arm.with_robot(robot)
    return Restated(with_state(new, arm, names), names)


# ------------------------------------------------------------------------------------------------------------- units


def powers(unit: str) -> tuple[float, float, float]:
    """Of length, mass and time in a unit such as N m^2, kg/m or m^3/s/Pa."""
    total = np.zeros(3)
    for k, part in enumerate(unit.split("/")):
        for factor in part.split():
            name, _, power = factor.partition("^")
            total += (1 if k == 0 else -1) * float(power or 1) * np.array(UNITS[name])
    return tuple(total)


_UNIT = r"(?:(?:kg|m|s|N|rad|Pa|Hz|A|V|ohm|H|1)(?:\^\d)?[ /]?)+"


def units_of(description: str) -> tuple[str, str] | None:
    """Unit in front of a description, of turning and of sliding parts; None where it is a number without one."""
    found = re.match(rf"({_UNIT})(?: \(({_UNIT})\))?(?:,|$)", description.replace("^exponent", ""))
    return (found[1].strip(), (found[2] or found[1]).strip()) if found else None


def in_units(part: Any, restated: Restated, slides: bool = False, exponent: float = 1.0) -> Any:
    """A description with its numbers in other units."""
    if isinstance(part, ReducedBody):
        return _body_in_units(part, restated)
    if part == Friction():
        return part
    if not isinstance(part, BaseModel):
        return tuple(in_units(entry, restated, slides) for entry in part) if isinstance(part, tuple) else part
    found: dict[str, Any] = {}
    for name, about in type(part).model_fields.items():
        value = getattr(part, name)
        along = isinstance(part, (Contact, Coupling)) or (isinstance(part, Joint) and part.type == "prismatic")
        own = slides or along
        given = units_of(about.description or "")
        if isinstance(part, Joint) and name == "axes":
            sliding = {"cylindrical": (True, False), "planar": (True, True, False)}.get(part.type, (False, False))
            found[name] = tuple(in_units(axis, restated, x) for axis, x in zip(value, sliding))
        elif name == "table":
            x, y = ("m", "N") if slides else ("rad", "N m")
            found[name] = tuple((a * restated.factor(x), b * restated.factor(y)) for a, b in value)
        elif name == "cycles" and slides:  # of a motor whose position is a length
            found[name] = value / restated.factor("m")
        elif name == "rayleigh":
            found[name] = (value[0] * restated.factor("1/s"), value[1] * restated.factor("s"))
        elif name == "friction" and value == Friction() and _loses(part):  # over its speed the loss turns its sign
            speed = restated.factor("m/s" if own else "rad/s")
            found[name] = value.model_copy(update={"coulomb_speed": value.coulomb_speed * speed})
        elif given is None:
            found[name] = in_units(value, restated, own)
        else:
            factor = restated.factor(given[own])
            if "^exponent" in (about.description or ""):  # of a contact
                factor = restated.factor("N") / restated.factor("m") ** getattr(part, "exponent", 1.0)
            found[name] = _times(value, factor)
    return part.model_copy(update=found)


def _loses(part: Any) -> bool:
    """Whether the friction of a part stands where its gear loses: at an elastic drive's motor, else at the joint."""
    drive = part if isinstance(part, Drive) else getattr(part, "drive", None)
    if drive is None or drive.efficiency == 1:
        return False
    elastic = drive.stiffness is not None
    return elastic == isinstance(part, Drive)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_times(entry, factor) for entry in value)
    return value * factor if isinstance(value, float) else value


def _body_in_units(body: ReducedBody, restated: Restated) -> ReducedBody:
    own = {"mass": "kg", "first": "kg m", "second": "kg m^2", "eps": "kg m", "arms": "kg m^2", "products": "kg m^2",
           "gram": "kg m^2", "spin": "kg m^2", "stiffness": "N m", "damping": "N m s", "places": "m",
           "shift": "m"}  # fmt: skip
    return replace(body, **{name: getattr(body, name) * restated.factor(unit) for name, unit in own.items()})


def in_other_units(arm: Arm, rng: np.random.Generator) -> Restated:
    """Millimetres, grams and milliseconds, or others."""
    choices = [(1e3, 1e3, 1.0), (1e2, 1e3, 1e3), (1 / 0.3048, 1 / 0.4536, 1.0), (1e-3, 1e-3, 1 / 60)]
    units = choices[int(rng.integers(len(choices)))]
    shell = Restated(arm, units=units)
    robot = Robot.from_dict(in_units(arm.robot, shell).to_dict())
    model = arm.model
    q = arm.q * [shell.factor(unit) for unit in coordinate_units(model)]
    qd = arm.qd * [shell.factor(unit) for unit in speed_units(model)]
    turning = {shaft.name: shaft.turns for shaft in arm.chain.shafts}
    tau = arm.tau * [shell.factor("N m" if turning.get(name, False) else "N") for name in inputs(arm)]
    base, load = arm.base, arm.load
    if base is not None:
        base = base[0] * shell.factor("1/s"), base[1] * shell.factor("1/s^2"), base[2] * shell.factor("m/s^2")
    if load is not None:
        load = np.concatenate([load[:3] * shell.factor("N m"), load[3:] * shell.factor("N")])
    return replace(shell, arm=arm.with_robot(robot, q=q, qd=qd, tau=tau, base=base, load=load))


# ----------------------------------------------------------------------------------------------------- links and lumps


def split_in_two(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """A rigid link as two, one fixed on the other somewhere."""
    rigid = [k for k, link in enumerate(arm.robot.links) if link.rigid is not None]
    if not rigid:
        return None
    k = rigid[int(rng.integers(len(rigid)))]
    links = explicit(arm.robot)
    link, body = links[k], links[k].rigid
    assert body is not None
    T, share, inner = random_pose(rng), 0.35, f"{links[k].name}_in"
    R, p = T
    I = R.T @ np.array(inertia_matrix(body.inertia)) @ R
    part = {
        "mass": body.mass * (1 - share),
        "com": tuple(R.T @ (np.array(body.com) - p)),
        "inertia": _six((1 - share) * I),
    }
    tip = seen_from(T, (Rotation.from_euler("xyz", body.tip_rpy).as_matrix(), np.array(body.tip)))
    origin = origin_of(*tip)
    rest = RigidBody(**part, tip=origin.xyz, tip_rpy=origin.rpy)
    shape = inertia_matrix(body.inertia)
    first = RigidBody(mass=share * body.mass, com=body.com, inertia=_six(share * np.array(shape)))
    made = [
        part_of(
            link, name=inner, rigid=first, tip=Lump(), joint=part_of(link.joint, name=link.joint.name or link.name)
        ),
        part_of(link, parent=inner, at="tip", joint=Joint(type="fixed", origin=origin_of(*T)), rigid=rest),
    ]
    others = [part_of(one, parent=inner) if one.parent == link.name and one.at == "root" else one for one in links]
    frames = [
        part_of(one, link=inner) if one.link == link.name and one.at == "root" else one for one in arm.robot.frames
    ]
    robot = robot_of(
        arm.robot, links=[*others[:k], *made, *others[k + 1 :]], frames=frames, payload=loads_by_name(arm.robot)
    )
    at = f"{inner}.root" if arm.at == f"{link.name}.root" else tip_by_name(arm)
    return Restated(arm.with_robot(robot, at=at))


def _six(I: Array) -> tuple[float, ...]:
    return tuple(float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def _sum(*lumps: Any) -> dict[str, Any]:
    """Mass, center and inertia of several together."""
    mass = sum(one.mass for one in lumps)
    com = sum(one.mass * np.array(one.com) for one in lumps) / mass if mass else np.zeros(3)
    I = np.zeros((3, 3))
    for one in lumps:
        d = np.array(one.com) - com
        I += np.array(inertia_matrix(one.inertia), dtype=float) + one.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return {"mass": mass, "com": tuple(com), "inertia": _six(I)}


def lumps_elsewhere(arm: Arm, rng: np.random.Generator) -> Restated:
    """Tip lumps as payloads and payloads as tip lumps, hubs of rigid links in their bodies, and hubs behind fixed
    joints as payloads of the links that carry them."""
    robot, links = arm.robot, explicit(arm.robot)
    loads: list[Payload] = []
    for k, link in enumerate(links):
        own = [Lump(**_sum(one)) for one in robot.carried(k)]
        tip = Lump(**_sum(*own)) if own else Lump()
        if link.tip.mass:
            loads.append(Payload(link=link.name, **_sum(link.tip)))
        joint, hub = link.joint, link.joint.hub
        carrier = next((one for one in links if one.name == link.parent), None)
        if hub.mass and joint.type == "fixed" and carrier is not None and link.at == "tip":
            R, p = pose_of(joint.origin)
            I = R @ np.array(inertia_matrix(hub.inertia)) @ R.T
            moved = Lump(mass=hub.mass, com=tuple(p + R @ hub.com), inertia=_six(I))
            loads.append(Payload(link=link.parent, **_sum(moved)))
            joint = part_of(joint, hub=Lump())
        elif hub.mass and link.rigid is not None:
            link = part_of(link, rigid=part_of(link.rigid, **_sum(link.rigid, hub)))
            joint = part_of(joint, hub=Lump())
        links[k] = part_of(link, tip=tip, joint=joint)
    return Restated(arm.with_robot(robot_of(robot, links=links, payload=loads or Payload())))


def in_other_order(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """Links of a tree in another order."""
    links, waiting, order = explicit(arm.robot), explicit(arm.robot), []
    while waiting:
        done = {link.name for link in order} | {BASE}
        ready = [link for link in waiting if link.parent in done]
        order.append(ready[int(rng.integers(len(ready)))])
        waiting = [link for link in waiting if link.name != order[-1].name]
    if [link.name for link in order] == [link.name for link in links]:
        order = list(reversed(order))  # which the robot puts right
    frames = list(reversed(arm.robot.frames))
    robot = robot_of(
        arm.robot, links=order, payload=list(reversed(loads_by_name(arm.robot))), frames=frames,
        couplings=list(reversed(arm.robot.couplings)),
    )  # fmt: skip
    new = arm.with_robot(robot, at=tip_by_name(arm))
    return Restated(with_state(new, arm, {}))


def pieces_as_links(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """A straight beam in two pieces as two beams, one fixed on the other."""
    straight = [k for k, link in enumerate(arm.robot.links)
                if link.beam is not None and link.pieces == 2 and not link.beam.curved]  # fmt: skip
    if not straight:
        return None
    arm = undamped(arm)
    k, links = straight[0], explicit(arm.robot)
    link, outer = links[k], f"{links[k].name}_out"
    beam = link.beam
    assert beam is not None
    half = beam.length / 2
    own = part_of(beam, pieces=None, length=half)
    made = [
        part_of(link, beam=own, tip=Lump()),
        part_of(link, name=outer, parent=link.name, at="tip", joint=Joint(type="fixed"), beam=own),
    ]

    def placed(owner: Any, at: Any) -> dict[str, Any]:
        if owner != link.name or at == "root":
            return {}
        if at == "tip":
            return {"new": outer}
        return {"new": outer, "at": BeamStation(x=at.x - half)} if at.x > half else {}

    others = []
    for one in links:
        where = placed(one.parent, one.at)
        others.append(part_of(one, **_renamed(where, "parent")))
    frames = [part_of(one, **_renamed(placed(one.link, one.at), "link")) for one in arm.robot.frames]
    loads = [part_of(one, link=outer) if one.link == link.name else one for one in loads_by_name(arm.robot)]
    robot = robot_of(arm.robot, links=[*others[:k], *made, *others[k + 1 :]], frames=frames, payload=loads)
    first, second = (one.name for one in arm.chain.links if one.piece.owner == link.name)
    names = {name: name.replace(first, link.name, 1) for name in arm.chain.speeds if name.startswith(f"{first}.")}
    names |= {name: name.replace(second, outer, 1) for name in arm.chain.speeds if name.startswith(f"{second}.")}
    names |= {first: link.name, second: outer}
    at = f"{outer}.tip" if tip_by_name(arm) == f"{link.name}.tip" else arm.at
    new = with_state(arm.with_robot(robot, at=at), arm, names)
    return Restated(new, names, first=arm)


def _renamed(where: dict[str, Any], owner: str) -> dict[str, Any]:
    return {owner if name == "new" else name: value for name, value in where.items()}


def undamped(arm: Arm) -> Arm:
    """Without damping that knows what lies beyond a link, and with modes that do not."""
    links = []
    for link, load in zip(arm.robot.links, tip_loads(arm.robot)):
        if link.shapes is not None:
            changes: dict[str, Any] = {
                "damping": 0.0,
                "damping_per_amplitude": 0.0,
                "rayleigh": (0.0, link.shapes.rayleigh[1]),
            }
            if load is not None and link.pieces == 1:
                changes |= {"boundary": "clamped-mass", "tip_load": load}
            elif load is not None:
                changes |= {"boundary": "clamped-free", "tip_load": None}
            link = part_of(link, shapes=part_of(link.shapes, **changes))
        if link.body is not None:
            link = part_of(link, body=ImportedBody(content=link.body.content))
        links.append(link)
    return arm.with_robot(robot_of(arm.robot, links=links))


# ------------------------------------------------------------------------------------------------- joints and drives


def axes_as_links(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """Joints with several axes as links without mass, each on one axis."""
    links, names = [], {}
    for link in explicit(arm.robot):
        joint = link.joint
        if joint.type not in ("universal", "cylindrical", "planar"):
            links.append(link)
            continue
        parent, at, origin, freedoms = link.parent, link.at, joint.origin, joint.freedoms
        for k, freedom in enumerate(freedoms):
            own = Joint(
                type="revolute" if freedom.turns else "prismatic", axis=freedom.axis, origin=origin,
                drive=freedom.drive, motor=freedom.motor, friction=freedom.friction, limits=freedom.limits,
                actuated=freedom.actuated, name=f"{link.name}_{freedom.suffix}",
                hub=joint.hub if k == len(freedoms) - 1 else Lump(),
            )  # fmt: skip
            for end in ("", ".motor"):
                names[f"{freedom.name(link.name)}{end}"] = f"{own.name}{end}"
            if k == len(freedoms) - 1:
                links.append(part_of(link, joint=own, parent=parent, at=at))
            else:
                links.append(
                    Link(name=f"{link.name}_on_{k}", joint=own, rigid=RigidBody(mass=0.0), parent=parent, at=at)
                )
            parent, at, origin = f"{link.name}_on_{k}", "tip", Origin()
    if not names:
        return None
    robot = robot_of(arm.robot, links=links, payload=loads_by_name(arm.robot))
    return Restated(with_state(arm.with_robot(robot, at=tip_by_name(arm)), arm, names), names)


def gears_of_one(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """Rotors as they are felt behind their gears, whose ratio is then one."""
    links, changed = [], False
    for link in arm.robot.links:
        joint = link.joint
        own = _geared(joint)
        axes = tuple(part_of(axis, **_geared(axis)) for axis in joint.axes)
        changed |= own != {} or axes != joint.axes
        links.append(part_of(link, joint=part_of(joint, **own, axes=axes)))
    return Restated(arm.with_robot(robot_of(arm.robot, links=links))) if changed else None


def _geared(part: Any) -> dict[str, Any]:
    if part.drive is None:
        return {}
    n = part.drive.gear_ratio
    errors = tuple(part_of(error, cycles=error.cycles * n) for error in part.drive.errors)
    drive = part_of(part.drive, gear_ratio=1.0, rotor_inertia=part.drive.rotor_inertia * n**2, errors=errors)
    motor = part.motor
    if motor is not None:
        motor = part_of(motor, torque_constant=motor.torque_constant * n)
    return {"drive": drive, "motor": motor}


def cut_elsewhere(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """A joint without a torque as a loop; the links behind it fly."""
    kinds = {"revolute": "axis", "prismatic": "axis", "fixed": "", "spherical": "", "universal": "axes"}
    able = []
    for k, link in enumerate(arm.robot.links):
        quiet = all(one.friction == Friction() and one.limits is None for one in link.joint.freedoms)
        slides = link.beam is not None and link.beam.slides
        if (
            link.joint.type in kinds
            and quiet
            and not slides
            and (link.joint.type == "fixed" or not link.joint.actuated)
        ):
            able.append(k)
    if not able:
        return None
    arm = undamped(arm)
    k = able[int(rng.integers(len(able)))]
    links, robot = explicit(arm.robot), arm.robot
    link, joint = links[k], links[k].joint
    key = kinds[joint.type]
    given = {"axis": joint.axis} if key == "axis" else {"axes": [one.axis for one in joint.freedoms]} if key else {}
    names = [body.name for body in robot.bodies]
    seat = Frame(name="seat", link=link.parent, at=link.at if link.parent in names else "tip", origin=joint.origin)
    loop = Loop(name="cut", between=("seat", f"{link.name}.root"), joint=LoopJoint(type=joint.type, **given))
    links[k] = part_of(link, joint=Joint(type="free", hub=joint.hub), parent=BASE, at="tip")
    turned = getattr(getattr(link.beam, "section", None), "turn", 0.0)
    if turned:
        return None
    new = arm.with_robot(
        robot_of(
            robot, links=links, frames=[*robot.frames, seat], loops=[*robot.loops, loop], payload=loads_by_name(robot)
        ),
        at=tip_by_name(arm),
    )
    return Restated(
        with_state(new, arm, {}, _flight(arm, link.name)), lost=tuple(joint.speeds(link.name)), matrix=False, first=arm
    )


def _flight(arm: Arm, name: str) -> dict[str, float]:
    """Coordinates and speeds of a free joint between the base and a link, where the link is."""
    chain, q, qd = arm.chain, ca.SX(ca.DM(arm.q)), ca.SX(ca.DM(arm.qd))
    k = next(k for k, link in enumerate(chain.links) if (link.piece.owner or link.name) == name)
    here = [(number(one.R), number(one.p).ravel()) for one in placements(chain, q)]
    moving = [(number(one.omega).ravel(), number(one.v).ravel()) for one in twists(chain, q, qd)]
    (R, p), (omega, v) = here[k], moving[k]
    if chain.first:
        before, (spin, drift) = here[0], moving[0]
        R, p = seen_from(before, (R, p))
        omega, v = omega - R.T @ spin, v - R.T @ (drift + np.cross(spin, p))
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    found = dict(zip(("x", "y", "z", "qw", "qx", "qy", "qz"), (*p, w, x, y, z)))
    rates = dict(zip(("wx", "wy", "wz", "vx", "vy", "vz"), (*omega, *v)))
    return {f"q {name}.{key}": float(value) for key, value in found.items()} | {
        f"v {name}.{key}": float(value) for key, value in rates.items()
    }


def loops_turned_round(arm: Arm, rng: np.random.Generator) -> Restated | None:
    """Loops with their ends exchanged and their frames turned together, where the joint lets them."""
    if not arm.robot.loops:
        return None
    loops, frames = [], {frame.name: frame for frame in arm.robot.frames}
    for loop in arm.robot.loops:
        R, joint = random_pose(rng)[0], loop.joint
        for end in loop.between:
            if joint.type != "distance":
                frames[end] = part_of(
                    frames[end], origin=origin_of(*joined(pose_of(frames[end].origin), (R, np.zeros(3))))
                )
        changes: dict[str, Any] = {}
        if joint.type in ("revolute", "prismatic"):
            changes["axis"] = tuple(-(R.T @ joint.directions[0]))
        if joint.type == "universal":
            changes["axes"] = [tuple(R.T @ np.array(axis)) for axis in reversed(joint.directions)]
        loops.append(part_of(loop, between=tuple(reversed(loop.between)), joint=part_of(joint, **changes)))
    return Restated(arm.with_robot(robot_of(arm.robot, loops=loops, frames=list(frames.values()))))


RESTATEMENTS: dict[str, Callable[[Arm, np.random.Generator], Restated | None]] = {
    one.__name__: one
    for one in (
        on_a_turned_base, under_acceleration, base_as_link, in_other_units, split_in_two, lumps_elsewhere,
        in_other_order, pieces_as_links, axes_as_links, gears_of_one, cut_elsewhere, loops_turned_round,
    )
}  # fmt: skip
