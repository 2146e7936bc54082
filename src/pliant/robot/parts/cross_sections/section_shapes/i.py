"""An I section: two flanges and a web."""

from __future__ import annotations

from pliant.robot.parts.cross_sections.section_formulas import DrawnSection, walls_shear


def corners(b: float, h: float, flange: float, web: float) -> list[tuple[float, float]]:
    """Corners (y, z) of the outline."""
    left, right, low, high = (b - web) / 2.0, (b + web) / 2.0, flange, h - flange
    return [
        (0.0, 0.0), (b, 0.0), (b, low), (right, low), (right, high), (b, high), (b, h), (0.0, h), (0.0, high),
        (left, high), (left, low), (0.0, low),
    ]  # fmt: skip


def _fault(b: float, h: float, flange: float, web: float) -> str:
    wrong = 2 * flange >= h or web >= b
    return "`flange` must be below `height` over 2 and `web` below `width`" if wrong else ""


SECTION = DrawnSection(
    dimensions=("width", "height", "flange", "web"),
    corners=corners,
    shear=lambda b, h, flange, web: walls_shear(2 * b * flange + (h - 2 * flange) * web, 2 * flange * b, web * h),
    fault=_fault,
)
