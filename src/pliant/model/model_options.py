"""Options that determine a model besides the robot."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.options import RotationName, ShapesName, StiffeningChoice


@dataclass(frozen=True)
class Options:
    """Options of a model, as `Model` takes them."""

    formulation: str = "denoc"
    rotation: RotationName = "exact"
    stiffening: StiffeningChoice = "off"
    parameters: tuple[str, ...] = ()
    shapes: ShapesName = "exact"
