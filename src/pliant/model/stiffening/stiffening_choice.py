"""Choice of the order to which bent beams are followed by `stiffening="auto"`.

What a beam carries acts on it to second order in three ways: axial force stiffens or softens it, a moment in one plane
buckles it sideways, and twist turns bending into the other plane. Each is a ratio of a load to what the beam stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.base.later import LaterModule
from pliant.mechanics.shapes.integrals import FIELDS
from pliant.model.robot import Robot
from pliant.model.stiffening.stiffening_order import FIRST, FOLLOW, LACKS, LINEAR, NOTICED, RIGID, SMALL, Effect, Level
from pliant.options import FieldName, RotationName, StiffeningChoice
from pliant.robot.closed_chains import way_to_base
from pliant.robot.mass_sum import link_mass
from pliant.robot.parts.beam import BeamProperties, beam_properties
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.joint import Freedom, origin_transform
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces
from pliant.robot.tree import beyond, parents

if TYPE_CHECKING:
    from pliant.mechanics.formulations import motion_equations, registry
    from pliant.mechanics.formulations.formulation import Formulation
else:  # loads are compared without expressions
    motion_equations, registry = (
        LaterModule(f"pliant.mechanics.formulations.{name}") for name in ("motion_equations", "registry")
    )

LATERAL = 4.013
"""A force at the tip of a clamped strip that buckles it sideways, times L^2 / sqrt(EI GJ)."""
STATIONS = np.linspace(0.0, 1.0, 33)


class RootLoads(NamedTuple):
    """Largest axial force, N, bending moment and torque, N m, at the root of a beam, and its length, m."""

    axial: float
    moment: float
    torque: float
    length: float


@lru_cache(maxsize=32)
def choose(robot: Robot, formulation: str | Formulation, rotation: RotationName, stiffening: StiffeningChoice) -> Level:
    """Stiffening level of a model. "auto" takes second order, unless the known loads of the arm show that it is not
    needed, or another option rules it out."""
    if stiffening != "auto":
        return Level(stiffening)
    pulls = next((one.name for one in robot.couplings if any(_bends_beams(robot, end) for end in one.between)), None)
    robot = in_pieces(robot)
    by = registry.FORMULATIONS[formulation] if isinstance(formulation, str) else formulation
    known = [link.name for link in robot.links if link.body is not None and link.body.reduced.beyond]
    if not known and not any(link.bends for link in robot.links):
        return Level("off", LINEAR if any(link.amplitudes for link in robot.links) else RIGID)
    if "stiffening" not in by.supports:
        return Level("off", f"the formulation {by.name} {LACKS}")
    if rotation == "linear":
        return Level("off", f"rotation='linear' {FIRST}")
    for link in robot.links:
        if link.shapes is not None and link.shapes.tip_load == "track":
            return Level("off", f"the modes of link {link.name} {FOLLOW}")
        if link.amplitudes > motion_equations.MOST_DENSE:
            most = motion_equations.MOST_DENSE
            return Level("off", f"link {link.name} has more than {most} amplitudes, all of which it would couple")
    if known:
        return Level("second-order", f"the file of link {known[0]} has it")
    speeds = {name: speed_limit(freedom) for name, freedom in robot.freedoms.items()}
    bending = {link.name for link in robot.links if link.bends}
    found = worst(robot, {name: speed or 0.0 for name, speed in speeds.items()}, bending)
    if found.size > NOTICED:
        return Level("second-order", str(found))
    if robot.base.is_free:
        return Level("second-order", "the base is free, so what spins is not known")
    for name, speed in speeds.items():
        if speed is None:
            return Level("second-order", f"joint {name} has no limits.speed, so what spins is not known")
    if pulls is not None:
        return Level("second-order", f"the force of coupling {pulls} is not known")
    return Level("off", SMALL)


def worst(
    robot: Robot, speeds: Mapping[str, float], names: Collection[str] | None = None,
    accelerations: Mapping[str, float] | None = None,
) -> Effect:  # fmt: skip
    """Largest effect of weight, and of joints that turn at these speeds, rad/s, and accelerate, rad/s^2 or m/s^2, at
    any pose on the links of these names, or on all."""
    roots = loads_at_roots(robot, speeds, accelerations or {})
    carried = (each for each in roots if names is None or each[0].name in names)
    return max(chain.from_iterable(effects(*each) for each in carried), key=lambda effect: effect.size)


class Stands(NamedTuple):
    """Resistance of a link: least bending stiffness, N m^2, torsional stiffness, N m^2, and square of the radius of
    gyration of its sections, m^2."""

    bending: float
    twisting: float
    gyration: float


def effects(link: Link, loads: RootLoads) -> Iterator[Effect]:
    """Effects of the loads that a link carries. There is none where the link has no shape that would move."""
    L, body = loads.length, link.body is not None and not link.body.reduced.beyond
    bending, twisting, gyration = _of_beam(link) if link.body is None else _equal_beam(link.body.reduced)
    buckling = min((np.pi / 2) ** 2 * bending / L / L, np.inf if gyration == 0 else twisting / gyration)
    yield Effect(link.name, "axial force", loads.axial / buckling, body)
    if np.isfinite(bending):
        lateral = LATERAL * np.sqrt(bending * twisting) / L
        part = loads.moment / lateral
        yield Effect(link.name, "bending with twist", part * part, body)
        yield Effect(link.name, "twist", loads.torque * L / twisting, body)


def _of_beam(link: Link) -> Stands:
    p, shapes = beam_properties(link.beam), link.shapes
    assert shapes is not None
    planes: tuple[FieldName, ...] = ("bending_y", "bending_z")
    bending = min((_least(p, FIELDS[name].rigidity) for name in planes if getattr(shapes, name)), default=np.inf)
    twisting = _least(p, "GJ") if shapes.torsion else np.inf
    gyration = 0.0 if not shapes.torsion else _least(p, "polar_inertia") / _least(p, "mass_per_length")
    return Stands(bending, twisting, gyration)


@cache
def _equal_beam(body: ReducedBody) -> Stands:
    """The beam from the root of a body to its farthest frame that yields there as the body does."""
    far, axis, L = _farthest(body)
    if L == 0.0 or not body.size:
        return Stands(np.inf, np.inf, 0.0)
    yields = np.linalg.inv(body.stiffness)
    shifts, turns = (x[far] @ yields @ x[far].T for x in (body.shift, body.turn))
    across = np.eye(3) - np.outer(axis, axis)
    softest, twist = float(np.linalg.eigvalsh(across @ shifts @ across)[-1]), float(axis @ turns @ axis)
    return Stands(L**3 / 3 / softest if softest > 0 else np.inf, L / twist if twist > 0 else np.inf, 0.0)


def _farthest(body: ReducedBody) -> tuple[int, Array, float]:
    """Number of the frame farthest from the root, direction to it, and its distance, m."""
    distances = np.linalg.norm(body.places, axis=1)
    far = int(np.argmax(distances))
    L = float(distances[far])
    return far, body.places[far] / L if L > 0 else np.array([1.0, 0.0, 0.0]), L


def axis_of(link: Link) -> Array:
    """Direction from the root of a link to its end, in axes of the link."""
    return np.array([1.0, 0.0, 0.0]) if link.body is None else _farthest(link.body.reduced)[1]


def _bends_beams(robot: Robot, end: str) -> bool:
    """Return whether a force at a frame bends a beam: the frame is on one, or beyond one."""
    return any(robot.links[k].bends for k in way_to_base(robot, end))


def _least(properties: BeamProperties, name: str) -> float:
    scale = float(getattr(properties, name))
    return scale if properties.profile is None else scale * float(np.min(getattr(properties.profile, name)(STATIONS)))


def speed_limit(freedom: Freedom) -> float | None:
    """Largest rate of a joint that turns, rad/s; None if it has no limit."""
    if not freedom.turns:
        return 0.0
    return None if freedom.limits is None else freedom.limits.speed


def loads_at_roots(
    robot: Robot, speeds: Mapping[str, float], accelerations: Mapping[str, float] | None = None
) -> list[tuple[Link, RootLoads]]:
    """Bounds on what each beam carries: everything beyond its root, stretched out, pulls or bends it as it may."""
    weight, branches = float(np.linalg.norm(robot.gravity)), [beyond(robot.links, k) for k in range(len(robot.links))]
    spins, turned, shifted = np.zeros((3, len(branches)))
    for k, link in enumerate(robot.links):
        branch = [m for m, carried in enumerate(branches) if k in carried or m in branches[k]]
        for freedom in link.joint.freedoms:
            name = freedom.name(link.name)
            spins[branch] += speeds[name]
            (turned if freedom.turns else shifted)[branch] += (accelerations or {}).get(name, 0.0)
    starts, ends, lumps = reaches(robot)
    owners, masses, far, _ = (np.array(column) for column in zip(*lumps))
    forces = masses * (weight + shifted[owners] + (spins[owners] ** 2 + turned[owners]) * far)
    found = []
    for k, link in enumerate(robot.links):
        if link.bends or (link.body is not None and link.amplitudes):
            carried = np.isin(owners, branches[k])
            others = carried & (np.arange(len(owners)) != np.flatnonzero(owners == k)[0])
            moment, torque = forces[carried] @ (far[carried] - starts[k]), forces[others] @ (far[others] - ends[k])
            found.append(
                (link, RootLoads(float(sum(forces[carried])), float(moment), float(torque), link_length(link)))
            )
    return found


class LumpedMass(NamedTuple):
    """A mass on a link, the link's `own` or a payload: number of the link, kg, and distance from the base, m."""

    link: int
    mass: float
    far: float
    own: bool


