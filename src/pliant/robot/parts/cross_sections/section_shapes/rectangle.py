"""A solid rectangle."""

from __future__ import annotations

import math

from pliant.robot.parts.angles import Numeric
from pliant.robot.parts.cross_sections.section_formulas import (
    SOLID,
    AreaMoments,
    FormulaSection,
    applied,
    larger,
    rectangles_modulus,
    smaller,
)


def moments(width: Numeric, height: Numeric) -> AreaMoments:
    """Area moments; the torsion constant is Saint-Venant's series, good to 1e-9."""
    # The small amount keeps a wedge that ends in an edge finite; it vanishes against every real dimension.
    long = larger(width, height) + 1e-300
    slim = smaller(width, height) + 1e-301
    odd = range(1, 60, 2)
    series = sum(applied("tanh", n * math.pi * long / (2.0 * slim)) / n**5 for n in odd)
    torsion = long * slim**3 / 3.0 * (1.0 - 192.0 / math.pi**5 * (slim / long) * series)
    return AreaMoments(width * height, width * height**3 / 12.0, height * width**3 / 12.0, torsion)


SECTION = FormulaSection(
    dimensions=("width", "height"),
    moments=moments,
    torsion_modulus=lambda width, height: rectangles_modulus((width, height)),
    shear=lambda width, height: (SOLID, SOLID),
)
