"""Dahl's law of friction: LuGre without stiction and without the damping of its bristles."""

from __future__ import annotations

from pliant.mechanics.actuation.friction.dry_friction import DryLevel
from pliant.mechanics.actuation.friction.lugre import LuGre
from pliant.robot.parts.drives.friction import Friction


def law(friction: Friction, level: DryLevel) -> LuGre:
    """The law from the numbers of a description."""
    return LuGre(level, friction.stiffness, friction.micro_damping)
