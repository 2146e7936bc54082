"""Shape functions of a beam: their kind, their number, and their boundary conditions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from pliant.options import BoundaryName, FieldName, Normalization, ShapeMethod
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.fields import (
    Angle,
    Description,
    NonNegative,
    Number,
    Positive,
    non_negative,
    positive,
    sequence,
)

FIELDS = get_args(FieldName)
MOST_MODES = 50
MOST_ELEMENTS = 500
MOST_UNREDUCED = 200
"""Most elements whose coordinates may all stay. The rounding of their matrices grows with the fourth power of their
number: it moves the first frequency by 1e-7 at 200, by 1e-5 at 350 and by 0.7 % at 500, where 20 elements are right to
1e-7."""
AUTO = "auto"
LEAST_ACCURACY, MOST_ACCURACY = 1e-3, 0.2
"""Bounds of `accuracy`: the elements that judge frequencies are no better, and a larger one would say nothing."""


def _count(value: object) -> int | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and 0 <= value <= MOST_MODES:
        return value
    raise fault(f"a whole number from 0 to {MOST_MODES} (modes), or true or false (elements, auto)")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ELEMENTS:
        raise fault(f"a whole number from 1 to {MOST_ELEMENTS}")
    return value


def _inertia(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return non_negative(value)
    entries = sequence(value, "one number, or three: Jx, Jy, Jz")
    if len(entries) != 3:
        raise fault("one number, or three: Jx, Jy, Jz")
    return tuple(non_negative(entry) for entry in entries)


def _pair(value: object) -> list[object]:
    entries = sequence(value, "two numbers [alpha, beta]")
    if len(entries) != 2:
        raise fault("two numbers [alpha, beta]")
    return entries


def _part(value: object) -> float:
    part = positive(value)
    if not LEAST_ACCURACY <= part <= MOST_ACCURACY:
        raise fault(f"a part from {LEAST_ACCURACY:g} to {MOST_ACCURACY:g}, such as 0.01 for 1 %")
    return part


def _positions(value: object) -> list[object]:
    return sequence(value, "a list of joint positions, one for each moving joint")


_COUNT = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_MODES}, {"type": "boolean"}]}
_WHOLE = {"type": "integer", "minimum": 1, "maximum": MOST_ELEMENTS}
_INERTIA = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}]}
Count = Annotated[int | bool, BeforeValidator(_count), WithJsonSchema(_COUNT)]
Whole = Annotated[int, BeforeValidator(_whole), WithJsonSchema(_WHOLE)]
Pair = Annotated[tuple[NonNegative, NonNegative], BeforeValidator(_pair)]
Positions = Annotated[tuple[Angle, ...], BeforeValidator(_positions)]
_PART = {"type": "number", "minimum": LEAST_ACCURACY, "maximum": MOST_ACCURACY}
Part = Annotated[float, BeforeValidator(_part), WithJsonSchema(_PART)]
TipInertia = Annotated[float | tuple[float, float, float], BeforeValidator(_inertia), WithJsonSchema(_INERTIA)]


class TipLoad(Description):
    """Load that the mode shapes see at the tip; it shapes the functions and adds no mass.

    `inertia` J is about the tip point, one number for both bending planes or Jx, Jy, Jz; `first_moment` D > 0 outward.

    Examples
    --------
    >>> pliant.Shapes(bending_y=2, boundary="clamped-mass", tip_load=pliant.robot.TipLoad(mass=1.5)).tip_load.mass
    1.5
    """

    mass: NonNegative = Field(0.0, description="kg, at the tip", examples=[1.5])
    inertia: TipInertia = Field(0.0, description="kg m^2, about the tip", examples=[0.02])
    first_moment: Number = Field(
        0.0, description="kg m, mass times the distance of its center, outward", examples=[0.1]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        J = min(self.inertia[1:]) if isinstance(self.inertia, tuple) else self.inertia
        if self.first_moment**2 > self.mass * J * (1.0 + 1e-9):
            raise clash(
                f"no body has mass {self.mass:g}, inertia {J:g} about the tip and first moment {self.first_moment:g}: "
                "mass * inertia must reach first_moment^2"
            )
        return self


def _which_load(value: object) -> str:
    return "<auto>" if isinstance(value, str) else "<load>"


TipLoadOrAuto = Annotated[
    Annotated[TipLoad, Tag("<load>")] | Annotated[Literal["auto", "track"], Tag("<auto>")], Discriminator(_which_load)
]


class Shapes(Description):
    """Shape functions of one beam.

    With `method: modes` each of the four fields is a number of modes; with `method: elements` a switch. Without a
    `boundary` modes are those of a clamped beam with all that lies beyond it lumped at its tip at q = 0, as the robot
    is described; a number that would change them is a parameter only of a model with `shapes="nominal"`. `damping` is
    the ratio of every mode of the link, root held and all beyond it lumped at its tip; `rayleigh` adds alpha times its
    mass and beta times its stiffness; `kelvin_voigt` is the time of a material with stress E (strain + time strain
    rate), which works like beta. With `damping_per_amplitude` the ratio grows with the amplitude, as in air: by this
    number times the swing of the tip over the length of the beam.

    With `method: auto`, or the word `auto` in place of all of this, a model chooses the numbers of modes: frequencies
    of the arm, joints locked and free, up to `band` are right to `accuracy`. The fields are those that are `true`, or
    all that the beam has a stiffness for. `model.choices` says what was chosen, `model.robot` has the numbers.

    Examples
    --------
    >>> pliant.Shapes(bending_y=2, bending_z=2, torsion=1, damping=0.01).number
    5
    >>> pliant.Shapes(method="elements", count=4, bending_y=True).number
    8
    >>> tube = pliant.Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04)
    >>> beam = pliant.Beam(length=1.2, material="aluminium", section=tube)
    >>> arm = pliant.Robot(name="arm", links=[pliant.Link(name="boom", beam=beam, shapes="auto")])
    >>> arm.model().coordinates
    ('boom', 'boom.bending_y.1', 'boom.bending_y.2', 'boom.bending_z.1', 'boom.bending_z.2')
    """

    method: ShapeMethod = Field(
        "modes", description="modes, finite elements, or auto: the model chooses", examples=["elements"]
    )
    boundary: BoundaryName | None = Field(
        None,
        description="of the modes, at root and tip; default: clamped, loaded by what lies beyond this link",
        examples=["clamped-mass"],
    )
    bending_y: Count = Field(0, description="shapes along y", examples=[2])
    bending_z: Count = Field(0, description="shapes along z", examples=[2])
    torsion: Count = Field(0, description="shapes about x", examples=[1])
    axial: Count = Field(0, description="shapes along x", examples=[1])
    damping: NonNegative = Field(
        0.0, description="ratio of each mode of the link, root held, all beyond at its tip", examples=[0.01]
    )
    damping_per_amplitude: NonNegative = Field(
        0.0,
        description="growth of that ratio with the amplitude: per swing of the tip over the length of the beam",
        examples=[0.2],
    )
    rayleigh: Pair = Field(
        (0.0, 0.0),
        description="[alpha, beta]: 1/s times the mass of the link, s times its stiffness",
        examples=[[0.1, 0.0001]],
    )
    kelvin_voigt: NonNegative = Field(
        0.0, description="s, viscosity of the material over its modulus", examples=[0.0001]
    )
    count: Whole | None = Field(None, description="number of finite elements", examples=[4])
    reduce: Whole | None = Field(None, description="keep so many Craig-Bampton modes of each field", examples=[10])
    tip_load: TipLoadOrAuto | None = Field(
        None,
        description="of clamped-mass; auto: what sits beyond this link; track: the same, followed with the motion",
        examples=["auto"],
    )
    reference: Positions | None = Field(
        None,
        description="rad or m, positions of all moving joints at which auto looks; all zero by default",
        examples=[[0.0, "90 deg"]],
    )
    normalize: Normalization = Field("unit", description="unit mean square, or one at the tip", examples=["tip"])
    accuracy: Part | None = Field(
        None, description="of auto: part by which frequencies may err; 0.01 by default", examples=[0.01]
    )
    band: Positive | None = Field(
        None, description="Hz, of auto: up to which frequencies count; by default the first of the arm", examples=[50.0]
    )

    @model_validator(mode="before")
    @classmethod
    def _switches(cls, data: object) -> object:
        """Read 0 and 1 as the switches false and true for elements and auto, and false as 0 for modes."""
        if isinstance(data, str):
            if data != AUTO:
                raise fault("a mapping of keys to values, or the word auto")
            data = {"method": AUTO}
        if not isinstance(data, dict):
            return data
        data = dict(data)
        elements = data.get("method") in ("elements", AUTO)
        for name in FIELDS:
            value = data.get(name)
            if elements and isinstance(value, int) and value in (0, 1):
                data[name] = bool(value)
            elif not elements and value is False:
                data[name] = 0
        if elements:
            data = {**dict.fromkeys(FIELDS, False), **data}
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.damping > 1.0:
            raise clash(f"`damping` {self.damping:g} is a ratio: from 0 to 1, such as 0.01")
        {"modes": self._check_modes, "elements": self._check_elements, AUTO: self._check_auto}[self.method]()
        given = [name for name in ("accuracy", "band") if getattr(self, name) is not None]
        if given and self.method != AUTO:
            raise clash(f"`{given[0]}` belongs to `method: auto`; remove it, or let the model choose")
        if (self.boundary == "clamped-mass") != (self.tip_load is not None):
            raise clash("`boundary: clamped-mass` and `tip_load` (auto, or mass, inertia, first_moment) go together")
        if self.reference is not None and self.tip_load != "auto":
            raise clash("`reference` is the configuration at which `tip_load: auto` looks; remove it, or use auto")
        if self.tip_load == "track" and self.method != "modes":
            raise clash("`tip_load: track` belongs to `method: modes`; elements need no boundary load, use auto")
        return self

    def _check_modes(self) -> None:
        for name in FIELDS:
            if getattr(self, name) is True:
                raise clash(f"`{name}: true` is a switch for elements and auto; for modes give their number")
        if self.count is not None or self.reduce is not None:
            raise clash("`count` and `reduce` belong to `method: elements`")

    def _check_elements(self) -> None:
        for name in FIELDS:
            if not isinstance(getattr(self, name), bool):
                raise clash(f"`{name}` is true or false for elements, whose number is `count`")
        if self.count is None:
            raise clash("missing key `count`, the number of elements, such as 4")
        if self.count > MOST_UNREDUCED and self.reduce is None:
            raise clash(
                f"`count` {self.count} without `reduce`: expected at most {MOST_UNREDUCED} elements, beyond which the "
                "rounding of their matrices outweighs what they gain; take fewer, or keep few modes: `reduce: 10`"
            )
        if self.normalize != "unit":
            raise clash("`normalize` belongs to `method: modes`")

    def _check_auto(self) -> None:
        for name in FIELDS:
            if not isinstance(getattr(self, name), bool):
                raise clash(f"`{name}` is true or false for auto, which finds the number")
        for name in ("boundary", "count", "reduce", "tip_load", "reference"):
            if getattr(self, name) is not None:
                raise clash(f"`{name}` with `method: auto`, which chooses it; remove one of them")
        if self.normalize != "unit":
            raise clash("`normalize` belongs to `method: modes`")

    @property
    def is_auto(self) -> bool:
        """Whether a model chooses the numbers."""
        return self.method == AUTO

    @property
    def number(self) -> int:
        """Number of amplitudes of a link whose beam does not shear; 0 where the model will choose."""
        return amplitudes(self)

    def short_form(self) -> str | None:
        """Short form for files: the word `auto`, if all other entries have their defaults.

        Returns
        -------
        str or None
            None where the entries have to be written.

        Examples
        --------
        >>> pliant.Shapes(method="auto").short_form()
        'auto'
        >>> pliant.Shapes(bending_y=2).short_form() is None
        True
        """
        return AUTO if self == Shapes(method=AUTO) else None


def amplitudes(shapes: Shapes, shearing: Collection[str] = ()) -> int:
    """Number of amplitudes of a link; `shearing` are the planes of bending in which its beam shears.

    0 where the model will choose."""
    if shapes.method == AUTO:
        return 0
    if shapes.method == "modes":
        return sum(int(getattr(shapes, name)) for name in FIELDS)
    count = shapes.count or 0
    own = {name: 2 if name.startswith("bending") else 1 for name in FIELDS if getattr(shapes, name)}
    sizes = ((size + (name in shearing)) * count for name, size in own.items())
    return sum(size if shapes.reduce is None else min(size, shapes.reduce) for size in sizes)
