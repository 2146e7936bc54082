"""Cross-sections of beams, uniform or tapered by a table over x, and their area moments.

y is the width direction, z the height direction. A table interpolates the *dimensions* linearly, never the stiffness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.arrays import Array
from pliant.options import SectionShape
from pliant.robot.angles import is_symbol
from pliant.robot.faults import clash, fault
from pliant.robot.fields import Description, non_negative, positive, sequence


class AreaMoments(NamedTuple):
    """Area, second moments about y and z, and the torsion constant (m^2, m^4); numbers, arrays or symbols."""

    A: Any
    I_y: Any
    I_z: Any
    J: Any


def _rod(d: Any) -> AreaMoments:
    inertia = math.pi * d**4 / 64.0
    return AreaMoments(math.pi * d**2 / 4.0, inertia, inertia, 2.0 * inertia)


def _tube(outer: Any, inner: Any) -> AreaMoments:
    inertia = math.pi * (outer**4 - inner**4) / 64.0
    return AreaMoments(math.pi * (outer**2 - inner**2) / 4.0, inertia, inertia, 2.0 * inertia)


def _rectangle(width: Any, height: Any) -> AreaMoments:
    """Solid rectangle; the torsion constant is Saint-Venant's series, good to 1e-9."""
    # The small amount keeps a wedge that ends in an edge finite; it vanishes against every real dimension.
    long = _larger(width, height) + 1e-300
    slim = _smaller(width, height) + 1e-301
    odd = range(1, 60, 2)
    series = sum(_tanh(n * math.pi * long / (2.0 * slim)) / n**5 for n in odd)
    torsion = long * slim**3 / 3.0 * (1.0 - 192.0 / math.pi**5 * (slim / long) * series)
    return AreaMoments(width * height, width * height**3 / 12.0, height * width**3 / 12.0, torsion)


def _box(width: Any, height: Any, wall: Any) -> AreaMoments:
    """Hollow rectangle with one wall thickness; torsion by Bredt's formula for thin closed walls."""
    w, h = width - 2.0 * wall, height - 2.0 * wall
    middle_w, middle_h = width - wall, height - wall
    return AreaMoments(
        width * height - w * h,
        (width * height**3 - w * h**3) / 12.0,
        (height * width**3 - h * w**3) / 12.0,
        2.0 * wall * middle_w**2 * middle_h**2 / (middle_w + middle_h),
    )


def _larger(a: Any, b: Any) -> Any:
    if is_symbol(a) or is_symbol(b):
        import casadi

        return casadi.fmax(a, b)
    return np.maximum(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return a + b - _larger(a, b)


def _tanh(x: Any) -> Any:
    if is_symbol(x):
        import casadi

        return casadi.tanh(x)
    return np.tanh(x)


_FORMULAS: dict[str, tuple[tuple[str, ...], Callable[..., AreaMoments]]] = {
    "rod": (("diameter",), _rod),
    "tube": (("outer_diameter", "inner_diameter"), _tube),
    "rectangle": (("width", "height"), _rectangle),
    "box": (("width", "height", "thickness"), _box),
}
_DIMENSIONS = ("diameter", "outer_diameter", "inner_diameter", "width", "height", "thickness")


def _dimension(value: Any) -> float | tuple[float, ...]:
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


def _stations(value: Any) -> tuple[float, ...]:
    column = [non_negative(entry) for entry in sequence(value, "a list of numbers")]
    if len(column) < 2 or column[0] != 0.0 or any(b <= a for a, b in pairwise(column)):
        raise fault("rising numbers from 0 to the length of the beam (or to 1)")
    return tuple(column)


Stations = Annotated[tuple[float, ...], BeforeValidator(_stations), WithJsonSchema(_COLUMN)]


class Section(Description):
    """A cross-section: `rod` (diameter), `tube` (outer_diameter, inner_diameter), `rectangle` (width, height) or `box`
    (width, height, thickness).

    With `x` (m from 0 to the beam's length, or fractions from 0 to 1) each dimension is one number or a column over x.
    A beam keeps `x` as fractions: the taper stretches with its length.

    Examples
    --------
    >>> pliant.Section(shape="box", width=0.04, height=0.06, thickness=0.003).height
    0.06
    >>> taper = pliant.Section(shape="rod", x=[0.0, 1.0], diameter=[0.02, 0.01])
    >>> taper.diameter
    (0.02, 0.01)
    """

    shape: SectionShape = Field(description="which dimensions it has")
    x: Stations | None = Field(None, description="m or fractions, of a taper")
    diameter: Dimension | None = Field(None, description="m, of a rod")
    outer_diameter: Dimension | None = Field(None, description="m, of a tube")
    inner_diameter: Dimension | None = Field(None, description="m, of a tube")
    width: Dimension | None = Field(None, description="m, along y")
    height: Dimension | None = Field(None, description="m, along z")
    thickness: Dimension | None = Field(None, description="m, of the walls of a box")

    @model_validator(mode="after")
    def _check(self) -> Self:
        wanted = _FORMULAS[self.shape][0]
        for name in _DIMENSIONS:
            if (value := getattr(self, name)) is None and name in wanted:
                raise clash(f"missing key `{name}`: a {self.shape} needs {', '.join(wanted)}")
            if value is not None and name not in wanted:
                raise clash(f"key `{name}` does not belong to a {self.shape}, which has {', '.join(wanted)}")
            if isinstance(value, tuple) and self.x is None:
                raise clash(f"`{name}` is a column of {len(value)} numbers, but the table has no `x`")
            if isinstance(value, tuple) and self.x is not None and len(value) != len(self.x):
                raise clash(f"`{name}` has {len(value)} numbers, `x` has {len(self.x)}; a table needs as many")
        self._check_walls()
        return self

    def _check_walls(self) -> None:
        outer = self._columns()
        if self.shape == "tube" and np.any(outer[1] >= np.where(outer[0] > 0.0, outer[0], np.inf)):
            raise clash("`inner_diameter` must be below `outer_diameter`; for a solid bar use shape: rod")
        if self.shape == "box" and np.any(2.0 * outer[2] >= np.minimum(outer[0], outer[1])):
            raise clash(
                "twice the `thickness` must be below `width` and `height`; for a solid bar use shape: rectangle"
            )

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
        names = {"rod": ("diameter",) * 2, "tube": ("outer_diameter",) * 2}.get(self.shape, ("width", "height"))
        stations = np.asarray(self.x or (0.0, 1.0)) / (self.x or (1.0,))[-1]
        columns = [np.broadcast_to(np.asarray(getattr(self, name), dtype=float), stations.shape) for name in names]
        return np.column_stack([np.interp(eta, stations, column) / 2 for column in columns]), names[0] == names[1]

    def _columns(self) -> list[Any]:
        return [np.asarray(getattr(self, name), dtype=float) for name in _FORMULAS[self.shape][0]]


def area_moments(section: Any) -> AreaMoments:
    """Area moments of a uniform section, of numbers or symbols."""
    names, formula = _FORMULAS[section.shape]
    return formula(*(getattr(section, name) for name in names))


def tapered_moments(section: Any, eta: Any) -> AreaMoments:
    """Area moments at fractions `eta` of the length, dimensions interpolated linearly."""
    names, formula = _FORMULAS[section.shape]
    stations = np.asarray(section.x) / section.x[-1]
    columns = [np.broadcast_to(np.asarray(getattr(section, name), dtype=float), stations.shape) for name in names]
    return formula(*(np.interp(eta, stations, column) for column in columns))
