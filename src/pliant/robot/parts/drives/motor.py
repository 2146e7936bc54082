"""The motor of a joint with its amplifier: how a command becomes a torque."""

from __future__ import annotations

import math
from typing import Self

from pydantic import Field, model_validator

from pliant.options import CommandName
from pliant.robot.files.error_messages import clash
from pliant.robot.parts.fields import Description, NonNegative, Number, Positive


class Motor(Description):
    """An electric motor with its amplifier: the torque on the joint is `gear_ratio * efficiency * torque_constant`
    times the current.

    `command` says what a run is given for this joint, by torques, controllers and samples: a torque on the joint, which
    the amplifier turns into a current; a current; or a voltage. A current amplifier follows its command with the
    `bandwidth` of its loop, as far as `current_limit` and, with a `resistance`, `voltage_limit` let it. Under a voltage
    command the current follows from `resistance`, `inductance` and `back_emf`. Functions of a model have torques that
    act, and know no motor.

    Examples
    --------
    >>> motor = pliant.robot.Motor(command="current", torque_constant=0.119, efficiency=0.75, current_limit=0.94)
    >>> pliant.Joint(drive=pliant.robot.Drive(gear_ratio=100.0), motor=motor).motor.command
    'current'
    """

    command: CommandName = Field("torque", description="what a run is given for the joint", examples=["current"])
    torque_constant: Positive | None = Field(
        None, description="N m/A (N/A), of the motor, before the gear", examples=[0.119]
    )
    efficiency: Positive = Field(1.0, description="factor on the torque, in both directions of power", examples=[0.75])
    resistance: Positive | None = Field(None, description="ohm, of the winding", examples=[11.5])
    inductance: NonNegative = Field(0.0, description="H, of the winding", examples=[0.00316])
    back_emf: NonNegative | None = Field(
        None, description="V s/rad (V s/m), of the motor; equal to torque_constant by default", examples=[0.119]
    )
    current_limit: Positive | None = Field(None, description="A, greatest current", examples=[0.94])
    voltage_limit: Positive | None = Field(None, description="V, greatest voltage", examples=[27.0])
    bandwidth: Positive | None = Field(
        None, description="Hz, of the amplifier; without it the amplifier follows at once", examples=[300.0]
    )
    offset: Number = Field(0.0, description="added to the command, in its unit", examples=[0.012])

    @property
    def fastest(self) -> float:
        """Largest rate at which amplifier and winding settle, rad/s; 0 where they follow at once."""
        amplifier = 0.0 if self.bandwidth is None else 2 * math.pi * self.bandwidth
        winding = self.resistance / self.inductance if self.resistance and self.inductance else 0.0
        return max(amplifier, winding if self.command == "voltage" else 0.0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.efficiency > 1:
            raise clash(f"`efficiency` {self.efficiency:g} is above 1")
        asked = [name for name in ("current_limit", "voltage_limit", "resistance") if getattr(self, name) is not None]
        asked = [self.command] if self.command != "torque" else asked
        if asked and self.torque_constant is None:
            raise clash(f"`{asked[0]}` needs `torque_constant`, in N m/A")
        by_voltage = "voltage" if self.command == "voltage" else "voltage_limit" if self.voltage_limit else None
        if by_voltage and self.resistance is None:
            raise clash(f"`{by_voltage}` needs `resistance`, in ohm")
        useless = "inductance" if self.inductance else "back_emf" if self.back_emf is not None else None
        if not by_voltage and useless:
            raise clash(f"`{useless}` acts through the voltage: command by voltage, or give `voltage_limit`")
        if self.command != "voltage" and self.inductance and self.bandwidth is None:
            raise clash("a current amplifier before an `inductance` needs its `bandwidth`, in Hz")
        return self
