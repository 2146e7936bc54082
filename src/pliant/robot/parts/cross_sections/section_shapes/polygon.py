"""A polygon by its corners."""

from __future__ import annotations

from pliant.robot.parts.cross_sections.section_formulas import SOLID, DrawnSection

SECTION = DrawnSection(dimensions=("points",), corners=list, shear=lambda points: (SOLID, SOLID))
