"""Shapes of sections: a file `NAME.py` with `SECTION` each, and its name in `SectionShape` of `options`."""

from __future__ import annotations

from pliant.base.later import implementation
from pliant.robot.parts.cross_sections.section_formulas import DrawnSection, FormulaSection


def section_shape(name: str) -> FormulaSection | DrawnSection:
    """A shape by its name."""
    found: FormulaSection | DrawnSection = implementation(__name__, name).SECTION
    return found
