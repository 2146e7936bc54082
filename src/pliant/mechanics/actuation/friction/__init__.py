"""Laws of friction: a file `NAME.py` with `law(friction, level)` each, and its name in `FrictionLaw` of `options`."""

from __future__ import annotations

from pliant.base.later import implementation
from pliant.mechanics.actuation.friction.dry_friction import DryLevel
from pliant.mechanics.actuation.shaft_laws import Placed
from pliant.robot.parts.drives.friction import Friction


def friction_on(friction: Friction, state: str, index: int) -> Placed:
    """Friction on the speed of this index, by its description or a view of it; `state` names its first state."""
    speed = friction.stribeck_speed
    level = DryLevel(
        slipping=friction.coulomb,
        holding=friction.stiction,
        speed=10 * friction.coulomb_speed if speed is None else speed,
        exponent=friction.stribeck_exponent,
        width=friction.coulomb_speed,
    )
    law = implementation(__name__, friction.law).law(friction, level)
    return Placed(state, law, (index,), (), viscous=friction.viscous)
