"""Stops of joints, and the restitution of bodies that hit each other."""

from __future__ import annotations

import math
from typing import Self

from pydantic import Field, model_validator

from pliant.robot.files.error_messages import clash
from pliant.robot.parts.fields import Description, NonNegative, Positive

HALVINGS = 100
"""Halvings of the range in which a damping is sought: down to the last bit."""


class Restitution(Description):
    """Coefficient of restitution at one speed of the hit; slower hits give back more, faster ones less.

    Examples
    --------
    >>> round(pliant.robot.Restitution(value=0.8, speed=0.5).damping, 6)
    0.746292
    """

    value: Positive = Field(description="speed after the hit over speed before it, at most 1", examples=[0.8])
    speed: Positive = Field(description="rad/s (m/s), of the hit", examples=[0.5])

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.value > 1:
            raise clash(f"`value` {self.value:g} is above 1, so that a hit would give energy; 1 gives all of it back")
        return self

    @property
    def damping(self) -> float:
        """Damping alpha, s/rad (s/m), of Hunt and Crossley's force `k u^n (1 + alpha u')` that gives this restitution.

        A hit with speed v ends with e v where y (1 + e) = ln((1 + y) / (1 - e y)), y = alpha v, whatever the exponent.
        """
        e = float(self.value)
        if e == 1.0:
            return 0.0
        low, high = 3 * (1 - e**2) / (8 * (1 + e**3)), 1 / e
        for _ in range(HALVINGS):
            y = (low + high) / 2
            given_back = e * y >= 1 or math.log1p(y) - math.log1p(-e * y) > (1 + e) * y
            low, high = (low, y) if given_back else (y, high)
        return low / float(self.speed)


class Stop(Description):
    """Stop that a joint meets at its limits: a spring, and a damper that never pulls.

    Beyond a limit by u, the joint is pressed back by `stiffness * u * (1 + damping * u')`, and by nothing where that
    would pull. `restitution` says in place of `damping` how fast the joint comes back.

    Examples
    --------
    >>> pliant.robot.Limits(upper="90 deg", stop=pliant.robot.Stop(stiffness=5e4, damping=0.4)).stop.damping
    0.4
    """

    stiffness: Positive = Field(description="N m/rad (N/m), of the stop", examples=[50000.0])
    damping: NonNegative = Field(
        0.0,
        description="s/rad (s/m), part by which the force grows per speed of the joint into the stop",
        examples=[0.4],
    )
    restitution: Restitution | None = Field(
        None, description="what a hit gives back, instead of damping", examples=[{"value": 0.8, "speed": 0.5}]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.damping != type(self).model_fields["damping"].default and self.restitution is not None:
            raise clash("`damping` and `restitution` both say what is lost; give one of them")
        return self
