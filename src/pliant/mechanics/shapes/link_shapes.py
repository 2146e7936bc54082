"""The shapes of one flexible link, all its fields together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.mechanics.shapes.elements import eigenpairs
from pliant.mechanics.shapes.integrals import (
    FIELDS,
    UNIFORM,
    Field,
    ModalIntegrals,
    SectionProfile,
    blocks,
    loaded_mass,
    modal_integrals,
)
from pliant.mechanics.shapes.modes import BendingModes
from pliant.mechanics.shapes.quadrature import Weight, shear_angles
from pliant.mechanics.shapes.rods import RodModes
from pliant.options import FieldName
from pliant.robot.parts.beam import BeamProperties, Profile

if TYPE_CHECKING:
    from pliant.algebra.rotations import SX

DENSITY_OF: dict[str, set[FieldName]] = {
    "mass_per_length": {"bending_y", "bending_z", "axial"},
    "polar_inertia": {"torsion"},
}


@dataclass(frozen=True)
class LinkShapes:
    """Shape functions of one flexible link, in the order bending_y, bending_z, torsion, axial.

    Field value = sum over its coordinates of L**power psi(eta) c: v, w or u in meters, phi in radians.

    Attributes
    ----------
    parts : tuple of Field
        One per flexible field, with its shapes and boundary load.
    integrals : ModalIntegrals
    profile : SectionProfile
    """

    parts: tuple[Field, ...]
    integrals: ModalIntegrals = field(repr=False)
    profile: SectionProfile = field(repr=False)

    @property
    def size(self) -> int:
        return sum(part.shapes.size for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Coordinates by name, "bending_y.1" first."""
        return tuple(f"{part.name}.{j + 1}" for part in self.parts for j in range(part.shapes.size))

    @property
    def fields(self) -> tuple[str, ...]:
        """Field of each coordinate."""
        return tuple(part.name for part in self.parts for _ in range(part.shapes.size))

    @cached_property
    def powers(self) -> tuple[int, ...]:
        """Power of L of each coordinate: 1 for nodal slopes dv/dx, else 0."""
        return tuple(p for part in self.parts for p in part.shapes.powers)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Properties that the shapes depend on besides their number: the tip load and those in its ratios.

        Empty when no boundary load enters: then the integrals hold for any length, density and stiffness.
        """
        loaded = {part.name for part in self.parts if part.load}
        densities = [name for name, fields in DENSITY_OF.items() if loaded & fields]
        return ("tip_load", "length", *densities) if loaded else ()

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k at each station, shape (len(eta), m)."""
        return np.hstack([part.shapes.evaluate(eta, derivative) for part in self.parts])

    def shear(self, eta: ArrayLike) -> Array:
        """dv/d eta less the rotation of the section, shape (len(eta), m)."""
        return np.hstack([shear_angles(part.shapes, eta) for part in self.parts])

    def integrals_for(self, properties: BeamProperties) -> ModalIntegrals:
        """Integrals for properties whose profile has other scalars split off (a symbolic modulus of a tapered beam)."""
        return (
            self.integrals if properties.profile is None else modal_integrals(self.parts, section_profile(properties))
        )

    def frequencies(self, properties: BeamProperties) -> Array:
        """Natural frequencies in rad/s of the link with its boundary load, joint held, rising in each field.

        Modes of a uniform beam give the exact roots; tapered beams, elements, shear and rotary inertia the eigenvalues
        of stiffness and mass over the link's own shapes.
        """
        places = zip(self.parts, blocks(self.parts))
        return np.concatenate([self._field_frequencies(part, block, properties) for part, block in places])

    def _field_frequencies(self, part: Field, block: slice, properties: BeamProperties) -> Array:
        """Frequencies of one field, whose amplitudes are a block of the link's."""
        unit, rotary = _frequency_unit(part.name, properties)
        if isinstance(part.shapes, BendingModes | RodModes) and not self.profile.weights and rotary == 0:
            return np.asarray(unit * part.shapes.roots**part.shapes.order)
        own = self.integrals
        turn = int(np.argmax(np.abs(FIELDS[part.name].turn)))
        gamma = own.spin_gram[0] if part.name == "torsion" else own.gram + rotary * own.spin_gram[turn]
        mass = loaded_mass(part, gamma[block, block], own.tip[block], own.tip_slope[block])
        return np.asarray(unit * np.sqrt(eigenpairs(self.strain(part.name, properties)[block, block], mass)[0]))

    def strain(self, name: FieldName, properties: BeamProperties) -> Array:
        """(m, m) stiffness in units of the rigidity of a field, with its shear; it holds for the rows of this field."""
        return np.asarray(self.integrals.stiffness + shear_ratio(name, properties) * self.integrals.shear)


def _frequency_unit(name: FieldName, beam: BeamProperties) -> tuple[float, float]:
    """Factor from dimensionless frequency to rad/s, and the ratio j/(mu L^2) of the sections' rotary inertia."""
    L, mu, rigidity = beam.length, beam.mass_per_length, getattr(beam, FIELDS[name].rigidity)
    if name == "torsion":
        return sqrt(rigidity / beam.polar_inertia) / L, 0.0
    if name == "axial":
        return sqrt(rigidity / mu) / L, 0.0
    j_y, j_z = beam.rotary
    return sqrt(rigidity / mu) / L**2, (j_z if name == "bending_y" else j_y) / (mu * L**2)


def shear_ratio(name: FieldName, beam: BeamProperties) -> SX:
    """G A L^2 / EI of a field, from the scalars of a beam; 0 where it does not shear."""
    kind = FIELDS[name]
    return 0.0 if kind.shear is None else getattr(beam, kind.shear) * beam.length**2 / getattr(beam, kind.rigidity)


def section_profile(properties: BeamProperties) -> SectionProfile:
    """The profile of a beam's properties in the form that the integrals take."""
    given = properties.profile
    if given is None:
        return UNIFORM
    weights: dict[str, Weight] = {name: getattr(given, name) for name in ("mass_per_length", "polar_inertia")}
    stiff = [name for kind in FIELDS.values() for name in (kind.rigidity, kind.shear) if name is not None]
    weights |= {name: getattr(given, name) for name in stiff}
    weights |= {"rotary_y": partial(_rotary, given, 0), "rotary_z": partial(_rotary, given, 1)}
    return SectionProfile(weights, tuple(given.breaks))


def _rotary(profile: Profile, plane: int, eta: Array) -> Array:
    """Rotary inertia of sections at stations, about y (plane 0) or z."""
    return np.asarray(profile.rotary(eta)[plane])
