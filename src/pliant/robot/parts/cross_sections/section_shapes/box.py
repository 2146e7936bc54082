"""A hollow rectangle with one wall thickness."""

from __future__ import annotations

import math

import numpy as np

from pliant.robot.parts.angles import Numeric
from pliant.robot.parts.cross_sections.section_formulas import (
    AreaMoments,
    FormulaSection,
    applied,
    rectangles_modulus,
    walls_shear,
)


def moments(width: Numeric, height: Numeric, wall: Numeric) -> AreaMoments:
    """Area moments; with a wall t, torsion good to 0.05 % for any wall, and rising with it.

    With h harmonic, 1 on the hole and 0 outside, and p the stress function that vanishes on both,

        J = 2 int p + 4 (A_hole + int h)^2 / flux(h):

    Bredt's formula with the torsion of the open wall. Along the walls each integral is that of a strip; a corner adds
    a constant times t^4, t^2 and 1, and two corners feel each other by exp(-pi s/t) over the side s between them.
    """
    w, h = width - 2.0 * wall, height - 2.0 * wall
    t = wall + 1e-301  # a wall may end in an edge
    near = applied("exp", -math.pi * w / t) + applied("exp", -math.pi * h / t)
    strip = 2.0 * (w + h) * t**3 / 3.0 + 4.0 * (0.405824 + 0.0095 * near) * t**4
    enclosed = w * h + (w + h) * t + 4.0 * (0.1448339 - 0.0111 * near) * t**2
    flux = 2.0 * (w + h) / t + 4.0 * (0.5587288 - 0.061 * near)
    return AreaMoments(
        width * height - w * h,
        (width * height**3 - w * h**3) / 12.0,
        (height * width**3 - h * w**3) / 12.0,
        strip + 4.0 * enclosed**2 / flux,
    )


def _fault(width: Numeric, height: Numeric, wall: Numeric) -> str:
    if not np.any(2.0 * wall >= np.minimum(width, height)):
        return ""
    return "twice the `thickness` must be below `width` and `height`; for a solid bar use shape: rectangle"


SECTION = FormulaSection(
    dimensions=("width", "height", "thickness"),
    moments=moments,
    torsion_modulus=lambda b, h, wall: rectangles_modulus((b, h), (b - 2.0 * wall, h - 2.0 * wall)),
    shear=lambda b, h, wall: walls_shear(moments(b, h, wall).A, 2.0 * wall * b, 2.0 * wall * h),
    fault=_fault,
)
