"""One tick of a sampled loop as expressions, with its memory as numbers.

Instruments (`sensor_chain.py`) and held laws (`sampled.HeldLaw`) do the same in Python. Compiled runs, batches and
exported plants use these expressions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.control.sensing.sensor_chain import SampleClock, Ticks, instruments, low_pass
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.model.model import Model


class Tick(NamedTuple):
    """Result of a tick: `torques` from then on, and `following`, the memory of the next tick. Both are expressions of
    its `memory`, which begins at `start`, and of `noise`, new draws of unit variance."""

    torques: SX
    memory: SX
    following: SX
    start: Array
    noise: SX


class TickBuilder:
    """Builder of a tick. Each part asks for an `entry` of the memory, and sets the value that it `becomes`."""

    def __init__(self, clock: Ticks) -> None:
        self.clock = clock
        self._symbols: list[SX] = []
        self._starts: list[Array] = []
        self._following: list[SX] = []
        self._noise: list[SX] = []
        self.count = self.entry(np.zeros(1))
        round_trip = math.lcm(clock.period, *(own.every for own in clock.sensors))
        later = self.count + 1  # stays small, and is 0 only at the start
        self.becomes(self.count, ca.if_else(later == 2 * round_trip, round_trip, later))

    def entry(self, start: Array) -> SX:
        """Return symbols for a new entry of the memory. It is constant unless `becomes` is called."""
        symbol = ca.SX.sym("memory", len(start))
        self._symbols.append(symbol)
        self._starts.append(np.asarray(start, dtype=float))
        self._following.append(symbol)
        return symbol

    def becomes(self, entry: SX, value: SX) -> None:
        """Set the value of an entry after the tick."""
        place = next(k for k, symbol in enumerate(self._symbols) if symbol is entry)
        self._following[place] = value

    def every(self, ticks: int, since: int = 0) -> SX | None:
        """Return the condition that this is a tick of a slower clock; None if it always is."""
        count = self.count + since
        return None if ticks == 1 else count - ticks * ca.floor(count / ticks) == 0

    # ------------------------------------------------------------------------------------------------ sensors

    def readings(self, model: Model, sensors: Sequence[Sensor], tick: float, ideal: Sequence[SX]) -> SX:
        """Return the last readings of sensors, given the ideal values: `Readout` as an expression."""
        parts = zip(sensors, self.clock.sensors, ideal)
        return ca.vertcat(*(self._reading(model, sensor, clock, tick, ca.SX(y)) for sensor, clock, y in parts))

    def _reading(self, model: Model, sensor: Sensor, clock: SampleClock, tick: float, ideal: SX) -> SX:
        captured = self.every(clock.every, clock.late)
        seen = self._delayed(clock, captured, self._smoothed(sensor, clock, captured, tick, ideal))
        noise = ca.SX(0)
        if sensor.noise:
            self._noise.append(noise := ca.SX.sym("noise", ideal.shape[0]))
        digit, read = sensor.digit(model), sensor.gain * seen + sensor.offset + sensor.noise * noise
        return self._held(self.every(clock.every), ca.floor(read / digit + 0.5) * digit if digit else read)

    def _smoothed(self, sensor: Sensor, clock: SampleClock, captured: SX | None, tick: float, ideal: SX) -> SX:
        """Apply the low-pass to a signal that is straight between two captures; it starts in steady state."""
        if sensor.cutoff is None:
            return ideal
        old, z = (self.entry(np.zeros(ideal.shape[0])) for _ in range(2))
        omega = 2 * np.pi * sensor.cutoff
        kept: SX
        followed: SX
        kept, followed = low_pass(omega * clock.every * tick)
        first = clock.every - clock.late % clock.every  # tick of the first capture after the start
        if first != clock.every:
            sooner = self.count == first
            others = low_pass(omega * first * tick)
            kept, followed = (ca.if_else(sooner, a, b) for a, b in zip(others, (kept, followed)))
        smooth = ca.if_else(self.count == 0, ideal, old + (z - old) * kept + (ideal - old) * followed)
        captured = None if captured is None else ca.logic_or(captured, self.count == 0)
        self.becomes(old, _chosen(captured, ideal, old))
        self.becomes(z, _chosen(captured, smooth, z))
        return smooth

    def _delayed(self, clock: SampleClock, captured: SX | None, value: SX) -> SX:
        """Return the value of the capture that arrives at this reading; before the first, the value at the start."""
        if not clock.late:
            return value  # it is read at once, or not at all
        slots = clock.late // clock.every
        line = [self.entry(np.zeros(value.shape[0])) for _ in range(slots + 1)]
        moved = [_chosen(captured, new, old) for new, old in zip([value, *line], line)]
        moved = [ca.if_else(self.count == 0, value, one) for one in moved]
        for entry, one in zip(line, moved):
            self.becomes(entry, one)
        return moved[-1]

    def _held(self, due: SX | None, value: SX) -> SX:
        """Return the value at ticks where it is due, and the last one at others."""
        if due is None:
            return value
        entry = self.entry(np.zeros(value.shape[0]))
        self.becomes(entry, now := ca.if_else(due, value, entry))
        return now

    # --------------------------------------------------------------------------------------------------- laws

    def advance(self, states: SX, following: SX) -> None:
        """Set the entries of a law after a sample of its clock."""
        if states.shape[0]:
            self.becomes(states, _chosen(self.every(self.clock.period), following, states))

    def acting(self, torques: SX, acted: SX | None = None) -> Tick:
        """Return the tick of a law with these torques at its samples. They are held in between, and act late. The entry
        `acted`, if given, keeps the torques that act until the next tick."""
        line = [self.entry(np.zeros(torques.shape[0])) for _ in range(self.clock.late)]
        moved = [*line, self._held(self.every(self.clock.period), torques)]
        for entry, one in zip(line, moved[1:]):
            self.becomes(entry, one)
        if acted is not None:
            self.becomes(acted, moved[0])
        parts = (self._symbols, self._following, self._noise)
        symbols, following, noise = (ca.vertcat(ca.SX(0, 1), *part) for part in parts)
        return Tick(moved[0], symbols, following, np.concatenate(self._starts), noise)


def draws(measurement: Measurement, clock: Ticks, ticks: int, seed: int = 0) -> Array:
    """(ticks, k) values of `Tick.noise` at each tick: the draws of the same instruments in Python."""
    columns = [np.zeros((ticks, 0))]
    made = instruments(measurement.model, measurement.sensors, seed)
    for one, size, own in zip(made, measurement.sizes, clock.sensors):
        if one.sensor.noise:
            columns.append(np.zeros((ticks, size)))
            columns[-1][:: own.every] = one.draw((-(-ticks // own.every), size))
    return np.hstack(columns)


def _chosen(condition: SX | None, yes: SX, no: SX) -> SX:
    """Return one of two; the condition None always holds."""
    return yes if condition is None else ca.if_else(condition, yes, no)


__all__ = ["Tick", "TickBuilder", "draws"]
