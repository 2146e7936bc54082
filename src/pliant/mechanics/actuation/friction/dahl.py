"""Dahl's law of friction: LuGre without stiction and without the damping of its bristles."""

from __future__ import annotations

from typing import Any

from pliant.mechanics.actuation.friction.dry_level import DryLevel
from pliant.mechanics.actuation.friction.lugre import LuGre


def law(friction: Any, level: DryLevel) -> LuGre:
    """The law from the numbers of a description."""
    return LuGre(level, friction.stiffness, friction.micro_damping)
