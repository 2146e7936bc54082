"""From the description of a link to its shapes: the functions of each field, and the boundary load that shapes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.shapes.elements import Elements, ReducedShapes, mass_matrix, reduce_elements, stiffness_matrix
from pliant.mechanics.shapes.integrals import FIELDS, UNIFORM, Field, SectionProfile, modal_integrals
from pliant.mechanics.shapes.link_shapes import LinkShapes, section_profile, shear_ratio
from pliant.mechanics.shapes.modes import bending_modes
from pliant.mechanics.shapes.pinned import pinned_shapes
from pliant.mechanics.shapes.quadrature import ShapeSet, Weight, gauss_rule
from pliant.mechanics.shapes.rods import rod_modes
from pliant.mechanics.shapes.series import StrainSeries, series_of_modes, series_of_tip
from pliant.mechanics.shapes.shearing_modes import shearing_modes
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios
from pliant.options import FieldName, Normalization
from pliant.robot.parts.beam import BeamProperties, beam_properties
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import TipLoad


@dataclass(frozen=True)
class Request:
    """Shapes that are asked of a field: a number of modes, elements, perhaps reduced, or a series: `series_shapes`."""

    method: str
    number: int = 0
    count: int = 0
    reduce: int | None = None
    normalize: Normalization = "unit"
    stations: tuple[float, ...] = ()


def link_shapes(link: Link, tip_load: TipLoad | None = None) -> LinkShapes | None:
    """Shapes of a link as its `shapes` section asks for; None for a rigid body or a rigid beam.

    Parameters
    ----------
    link : pliant.robot.Link
    tip_load : pliant.robot.TipLoad, optional
        Boundary load for `clamped-mass`, with "auto" resolved into numbers; it wins over the one in the description.

    Notes
    -----
    `reduce: k` keeps k Craig-Bampton modes of each flexible field, or all that a field has where that is fewer.
    """
    return requested_shapes(link, lambda name: _own_request(link, name), tip_load)


def requested_shapes(
    link: Link, request: Callable[[FieldName], Request], tip_load: TipLoad | None = None
) -> LinkShapes | None:
    """Shapes of a link with its own flexible fields, beam and boundary, each field as `request` has it."""
    if link.beam is None or link.shapes is None:
        return None
    beam = beam_properties(link.beam)
    profile = section_profile(beam)
    tip = _boundary_load(link, tip_load)
    names: list[FieldName] = [name for name in FIELDS if name in link.fields]
    parts = tuple(_field(link, name, request(name), _ratios(name, beam, tip), profile) for name in names)
    return LinkShapes(parts, modal_integrals(parts, profile, beam.shear_center), profile) if parts else None


def series_shapes(
    link: Link, number: Callable[[FieldName], int], tip_load: TipLoad | None = None, stations: tuple[float, ...] = ()
) -> LinkShapes | None:
    """A complete series of shapes of a link, `number` of each field between `stations` of its length at which something
    sits.

    The first shapes of a field are modes as `Shapes` has them, and of a tapered beam those of reduced elements.
    """
    return requested_shapes(link, lambda name: Request("series", number(name), stations=stations), tip_load)


def _series(link: Link, name: FieldName, request: Request, load: LoadRatios, profile: SectionProfile) -> ShapeSet:
    """Series of one field; of a beam that shears its modes."""
    if shear_ratio(name, beam_properties(link.beam)):
        return _shearing_modes(link, name, request, load, profile)
    edges = tuple(sorted({0.0, 1.0, *request.stations}))
    number = request.number if len(edges) == 2 else request.number // 2 + 3
    base = StrainSeries(number, 2 if name.startswith("bending") else 1, edges)
    if tapers(link):
        rigidity, density = profile.weights.get(FIELDS[name].rigidity), profile.weights.get(_density(name))
        return series_of_tip(base, rigidity, density, profile.breaks)
    return series_of_modes(base, load)


def tapers(link: Link) -> bool:
    """Whether the beam varies along its length, so that elements serve it better than modes of a uniform beam."""
    assert link.beam is not None
    beam = beam_properties(link.beam)
    return section_profile(beam) is not UNIFORM and not (link.beam.shearing and 0.0 in beam.rotary)


def _own_request(link: Link, name: FieldName) -> Request:
    """Shapes of a field as the description asks for them."""
    wanted = link.shapes
    assert wanted is not None
    if wanted.is_auto:
        raise ModelError(
            f"link {link.name}: shapes auto, expected numbers; let a model choose, robot.model().robot has them"
        )
    return Request(wanted.method, int(getattr(wanted, name)), wanted.count or 0, wanted.reduce, wanted.normalize)


def _boundary_load(link: Link, tip_load: TipLoad | None) -> TipLoad | None:
    """The load that shapes the functions, None for a free tip."""
    assert link.shapes is not None
    if link.shapes.boundary is None:
        return tip_load
    if link.shapes.boundary != "clamped-mass":
        return None
    load = link.shapes.tip_load if tip_load is None else tip_load
    if load is None or isinstance(load, str):
        raise ModelError(
            f"link {link.name}: clamped-mass with tip_load {load!r}, expected mass, inertia and first_moment; "
            "give numbers, or let the model resolve `auto` and `track`"
        )
    return load


def _ratios(name: FieldName, beam: BeamProperties, tip: TipLoad | None) -> LoadRatios:
    """The boundary load as one field sees it, in units of the scalar density of the beam."""
    if tip is None or not (tip.mass or np.any(tip.inertia)):
        return FREE
    L, mu = beam.length, beam.mass_per_length
    J = tip.inertia if isinstance(tip.inertia, tuple) else (0.0, tip.inertia, tip.inertia)
    if name == "axial":
        return LoadRatios(M=tip.mass / (mu * L))
    if name == "torsion":
        return LoadRatios(M=J[0] / (beam.polar_inertia * L))
    turned = J[2] if name == "bending_y" else J[1]
    return LoadRatios(tip.mass / (mu * L), turned / (mu * L**3), tip.first_moment / (mu * L**2))


def _field(link: Link, name: FieldName, request: Request, load: LoadRatios, profile: SectionProfile) -> Field:
    """One field with the shapes that are asked of it."""
    shapes: ShapeSet
    if request.method == "series":
        shapes = _series(link, name, request, load, profile)
    elif request.method == "elements":
        shapes = _elements(link, name, request, load, profile)
    elif shear_ratio(name, beam_properties(link.beam)):
        shapes = _shearing_modes(link, name, request, load, profile)
    else:
        shapes = _modes(link, name, request, load.over(_mean(profile, name)))
    return Field(name, shapes, load)


def _modes(link: Link, name: FieldName, request: Request, load: LoadRatios) -> ShapeSet:
    """Modes of the uniform beam of equal mass: exact if the beam is uniform, else Ritz functions."""
    assert link.shapes is not None
    if name in ("torsion", "axial"):
        return rod_modes(request.number, load.M, normalize=request.normalize)
    if link.shapes.boundary == "pinned":  # in the right plane, as `Link` has checked
        limits = link.joint.limits
        torque = limits is None or limits.effort != 0.0
        return pinned_shapes(request.number, torque=torque, normalize=request.normalize)
    return bending_modes(request.number, load=load, normalize=request.normalize)


def _elements(link: Link, name: FieldName, request: Request, load: LoadRatios, profile: SectionProfile) -> ShapeSet:
    """Finite elements of one field, reduced if that is asked."""
    assert link.shapes is not None
    if link.shapes.boundary == "pinned" and link.shapes.method == "elements":
        raise ModelError(
            f"link {link.name}: boundary pinned with elements, expected modes: elements need no boundary; use method "
            "modes, or boundary clamped-free"
        )
    elements, shear = _mesh(link, name, request.count, profile)
    if request.reduce is None:
        return elements
    rigidity, density = profile.weights.get(FIELDS[name].rigidity), profile.weights.get(_density(name))
    K = stiffness_matrix(elements, rigidity, profile.breaks, shear)
    rotary = None if shear is None else _rotary(link, name, profile)
    M = mass_matrix(elements, density, load, rotary, profile.breaks)
    return reduce_elements(elements, min(request.reduce, elements.size), K, M, normalize=request.normalize)


def _mesh(link: Link, name: FieldName, count: int, profile: SectionProfile) -> tuple[Elements, Weight | None]:
    """Elements of a field, and its shear stiffness G A L^2 over its rigidity where it shears."""
    ratio = shear_ratio(name, beam_properties(link.beam))
    if not ratio:
        return Elements(count, 2 if name in ("bending_y", "bending_z") else 1), None
    stiffness = partial(_scaled, profile, str(FIELDS[name].shear), ratio)
    middle = (np.arange(count) + 0.5) / count
    return Elements(count, 2, tuple((profile(FIELDS[name].rigidity, middle) / stiffness(middle)).tolist())), stiffness


def _shearing_modes(
    link: Link, name: FieldName, request: Request, load: LoadRatios, profile: SectionProfile
) -> ReducedShapes:
    """Modes of a beam that shears: those of the tapered beam, with the rotary inertia of its sections."""
    assert link.shapes is not None
    if link.shapes.boundary == "pinned":
        raise ModelError(
            f"link {link.name}: boundary pinned on a beam that shears, expected a clamped one; leave the boundary out"
        )
    kind, beam = FIELDS[name], beam_properties(link.beam)
    return shearing_modes(
        request.number,
        partial(_scaled, profile, str(kind.shear), shear_ratio(name, beam)),
        load,
        rigidity=profile.weights.get(kind.rigidity),
        density=profile.weights.get("mass_per_length"),
        rotary=_rotary(link, name, profile),
        breaks=profile.breaks,
        normalize=request.normalize,
    )


def _rotary(link: Link, name: FieldName, profile: SectionProfile) -> Weight:
    """Rotary inertia of the sections that a bending field turns, over the density and L^2."""
    beam, spin = beam_properties(link.beam), str(FIELDS[name].spin)
    return partial(_scaled, profile, spin, beam.rotary["yz".index(spin[-1])] / (beam.mass_per_length * beam.length**2))


def _scaled(profile: SectionProfile, name: str, scalar: float, eta: Array) -> Array:
    """A profile times a scalar, at stations."""
    return scalar * profile(name, eta)


def _density(name: FieldName) -> str:
    """Property of the section that the motion of a field carries."""
    return "polar_inertia" if name == "torsion" else "mass_per_length"


def _mean(profile: SectionProfile, name: FieldName) -> float:
    """Mean of the density of a field along the beam."""
    rule = gauss_rule(profile.breaks)
    return float(rule.weight @ profile(_density(name), rule.eta))
