"""Limits of a planned motion: those of the robot file, and those given in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.control.controllers.controller import checked_limit
from pliant.control.planning.motion_bounds import MotionBounds
from pliant.errors import ModelError
from pliant.model.model import Model

NEEDED = ("speed", "acceleration", "jerk")
"""What every joint that moves must have."""


def stated_limits(model: Model, given: Mapping[str, Any]) -> tuple[MotionBounds, Array]:
    """Bounds of the motion, and (m,) greatest torques, infinite where nobody says; `given` has what stands in place of
    the file's `speed`, `acceleration`, `jerk` and `effort`, None where nothing does."""
    freedoms = model.robot.freedoms
    own = [freedoms[name].limits for name in model.joints]

    def read(key: str, none: float) -> Array:
        return np.array([none if x is None or getattr(x, key) is None else getattr(x, key) for x in own], dtype=float)

    m = model.n_joints
    found = {
        key: read(key, np.inf) if given.get(key) is None else checked_limit(key, given[key], m)
        for key in (*NEEDED, "effort")
    }
    bounds = MotionBounds(read("lower", -np.inf), read("upper", np.inf), *(found[key] for key in NEEDED))
    return bounds, np.where(found["effort"] > 0, found["effort"], np.inf)


def require_limits(model: Model, bounds: MotionBounds, moves: Array) -> None:
    """Refuse where a joint that moves has no limit of speed, acceleration or jerk; `moves` (m,) says which do."""
    for key in NEEDED:
        without = [name for name, value, on in zip(model.joints, getattr(bounds, key), moves) if on and np.isinf(value)]
        if without:
            raise ModelError(
                f"limits.{key}: joint {without[0]} has none; give it in the robot file or the side file "
                f"(`limits: {{{key}: ...}}`), or give `{key}`"
            )
