"""Plain motion, which leaves vibration: straight to the goal as fast as the limits allow, as if the arm were stiff."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.residual_vibration import commanded
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_forces import StiffArmForces
from pliant.control.trajectories.jerk_limited import JerkLimited
from pliant.control.trajectories.splines import Piecewise
from pliant.errors import PliantError
from pliant.model.model import Model

SAMPLES = 400
"""Number of times at which torques are checked."""
MOST_STRETCH = 1e3
"""Factor of the duration after which no motion is expected to keep the torque limits."""


def plain_motion(model: Model, start: Array, goal: Array, bounds: MotionBounds, effort: Array) -> Piecewise:
    """Return the motion of the motors (or joints) between positions (m,), stretched in time until torques of the stiff
    arm stay within `effort` (m,).

    Raises
    ------
    PliantError
        The arm takes more torque, however slowly it moves.
    """

    def stretched(factor: float) -> JerkLimited:
        return JerkLimited(
            start, goal, speed_limit=bounds.speed / factor, acceleration_limit=bounds.acceleration / factor**2,
            jerk_limit=bounds.jerk / factor**3,
        )  # fmt: skip

    factor = 1.0
    if model.layout.is_open and model.layout.plain and np.isfinite(effort).any():
        factor = _least_stretch(StiffArmForces(model), stretched, effort)
    found = stretched(factor)
    return Piecewise(found.pieces, found.end, commanded(model))


def _least_stretch(arm: StiffArmForces, stretched: Callable[[float], JerkLimited], effort: Array) -> float:
    """Return the least factor of the duration, to a thousandth, with which all torques keep their limits (m,)."""

    def fits(factor: float) -> bool:
        move = stretched(factor)
        q, qd, qdd = move(np.linspace(0.0, move.end, SAMPLES))
        return bool((np.abs(arm.slopes(q, qd, qdd)[0]) <= effort).all())

    if fits(1.0):
        return 1.0
    low, high = 1.0, 2.0
    while not fits(high):
        low, high = high, 2 * high
        if high > MOST_STRETCH:
            raise PliantError("limits.effort: too small to move the arm, however slowly; raise it")
    while high > 1.001 * low:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return float(high)
