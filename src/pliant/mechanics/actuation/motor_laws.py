"""Motors with their amplifiers, from a command to the torque on the joint.

    current amplifier   i' = bandwidth (command - i), as far as the voltage reaches
    voltage amplifier   L i' = v - R i - e,   v' = bandwidth (command - v)
    torque              gear ratio * efficiency * torque constant * i

with e the voltage that the turning motor induces. Currents and voltages are cut at their limits; an amplifier without
a bandwidth or a winding without inductance follows at once, and has no state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.links.maps.link_maps import is_zero

STOPS = 20.0
"""Rate at which a current that runs into its limit is stopped, in rates of the winding."""


@dataclass(frozen=True)
class MotorMap:
    """A motor with its amplifier, and the kind of its command: "torque", "current" or "voltage".

    `gain` is the torque on the joint per current, `emf` the voltage per rate of the joint.
    """

    command: str
    gain: SX = 1.0
    emf: SX = 0.0
    offset: SX = 0.0
    resistance: SX = 1.0
    inductance: SX = 0.0
    current_limit: SX | None = None
    voltage_limit: SX | None = None
    bandwidth: SX | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """Names of its states in a run."""
        lag = ("voltage",) if self.command == "voltage" and self.bandwidth is not None else ()
        winding = not is_zero(self.inductance) or (self.command != "voltage" and self.bandwidth is not None)
        return (*lag, "current") if winding else lag

    def torque(self, command: SX, speed: SX, y: SX) -> SX:
        """Torque on the joint."""
        return self.gain * self.current(command, speed, y)

    def current(self, command: SX, speed: SX, y: SX) -> SX:
        """Current through the motor."""
        if "current" in self.states:
            return _cut(y[-1], self.current_limit)  # from which round-off may take the state
        if self.command == "voltage":
            found = (self._voltage(command, y) - self.emf * speed) / self.resistance
        else:
            found = self._reachable(self._wanted(command), speed)
        return _cut(found, self.current_limit)

    def rates(self, command: SX, speed: SX, y: SX) -> list[SX]:
        """Rates of its states."""
        if not self.states:
            return []
        if self.command != "voltage":
            wanted = _cut(self._wanted(command), self.current_limit)
            pull = self._pole * (wanted - y[-1])
            if self.voltage_limit is None:
                return [pull]
            drop = self.resistance * y[-1] + self.emf * speed
            if is_zero(self.inductance):
                return [self._pole * (self._reachable(wanted, speed) - y[-1])]
            return [(_cut(self.inductance * pull + drop, self.voltage_limit) - drop) / self.inductance]
        out = [] if self.bandwidth is None else [self._pole * (_cut(command + self.offset, self.voltage_limit) - y[0])]
        if "current" in self.states:
            i = y[-1]
            rate = (self._voltage(command, y) - self.emf * speed - self.resistance * i) / self.inductance
            if self.current_limit is not None:
                fast = STOPS * self.resistance / self.inductance
                rate = ca.fmin(ca.fmax(rate, fast * (-self.current_limit - i)), fast * (self.current_limit - i))
            out.append(rate)
        return out

    def start(self, command: SX, speed: SX) -> list[SX]:
        """States under a command that has been constant for long."""
        voltage = _cut(command + self.offset, self.voltage_limit)
        if self.command == "voltage":
            current = (voltage - self.emf * speed) / self.resistance
        else:
            current = self._reachable(_cut(self._wanted(command), self.current_limit), speed)
        found = {"voltage": voltage, "current": _cut(current, self.current_limit)}
        return [found[name] for name in self.states]

    def command_for(self, torque: SX) -> SX:
        """The command under which a motor at rest has this torque."""
        if self.command == "torque":
            return torque
        return torque / self.gain * (self.resistance if self.command == "voltage" else 1.0)

    def followed(self, command: SX, speed: SX) -> SX:
        """The command that the amplifier can follow within its limits."""
        if self.command == "voltage":
            return _cut(command, self.voltage_limit)
        unit = self.gain if self.command == "torque" else 1.0
        return unit * self._reachable(_cut(command / unit, self.current_limit), speed)

    @property
    def _pole(self) -> SX:
        assert self.bandwidth is not None
        return 2 * math.pi * self.bandwidth

    def _wanted(self, command: SX) -> SX:
        """Current that a command asks for."""
        asked = command + self.offset
        return asked / self.gain if self.command == "torque" else asked

    def _voltage(self, command: SX, y: SX) -> SX:
        return y[0] if self.bandwidth is not None else _cut(command + self.offset, self.voltage_limit)

    def _reachable(self, current: SX, speed: SX) -> SX:
        """The nearest current that the voltage can drive."""
        if self.voltage_limit is None:
            return current
        least, most = ((v - self.emf * speed) / self.resistance for v in (-self.voltage_limit, self.voltage_limit))
        return ca.fmin(ca.fmax(current, least), most)


def _cut(x: SX, limit: SX | None) -> SX:
    return x if limit is None else ca.fmin(ca.fmax(x, -limit), limit)
