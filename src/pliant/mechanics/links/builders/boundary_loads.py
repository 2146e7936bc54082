"""Load at the tip of each beam, from the description: it shapes the modes of the beam, and enters their damping.

All that lies beyond the tip of a link is lumped there: hubs, bodies, tip lumps and payloads of all links further out,
straight, with their joints at a reference. `inertias_beyond` sums these inertias from the tips inwards. `tip_loads`
makes of them the numbers that `tip_load: auto` stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from pliant.algebra.inertia import Inertia, zero
from pliant.algebra.rotations import SX
from pliant.mechanics.links.attachments import place_map
from pliant.mechanics.links.builders.build_connections import named_frames
from pliant.mechanics.links.builders.link_geometry import (
    end_rotation,
    held_body,
    hub_lump,
    inertia_of,
    joint_map,
    place_at,
    tip_lump,
)
from pliant.mechanics.shapes.builder import link_shapes
from pliant.mechanics.shapes.integrals import FIELDS
from pliant.mechanics.shapes.link_shapes import LinkShapes, shear_ratio
from pliant.robot.description import RobotDescription
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import TipLoad
from pliant.robot.pieces import in_one_piece
from pliant.robot.symbolic_view import RobotView
from pliant.robot.tree import parents

NONE = ca.SX(0, 1), ca.SX(0, 1)
"""Coordinates and rates of a body that has none."""


def robot_shapes(robot: RobotDescription) -> list[LinkShapes | None]:
    """Shape functions of every link in one piece, with the boundary load of `tip_load: auto` taken from what lies
    beyond at its reference, q = 0 by default."""
    return [link_shapes(link, load) for link, load in zip(in_one_piece(robot).links, tip_loads(robot))]


def tip_loads(robot: RobotDescription) -> list[TipLoad | None]:
    """Load that shapes the functions of each link in one piece: the numbers that `tip_load: auto` stands for, None
    where it is not asked."""
    whole = in_one_piece(robot)
    return boundary_loads(whole, inertias_at_tips(whole))


def boundary_loads(robot: RobotDescription, beyond: Sequence[Inertia]) -> list[TipLoad | None]:
    """Load of each link from the inertia `beyond` its tip; None where it does not shape the functions."""
    return [_tip_load(inertia) if _is_auto(link) else None for link, inertia in zip(robot.links, beyond)]


def _tip_load(beyond: Inertia) -> TipLoad:
    """Mass, inertia about the tip and first moment outward along the beam."""
    A, B, m = (np.array(ca.DM(x)) for x in (beyond.A, beyond.B, beyond.C[0, 0]))
    return TipLoad(mass=float(m[0, 0]), inertia=tuple(np.diag(A).tolist()), first_moment=float(B[2, 1]))


def _is_auto(link: Link) -> bool:
    """Whether the load beyond shapes the functions: asked for, or by default of modes on a beam of fixed length."""
    if link.shapes is None:
        return False
    if link.shapes.boundary is None:
        assert link.beam is not None
        return link.shapes.method != "elements" and not link.beam.slides
    return link.shapes.tip_load in ("auto", "track")


# ------------------------------------------------------------------------------------------------- inertia beyond tips


def inertias_at_tips(robot: RobotDescription | RobotView) -> list[Inertia]:
    """For every link, the inertia at its tip of its tip lump and of everything beyond, at its reference; zeros where
    no link bends, since they are not needed."""
    if all(link.shapes is None and link.body is None for link in robot.links):
        return [zero()] * len(robot.links)
    found = inertias_beyond(robot)
    for i, link in enumerate(robot.links):
        if link.shapes is not None and link.shapes.reference is not None:
            found[i] = inertias_beyond(robot, link.shapes.reference, i)[i]
    return found


def inertias_beyond(robot: RobotDescription | RobotView, q: SX | None = None, first: int = 0) -> list[Inertia]:
    """For the links from `first` on (and empty ones before), the inertia at the tip of the tip lump and of all beyond.

    In the axes of the link, in which its beam bends: a tip frame that `tip_rpy` or a standard DH row turns has others.
    Beams are straight; the moving joints stand at `q`, numbers or symbols, or all at zero.
    """
    counts = np.cumsum([0, *(len(link.joint.freedoms) for link in robot.links)]).tolist()
    found = [zero() for _ in robot.links]
    at_tip, at_frame = ([zero() for _ in robot.links] for _ in range(2))
    carriers = parents(robot.links)
    for i in reversed(range(first, len(robot.links))):
        link, parent = robot.links[i], carriers[i]
        beyond = at_tip[i] + inertia_of(tip_lump(link, robot.carried(i)))
        found[i] = beyond.rotated(end_rotation(link))
        own = None if q is None or counts[i] == counts[i + 1] else q[counts[i] : counts[i + 1]]
        handed = _inertia_before(link, beyond, at_frame[i], own)
        if parent is None:
            continue
        if link.at == "tip":
            at_tip[parent] = at_tip[parent] + handed
        else:
            carrier = robot.links[parent]
            place = place_map(held_body(carrier), place_at(carrier, link.at), *NONE)
            at_frame[parent] = at_frame[parent] + handed.rotated(place.R).shifted(place.p)
    return found


def _inertia_before(link: Link, beyond: Inertia, beside: Inertia, q: SX | None) -> Inertia:
    """Inertia of a link and of all beyond it in the frame that it hangs on, its joint at `q` or at zero.

    `beyond` is the inertia at its tip, in the axes there; `beside` that of what hangs on it elsewhere, about its frame.
    """
    slides = link.beam is not None and link.beam.slides
    body = held_body(link, None if q is None else q[0])
    tip = body.tip(*NONE)
    total = inertia_of(body.moments(*NONE).added(hub_lump(link))) + beyond.rotated(tip.R).shifted(tip.p) + beside
    joint = joint_map(link, link)
    if q is None or slides or joint.is_ball:
        position: SX = joint.rest
    else:
        position = ca.DM(q) if isinstance(q, tuple) else q
    moved = ca.SX(position)
    return total.rotated(joint.rotation(moved)).shifted(joint.position(moved))


# ----------------------------------------------------------------------------------------- numbers that change shapes


def shapes_that_change(robot: RobotDescription, path: str) -> list[str]:
    """Names of the links whose shape functions depend on the number at `path`: those with a load at the tip, whose
    ratios do, and those that shear, whose ratio of shear to bending does. Raises `ModelError` for a number that cannot
    be a symbol."""
    symbol = ca.SX.sym("p")
    view = RobotView(robot, {path: symbol})
    _check_stations(view)
    changed: list[str] = []
    for link, nominal, piece, beyond in zip(view.links, view.description.links, view.pieces, inertias_at_tips(view)):
        if nominal.shapes is None:
            continue
        ratios = _shear_ratios(link, nominal)
        if _is_auto(nominal) or nominal.shapes.tip_load is not None:
            ratios += _load_ratios(link, nominal, beyond)
        if any(ca.depends_on(ca.SX(ratio), symbol) for ratio in ratios) and piece.owner not in changed:
            changed.append(piece.owner)
    return changed


def _check_stations(view: RobotView) -> None:
    """Refuse a length that is a symbol of a beam on whose stations links or frames sit."""
    links = view.description.links
    for link, parent in zip(links, parents(links)):
        if parent is not None and link.at != "tip":
            place_at(view.links[parent], link.at)
    named_frames(view)


def _load_ratios(link: Link, nominal: Link, beyond: Inertia) -> list[SX]:
    """Ratios of the load at the tip to the beam, of which its modes are functions; `link` is a view of `nominal`."""
    assert link.shapes is not None
    assert nominal.shapes is not None
    b, given = beam_properties(link.beam), link.shapes.tip_load
    load: tuple[SX, SX, SX]
    if _is_auto(nominal):
        load = beyond.C[0, 0], ca.diag(beyond.A), beyond.B[2, 1]
    else:
        assert given is not None
        assert not isinstance(given, str)
        load = given.mass, given.inertia, given.first_moment
    mass, J, D = load
    J = ca.vertcat(*J) if isinstance(J, tuple) else J
    per_length = b.mass_per_length * b.length
    ratios = [mass / per_length, J / per_length / b.length**2, D / per_length / b.length]
    if nominal.shapes.torsion:
        ratios.append(J / (b.polar_inertia * b.length))
    return ratios


def _shear_ratios(link: Link, nominal: Link) -> list[SX]:
    """Ratios of shear to bending of the fields that shear; `link` is a view of `nominal`.

    Modes of such a beam also depend on the rotary inertia of its sections, whose radius follows from the section unless
    it is given.
    """
    assert nominal.beam is not None
    assert nominal.shapes is not None
    own = beam_properties(nominal.beam)
    names = [name for name in FIELDS if name in nominal.fields and shear_ratio(name, own)]
    if not names:
        return []
    beam = beam_properties(link.beam)
    given = nominal.shapes.method != "elements" and isinstance(nominal.beam.rotary, tuple)
    turned = [j / (beam.mass_per_length * beam.length**2) for j in beam.rotary] if given else []
    return [shear_ratio(name, beam) for name in names] + turned
