"""Beams: the slender body that bends, given by its stiffnesses or by material and section."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.angles import Numeric, is_symbol
from pliant.robot.parts.cross_sections.section_formulas import AreaMoments
from pliant.robot.parts.cross_sections.sections import (
    Section,
    Stations,
    area_moments,
    shear_coefficients,
    tapered_moments,
)
from pliant.robot.parts.fields import Description, NonNegative, Positive, fact, non_negative, number, sequence
from pliant.robot.parts.materials import MaterialOrName

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

Numbers = float | tuple[float, ...]
"""A number, or a column of a table over x."""
STIFFNESSES = ("EI_y", "EI_z", "GJ", "EA", "GA_y", "GA_z")
STUBBY = 2e-3
"""Part by which the rotary inertia of its sections lowers the first frequency of a clamped beam that is called stubby:
one shorter than 34 radii of gyration, or 8.5 diameters of a rod. Its second frequency falls seven times as much."""
TURNED = 4.648
"""int psi'^2 of the first clamped-free mode over int psi^2: the frequency falls by half of it times (radius / L)^2."""


def _rotary(value: object) -> object:
    if value == "section":
        return value
    pair = sequence(value, "two numbers [j_y, j_z], or `section`")
    if len(pair) != 2:
        raise fault("two numbers [j_y, j_z], or `section`")
    return tuple(non_negative(entry) for entry in pair)


_ROTARY = {
    "anyOf": [{"const": "section"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}]
}
MOST_PIECES = 200
TURN_PER_PIECE = 0.1
"""Turn of each piece of a curved beam whose `pieces` are not given, rad."""


def _pieces(value: object) -> object:
    if value == "auto" and isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_PIECES:
        raise fault(f"a whole number from 1 to {MOST_PIECES}, or auto")
    return value


