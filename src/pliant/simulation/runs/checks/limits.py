"""Limits of joints without a stop, ends of travel, and events of contacts and gears: one rule for single runs, batches
and environments.

A run ends as soon as a joint is beyond a limit, or at it and moving out; at the start as at any later time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.simulation.runs.equations.composition import Event

if TYPE_CHECKING:
    from pliant.algebra.rotations import SX


@dataclass(frozen=True)
class Beyond:
    """Condition of an event: how far a coordinate is beyond a number."""

    index: int
    value: float

    def __call__(self, t: SX, q: SX, qd: SX) -> SX:
        """Distance in a state."""
        return q[self.index] - self.value


@dataclass(frozen=True)
class JointLimit:
    """One end of the range of a coordinate, whose rate is speed number `speed`; `direction` is +1 at its upper end. At
    a `fatal` one the model does not hold beyond."""

    name: str
    index: int
    speed: int
    value: float
    direction: int
    fatal: bool = False

    def left(self, q: Any, qd: Any) -> Any:
        """Return which arms have left the range, from arrays (n_q, ...) and (n, ...) of NumPy or CuPy. NaN counts as
        inside."""
        out = self.direction * (q[self.index] - self.value)
        return (out > 0) | ((out == 0) & (self.direction * qd[self.speed] > 0))

    def told(self, q: Array) -> str:
        """Message that a run begins beyond the limit, and what to do."""
        return (
            f"q0: got {q[self.index]:.6g} for {self.name} of {self.value:.6g}, so that the run ends where it begins; "
            "start inside the limit, or give limits=False"
        )

    @property
    def side(self) -> str:
        """Name of the end, in one word."""
        ends = ("inner", "outer") if self.fatal else ("lower", "upper")
        return ends[self.direction > 0]

    @property
    def event(self) -> Event:
        """Crossing of the limit, at the first number beyond it: an arm that starts at the limit has not crossed it."""
        beyond = float(np.nextafter(self.value, self.direction * np.inf))
        return Event(self.name, Beyond(self.index, beyond), self.direction, stop=True, fatal=self.fatal)


@dataclass(frozen=True)
class Gap:
    """Condition of an event: distance of a sphere from the surface that it may touch, contact `number` of an arm."""

    number: int
    of_arm = True

    def __call__(self, t: SX, q: SX, qd: SX, chain: Any = None) -> SX:
        """Distance in a state of an arm."""
        from pliant.mechanics.constraints.contact_forces import gap

        return gap(chain, q, self.number)


def contact_events(model: Model) -> list[Event]:
    """Events at which contacts begin and end; a run goes on there."""
    return [
        Event(f"{contact.name} {word}", Gap(number), direction, stop=False)
        for number, contact in enumerate(model.robot.contacts)
        for word, direction in (("touches", -1), ("leaves", +1))
    ]


@dataclass(frozen=True)
class ToothGap:
    """Condition of an event: how far the gear of joint `number` is beyond one end of its play, `side` +1 or -1."""

    number: int
    side: int
    of_arm = True

    def __call__(self, t: SX, q: SX, qd: SX, chain: Any = None) -> SX:
        """Twist beyond the play in a state of an arm."""
        shaft = chain.shafts[self.number]
        spring = shaft.drive.spring
        return self.side * spring.twist(q[shaft.drive.place], q[shaft.place]) - spring.play / 2


def gear_events(model: Model) -> tuple[Event, ...]:
    """Events at which teeth of gears with sharp play touch and leave; steps end there, since the torque has a kink."""
    return model.derived("gear events", (), partial(_gear_events, model))


def _gear_events(model: Model) -> tuple[Event, ...]:
    found: list[Event] = []
    for name, freedom in model.robot.freedoms.items():
        drive = freedom.drive
        if freedom.elastic and drive is not None and drive.play > 0 and drive.play_smoothing == 0:
            number = model.joints.index(name)
            found += [Event(f"{name}: play", ToothGap(number, side), stop=False, cut=True) for side in (1, -1)]
    return tuple(found)


def joint_limits(model: Model, limits: bool = True) -> tuple[JointLimit, ...]:
    """Limits of the robot file that have no stop, unless `limits` is False, and always the ends of travel of sliding
    beams: beyond them the model does not hold."""
    return model.derived("limits", limits, partial(_joint_limits, model, limits))


def _joint_limits(model: Model, limits: bool) -> tuple[JointLimit, ...]:
    found = []
    for name, freedom in model.robot.freedoms.items():
        bounds = freedom.limits
        if not limits or bounds is None or bounds.stop is not None:
            continue
        for side, value, sign in (("lower", bounds.lower, -1), ("upper", bounds.upper, +1)):
            if value is not None and np.isfinite(value):
                index, speed = model.index(name), model.speed_index(name)
                found.append(JointLimit(f"{name} at its {side} limit", index, speed, float(value), sign))
    for index, travel in model.layout.travels().items():
        for side, value, sign in zip(("inner", "outer"), travel, (-1, +1)):
            name = f"{model.coordinates[index]} at the {side} end of its travel"
            speed = model.speed_index(model.coordinates[index])
            found.append(JointLimit(name, index, speed, float(value), sign, fatal=True))
    return tuple(found)


def passing_words(steps: int) -> str:
    """Message that fixed steps may have leapt over something, and what to do."""
    return (
        f"step: got a length at which the arm moves farther than half the radius of what it may meet, in {steps} steps "
        "beside it; a contact, cable or stop may have been passed unseen: give a smaller `step`, or a method that "
        "chooses its own"
    )
