"""Links of a chain from their description: which body a link has, and what is fixed to it.

A link is rigid, a beam with shape functions, a beam that slides, or a body from a file. Stiffening replaces a linear
body by one whose places are kept beyond first order. A rigid link takes in its hub and the load at its tip; of all
others these stay lumps of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import Identity
from pliant.errors import UnsupportedModel
from pliant.mechanics.formulations.motion_equations import MOST_DENSE
from pliant.mechanics.links.builders.build_joints import CoordinateOrder, shaft
from pliant.mechanics.links.builders.link_geometry import (
    beam_data,
    end_rotation,
    hub_lump,
    interfaces,
    joint_map,
    lump_of,
    moved,
    section_turn,
    straight_body,
    tip_lump,
)
from pliant.mechanics.links.chain import ChainLink
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.link_maps import BeamData, Body, LinearBeam, Moments, RigidMap
from pliant.mechanics.links.maps.stiffened_body import StiffenedBody
from pliant.mechanics.links.maps.stiffening import FLAT, StiffenedBeam, lift
from pliant.mechanics.links.maps.turning_sections import SLENDER, CarriedSections, TurningSections
from pliant.mechanics.shapes.link_shapes import LinkShapes, section_profile
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_links import sliding_beam, sliding_link
from pliant.mechanics.sliding.sliding_stiffening import StiffenedSlidingBeam
from pliant.options import RotationName, StiffeningName
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.beam import BeamProperties, beam_properties
from pliant.robot.parts.bodies.rigid_body import Payload
from pliant.robot.parts.link import Link
from pliant.robot.pieces import BeamPiece


class LinkSource(NamedTuple):
    """A link as it is described: a `view` of it, in which parameters are symbols, the `nominal` description with their
    numbers, the piece of a beam that it is, and its shape functions."""

    view: Link
    nominal: Link
    piece: BeamPiece
    shapes: LinkShapes | None

    @property
    def amplitudes(self) -> list[str]:
        """Names of the coordinates of its body."""
        names = () if self.shapes is None else self.shapes.names
        if self.nominal.body is not None:
            names = self.nominal.body.reduced.names
        return [f"{self.piece.label}.{name}" for name in names]


class Modeling(NamedTuple):
    """Options of a chain: how sections turn, and the order of stiffening."""

    rotation: RotationName
    stiffening: StiffeningName


class LoadedBody(NamedTuple):
    """Body of a link, with the hub and the load at its tip that are not part of it."""

    body: Body
    hub: Moments | None = None
    load: Moments | None = None


def chain_link(
    source: LinkSource, payloads: Sequence[Payload], order: CoordinateOrder, modeling: Modeling
) -> ChainLink:
    """Link of a chain, not yet hung on another one and without the damping of a ratio."""
    link, nominal = source.view, source.nominal
    body, hub, load = _loaded_body(source, tip_lump(link, payloads), modeling)
    name, joint, amplitudes = nominal.name, nominal.joint, source.amplitudes
    made = ChainLink(
        name=source.piece.label,
        joint=joint_map(link, nominal),
        body=body,
        hub=None if hub is None or _is_empty(hub) else hub,
        load=None if load is None or _is_empty(load) else load,
        joint_indices=order.indices(joint.speeds(name)),
        body_indices=order.indices(amplitudes),
        joint_places=order.places(joint.coordinates(name)),
        body_places=order.places(amplitudes),
        shafts=tuple(shaft(name, freedom, order) for freedom in link.joint.freedoms),
        piece=source.piece,
        interfaces=interfaces(nominal),
    )
    return sliding_link(made) if isinstance(body, SlidingBeam) else made


def base_link(base: BaseBody, nominal: Link, order: CoordinateOrder) -> ChainLink:
    """Body of a free base, on a free joint."""
    name, joint = nominal.name, nominal.joint
    return ChainLink(
        name=name,
        joint=JointMap("free", (), Identity(), ca.SX.zeros(3)),
        body=RigidMap(lump_of(base), ca.SX.zeros(3)),
        hub=None,
        load=None,
        joint_indices=order.indices(joint.speeds(name)),
        body_indices=(),
        joint_places=order.places(joint.coordinates(name)),
        body_places=(),
        piece=BeamPiece(name),
    )


def _is_empty(body: Moments) -> bool:
    return bool(ca.SX(body.m).is_zero() and body.D.is_zero())


# --------------------------------------------------------------------------------------------------------- bodies


def _loaded_body(source: LinkSource, load: Moments, modeling: Modeling) -> LoadedBody:
    """Body of a link of any kind, with its hub and a load on its tip frame."""
    link, nominal = source.view, source.nominal
    hub = hub_lump(link)
    if nominal.body is not None:
        return LoadedBody(_imported_body(link, modeling), hub, load)
    if nominal.beam is not None and nominal.beam.slides:
        return LoadedBody(_sliding_beam(source, modeling), hub, load)
    if source.shapes is not None:
        return LoadedBody(_beam(source, source.shapes, modeling), hub, load)
    rigid = straight_body(link)
    whole = rigid.inertia.added(hub).added(moved(load, rigid.tip_rotation, rigid.tip_position))
    return LoadedBody(RigidMap(whole, rigid.tip_position, rigid.tip_rotation, rigid.root))


def _imported_body(link: Link, modeling: Modeling) -> Body:
    """Body from a file, to first or second order."""
    given = link.body
    assert given is not None
    rayleigh = (given.rayleigh[0], given.rayleigh[1])
    plain = LinearBody(given.reduced, modeling.rotation, end_rotation(link), given.damping, rayleigh)
    if modeling.stiffening == "off" or not (plain.reduced.beyond):
        return plain
    return StiffenedBody(plain, LinearBody(plain.reduced.lifted, modeling.rotation, plain.end_rotation))


def _sliding_beam(source: LinkSource, modeling: Modeling) -> SlidingBeam:
    """Beam that slides out of its hub, with shapes or straight."""
    link, nominal, bends = source.view, source.nominal, source.shapes is not None
    kind = StiffenedSlidingBeam if modeling.stiffening != "off" and bends else SlidingBeam
    data, end = beam_data(link), end_rotation(link)
    return sliding_beam(link, nominal, data, source.shapes, modeling.rotation, end, kind)


def _beam(source: LinkSource, shapes: LinkShapes, modeling: Modeling) -> Body:
    """Beam of fixed length that bends, linear in its amplitudes or stiffened."""
    link, nominal = source.view, source.nominal
    assert nominal.shapes is not None
    if nominal.shapes.boundary == "pinned" and not isinstance(section_turn(link), Identity):
        raise UnsupportedModel(
            f"links.{nominal.name}: pinned shapes bend in the plane that the joint turns, and the principal axes of "
            "this section are turned from it; use boundary: clamped-free"
        )
    properties = beam_properties(link.beam)
    integrals = shapes.integrals_for(properties)
    plain = LinearBeam(beam_data(link), shapes, integrals, modeling.rotation, end_rotation(link))
    if modeling.stiffening == "off":
        return plain
    if shapes.size > MOST_DENSE:
        raise UnsupportedModel(
            f"links.{nominal.name}.shapes: got {shapes.size} amplitudes, expected at most {MOST_DENSE} with "
            "stiffening, which couples all of them; use fewer elements, or reduce"
        )
    known = beam_properties(nominal.beam)
    flat = FLAT * (known.EI_y + known.EI_z) > known.GJ
    lifted, integrals, axis, forms = lift(shapes, integrals, section_profile(properties), modeling.stiffening, flat)
    sections = _turning_sections(plain.data, shapes, known, flat and bool(nominal.shapes.torsion))
    return StiffenedBeam(replace(plain, shapes=lifted, integrals=integrals), shapes, axis, forms, sections)


def _turning_sections(
    data: BeamData, shapes: LinkShapes, known: BeamProperties, twisted_strip: bool
) -> TurningSections | None:
    """Rotary inertia of sections that turns with them, None where it stays in the axes of the root."""
    if twisted_strip:
        return TurningSections.of(data, shapes)
    return CarriedSections.of(data, shapes) if _carries_sections(known, shapes) else None


def _carries_sections(beam: BeamProperties, shapes: LinkShapes) -> bool:
    """Whether sections turn with their rotary inertia: where it is given, does not vanish beside the link's own, and
    the sections turn in space."""
    largest = max(beam.polar_inertia, *beam.rotary)
    turning = shapes.integrals.turn.any(axis=0).sum()
    return any(beam.rotary) and turning > 1 and largest > SLENDER * beam.mass_per_length * beam.length**2
