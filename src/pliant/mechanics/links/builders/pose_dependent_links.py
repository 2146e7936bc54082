"""From links with `tip_load: track` to bodies whose modes follow the outer joints.

The inertia beyond the tip of such a link turns with the outer joints: J about the tip in each bending plane, and the
first moment D. The load becomes a function of the outer joints that matter; the roots of the frequency equation are
fitted over what it can be, and the body of the link is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import LinearBeam, is_zero
from pliant.mechanics.links.maps.pose_dependent_modes import TrackedBeam
from pliant.mechanics.links.maps.pose_dependent_roots import Guess, TrackedModes, angle_guess, load_guess
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.robot.description import RobotDescription
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.joint import Limits
from pliant.robot.parts.link import Link

SAMPLES = 2000
"""Configurations of the outer joints from which the range of the load is taken, besides the straight arm."""
Beyond = Callable[[SX, int], Inertia]
"""Inertia at the tip of a link by the positions of all joints and the number of the link."""


class OuterLoad(NamedTuple):
    """Load at the tip of a beam, in units of the beam.

    `joints` are the numbers of the outer joints that it depends on. `varying` gives J and D of one bending plane after
    the other by their positions, and `M` is the mass.
    """

    joints: list[int]
    varying: ca.Function
    M: float

    def at_angles(self, plane: int, angles: Array) -> tuple[Array, Array]:
        """J and D of a plane at angles of the only outer joint."""
        values = np.array(self.varying.map(len(angles))(angles[None, :]))
        return values[2 * plane], values[2 * plane + 1]


def with_tracked_modes(robot: RobotDescription, chain: Chain, beyond: Beyond) -> Chain:
    """The chain with bodies that follow, for the links that ask for it."""
    links = list(chain.links)
    for place, link in enumerate(robot.links):
        if link.shapes is not None and link.shapes.tip_load == "track":
            _refuse(link, chain)
            links[place] = _tracked(robot, chain, place, beyond)
    return replace(chain, links=tuple(links))


def _refuse(link: Link, chain: Chain) -> None:
    """Raise `UnsupportedModel` for a beam or a chain that modes cannot follow."""
    assert link.shapes is not None
    assert link.beam is not None
    p, where = beam_properties(link.beam), f"links.{link.name}.shapes"
    for what, wrong in (
        ("torsion and axial shapes", bool(link.shapes.torsion or link.shapes.axial)),
        ("rotary inertia of sections", not all(is_zero(j) for j in p.rotary)),
        ("shear", not (is_zero(p.GA_y) and is_zero(p.GA_z))),
        ("a tapered section", p.profile is not None),
        ("a beam that slides", link.beam.slides),
        ("an offset of the section", not all(map(is_zero, p.offset))),
        ("an offset of the joint", not is_zero(link.joint.offset)),
        ("stiffening", chain.stiffening != "off"),
        ("joints that have quaternions", not chain.plain),
        ("closed loops", bool(chain.closures)),
        ("passive joints", len(chain.all_shafts) > chain.n_joints),
    ):
        if wrong:
            raise UnsupportedModel(f"{where}: tip_load: track does not go with {what}; use tip_load: auto")


def _tracked(robot: RobotDescription, chain: Chain, place: int, beyond: Beyond) -> ChainLink:
    """The link with a body that follows the outer joints; as it is where none of them turns anything beyond it."""
    link, nominal = chain.links[place], robot.links[place]
    body = link.body
    assert isinstance(body, LinearBeam)
    assert isinstance(body.shapes, LinkShapes)
    load = _outer_load(nominal, chain, place, body.shapes, beyond)
    if load is None:
        return link
    tracked = TrackedBeam(
        data=body.data,
        shapes=body.shapes,
        planes=_planes(robot, nominal, body.shapes, load),
        load=load.varying,
        outer=len(load.joints),
        rotation=body.rotation,
        frozen=body,
        end_rotation=body.end_rotation,
    )
    indices, places = ((*load.joints, *own) for own in (link.body_indices, link.body_places))
    return replace(link, body=tracked, body_indices=indices, body_places=places)


def _outer_load(link: Link, chain: Chain, place: int, shapes: LinkShapes, beyond: Beyond) -> OuterLoad | None:
    """Load at the tip of a link as a function of the outer joints; None where it does not depend on them."""
    p, q = beam_properties(link.beam), ca.SX.sym("q", chain.n_joints)
    inertia, beam_mass = beyond(q, place), p.mass_per_length * p.length
    about = {"bending_y": inertia.A[2, 2], "bending_z": inertia.A[1, 1]}
    varying: list[SX] = []
    for part in shapes.parts:
        varying += [about[part.name] / (beam_mass * p.length**2), inertia.B[2, 1] / (beam_mass * p.length)]
    joints = [k for k in range(chain.n_joints) if any(ca.depends_on(x, q[k]) for x in varying)]
    if not joints:
        return None
    outer, positions = ca.SX.sym("outer", len(joints)), ca.SX.zeros(chain.n_joints)
    positions[joints] = outer  # the others do not matter
    by_outer = ca.vertcat(*ca.substitute(varying, [q], [ca.densify(positions)]))
    mass = beyond(np.zeros(chain.n_joints), place).C[0, 0]  # the same at all q, which the trace need not see
    return OuterLoad(joints, ca.Function("load", [outer], [by_outer]), float(ca.DM(mass)) / beam_mass)


def _planes(robot: RobotDescription, link: Link, shapes: LinkShapes, load: OuterLoad) -> tuple[TrackedModes, ...]:
    """Modes of each bending plane, with roots fitted over the angle of one joint, or over what several may do."""
    assert link.shapes is not None
    samples = np.array(load.varying.map(SAMPLES + 1)(_samples(robot, load.joints)))
    one_turns = len(load.joints) == 1 and list(robot.freedoms.values())[load.joints[0]].turns
    found = []
    for plane, part in enumerate(shapes.parts):
        J, D, count = samples[2 * plane], samples[2 * plane + 1], part.shapes.size
        guess: Guess = (
            angle_guess(partial(load.at_angles, plane), count, load.M) if one_turns else load_guess(J, D, count, load.M)
        )
        at_zero = float(J[0]), float(D[0])
        found.append(TrackedModes(count, load.M, guess, at_zero, link.shapes.normalize))
    return tuple(found)


def _samples(robot: RobotDescription, joints: list[int]) -> Array:
    """(len(joints), SAMPLES + 1) positions of joints within their limits: zero, quarters of the way, any."""
    freedoms = list(robot.freedoms.items())
    rng = np.random.default_rng(0)
    rows = []
    for k in joints:
        name, freedom = freedoms[k]
        low, high = _range(name, freedom.limits, freedom.turns)
        quarters = rng.integers(0, 5, SAMPLES // 2) / 4
        parts = np.concatenate([quarters, rng.random(SAMPLES // 2)])
        rows.append(np.concatenate([[0.0], low + (high - low) * parts]))
    return np.array(rows)


def _range(name: str, limits: Limits | None, turns: bool) -> tuple[float, float]:
    """Least and greatest position of a joint: its limits, or a full turn."""
    if limits is not None and limits.lower is not None and limits.upper is not None:
        return limits.lower, limits.upper
    if not turns:
        raise UnsupportedModel(
            f"links.{name}.joint: a prismatic joint beyond a link with tip_load: track needs limits, "
            "so that its modes can be followed"
        )
    return -np.pi, np.pi
