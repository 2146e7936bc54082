"""Where a joint may be: limits of the robot file and ends of travel. One rule for single runs, batches, environments.

An arm ends as soon as a joint is beyond a limit, or at it and moving out; at the start as at any later time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from pliant.model import Model
from pliant.runs.composition import Event


@dataclass(frozen=True)
class JointLimit:
    """One end of the range of a shaft, the sum of `weights` times coordinates; `direction` is +1 at its upper end."""

    name: str
    weights: Mapping[int, float]
    value: float
    direction: int
    fatal: bool = False

    def _of(self, q: Any) -> Any:
        return sum(weight * q[index] for index, weight in self.weights.items())

    def left(self, q: Any, qd: Any) -> Any:
        """Whether arms have left the range, from arrays (n, ...) of NumPy or CuPy; NaN has not."""
        out = self.direction * (self._of(q) - self.value)
        return (out > 0) | ((out == 0) & (self.direction * self._of(qd) > 0))

    @property
    def event(self) -> Event:
        """The crossing, at the first number beyond: an arm that starts at the limit has not crossed it yet."""
        beyond = float(np.nextafter(self.value, self.direction * np.inf))
        return Event(self.name, lambda t, q, qd: self._of(q) - beyond, self.direction, True, self.fatal)


def joint_limits(model: Model, limits: bool = True) -> list[JointLimit]:
    """Limits of the robot file, if they are to hold, and the ends of travel of sliding beams, which always do: beyond
    them the model does not hold."""
    found = []
    for link, chained in zip(model.robot.links, model.chain.links, strict=True):
        bounds = link.joint.limits
        if not limits or bounds is None or chained.shaft is None:
            continue
        lever = ca.Function("lever", [model.parameter_symbols], [ca.vertcat(ca.SX(0, 1), *chained.lever)])
        turns = np.array(lever(model.nominal_parameters), dtype=float).ravel().tolist()
        weights = {chained.shaft: 1.0, **dict(zip(chained.body_indices, turns, strict=False))}
        for side, value, sign in (("lower", bounds.lower, -1), ("upper", bounds.upper, +1)):
            if value is not None and np.isfinite(value):
                found.append(JointLimit(f"{link.name} at its {side} limit", weights, float(value), sign))
    for index, travel in model.chain.travels().items():
        for side, value, sign in zip(("inner", "outer"), travel, (-1, +1)):
            name = f"{model.coordinates[index]} at the {side} end of its travel"
            found.append(JointLimit(name, {index: 1.0}, float(value), sign, True))
    return found
