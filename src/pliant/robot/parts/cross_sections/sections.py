"""Cross-sections of beams, uniform or tapered by a table over x, and their area moments.

y is the width direction, z the height direction. A table interpolates the *dimensions* linearly, never the stiffness.
Rods, tubes, rectangles and boxes have formulas, for numbers and symbols, with the axis through the middle; the others
are drawn as polygons. Their axis goes through the centroid, their moments are about the principal axes, which may be
turned from the drawn ones, and they twist about the shear center (`saint_venant`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Self, get_args

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.arrays import Array
from pliant.options import SectionShape
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.parts.angles import Numeric, cosine, sine
from pliant.robot.parts.cross_sections.saint_venant import (
    Loops,
    area_integrals,
    crosses_itself,
    lies_inside,
    saint_venant,
    signed_area,
)
from pliant.robot.parts.cross_sections.section_formulas import (
    AreaMoments,
    DrawnSection,
    FormulaSection,
    drawn_moments,
    principal_angle,
)
from pliant.robot.parts.cross_sections.section_shapes import section_shape
from pliant.robot.parts.fields import Angle, Description, non_negative, number, positive, sequence


def _dimension(value: object) -> float | tuple[float, ...]:
    """One positive number, or a column of a table whose last entry may be 0 (a wedge)."""
    if isinstance(value, (list, tuple, np.ndarray)):
        column = sequence(value, "a number or a list of numbers")
        if not 2 <= len(column) <= 1000:
            raise fault("a number, or 2 to 1000 numbers over x")
        return (*(positive(entry) for entry in column[:-1]), non_negative(column[-1]))
    return positive(value)


_COLUMN = {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2}
_SCHEMA = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _COLUMN], "description": "m, or a column over x"}
Dimension = Annotated[float | tuple[float, ...], BeforeValidator(_dimension), WithJsonSchema(_SCHEMA)]


def _stations(value: object) -> tuple[float, ...]:
    column = [non_negative(entry) for entry in sequence(value, "a list of numbers")]
    if len(column) < 2 or column[0] != 0.0 or any(b <= a for a, b in pairwise(column)):
        raise fault("rising numbers from 0 to the length of the beam (or to 1)")
    return tuple(column)


NO_DIMENSIONS = {"shape", "x", "holes", "rotation", "offset"}
Stations = Annotated[tuple[float, ...], BeforeValidator(_stations), WithJsonSchema(_COLUMN)]


def _corners(value: object) -> Polygon:
    """Corners (y, z) of a polygon, in order either way round; kept counter-clockwise."""
    items = [sequence(entry, "corners [y, z]") for entry in sequence(value, "a list of corners [y, z]")]
    if not 3 <= len(items) <= MOST_CORNERS or any(len(entry) != 2 for entry in items):
        raise fault(f"3 to {MOST_CORNERS} corners [y, z]")
    corners = tuple((number(y), number(z)) for y, z in items)
    if crosses_itself((corners,)):
        raise fault("corners in order around the section", "edges between these cross each other")
    area = signed_area(corners)
    if abs(area) < 1e-9 * (np.ptp(corners, axis=0).max()) ** 2:
        raise fault("corners around an area", "these lie on a line")
    return corners if area > 0.0 else corners[::-1]


def _holes(value: object) -> tuple[Polygon, ...]:
    return tuple(_corners(entry) for entry in sequence(value, "a list of polygons"))


def _pair(value: object) -> tuple[float, float]:
    items = sequence(value, "two numbers [y, z]")
    if len(items) != 2:
        raise fault(f"two numbers [y, z], not {len(items)}")
    return number(items[0]), number(items[1])


MOST_CORNERS = 200
_PAIR = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
Pair = Annotated[tuple[float, float], BeforeValidator(_pair), WithJsonSchema(_PAIR)]
Polygon = tuple[tuple[float, float], ...]
_CORNERS = {"type": "array", "items": _PAIR, "minItems": 3}
Corners = Annotated[Polygon, BeforeValidator(_corners), WithJsonSchema(_CORNERS)]
Holes = Annotated[
    tuple[Polygon, ...], BeforeValidator(_holes), WithJsonSchema({"type": "array", "items": _CORNERS})
]  # fmt: skip


class Section(Description):
    """A cross-section: `rod` (diameter), `tube` (outer_diameter, inner_diameter), `rectangle` (width, height), `box`
    (width, height, thickness), `i`, `channel` or `tee` (width, height, flange, web), `angle` (width, height,
    thickness) or `polygon` (points, holes).

    The axis of the beam goes through the centroid, and y and z of the link along the principal axes: where those of
    the drawing are others (an angle), the link's axes are turned about x from the frame after the joint to them, by 45
    degrees at most; `rotation` turns the drawing as well. With `offset` the axis, and the tip frame at its end, stand
    beside x of that frame. A section twists about its shear center; its warping is free.

    With `x` (m from 0 to the beam's length, or fractions from 0 to 1) each dimension is one number or a column over x.
    A beam keeps `x` as fractions: the taper stretches with its length.

    Examples
    --------
    >>> pliant.Section(shape="box", width=0.04, height=0.06, thickness=0.003).height
    0.06
    >>> pliant.Section(shape="polygon", points=[[0, 0], [0.03, 0], [0, 0.05]]).points[1]
    (0.03, 0.0)
    >>> taper = pliant.Section(shape="rod", x=[0.0, 1.0], diameter=[0.02, 0.01])
    >>> taper.diameter
    (0.02, 0.01)
    """

    shape: SectionShape = Field(description="which dimensions it has", examples=["tube"])
    x: Stations | None = Field(None, description="m or fractions, stations of a taper", examples=[[0.0, 1.0]])
    diameter: Dimension | None = Field(None, description="m, of a rod", examples=[0.02])
    outer_diameter: Dimension | None = Field(None, description="m, of a tube", examples=[0.05])
    inner_diameter: Dimension | None = Field(None, description="m, of a tube", examples=[0.04])
    width: Dimension | None = Field(None, description="m, along y", examples=[0.08])
    height: Dimension | None = Field(None, description="m, along z", examples=[0.12])
    thickness: Dimension | None = Field(
        None, description="m, of the walls of a box or the legs of an angle", examples=[0.004]
    )
    flange: Dimension | None = Field(
        None, description="m, thickness of the flanges of an i, a channel or a tee", examples=[0.006]
    )
    web: Dimension | None = Field(
        None, description="m, thickness of the web of an i, a channel or a tee", examples=[0.004]
    )
    points: Corners | None = Field(
        None, description="m, corners [y, z] of a polygon in order", examples=[[[0, 0], [0.03, 0], [0, 0.05]]]
    )
    holes: Holes | None = Field(
        None, description="m, polygons inside the polygon", examples=[[[[0.005, 0.005], [0.015, 0.005], [0.005, 0.02]]]]
    )
    rotation: Angle | None = Field(None, description="rad, of the drawing about x of the link", examples=["30 deg"])
    offset: Pair | None = Field(
        None, description="m, [y, z] of the centroid from x of the frame after the joint", examples=[[0.0, 0.02]]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        wanted = section_shape(self.shape).dimensions
        if self.x is not None and self.is_drawn:
            others = [name for name in get_args(SectionShape) if isinstance(section_shape(name), FormulaSection)]
            raise clash(f"a table over `x` is for {', '.join(others)}; give the {self.shape} without `x`")
        if self.holes is not None and self.shape != "polygon":
            raise clash(f"key `holes` does not belong to a {self.shape}, but to a polygon")
        for name in (name for name in type(self).model_fields if name not in NO_DIMENSIONS):
            if (value := getattr(self, name)) is None and name in wanted:
                raise clash(f"missing key `{name}`: a {self.shape} needs {', '.join(wanted)}")
            if value is not None and name not in wanted:
                raise clash(f"key `{name}` does not belong to a {self.shape}, which has {', '.join(wanted)}")
            if isinstance(value, tuple) and self.x is None and name != "points":
                raise clash(f"`{name}` is a column of {len(value)} numbers, but the table has no `x`")
            if isinstance(value, tuple) and self.x is not None and len(value) != len(self.x):
                raise clash(f"`{name}` has {len(value)} numbers, `x` has {len(self.x)}; a table needs as many")
        self._check_walls()
        return self

    def _check_walls(self) -> None:
        if self.shape == "polygon":
            outline, *holes = self.loops()
            apart = not crosses_itself(self.loops()) and all(lies_inside(hole[0], outline) for hole in holes)
            if not apart or any(lies_inside(a[0], b) for a in holes for b in holes if a is not b):
                raise clash("`holes` must lie inside the polygon, apart from each other")
            return
        columns = [np.asarray(value, dtype=float) for value in _sizes(self)]
        if wrong := section_shape(self.shape).fault(*columns):
            raise clash(wrong)

    @property
    def is_drawn(self) -> bool:
        """Whether its constants come from its outline, not from formulas."""
        return isinstance(section_shape(self.shape), DrawnSection)

    @property
    def turn(self) -> float:
        """Angle about x from the frame after the joint to the principal axes, rad."""
        return (self.rotation or 0.0) + (principal_angle(area_integrals(self.loops())) if self.is_drawn else 0.0)

    @property
    def placed(self) -> tuple[Numeric, Numeric]:
        """Place (y, z) of the centroid in the axes of the link, m."""
        if self.offset is None:
            return 0.0, 0.0
        (y, z), c, s = self.offset, cosine(self.turn), sine(self.turn)
        return c * y + s * z, c * z - s * y

    def half_sizes(self, eta: Array) -> tuple[Array, bool]:
        """(S, 2) half width (y) and half height (z) at parts `eta` (S,) of the length, and whether it is round.

        Parameters
        ----------
        eta : (S,) array
            Parts of the length.

        Returns
        -------
        sizes, is_round : (S, 2) array, bool
            m.

        Examples
        --------
        >>> section = pliant.Section(shape="box", width=0.08, height=0.12, thickness=0.004)
        >>> sizes, is_round = section.half_sizes(np.zeros(1))
        >>> print(sizes)
        [[0.04 0.06]]
        """
        form = section_shape(self.shape)
        if isinstance(form, DrawnSection):
            return np.tile(np.abs(self.outline()).max(axis=0), (len(eta), 1)), False
        return np.column_stack([interpolated(self, name, eta) / 2 for name in form.along]), form.is_round

    def loops(self) -> Loops:
        """Outline of a section that is drawn and its holes, about the centroid, in the axes of the drawing.

        Returns
        -------
        tuple of tuple of (y, z)
            m; the outline counter-clockwise, then holes clockwise.

        Examples
        --------
        >>> section = pliant.Section(shape="angle", width=0.04, height=0.04, thickness=0.01)
        >>> [round(entry, 6) for entry in section.loops()[0][0]]
        [-0.013571, -0.013571]
        """
        form = section_shape(self.shape)
        assert isinstance(form, DrawnSection)
        drawn = (tuple(form.corners(*_sizes(self))), *(hole[::-1] for hole in self.holes or ()))
        y, z = area_integrals(drawn).center
        return tuple(tuple((a - y, b - z) for a, b in loop) for loop in drawn)

    def outline(self) -> Array:
        """(C, 2) corners (y, z) of a section that is drawn, about its centroid, in its principal axes.

        Returns
        -------
        (C, 2) array
            m.

        Examples
        --------
        >>> section = pliant.Section(shape="tee", width=0.04, height=0.05, flange=0.005, web=0.005)
        >>> section.outline().shape
        (8, 2)
        """
        angle = principal_angle(area_integrals(self.loops()))
        c, s = cosine(angle), sine(angle)
        return np.asarray(np.array(self.loops()[0]) @ np.array([[c, -s], [s, c]]))

    def torsion_modulus(self, eta: float = 0.0) -> float:
        """Torque over the largest shear stress that it causes halfway between corners, at a part of the length.

        At a sharp corner that looks inwards the stress has no bound: what it is there hangs on the fillet.

        Parameters
        ----------
        eta : float
            Part of the length, for a taper.

        Returns
        -------
        float
            m^3.

        Examples
        --------
        >>> round(pliant.Section(shape="rod", diameter=0.02).torsion_modulus() * 1e9)  # pi d^3 / 16
        1571
        """
        form = section_shape(self.shape)
        if isinstance(form, DrawnSection):
            return saint_venant(self.loops()).modulus
        return float(form.torsion_modulus(*(float(interpolated(self, name, eta)) for name in form.dimensions)))


def area_moments(section: Section) -> AreaMoments:
    """Return the area moments of a uniform section, or of a view of one, whose dimensions may be symbols.

    Parameters
    ----------
    section : Section

    Returns
    -------
    AreaMoments
        Area `A` in m^2, second moments `I_y` and `I_z` and torsion constant `J` in m^4.

    Examples
    --------
    >>> tube = pliant.Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04)
    >>> f"{pliant.robot.area_moments(tube).I_z:.3e}"
    '1.811e-07'
    """
    form = section_shape(section.shape)
    return drawn_moments(section.loops()) if isinstance(form, DrawnSection) else form.moments(*_sizes(section))


def tapered_moments(section: Section, eta: Numeric) -> AreaMoments:
    """Area moments at fractions `eta` of the length, dimensions interpolated linearly."""
    form = section_shape(section.shape)
    assert isinstance(form, FormulaSection)
    return form.moments(*(interpolated(section, name, eta) for name in form.dimensions))


def _sizes(section: Section) -> list[Numeric]:
    """Dimensions in the order of the shape."""
    return [getattr(section, name) for name in section_shape(section.shape).dimensions]


def interpolated(section: Section, name: str, eta: Numeric) -> Numeric:
    """Dimension `name` of a section at fractions `eta` of the length."""
    stations = np.asarray(section.x or (0.0, 1.0)) / (section.x or (1.0,))[-1]
    column = np.broadcast_to(np.asarray(getattr(section, name), dtype=float), stations.shape)
    return np.interp(eta, stations, column)


def shear_coefficients(section: Section) -> tuple[float, float]:
    """Part of the area that carries a shear force along y and along z, at the root: Cowper's for round and solid
    sections (Poisson's ratio 0.3), the walls along the force for the others. An estimate."""
    if section.holes is not None:
        return 0.5, 0.5
    return section_shape(section.shape).shear(*(float(np.ravel(size)[0]) for size in _sizes(section)))
