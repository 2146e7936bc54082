"""From links with `tip_load: track` to bodies whose modes follow the outer joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from pliant.algebra.inertia import Inertia
from pliant.errors import UnsupportedModel
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.link_maps import LinearBeam, is_zero
from pliant.mechanics.links.pose_dependent_modes import TrackedBeam
from pliant.mechanics.links.pose_dependent_roots import Guess, TrackedModes, angle_guess, load_guess
from pliant.robot.parts.beam import beam_properties
from pliant.robot.robot import RobotDescription

SAMPLES = 2000
"""Configurations of the outer joints from which the range of the load is taken, besides the straight arm."""


def with_tracked_modes(robot: RobotDescription, chain: Chain, beyond: Callable[[Any, int], Inertia]) -> Chain:
    """The chain with bodies that follow, for the links that ask for it; `beyond(q, place)` is the inertia at a tip."""
    links = list(chain.links)
    for place, link in enumerate(robot.links):
        if link.shapes is not None and link.shapes.tip_load == "track":
            _refuse(link, chain)
            links[place] = _tracked(robot, chain, place, beyond)
    return replace(chain, links=tuple(links))


def _refuse(link: Any, chain: Chain) -> None:
    p, where = beam_properties(link.beam), f"links.{link.name}.shapes"
    for what, wrong in (
        ("torsion and axial shapes", bool(link.shapes.torsion or link.shapes.axial)),
        ("rotary inertia of sections", not all(is_zero(j) for j in p.rotary)),
        ("shear", not (is_zero(p.GA_y) and is_zero(p.GA_z))),
        ("a tapered section", p.profile is not None),
        ("a beam that slides", link.beam.slides),
        ("an offset of the section", not all(map(is_zero, p.offset))),
        ("an offset of the joint", not is_zero(link.joint.offset)),
        ("stiffening", bool(chain.stiffening)),
        ("joints that have quaternions", not chain.plain),
    ):
        if wrong:
            raise UnsupportedModel(f"{where}: tip_load: track does not go with {what}; use tip_load: auto")


def _tracked(robot: RobotDescription, chain: Chain, place: int, beyond: Callable[[Any, int], Inertia]) -> ChainLink:
    link = chain.links[place]
    body = link.body
    assert isinstance(body, LinearBeam)
    shapes: Any = body.shapes
    p = beam_properties(robot.links[place].beam)
    joints = ca.SX.sym("q", chain.n_joints)
    inertia, unit = beyond(joints, place), p.mass_per_length * p.length
    about = {"bending_y": inertia.A[2, 2], "bending_z": inertia.A[1, 1]}
    fields = [part.name for part in shapes.parts]
    loads = [x for name in fields for x in (about[name] / (unit * p.length**2), inertia.B[2, 1] / (unit * p.length))]
    which = [k for k in range(chain.n_joints) if any(ca.depends_on(x, joints[k]) for x in loads)]
    if not which:
        return link  # nothing beyond turns: the modes of the straight arm are right everywhere
    outer = ca.SX.sym("outer", len(which))
    load = ca.Function("load", [outer], [ca.vertcat(*ca.substitute(loads, [joints], [_spread(outer, which, chain)]))])
    mass = beyond(np.zeros(chain.n_joints), place).C[0, 0]  # the same at all q, which the trace need not see
    planes = _planes(robot, place, shapes, load, which, float(ca.DM(mass)) / unit)
    tracked = TrackedBeam(body.data, shapes, planes, load, len(which), body.rotation, body, body.end_rotation)
    return replace(
        link, body=tracked, body_indices=(*which, *link.body_indices), body_places=(*which, *link.body_places)
    )


def _planes(
    robot: RobotDescription, place: int, shapes: Any, load: Any, which: list[int], M: float
) -> tuple[TrackedModes, ...]:
    """Modes of each bending plane, with roots fitted over the angle of one joint or over what several may do."""
    sampled = np.array(load.map(SAMPLES + 1)(_samples(robot, which)))
    turns = len(which) == 1 and list(robot.freedoms.values())[which[0]].turns
    wanted: Any = robot.links[place].shapes
    found = []
    for k, part in enumerate(shapes.parts):
        J, D, count = sampled[2 * k], sampled[2 * k + 1], part.shapes.size
        guess: Guess = angle_guess(partial(_loads, load, k), count, M) if turns else load_guess(J, D, count, M)
        found.append(TrackedModes(count, M, guess, (float(J[0]), float(D[0])), wanted.normalise))
    return tuple(found)


def _loads(load: Any, plane: int, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and D of a plane at angles of the one outer joint."""
    values = np.array(load.map(len(angles))(angles[None, :]))
    return values[2 * plane], values[2 * plane + 1]


def _spread(outer: Any, which: list[int], chain: Chain) -> Any:
    """All joints, those that do not matter at zero."""
    q = ca.SX.zeros(chain.n_joints)
    q[which] = outer
    return ca.densify(q)


def _samples(robot: RobotDescription, which: list[int]) -> np.ndarray:
    """(len(which), SAMPLES + 1) positions of the outer joints within their limits: zero, quarters of the way, any."""
    moving = list(robot.freedoms.items())
    rng = np.random.default_rng(0)
    rows = []
    for k in which:
        name, freedom = moving[k]
        limits = freedom.limits
        low, high = -np.pi, np.pi
        if limits is not None and limits.lower is not None and limits.upper is not None:
            low, high = limits.lower, limits.upper
        elif not freedom.turns:
            raise UnsupportedModel(
                f"links.{name}.joint: a prismatic joint beyond a link with tip_load: track needs limits, "
                "so that its modes can be followed"
            )
        corners = rng.integers(0, 5, SAMPLES // 2) / 4
        rows.append(np.concatenate([[0.0], low + (high - low) * np.concatenate([corners, rng.random(SAMPLES // 2)])]))
    return np.array(rows)
