"""Area moments and torsion constants: by formulas for numbers, arrays and symbols, or from an outline."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.robot.parts.angles import Numeric, cosine, is_symbol, sine
from pliant.robot.parts.cross_sections.saint_venant import CENTERD, Area, Loops, area_integrals, saint_venant

SOLID = 0.85
"""Part of the area of a solid section that carries a shear force; an estimate."""


class AreaMoments(NamedTuple):
    """Area, second moments about y and z, and the torsion constant (m^2, m^4); numbers, arrays or symbols.

    y and z are the principal axes; `shear_center` (y, z) is seen from the centroid, m.
    """

    A: Numeric
    I_y: Numeric
    I_z: Numeric
    J: Numeric
    shear_center: tuple[float, float] = (0.0, 0.0)


def _sound(*sizes: object) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class FormulaSection:
    """A section whose constants have formulas in its dimensions, so that it may taper and hold symbols.

    `moments(*dimensions)` takes numbers, arrays or symbols; `torsion_modulus` and `shear` (parts of the area that carry
    shear forces along y and z) take numbers. `fault(*dimensions)` says what is wrong with arrays of them, or nothing.
    `along` names the dimensions along y and z; `is_round` if the outline is the ellipse inside these.
    """

    dimensions: tuple[str, ...]
    moments: Callable[..., AreaMoments]
    torsion_modulus: Callable[..., float]
    shear: Callable[..., tuple[float, float]]
    along: tuple[str, str] = ("width", "height")
    is_round: bool = False
    fault: Callable[..., str] = _sound


@dataclass(frozen=True, kw_only=True)
class DrawnSection:
    """A section that is drawn as a polygon: `corners(*dimensions)` gives its corners (y, z), counter-clockwise.

    `shear(*dimensions)` and `fault(*dimensions)` are those of `FormulaSection`.
    """

    dimensions: tuple[str, ...]
    corners: Callable[..., list[tuple[float, float]]]
    shear: Callable[..., tuple[float, float]]
    fault: Callable[..., str] = _sound


def rectangles_modulus(*sizes: tuple[float, float]) -> float:
    """Torsion modulus of a rectangle (width, height), less the second of two, m^3."""
    drawn = tuple(
        ((-b / 2, -h / 2), (b / 2, -h / 2), (b / 2, h / 2), (-b / 2, h / 2))[:: 1 - 2 * k]
        for k, (b, h) in enumerate(sizes)
    )
    return saint_venant(drawn).modulus


def walls_shear(area: float, along_y: float, along_z: float) -> tuple[float, float]:
    """Parts of the area that carry shear forces along y and z, where walls of these areas lie along them."""
    return min(along_y / area, SOLID), min(along_z / area, SOLID)


def larger(a: Numeric, b: Numeric) -> Numeric:
    """The larger of two numbers, arrays or symbols."""
    if is_symbol(a) or is_symbol(b):
        import casadi

        return casadi.fmax(a, b)
    return np.maximum(a, b)


def smaller(a: Numeric, b: Numeric) -> Numeric:
    """The smaller of two numbers, arrays or symbols."""
    return a + b - larger(a, b)


def applied(name: str, x: Numeric) -> Numeric:
    """Apply a function of NumPy to numbers, or CasADi's function of the same name to a symbol."""
    if is_symbol(x):
        import casadi

        return getattr(casadi, name)(x)
    return getattr(np, name)(x)


def principal_angle(area: Area) -> float:
    """Angle about x from the axes of the drawing to the nearest principal axes; 45 degrees where two are as near."""
    size = area.yy + area.zz
    product, difference = 2.0 * area.yz, area.yy - area.zz
    if abs(product) < 1e-9 * size:
        return 0.0
    return math.pi / 4.0 if abs(difference) < 1e-9 * size else round(math.atan(product / difference) / 2.0, 12)


def drawn_moments(loops: Loops) -> AreaMoments:
    """Area moments of a section that is drawn, about its principal axes."""
    area, solution = area_integrals(loops), saint_venant(loops)
    angle, (y, z) = principal_angle(area), solution.shear_center
    c, s = cosine(angle), sine(angle)
    I_z = c * c * area.yy + 2.0 * c * s * area.yz + s * s * area.zz
    center = [0.0 if abs(e) < CENTERD * math.sqrt(area.A) else e for e in (c * y + s * z, c * z - s * y)]
    return AreaMoments(area.A, area.yy + area.zz - I_z, I_z, solution.J, (center[0], center[1]))