def _column(value: object) -> float | tuple[float, ...]:
    """One number, or a column of a table over x."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(number(entry) for entry in sequence(value, "a number or a list of numbers"))
    return number(value)


def _curvature(value: object) -> tuple[Numbers, Numbers]:
    pair = sequence(value, "two entries [kappa_y, kappa_z], each a number or a column over x")
    if len(pair) != 2:
        raise fault("two entries [kappa_y, kappa_z], each a number or a column over x")
    return _column(pair[0]), _column(pair[1])


_PIECES = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_PIECES}, {"const": "auto"}]}
_COLUMN = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 2}]}
_CURVATURE = {"type": "array", "items": _COLUMN, "minItems": 2, "maxItems": 2}
Pieces = Annotated[int | Literal["auto"], BeforeValidator(_pieces), WithJsonSchema(_PIECES)]
Column = Annotated[float | tuple[float, ...], BeforeValidator(_column), WithJsonSchema(_COLUMN)]
Curvature = Annotated[tuple[Column, Column], BeforeValidator(_curvature), WithJsonSchema(_CURVATURE)]
Rotary = Annotated[tuple[float, float] | Literal["section"], BeforeValidator(_rotary), WithJsonSchema(_ROTARY)]


def _length_follows(schema: JsonSchemaValue) -> None:
    """Make `length` optional for editors: a sliding beam takes that of its material, a side file that of its link."""
    schema["required"].remove("length")


class Beam(Description):
    """A slender beam along +x of the frame after the joint.

    Give `mass_per_length` and the stiffnesses, or `material` and `section`. `EI_z` resists `bending_y` (along y),
    `EI_y` resists `bending_z`. A stiffness may be left out where no shape asks for it. A section brings its own polar
    inertia; its rotary inertia counts with `rotary: section`, and by default where the beam shears or is stubby (it
    lowers the first frequency by 0.2 % or more: shorter than 34 radii of gyration). `GA_y` and `GA_z`, the shear factor
    times G A, let it shear along y and z; with a section `shear: true` does, by its own factors. A beam that `slides`
    comes out of its hub by the joint's position; `length` is then the free length at which its frequencies are quoted.

    With `pieces` the beam may bend as far as it likes: it is followed in so many parts of equal length, each of which
    bends a little and turns with the end of the one before; `shapes` are those of each piece. A beam that is curved or
    twisted when nothing acts on it has `curvature` [kappa_y, kappa_z] and `twist`, 1/m: its section's axes R turn along
    it by R' = R [twist, kappa_y, kappa_z]x, so that kappa_z > 0 bends towards +y and kappa_y > 0 towards -z. Each is a
    number, or a column over `x` (m from 0 to the length, or fractions from 0 to 1). Its tip frame stands at its end,
    along it. `pieces: auto` lets the model choose, by the weight of the arm in the worst pose and what the robot's
    `expected` says.

    Examples
    --------
    >>> tube = pliant.Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04)
    >>> pliant.Beam(length=1.2, material="aluminium", section=tube).material.E
    70000000000.0
    >>> pliant.Beam(length=1.0, mass_per_length=5.0, EI_z=1000.0).EI_z
    1000.0
    """

    model_config = ConfigDict(json_schema_extra=_length_follows)

    length: Positive = Field(
        description="m, of the beam; of one that slides, the free length at which frequencies are quoted",
        examples=[1.2],
    )
    mass_per_length: Positive | None = Field(
        None, description="kg/m, with the stiffnesses; follows from material and section otherwise", examples=[5.0]
    )
    EI_y: Positive | None = Field(
        None, description="N m^2, bending stiffness about y, resists bending_z", examples=[1000.0]
    )
    EI_z: Positive | None = Field(
        None, description="N m^2, bending stiffness about z, resists bending_y", examples=[1000.0]
    )
    GJ: Positive | None = Field(None, description="N m^2, torsional stiffness", examples=[800.0])
    EA: Positive | None = Field(None, description="N, axial stiffness", examples=[10000000.0])
    GA_y: Positive | None = Field(
        None, description="N, shear stiffness along y; without it the beam does not shear", examples=[2000000.0]
    )
    GA_z: Positive | None = Field(None, description="N, shear stiffness along z, likewise", examples=[2000000.0])
    polar_inertia: NonNegative | None = Field(
        None, description="kg m, about x per length; 0, or that of the section", examples=[0.01]
    )
    rotary: Rotary | None = Field(
        None,
        description="kg m, [j_y, j_z] of a section per length, or `section`: default if stubby or sheared",
        examples=["section"],
    )
    material: MaterialOrName | None = Field(
        None, description="moduli and density, or a name such as steel; goes with section", examples=["aluminium"]
    )
    section: Section | None = Field(
        None,
        description="its cross-section; goes with material",
        examples=[{"shape": "tube", "outer_diameter": 0.05, "inner_diameter": 0.04}],
    )
    shear: bool = Field(
        False,
        description="whether it shears: GA_y and GA_z follow from material and section",
        examples=[True],
        strict=True,
    )
    pieces: Pieces | None = Field(
        None, description="parts in which it is followed, or auto; for large deflections", examples=[8]
    )
    curvature: Curvature | None = Field(
        None, description="1/m, [kappa_y, kappa_z] of the unloaded beam", examples=[[0.0, 0.5]]
    )
    twist: Column | None = Field(None, description="1/m, of the unloaded beam", examples=[0.2])
    x: Stations | None = Field(
        None, description="m or fractions, stations of the columns of curvature and twist", examples=[[0.0, 0.4, 1.2]]
    )
    slides: bool = Field(
        False, description="whether it comes out of its hub, with the joint's position", examples=[True], strict=True
    )
    total_length: Positive | None = Field(None, description="m, of all material of a beam that slides", examples=[1.3])

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if data.get("section") is None and data.get("polar_inertia") is None:
            data["polar_inertia"] = 0.0
        if data.get("slides") is True and data.get("length") is None and data.get("total_length") is not None:
            data["length"] = data["total_length"]
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        direct = [name for name in ("mass_per_length", *STIFFNESSES) if getattr(self, name) is not None]
        if (self.material is None) != (self.section is None):
            raise clash("`material` and `section` go together; give both, or mass_per_length and stiffnesses")
        if self.section is not None and direct:
            raise clash(f"`{direct[0]}` follows from `material` and `section`; give one or the other")
        if self.section is None and self.mass_per_length is None:
            raise clash("missing key `mass_per_length`; give it with the stiffnesses, or `material` and `section`")
        if self.section is None and self.rotary == "section":
            raise clash("`rotary: section` needs `material` and `section`; give two numbers [j_y, j_z]")
        if self.section is None and self.shear:
            raise clash("`shear: true` needs `material` and `section`; give `GA_y` and `GA_z`")
        self._check_sliding()
        self._check_table()
        self._check_curves()
        return self

    @fact
    def curved(self) -> bool:
        """Whether it is curved or twisted when nothing acts on it."""
        return any(np.any(np.asarray(entry)) for entry in self.bends_by)

    @fact
    def bends_by(self) -> tuple[Numbers, Numbers, Numbers]:
        """Twist, kappa_y and kappa_z of the unloaded beam, numbers or columns over `x`."""
        return (0.0 if self.twist is None else self.twist, *(self.curvature or (0.0, 0.0)))

    @fact
    def curve(self) -> tuple[Array, Array]:
        """(S,) parts of the length, and (S, 3) twist and curvatures of the unloaded beam there, 1/m."""
        x = np.array((0.0, 1.0) if self.x is None else self.x)
        columns = [np.broadcast_to(np.asarray(column, dtype=float), x.shape) for column in self.bends_by]
        return x, np.column_stack(columns)

    @fact
    def parts(self) -> int:
        """Number of pieces in which it is followed: `pieces` if given, else one, or for a curved beam one per 0.1 rad
        of its turn and one more."""
        if isinstance(self.pieces, int) or not self.curved:
            return self.pieces if isinstance(self.pieces, int) else 1
        x, kappa = self.curve
        size = np.linalg.norm(kappa, axis=1)
        turn = self.length * float(np.sum(np.diff(x) * (size[:-1] + size[1:]) / 2))
        return max(4, 1 + ceil(round(turn / TURN_PER_PIECE, 9)))

    @fact
    def shearing(self) -> tuple[str, ...]:
        """Planes of bending in which it shears."""
        given = {"bending_y": self.GA_y, "bending_z": self.GA_z}
        return tuple(name for name, stiffness in given.items() if self.shear or stiffness is not None)

    def _check_sliding(self) -> None:
        if not self.slides and self.total_length is not None:
            raise clash("`total_length` is for a beam that slides; add `slides: true` or remove it")
        if self.slides and self.total_length is None:
            raise clash("a beam that slides needs `total_length`, the length of all its material")
        if self.total_length is not None and self.total_length < self.length:
            raise clash(f"`total_length` {self.total_length:g} is less than the free `length` {self.length:g}")

        if self.slides and self.shearing:
            raise clash("a beam that slides does not shear; remove `shear`, `GA_y` and `GA_z`")

    def _check_curves(self) -> None:
        if self.slides and (self.parts > 1 or self.pieces == "auto"):
            what = "is straight; remove `curvature` and `twist`" if self.curved else "is one piece; remove `pieces`"
            raise clash(f"a beam that slides {what}")
        columns = [entry for entry in self.bends_by if isinstance(entry, tuple)]
        if bool(columns) != (self.x is not None):
            raise clash("`x` and the columns of `curvature` and `twist` over it go together")
        if any(len(column) != len(self.x or ()) for column in columns):
            raise clash("`x`, and columns of `curvature` and `twist`, need equally many numbers")
        if self.curved and self.pieces == 1:
            raise clash("a beam that is curved needs 2 `pieces` or more; leave `pieces` out for one per 0.1 rad")
        if self.x is not None:
            self.__dict__["x"] = self._fractions(self.x, "x")

    def _check_table(self) -> None:
        if self.section is None or self.section.x is None:
            return
        if self.slides:
            raise clash("a beam that slides must be uniform; give the section without `x`")
        # Kept as fractions of the length, so that the length may change; the beam is not yet frozen here.
        fractions = self._fractions(self.section.x, "section.x")
        self.__dict__["section"] = self.section.model_copy(update={"x": fractions})

    def _fractions(self, stations: tuple[float, ...], name: str) -> tuple[float, ...]:
        end = stations[-1]
        if not any(abs(end - wanted) <= 1e-9 * wanted for wanted in (self.length, 1.0)):
            raise clash(f"`{name}` ends at {end:g}; it must end at the `length` {self.length:g}, or at 1 for fractions")
        return tuple(x / end for x in stations)


BeamLike: TypeAlias = Any
"""A beam, or a view of one whose entries may be symbols."""


@dataclass(frozen=True)
class Profile:
    """Profile of a tapered beam along `eta = x/L` in [0, 1]: the scalar of the beam times the profile is the value.

    `breaks` are the fractions at which the table has stations: the profile is smooth between them.
    """

    section: Section
    E: float
    G: float
    density: float
    own_polar: bool
    own_rotary: bool
    shear: tuple[float, float] = (0.0, 0.0)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Fractions of the length at which the table has stations, 0 and 1 included."""
        assert self.section.x is not None
        return self.section.x

    def _at(self, eta: Numeric) -> AreaMoments:
        return tapered_moments(self.section, np.asarray(eta, dtype=float))

    def mass_per_length(self, eta: Numeric) -> Numeric:
        """Mass per length, kg/m."""
        return self.density * self._at(eta).A

    def EI_y(self, eta: Numeric) -> Numeric:
        """Bending stiffness about y, N m^2."""
        return self.E * self._at(eta).I_y

    def EI_z(self, eta: Numeric) -> Numeric:
        """Bending stiffness about z, N m^2."""
        return self.E * self._at(eta).I_z

    def GJ(self, eta: Numeric) -> Numeric:
        """Torsional stiffness, N m^2."""
        return self.G * self._at(eta).J

    def EA(self, eta: Numeric) -> Numeric:
        """Axial stiffness, N."""
        return self.E * self._at(eta).A

    def GA_y(self, eta: Numeric) -> Numeric:
        """Shear stiffness along y, N, with the shear factor of the root."""
        return self.G * self.shear[0] * self._at(eta).A

    def GA_z(self, eta: Numeric) -> Numeric:
        """Shear stiffness along z, N, with the shear factor of the root."""
        return self.G * self.shear[1] * self._at(eta).A

    def polar_inertia(self, eta: Numeric) -> Numeric:
        """Polar inertia per length, kg m; 1 where the beam was given its own constant value."""
        moments = self._at(eta)
        return np.ones_like(moments.A) if self.own_polar else self.density * (moments.I_y + moments.I_z)

    def rotary(self, eta: Numeric) -> tuple[Array, Array]:
        """Rotary inertia (j_y, j_z) per length, kg m; 1 where the beam was given its own constant values."""
        moments = self._at(eta)
        if self.own_rotary:
            return np.ones_like(moments.A), np.ones_like(moments.A)
        return self.density * moments.I_y, self.density * moments.I_z


