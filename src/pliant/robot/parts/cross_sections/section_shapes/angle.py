"""An angle with two legs of one thickness."""

from __future__ import annotations

from pliant.robot.parts.cross_sections.section_formulas import DrawnSection, walls_shear


def corners(b: float, h: float, t: float) -> list[tuple[float, float]]:
    """Corners (y, z) of the outline."""
    return [(0.0, 0.0), (b, 0.0), (b, t), (t, t), (t, h), (0.0, h)]


def _fault(b: float, h: float, t: float) -> str:
    if t < min(b, h):
        return ""
    return "the `thickness` must be below `width` and `height`; for a solid bar use shape: rectangle"


SECTION = DrawnSection(
    dimensions=("width", "height", "thickness"),
    corners=corners,
    shear=lambda b, h, t: walls_shear((b + h - t) * t, t * b, t * h),
    fault=_fault,
)
