"""A round section with a round hole in its middle."""

from __future__ import annotations

import math

import numpy as np

from pliant.robot.parts.angles import Numeric
from pliant.robot.parts.cross_sections.section_formulas import AreaMoments, FormulaSection


def moments(outer: Numeric, inner: Numeric) -> AreaMoments:
    """Area moments."""
    inertia = math.pi * (outer**4 - inner**4) / 64.0
    return AreaMoments(math.pi * (outer**2 - inner**2) / 4.0, inertia, inertia, 2.0 * inertia)


def round_shear(ratio: float) -> tuple[float, float]:
    """Cowper's coefficients for a Poisson's ratio of 0.3, by the ratio of the diameters."""
    m = ratio**2
    k = 7.8 * (1.0 + m) ** 2 / (8.8 * (1.0 + m) ** 2 + 23.6 * m)
    return k, k


def _fault(outer: Numeric, inner: Numeric) -> str:
    hollow = np.any(inner >= np.where(outer > 0.0, outer, np.inf))
    return "`inner_diameter` must be below `outer_diameter`; for a solid bar use shape: rod" if hollow else ""


SECTION = FormulaSection(
    dimensions=("outer_diameter", "inner_diameter"),
    moments=moments,
    torsion_modulus=lambda outer, inner: moments(outer, inner).J / (outer / 2),
    shear=lambda outer, inner: round_shear(inner / outer),
    along=("outer_diameter", "outer_diameter"),
    is_round=True,
    fault=_fault,
)