@dataclass(frozen=True)
class BeamProperties:
    """Properties of a beam that mechanics uses, numbers or symbols. A stiffness that was left out is 0, and so is the
    shear stiffness of a beam that does not shear.

    y and z are the principal axes of the section; `shear_center` (y, z) is seen from its centroid, `offset` (y, z) is
    that of the centroid from the link's x axis, m.
    """

    length: Numeric
    mass_per_length: Numeric
    EI_y: Numeric
    EI_z: Numeric
    GJ: Numeric
    EA: Numeric
    polar_inertia: Numeric
    rotary: tuple[Numeric, Numeric]
    profile: Profile | None = None
    shear_center: tuple[float, float] = (0.0, 0.0)
    offset: tuple[Numeric, Numeric] = (0.0, 0.0)
    GA_y: Numeric = 0.0
    GA_z: Numeric = 0.0


def beam_properties(beam: BeamLike) -> BeamProperties:
    """Return the properties of a beam, or of a view of one whose entries may be symbols.

    Parameters
    ----------
    beam : Beam

    Returns
    -------
    BeamProperties
        Mass per length and stiffnesses. For a tapered beam the scalars are 1 and `profile` varies; a symbol for a
        modulus or the density is the scalar.

    Examples
    --------
    >>> rod = pliant.Section(shape="rod", diameter=0.01)
    >>> beam = pliant.Beam(length=1.0, material="steel", section=rod)
    >>> round(float(pliant.robot.beam_properties(beam).EI_z), 2)
    103.08
    """
    if beam.section is None:
        stiff = {name: _given(getattr(beam, name), 0.0) for name in STIFFNESSES}
        rotary = _rotary_of(beam, 0.0, 0.0)
        return BeamProperties(
            length=beam.length, mass_per_length=beam.mass_per_length, polar_inertia=beam.polar_inertia, rotary=rotary,
            **stiff,
        )  # fmt: skip
    if beam.section.x is not None:
        return _tapered(beam)
    m, moments = beam.material, area_moments(beam.section)
    k_y, k_z = _shear_factors(beam)
    return BeamProperties(
        length=beam.length,
        mass_per_length=m.density * moments.A,
        EI_y=m.E * moments.I_y,
        EI_z=m.E * moments.I_z,
        GJ=m.G * moments.J,
        EA=m.E * moments.A,
        polar_inertia=_given(beam.polar_inertia, m.density * (moments.I_y + moments.I_z)),
        rotary=_rotary_of(beam, m.density * moments.I_y, m.density * moments.I_z),
        shear_center=moments.shear_center,
        offset=beam.section.placed,
        GA_y=k_y * m.G * moments.A if k_y else 0.0,
        GA_z=k_z * m.G * moments.A if k_z else 0.0,
    )


