"""The same robot written in another unit of length, masses in kilograms and times in seconds."""

from __future__ import annotations

from typing import Any

from pliant import Robot
from pliant.robot import MATERIALS

POWERS = {
    "gravity": 1, "length": 1, "total_length": 1, "mass_per_length": -1, "EI_y": 3, "EI_z": 3, "GJ": 3, "EA": 1,
    "polar_inertia": 1, "rotary": 1, "E": -1, "G": -1, "density": -3, "xyz": 1, "a": 1, "d": 1, "inertia": 2, "com": 1,
    "tip": 1, "first_moment": 1, "rotor_inertia": 2, "stiffness": 2, "damping": 2, "viscous": 2, "coulomb": 2,
    "effort": 2, "diameter": 1, "outer_diameter": 1, "inner_diameter": 1, "width": 1, "height": 1, "thickness": 1,
}  # fmt: skip
"""Power of the length in the unit of a number, by its name; in a revolute joint."""
ALONG = {"stiffness": 0, "rotor_inertia": 0, "damping": 0, "viscous": 0, "coulomb": 0, "effort": 0, "coulomb_speed": 1,
         "bristle": 1, "lower": 1, "upper": 1, "speed": 1, "acceleration": 1, "jerk": 1}  # fmt: skip
"""The same in a prismatic joint."""
PLAIN = {"shapes": {"damping": 0}}  # the damping ratio of a beam


def in_unit(robot: Robot, metre: float) -> Robot:
    """The robot with every length `metre` times as large a number: 1e3 for millimetres."""
    return Robot.model_validate(_scaled(robot.model_dump(mode="json", exclude_none=True), metre, {}))


def _scaled(value: Any, metre: float, powers: dict[str, int], power: int | None = None) -> Any:
    if isinstance(value, dict):
        known = {**powers, **(ALONG if value.get("type") == "prismatic" else {})}
        return {k: _entry(k, v, metre, known) for k, v in value.items()}
    if isinstance(value, list):
        return [_scaled(v, metre, powers, power) for v in value]
    return value * metre**power if power and isinstance(value, int | float) and not isinstance(value, bool) else value


def _entry(name: str, value: Any, metre: float, powers: dict[str, int]) -> Any:
    if name == "material" and isinstance(value, str):
        value = MATERIALS[value].model_dump(mode="json")
    known = {**POWERS, **powers}
    inner = {**powers, **PLAIN.get(name, {})}
    return _scaled(value, metre, inner, None if isinstance(value, dict) else known.get(name))
