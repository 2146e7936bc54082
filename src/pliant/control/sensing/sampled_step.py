"""A sampled loop as expressions: what happens at one tick, with all that it remembers as numbers.

What instruments (`instruments.py`) and held laws (`sampled.HeldLaw`) do in Python, tick by tick, compiled runs, batches
and exported plants do by these expressions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.control.sensing.sensor_chain import SampleClock, Ticks, instruments, low_pass
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.model.model import Model


class Tick(NamedTuple):
    """What a loop does at a tick: `torques` from there on, and `following`, what it remembers for the next one; both in
    symbols of its `memory`, which begins at `start`, and of `noise`, fresh draws of unit size."""

    torques: Any
    memory: Any
    following: Any
    start: Array
    noise: Any


class TickBuilder:
    """Puts a tick together: whoever needs a memory asks for an `entry`, and says what it `becomes`."""

    def __init__(self, clock: Ticks) -> None:
        self.clock = clock
        self._symbols: list[Any] = []
        self._starts: list[Array] = []
        self._following: list[Any] = []
        self._noise: list[Any] = []
        self.count = self.entry(np.zeros(1))
        round_trip = math.lcm(clock.period, *(own.every for own in clock.sensors))
        later = self.count + 1  # which stays small, and is 0 at the start alone
        self.becomes(self.count, ca.if_else(later == 2 * round_trip, round_trip, later))

    def entry(self, start: Array) -> Any:
        """Symbols of numbers that are remembered; they stay as they are until it is said what they become."""
        symbol = ca.SX.sym("memory", len(start))
        self._symbols.append(symbol)
        self._starts.append(np.asarray(start, dtype=float))
        self._following.append(symbol)
        return symbol

    def becomes(self, entry: Any, value: Any) -> None:
        """Of an entry, behind the tick."""
        place = next(k for k, symbol in enumerate(self._symbols) if symbol is entry)
        self._following[place] = value

    def every(self, ticks: int, since: int = 0) -> Any:
        """Whether it is a tick of a slower clock, None where it always is."""
        count = self.count + since
        return None if ticks == 1 else count - ticks * ca.floor(count / ticks) == 0

    # ------------------------------------------------------------------------------------------------ sensors

    def readings(self, model: Model, sensors: Sequence[Sensor], tick: float, ideal: Sequence[Any]) -> Any:
        """What sensors have said last, of what each should read now: `Readout` as an expression."""
        parts = zip(sensors, self.clock.sensors, ideal)
        return ca.vertcat(*(self._reading(model, sensor, clock, tick, ca.SX(y)) for sensor, clock, y in parts))

    def _reading(self, model: Model, sensor: Sensor, clock: SampleClock, tick: float, ideal: Any) -> Any:
        captured = self.every(clock.every, clock.late)
        seen = self._delayed(clock, captured, self._smoothed(sensor, clock, captured, tick, ideal))
        noise = ca.SX(0)
        if sensor.noise:
            self._noise.append(noise := ca.SX.sym("noise", ideal.shape[0]))
        digit, read = sensor.digit(model), sensor.gain * seen + sensor.offset + sensor.noise * noise
        return self._held(self.every(clock.every), ca.floor(read / digit + 0.5) * digit if digit else read)

    def _smoothed(self, sensor: Sensor, clock: SampleClock, captured: Any, tick: float, ideal: Any) -> Any:
        """The low-pass of a signal that is straight between two captures, settled at the first."""
        if sensor.cutoff is None:
            return ideal
        old, z = (self.entry(np.zeros(ideal.shape[0])) for _ in range(2))
        omega = 2 * np.pi * sensor.cutoff
        kept, followed = low_pass(omega * clock.every * tick)
        first = clock.every - clock.late % clock.every  # tick of the first capture behind the start
        if first != clock.every:
            sooner = self.count == first
            others = low_pass(omega * first * tick)
            kept, followed = (ca.if_else(sooner, a, b) for a, b in zip(others, (kept, followed)))
        smooth = ca.if_else(self.count == 0, ideal, old + (z - old) * kept + (ideal - old) * followed)
        captured = None if captured is None else ca.logic_or(captured, self.count == 0)
        self.becomes(old, _chosen(captured, ideal, old))
        self.becomes(z, _chosen(captured, smooth, z))
        return smooth

    def _delayed(self, clock: SampleClock, captured: Any, value: Any) -> Any:
        """What was captured as many captures ago as are under way at a reading, and at the start before that."""
        if not clock.late:
            return value  # which is read at once, or not at all
        slots = clock.late // clock.every
        line = [self.entry(np.zeros(value.shape[0])) for _ in range(slots + 1)]
        moved = [_chosen(captured, new, old) for new, old in zip([value, *line], line)]
        moved = [ca.if_else(self.count == 0, value, one) for one in moved]
        for entry, one in zip(line, moved):
            self.becomes(entry, one)
        return moved[-1]

    def _held(self, due: Any, value: Any) -> Any:
        """The value where it is due, what it was before elsewhere."""
        if due is None:
            return value
        entry = self.entry(np.zeros(value.shape[0]))
        self.becomes(entry, now := ca.if_else(due, value, entry))
        return now

    # --------------------------------------------------------------------------------------------------- laws

    def advance(self, states: Any, following: Any) -> None:
        """Entries of a law behind a sample of its clock."""
        if states.shape[0]:
            self.becomes(states, _chosen(self.every(self.clock.period), following, states))

    def acting(self, torques: Any, acted: Any = None) -> Tick:
        """The tick of a law that asks for these torques at its samples: held in between, and acting late. The entry
        `acted`, where there is one, remembers what has acted until the next tick."""
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
    """(ticks, k) what `Tick.noise` is at each tick: the draws of the same instruments in Python."""
    columns = [np.zeros((ticks, 0))]
    made = instruments(measurement.model, measurement.sensors, seed)
    for one, size, own in zip(made, measurement.sizes, clock.sensors):
        if one.sensor.noise:
            columns.append(np.zeros((ticks, size)))
            columns[-1][:: own.every] = one.draw((-(-ticks // own.every), size))
    return np.hstack(columns)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    """One of two; None is a condition that always holds."""
    return yes if condition is None else ca.if_else(condition, yes, no)


__all__ = ["Tick", "TickBuilder", "draws"]