def _shear_factors(beam: BeamLike) -> tuple[float, float]:
    """Shear factors of the nominal section along y and z; zeros for a beam that does not shear."""
    own: BeamLike = getattr(beam, "description", beam)
    return shear_coefficients(own.section) if own.shear else (0.0, 0.0)


def _given(value: Numeric, otherwise: Numeric) -> Numeric:
    return otherwise if value is None else value


def _rotary_of(beam: BeamLike, j_y: Numeric, j_z: Numeric) -> tuple[Numeric, Numeric]:
    if rotary_counts(beam):
        return j_y, j_z
    return (0.0, 0.0) if beam.rotary is None else (beam.rotary[0], beam.rotary[1])


def rotary_counts(beam: BeamLike) -> bool:
    """Whether the rotary inertia of the section counts, from nominal numbers: asked for, or by default."""
    own: BeamLike = getattr(beam, "description", beam)
    if own.rotary is not None or own.section is None or own.slides:
        return bool(own.rotary == "section")
    if own.shear:
        return True
    tapers = own.section.x is not None
    moments = tapered_moments(own.section, np.linspace(0, 1, 33)) if tapers else area_moments(own.section)
    gyration = max(np.mean(moments.I_y), np.mean(moments.I_z)) / np.mean(moments.A)
    return bool(TURNED / 2 * gyration >= STUBBY * own.length**2)


