"""A solid round section."""

from __future__ import annotations

import math

from pliant.robot.parts.angles import Numeric
from pliant.robot.parts.cross_sections.section_formulas import AreaMoments, FormulaSection
from pliant.robot.parts.cross_sections.section_shapes.tube import round_shear


def moments(d: Numeric) -> AreaMoments:
    """Area moments."""
    inertia = math.pi * d**4 / 64.0
    return AreaMoments(math.pi * d**2 / 4.0, inertia, inertia, 2.0 * inertia)


SECTION = FormulaSection(
    dimensions=("diameter",),
    moments=moments,
    torsion_modulus=lambda d: math.pi * d**3 / 16.0,
    shear=lambda d: round_shear(0.0),
    along=("diameter", "diameter"),
    is_round=True,
)
