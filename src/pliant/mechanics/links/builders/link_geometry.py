"""Frames, masses and straight bodies of a link, read from its description.

A `Link` may be read through a view here, whose numbers are symbols where a model has parameters. Beams lie along +x of
the link frame, whose y and z are the principal axes of the section: the link frame is turned from the frame after the
joint by the angle of the section.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import casadi as ca
import numpy as np

from pliant.algebra.canonical import canonical
from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX, Identity, Rotation, compose, constant
from pliant.errors import ModelError
from pliant.mechanics.links.attachments import Place
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.link_maps import BeamData, Body, Moments, RigidMap, lump
from pliant.mechanics.shapes.integrals import SPINS
from pliant.mechanics.shapes.link_shapes import section_profile
from pliant.mechanics.shapes.quadrature import gauss_rule
from pliant.mechanics.sliding.sliding_links import sliding_beam
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.beam import Beam, beam_properties
from pliant.robot.parts.bodies.rigid_body import Lump, RigidBody, inertia_matrix
from pliant.robot.parts.joint import origin_transform
from pliant.robot.parts.joint_types import JOINT_TYPES
from pliant.robot.parts.link import At, BodyFrame, Link, tip_rotation

# ---------------------------------------------------------------------------------------------------------- frames


def section_turn(link: Link, sense: int = 1) -> Rotation:
    """Rotation from the axes of a link to the frame after its joint; back from it where `sense` is -1."""
    section = None if link.beam is None else link.beam.section
    return constant(ca.blockcat(rotation_rpy((0.0 if section is None else sense * section.turn, 0.0, 0.0))))


def end_rotation(link: Link) -> Rotation:
    """Rotation from the tip frame of a straight link to its axes."""
    return compose(section_turn(link, -1), constant(ca.blockcat(tip_rotation(link))))


def joint_map(link: Link, nominal: Link) -> JointMap:
    """Joint of a link; `nominal` is the same link without symbols."""
    R, p = origin_transform(link.joint)
    has_axes = not JOINT_TYPES[nominal.joint.type].is_ball
    axes, turn = [unit(freedom.axis) for freedom in nominal.joint.freedoms if has_axes], section_turn(link)
    if not isinstance(turn, Identity):
        turned = (np.array(ca.DM(turn.unapply(ca.SX(ca.DM(axis))))).ravel().tolist() for axis in axes)
        axes = [unit((x, y, z)) for x, y, z in turned]
    return JointMap(
        kind=nominal.joint.type,
        axes=tuple(axes),
        origin_rotation=compose(constant(ca.blockcat(R)), turn),
        origin=ca.SX(ca.vertcat(*p)),
    )


def unit(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    """The axis of length one, with components within 1e-12 of 0 and 1 made exact."""
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    a[np.abs(a) < 1e-12] = 0.0
    a[np.abs(np.abs(a) - 1.0) < 1e-12] = np.sign(a[np.abs(np.abs(a) - 1.0) < 1e-12])
    return float(a[0]), float(a[1]), float(a[2])


def place_at(link: Link, at: At) -> Place:
    """Place on a link: its root, a section of its beam, or a frame of its body."""
    name = getattr(at, "frame", None)
    if name is None:
        return Place(station(link, at), section_turn(link, -1))
    assert link.body is not None
    R, _ = link.body.pose(name)
    return Place(float(link.body.reduced.frames.index(name)), constant(ca.SX(ca.DM(R))))


def station(link: Link, at: At) -> float | None:
    """Part of the length of a beam at which a place is; None for the frame of the link itself."""
    if at == "root":
        return None
    assert link.beam is not None
    length = ca.SX(beam_properties(link.beam).length)
    if not length.is_constant():
        raise ModelError(
            f"links.{link.name}.beam.length: cannot be a parameter while something sits at a station of the beam"
        )
    return min(float(at.x) / float(length), 1.0)  # type: ignore[union-attr]  # a `BeamStation`, or a view of one


def interfaces(link: Link) -> dict[str, Place]:
    """Frames of a body from a file beyond root and tip, by name."""
    if link.body is None:
        return {}
    return {name: place_at(link, BodyFrame(frame=name)) for name in link.body.reduced.frames[2:]}


# ---------------------------------------------------------------------------------------------------------- masses


def lump_of(body: Lump | RigidBody | BaseBody) -> Moments:
    """Moments of a hub, a tip lump, a payload or a base about its frame."""
    return lump(body.mass, ca.SX(ca.vertcat(*body.com)), ca.SX(ca.blockcat(inertia_matrix(body.inertia))))


def tip_lump(link: Link, payloads: Iterable[Lump]) -> Moments:
    """Moments of all that is fixed to the tip frame of a link: its tip lump and payloads."""
    load = lump_of(link.tip)
    for payload in payloads:
        load = load.added(lump_of(payload))
    return load


def hub_lump(link: Link) -> Moments:
    """Moments of the hub in the axes of the link."""
    return moved(lump_of(link.joint.hub), section_turn(link, -1), ca.SX(3, 1))


def moved(body: Moments, R: Rotation, p: SX) -> Moments:
    """A rigid lump of a frame at pose `R`, `p`, seen from the frame that the pose is given in."""
    s = R.apply(body.s)
    D = R.congruence(body.D) + ca.mtimes(p, s.T) + ca.mtimes(s, p.T) + body.m * ca.mtimes(p, p.T)
    return Moments(body.m, s + body.m * p, ca.densify(D))


def inertia_of(body: Moments) -> Inertia:
    """Spatial inertia of a rigid body."""
    return Inertia.rigid(body.m, body.s, body.D)


# --------------------------------------------------------------------------------------------------------- bodies


def beam_data(link: Link) -> BeamData:
    """Numbers or symbols of the beam of a link, with the damping of its shapes."""
    assert link.beam is not None
    b = beam_properties(link.beam)
    zeta, growth, alpha, beta = 0.0, 0.0, 0.0, 0.0
    if link.shapes is not None:
        zeta, growth = link.shapes.damping, link.shapes.damping_per_amplitude
        alpha, beta = (link.shapes.rayleigh[k] for k in range(2))
        beta = beta + link.shapes.kelvin_voigt  # stress E (strain + time strain rate) damps by time times stiffness
    return BeamData(
        length=b.length, mass_per_length=b.mass_per_length,
        EI_y=b.EI_y, EI_z=b.EI_z, GJ=b.GJ, EA=b.EA, GA_y=b.GA_y, GA_z=b.GA_z,
        polar_inertia=b.polar_inertia, rotary=(b.rotary[0], b.rotary[1]),
        damping=zeta, growth=growth, rayleigh=(alpha, beta),
        profile=section_profile(b), shear_center=b.shear_center, offset=(link.joint.offset, *b.offset),
    )  # fmt: skip


def held_body(link: Link, length: SX | None = None) -> Body:
    """Body of a link as it is when nothing acts, without coordinates; a beam that slides at a free `length`."""
    if link.body is not None:
        return LinearBody(link.body.reduced.lowest(0), "exact", end_rotation(link))
    return straight_body(link, length)


def straight_body(link: Link, length: SX | None = None) -> RigidMap:
    """Rigid body of a link, or its beam held straight; a beam that slides at a free `length`."""
    end = end_rotation(link)
    if link.beam is None:
        body = link.rigid
        assert body is not None
        return RigidMap(lump_of(body), ca.SX(ca.vertcat(*body.tip)), end)
    if link.beam.slides:
        beam = sliding_beam(link, link, beam_data(link), None, "exact", end)
        return (beam if length is None else replace(beam, rest_length=length)).held()
    return _straight_beam(link.beam, beam_data(link), end)


def _straight_beam(beam: Beam, data: BeamData, end: Rotation) -> RigidMap:
    """A beam that does not bend: a rod along x whose sections have rotary inertia."""
    L, mass = data.length, data.mass_per_length * data.length
    part, first, second, spin = _profile_integrals(beam)
    sections = zip((data.polar_inertia, *data.rotary), spin)
    j = ca.vertcat(*(per_length * L * mean for per_length, mean in sections))  # about x, y and z
    D = ca.diag(ca.vertcat(mass * L * L * second, 0, 0)) + ca.sum1(j) / 2 * ca.SX.eye(3) - ca.diag(j)
    ex, root = ca.SX(ca.DM([1, 0, 0])), ca.SX(ca.vertcat(*data.offset))
    inertia = Moments(mass * part, ex * (mass * L * first), ca.densify(D)).shifted(root, ca.SX(0, 1))
    return RigidMap(inertia, root + ex * L, end, root)


def _profile_integrals(beam: Beam) -> tuple[float, float, float, tuple[float, ...]]:
    """int g, int g eta, int g eta^2 of the mass profile and the means of the rotary profiles: 1, 1/2, 1/3 if
    uniform."""
    profile = section_profile(beam_properties(beam))
    eta, w = gauss_rule(profile.breaks)
    g = w * profile("mass_per_length", eta)
    mass, first, second = canonical([g.sum(), g @ eta, g @ eta**2]).tolist()
    return mass, first, second, tuple(canonical([w @ profile(name, eta) for name in SPINS]).tolist())
