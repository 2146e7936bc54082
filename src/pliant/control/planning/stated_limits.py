"""Limits of a planned motion: those of the robot file, or arguments that replace them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.control.controllers.controller import checked_limit
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.errors import ModelError
from pliant.model.model import Model

ARGUMENTS = {
    "speed": "speed_limit",
    "acceleration": "acceleration_limit",
    "jerk": "jerk_limit",
    "effort": "torque_limit",
}
"""Names of limits in a robot file, and as arguments."""
NEEDED = ("speed", "acceleration", "jerk")
"""Limits that every joint that moves must have."""


def stated_limits(model: Model, given: Mapping[str, ArrayLike | None]) -> tuple[MotionBounds, Array]:
    """Return bounds of the motion, and torque limits (m,), infinite where there is none.

    `given` may have the arguments of `ARGUMENTS`, which replace limits of the robot file; None keeps the file's.
    """
    freedoms = model.robot.freedoms
    own = [freedoms[name].limits for name in model.joints]

    def described(key: str, none: float) -> Array:
        return np.array([none if x is None or getattr(x, key) is None else getattr(x, key) for x in own], dtype=float)

    def limit(key: str) -> Array:
        name = ARGUMENTS[key]
        replaced = given.get(name)
        return described(key, np.inf) if replaced is None else checked_limit(name, replaced, model.n_joints)

    bounds = MotionBounds(
        lower=described("lower", -np.inf),
        upper=described("upper", np.inf),
        speed=limit("speed"),
        acceleration=limit("acceleration"),
        jerk=limit("jerk"),
    )
    effort = limit("effort")
    return bounds, np.where(effort > 0, effort, np.inf)


def require_limits(model: Model, bounds: MotionBounds, moves: Array) -> None:
    """Raise `ModelError` if a joint that `moves` (m,) has no limit of speed, acceleration or jerk."""
    for key in NEEDED:
        without = [name for name, value, on in zip(model.joints, getattr(bounds, key), moves) if on and np.isinf(value)]
        if without:
            raise ModelError(
                f"limits.{key}: joint {without[0]} has none; give it in the robot file or the side file "
                f"(`limits: {{{key}: ...}}`), or give `{ARGUMENTS[key]}`"
            )
