"""The gear between a motor and its joint: stiff, or a spring with play, hardening, hysteresis and errors of teeth."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from pliant.robot.files.error_messages import clash
from pliant.robot.parts.drives.friction import Friction
from pliant.robot.parts.fields import Angle, Description, NonNegative, Number, Positive


class Hysteresis(Description):
    """The part of a gear's stiffness that yields, by the law of Bouc and Wen.

    A part `fraction` of the stiffness acts through a spring that gives way at the twist `yield_twist`:
    `r' = (twist' - |r|**exponent (loading |twist'| sign(r) + (1 - loading) twist')) / yield_twist`. It never gives more
    energy than it took where `loading` is a half or more.

    Examples
    --------
    >>> pliant.robot.Hysteresis(fraction=0.3, yield_twist=2e-4).loading
    0.5
    """

    fraction: Positive = Field(description="part of the stiffness that yields", examples=[0.3])
    yield_twist: Positive = Field(description="rad (m), twist at which it yields", examples=[0.0002])
    exponent: Positive = Field(1.0, description="sharpness of the yield", examples=[2.0])
    loading: Positive = Field(0.5, description="shape of the loop; at least 0.5, or it creates energy", examples=[0.5])

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.fraction > 1:
            raise clash(f"`fraction` {self.fraction:g} is above 1")
        return self


class GearError(Description):
    """One wave of a gear's kinematic error: the twist gains `amplitude * sin(cycles * motor angle + phase)`, with the
    motor's own angle, before the gear.

    Examples
    --------
    >>> pliant.robot.GearError(amplitude=2e-4, cycles=2).cycles
    2.0
    """

    amplitude: Positive = Field(description="rad (m), behind the gear", examples=[0.0002])
    cycles: Positive = Field(2.0, description="waves per turn of the motor; 2 of strain-wave gears", examples=[2.0])
    phase: Angle = Field(0.0, description="rad, of the wave where the motor is at 0", examples=["90 deg"])


class Drive(Description):
    """A motor behind a gear; with `stiffness` it has a coordinate of its own and the joint is flexible.

    The torque of the gear follows its twist, the motor's angle behind the gear less the joint's: `stiffness * twist`,
    `hardening * twist**3` more, or the points of `table`; nothing within `play`.

    Examples
    --------
    >>> drive = pliant.robot.Drive(stiffness=1e4, rotor_inertia=1e-4, gear_ratio=100.0)
    >>> pliant.Joint(drive=drive).flexible
    True
    """

    stiffness: Positive | None = Field(
        None, description="N m/rad (N/m), of the gear, link side; without it the joint is stiff", examples=[10000.0]
    )
    rotor_inertia: NonNegative = Field(0.0, description="kg m^2 (kg), of the rotor, motor side", examples=[0.001])
    gear_ratio: Positive = Field(1.0, description="turns of the motor per turn of the joint", examples=[100.0])
    damping: NonNegative = Field(0.0, description="N m s/rad (N s/m), parallel to the spring", examples=[5.0])
    hardening: NonNegative = Field(0.0, description="N m/rad^3 (N/m^3), torque per cube of the twist", examples=[1e9])
    table: tuple[tuple[Number, Number], ...] = Field(
        (), description="[twist, torque] points of the spring in place of stiffness, rising from [0, 0]",
        examples=[[[0, 0], [0.001, 8.0], [0.003, 40.0]]],
    )  # fmt: skip
    play: NonNegative = Field(0.0, description="rad (m), whole backlash of the gear", examples=[0.0005])
    play_smoothing: NonNegative = Field(
        0.0, description="rad (m), over which the teeth engage; 0: at once", examples=[5e-05]
    )
    hysteresis: Hysteresis | None = Field(
        None, description="of the stiffness", examples=[{"fraction": 0.3, "yield_twist": 0.0002}]
    )
    errors: tuple[GearError, ...] = Field(
        (), description="waves of the kinematic error", examples=[[{"amplitude": 0.0002, "cycles": 2}]]
    )
    efficiency: Positive = Field(
        1.0, description="part of the torque that the moving gear hands on, either way", examples=[0.8]
    )
    friction: Friction = Field(
        Friction(), description="on the motor, as felt behind the gear", examples=[{"coulomb": 0.5}]
    )

    @model_validator(mode="before")
    @classmethod
    def _slope(cls, data: object) -> object:
        """A table has its stiffness: the slope at rest."""
        if not isinstance(data, dict):
            return data
        table = data.get("table")
        if not table or data.get("stiffness") is not None:
            return data
        try:
            (x0, y0), (x1, y1) = table[0], table[1]
            return {**data, "stiffness": (y1 - y0) / (x1 - x0)}
        except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError):
            return data  # what is wrong is said below

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.table:
            points = np.array(self.table)
            if len(points) < 2 or points[0].any() or (np.diff(points, axis=0) <= 0).any():
                raise clash("`table` needs at least two points [twist, torque] that rise from [0, 0]; it is odd")
        if self.stiffness is None:
            names = ("damping", "hardening", "play", "hysteresis", "errors")
            needs = [name for name in names if getattr(self, name)]
            if needs == ["damping"]:
                raise clash("`damping` lies parallel to the spring, but there is no `stiffness`; use friction.viscous")
            if needs:
                raise clash(f"`{needs[0]}` belongs to the spring of the gear, but there is no `stiffness`")
            if self.friction != Friction():
                raise clash("a stiff gear has one friction: give that of the joint, `friction`, not `drive.friction`")
        elif not self.rotor_inertia:
            raise clash("a flexible joint needs `rotor_inertia` above 0: without it the motor has no mass to move")
        also = [name for name in ("play", "table", "errors") if getattr(self, name)]
        if self.hysteresis is not None and also:
            raise clash(f"`hysteresis` is that of a spring without `{also[0]}`; give one of them")
        if self.table and self.hardening:
            raise clash("`table` and `hardening` both bend the curve of the spring; give one of them")
        if self.play_smoothing and not self.play:
            raise clash("`play_smoothing` rounds the ends of `play`, and there is no `play`")
        if 2 * self.play_smoothing > self.play:
            raise clash(f"`play_smoothing` {self.play_smoothing:g} is more than half of `play` {self.play:g}")
        if self.efficiency > 1:
            raise clash(f"`efficiency` {self.efficiency:g} is above 1")
        return self
