"""How long a fixed step may be."""

from __future__ import annotations

import numpy as np

from pliant.model import Model

RADIANS = 0.4
"""Of the fastest mode in a step: RK4 is stable to 2.8, and true to 1e-4 of a swing at this."""
SLIPS = 0.3
"""Of the time in which friction begins to slip, in a step: RK4 is stable to 0.4."""
OTHER_POSES = 1.3
"""They are up to a third faster."""


def fastest_mode(model: Model) -> float:
    """Highest frequency about the pose of rest with free joints, rad/s."""
    squares, _ = model.modes(joints="free")
    return float(np.sqrt(np.abs(squares).max(initial=0.0)))


def longest_step(model: Model) -> float:
    """Seconds that an explicit method with fixed steps should not exceed: what bends and slips fastest asks for it."""
    rates = [OTHER_POSES * fastest_mode(model) / RADIANS]
    for freedom in (freedom for link in model.robot.links for freedom in link.joint.freedoms):
        rubbing = [freedom.friction, freedom.drive.friction] if freedom.elastic else [freedom.friction]
        rates += [f.coulomb_speed / f.bristle / SLIPS for f in rubbing if f.law == "bristle" and f.bristle and f.level]
        rates += [freedom.motor.fastest / SLIPS] if freedom.motor is not None else []
    highest = max(rates)
    return 1.0 / highest if highest > 0 else np.inf
