"""Area moments and torsion constants: formulas for numbers, arrays and symbols, and the outlines of drawn sections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pliant.robot.parts.angles import cosine, is_symbol, sine
from pliant.robot.parts.saint_venant import CENTRED, Area, Loops, area_integrals, saint_venant


class AreaMoments(NamedTuple):
    """Area, second moments about y and z, and the torsion constant (m^2, m^4); numbers, arrays or symbols.

    y and z are the principal axes; `shear_centre` (y, z) is seen from the centroid, m.
    """

    A: Any
    I_y: Any
    I_z: Any
    J: Any
    shear_centre: tuple[float, float] = (0.0, 0.0)


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
    series = sum(_applied("tanh", n * math.pi * long / (2.0 * slim)) / n**5 for n in odd)
    torsion = long * slim**3 / 3.0 * (1.0 - 192.0 / math.pi**5 * (slim / long) * series)
    return AreaMoments(width * height, width * height**3 / 12.0, height * width**3 / 12.0, torsion)


def _box(width: Any, height: Any, wall: Any) -> AreaMoments:
    """Hollow rectangle with one wall thickness t; torsion good to 0.05 % for any wall, and rising with it.

    With h harmonic, 1 on the hole and 0 outside, and p the stress function that vanishes on both,

        J = 2 int p + 4 (A_hole + int h)^2 / flux(h):

    Bredt's formula with the torsion of the open wall. Along the walls each integral is that of a strip; a corner adds
    a constant times t^4, t^2 and 1, and two corners feel each other by exp(-pi s/t) over the side s between them.
    """
    w, h = width - 2.0 * wall, height - 2.0 * wall
    t = wall + 1e-301  # a wall may end in an edge
    near = _applied("exp", -math.pi * w / t) + _applied("exp", -math.pi * h / t)
    strip = 2.0 * (w + h) * t**3 / 3.0 + 4.0 * (0.405824 + 0.0095 * near) * t**4
    enclosed = w * h + (w + h) * t + 4.0 * (0.1448339 - 0.0111 * near) * t**2
    flux = 2.0 * (w + h) / t + 4.0 * (0.5587288 - 0.061 * near)
    return AreaMoments(
        width * height - w * h,
        (width * height**3 - w * h**3) / 12.0,
        (height * width**3 - h * w**3) / 12.0,
        strip + 4.0 * enclosed**2 / flux,
    )


def _larger(a: Any, b: Any) -> Any:
    if is_symbol(a) or is_symbol(b):
        import casadi

        return casadi.fmax(a, b)
    return np.maximum(a, b)


def _smaller(a: Any, b: Any) -> Any:
    return a + b - _larger(a, b)


def _applied(name: str, x: Any) -> Any:
    """A function of NumPy, or CasADi's of the same name for a symbol."""
    if is_symbol(x):
        import casadi

        return getattr(casadi, name)(x)
    return getattr(np, name)(x)


def _i(b: float, h: float, flange: float, web: float) -> list[tuple[float, float]]:
    left, right, low, high = (b - web) / 2.0, (b + web) / 2.0, flange, h - flange
    return [
        (0.0, 0.0), (b, 0.0), (b, low), (right, low), (right, high), (b, high), (b, h), (0.0, h), (0.0, high),
        (left, high), (left, low), (0.0, low),
    ]  # fmt: skip


def _channel(b: float, h: float, flange: float, web: float) -> list[tuple[float, float]]:
    high = h - flange
    return [(0.0, 0.0), (b, 0.0), (b, flange), (web, flange), (web, high), (b, high), (b, h), (0.0, h)]


def _tee(b: float, h: float, flange: float, web: float) -> list[tuple[float, float]]:
    left, right, high = (b - web) / 2.0, (b + web) / 2.0, h - flange
    return [(left, 0.0), (right, 0.0), (right, high), (b, high), (b, h), (0.0, h), (0.0, high), (left, high)]


def _angle(b: float, h: float, t: float) -> list[tuple[float, float]]:
    return [(0.0, 0.0), (b, 0.0), (b, t), (t, t), (t, h), (0.0, h)]


FORMULAS: dict[str, tuple[tuple[str, ...], Callable[..., AreaMoments]]] = {
    "rod": (("diameter",), _rod),
    "tube": (("outer_diameter", "inner_diameter"), _tube),
    "rectangle": (("width", "height"), _rectangle),
    "box": (("width", "height", "thickness"), _box),
}
OUTLINES: dict[str, tuple[tuple[str, ...], Callable[..., list[tuple[float, float]]]]] = {
    "i": (("width", "height", "flange", "web"), _i),
    "channel": (("width", "height", "flange", "web"), _channel),
    "tee": (("width", "height", "flange", "web"), _tee),
    "angle": (("width", "height", "thickness"), _angle),
    "polygon": (("points",), list),
}


def principal_angle(area: Area) -> float:
    """Angle about x from the axes of the drawing to the nearest principal axes; 45 degrees where two are as near."""
    size = area.yy + area.zz
    product, difference = 2.0 * area.yz, area.yy - area.zz
    if abs(product) < 1e-9 * size:
        return 0.0
    return math.pi / 4.0 if abs(difference) < 1e-9 * size else round(math.atan(product / difference) / 2.0, 12)


def drawn_moments(loops: Loops) -> AreaMoments:
    area, solution = area_integrals(loops), saint_venant(loops)
    angle, (y, z) = principal_angle(area), solution.shear_centre
    c, s = cosine(angle), sine(angle)
    I_z = c * c * area.yy + 2.0 * c * s * area.yz + s * s * area.zz
    centre = [0.0 if abs(e) < CENTRED * math.sqrt(area.A) else e for e in (c * y + s * z, c * z - s * y)]
    return AreaMoments(area.A, area.yy + area.zz - I_z, I_z, solution.J, (centre[0], centre[1]))
