"""A tee: a flange on top of a web."""

from __future__ import annotations

from pliant.robot.parts.cross_sections.section_formulas import DrawnSection, walls_shear


def corners(b: float, h: float, flange: float, web: float) -> list[tuple[float, float]]:
    """Corners (y, z) of the outline."""
    left, right, high = (b - web) / 2.0, (b + web) / 2.0, h - flange
    return [(left, 0.0), (right, 0.0), (right, high), (b, high), (b, h), (0.0, h), (0.0, high), (left, high)]


def _fault(b: float, h: float, flange: float, web: float) -> str:
    wrong = flange >= h or web >= b
    return "`flange` must be below `height` and `web` below `width`" if wrong else ""


SECTION = DrawnSection(
    dimensions=("width", "height", "flange", "web"),
    corners=corners,
    shear=lambda b, h, flange, web: walls_shear(b * flange + (h - flange) * web, flange * b, web * h),
    fault=_fault,
)