def reaches(robot: Robot) -> tuple[list[float], list[float], list[LumpedMass]]:
    """Distances from the base at which each link starts and ends, m, and all masses, when every branch is stretched
    out."""
    starts: list[float] = []
    ends: list[float] = []
    lumps: list[LumpedMass] = []
    for k, (link, parent) in enumerate(zip(robot.links, parents(robot.links))):
        root = 0.0 if parent is None else ends[parent]
        starts.append(
            root + float(np.linalg.norm(origin_transform(link.joint)[1])) + _travel(link) + abs(link.joint.offset)
        )
        ends.append(starts[-1] + link_length(link))
        lumps.append(LumpedMass(k, link_mass(link), ends[-1], True))
        lumps += [
            LumpedMass(k, load.mass, ends[-1] + float(np.linalg.norm(load.com)), False) for load in robot.carried(k)
        ]
    return starts, ends, lumps


def _travel(link: Link) -> float:
    """Largest travel of a sliding joint, m."""
    limits = [freedom.limits for freedom in link.joint.freedoms if not freedom.turns]
    return sum(max(0.0, float(bounds.upper)) for bounds in limits if bounds is not None and bounds.upper is not None)


def link_length(link: Link) -> float:
    """Length from the joint of a link to its farthest end, m."""
    if link.beam is not None:
        return float(link.beam.length)
    if link.body is not None:
        body = link.body.reduced
        return float(max(np.linalg.norm(body.places, axis=1).max(), np.linalg.norm(body.first) / body.mass))
    return 0.0 if link.rigid is None else float(max(np.linalg.norm(link.rigid.tip), np.linalg.norm(link.rigid.com)))
