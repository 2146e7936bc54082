"""From the description of a link whose beam slides to its body, and the lengths that it may take."""

from __future__ import annotations

from dataclasses import replace

from pliant.algebra.rotations import Rotation
from pliant.errors import UnsupportedModel
from pliant.mechanics.links.chain import ChainLink
from pliant.mechanics.links.maps.link_maps import BeamData, is_zero
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.options import RotationName
from pliant.robot.parts.link import Link

SHORTEST = 0.05
"""Least free length of the travel, as a part of the total length, unless the robot asks for less."""


def sliding_beam(
    link: Link,
    nominal: Link,
    data: BeamData,
    shapes: LinkShapes | None,
    rotation: RotationName,
    end: Rotation,
    kind: type[SlidingBeam] = SlidingBeam,
) -> SlidingBeam:
    """The body of a link whose beam slides; `link` may be a view of `nominal`, with symbols."""
    assert link.beam is not None
    assert nominal.beam is not None
    where = f"links.{nominal.name}"
    for name in ("torsion", "axial"):
        if shapes is not None and name in shapes.fields:
            raise UnsupportedModel(
                f"{where}.shapes.{name}: a beam that slides cannot have {name} shapes, their velocity would jump at "
                f"the mouth of the sleeve; leave {name} out"
            )
    if shapes is not None and not all(is_zero(j) for j in data.rotary):
        raise UnsupportedModel(f"{where}.beam.rotary: not supported on a beam that slides and bends; leave it out")
    if not all(map(is_zero, data.offset)):
        raise UnsupportedModel(
            f"{where}.beam.section.offset: not supported on a beam that slides; move the joint's origin"
        )
    normalize = nominal.shapes.normalize if nominal.shapes is not None else "unit"
    length, travel = float(nominal.beam.length), travel_of(nominal)
    return kind(
        data=data,
        shapes=shapes,
        rotation=rotation,
        total_length=link.beam.total_length,
        travel=travel,
        rest_length=length,
        normalize=normalize,
        end_rotation=end,
    )


def sliding_link(link: ChainLink) -> ChainLink:
    """A link with a sliding beam whose prismatic joint has handed its coordinate to the body, and is fixed itself."""
    assert isinstance(link.body, SlidingBeam)
    (shaft,) = link.shafts
    return replace(
        link, joint=replace(link.joint, kind="fixed", axes=()), joint_indices=(), shafts=(replace(shaft, rotor=0.0),),
        body=replace(link.body, rotor=shaft.rotor), body_indices=(shaft.index, *link.body_indices), joint_places=(),
        body_places=(*link.joint_places, *link.body_places),
    )  # fmt: skip


def travel_of(link: Link) -> tuple[float, float]:
    """Free lengths for which a sliding link is modeled: from 5 % of the total length, or less if the robot asks so."""
    assert link.beam is not None
    assert link.beam.total_length is not None
    total, limits = float(link.beam.total_length), link.joint.limits
    wanted = [SHORTEST * total, float(link.beam.length)]
    if limits is not None and limits.lower is not None:
        wanted.append(float(limits.lower))
    return min(wanted), total