def _tapered(beam: BeamLike) -> BeamProperties:
    section = getattr(beam.section, "description", beam.section)
    if any(is_symbol(entry) for name in Section.model_fields for entry in _entries(getattr(beam.section, name))):
        raise ModelError(
            "a dimension of a tapered section cannot be a symbol; vary material, length or the robot itself"
        )
    m, factors = beam.material, _shear_factors(beam)
    E, G, density = (value if is_symbol(value) else 1.0 for value in (m.E, m.G, m.density))
    profile = Profile(
        section=section,
        E=1.0 if is_symbol(m.E) else m.E,
        G=1.0 if is_symbol(m.G) else m.G,
        density=1.0 if is_symbol(m.density) else m.density,
        own_polar=beam.polar_inertia is not None,
        own_rotary=not rotary_counts(beam),
        shear=factors,
    )
    return BeamProperties(
        length=beam.length,
        mass_per_length=density,
        EI_y=E,
        EI_z=E,
        GJ=G,
        EA=E,
        polar_inertia=_given(beam.polar_inertia, density),
        rotary=_rotary_of(beam, density, density),
        profile=profile,
        offset=beam.section.placed,
        GA_y=G if factors[0] else 0.0,
        GA_z=G if factors[1] else 0.0,
    )


def _entries(value: Numeric) -> Iterable[Numeric]:
    return value if isinstance(value, tuple) else (value,)
