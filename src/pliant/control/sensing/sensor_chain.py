"""Sensor chain: readings of sensors sample by sample, each on a clock of its own.

A reading at the time t = k * sample_time is the value at t - delay, or at the start if that is earlier. It is held
between samples. The low-pass is 1 / (1 + s / (2 pi cutoff)) of a signal that is straight between two samples, in steady
state at the start. `simulate` reads whole runs by these rules; sampled controllers read tick by tick. With the same
seeds both draw the same noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from pliant.arrays import Array
from pliant.control.sensing.sensors import Sensor, rounded
from pliant.errors import ModelError
from pliant.model.model import Model

FINEST = 64
"""Largest number of ticks in the sample time of a controller."""


def low_pass(a: float) -> tuple[float, float]:
    """Part of the value that a low-pass keeps over `a` time constants, and part of a straight change that it takes."""
    return (float(np.exp(-a)), float(1 + np.expm1(-a) / a)) if a > 0 else (1.0, 0.0)


class Instrument:
    """One sensor in a run, with the memory of its low-pass and of its noise."""

    def __init__(self, sensor: Sensor, model: Model, seed: int = 0, twin: int = 0) -> None:
        self.sensor, self.digit = sensor, sensor.digit(model)
        self._rng = np.random.default_rng([sensor.seed + seed, crc32(sensor.label(model).encode()), twin])
        self._last: tuple[float, Array, Array] | None = None

    def read(self, times: Array, ideal: Array) -> Array:
        """(K, k) readings of ideal values (K, k) at rising times (K,)."""
        s, found = self.sensor, ideal if self.sensor.cutoff is None else self._smooth(times, ideal)
        found = s.gain * found + s.offset
        if s.noise:
            found = found + s.noise * self.draw(ideal.shape)
        return rounded(np.asarray(found, dtype=float), self.digit)

    def draw(self, shape: tuple[int, ...]) -> Array:
        """Return the next draws of its noise, of unit variance."""
        return self._rng.standard_normal(shape)

    def _smooth(self, times: Array, ideal: Array) -> Array:
        """Apply the low-pass; exact for values that are straight between two times."""
        out, omega = np.empty_like(ideal), 2 * np.pi * float(self.sensor.cutoff or 0.0)
        for k, (t, y) in enumerate(zip(times.tolist(), ideal)):
            before, old, z = self._last or (t, y, y)
            kept, followed = low_pass(omega * (t - before))
            z = old + (z - old) * kept + (y - old) * followed
            self._last = t, y, z
            out[k] = z
        return out


def instruments(model: Model, sensors: Sequence[Sensor], seed: int = 0) -> list[Instrument]:
    """Return new instruments. Sensors of the same name have different noise."""
    names = [sensor.label(model) for sensor in sensors]
    return [Instrument(s, model, seed, names[:k].count(names[k])) for k, s in enumerate(sensors)]


def reading_times(sensor: Sensor, rows: Array, t_end: float) -> Array:
    """(K,) times of the readings of a run: by the clock of the sensor, or the rows of the result."""
    if sensor.sample_time is None:
        return rows
    count = int(np.floor(t_end / sensor.sample_time * (1 + 1e-12)))
    return np.asarray(np.minimum(sensor.sample_time * np.arange(count + 1), t_end))


def capture_times(sensor: Sensor, readings: Array) -> Array:
    """(K,) times of the values that are read at these times."""
    return np.maximum(readings - sensor.delay, 0.0)


class SampleClock(NamedTuple):
    """Clock of a sensor: ticks between two readings, and ticks of its delay."""

    every: int
    late: int

    def due(self, tick: int) -> range:
        """Return the ticks at which the capture of this tick is read."""
        if tick == 0:
            return range(0, self.late + 1, self.every)
        last = tick + self.late
        return range(last, last + 1) if last % self.every == 0 else range(0)


class Readout:
    """Sensors of a sampled loop, advanced at every tick: `held` are the last readings, `waiting` the coming ones."""

    def __init__(self, instruments: list[Instrument], clocks: Sequence[SampleClock], tick: float) -> None:
        self.instruments, self.clocks, self.tick, self.count = instruments, clocks, tick, 0
        self.held = [np.zeros(0) for _ in instruments]
        self.waiting: list[list[tuple[int, Array]]] = [[] for _ in instruments]

    def advance(self, ideal: Callable[[], Sequence[Array]]) -> None:
        """Do one tick: capture ideal values that are due, and update readings that arrive."""
        due, now = [clock.due(self.count) for clock in self.clocks], np.array([self.count * self.tick])
        values = ideal() if any(map(len, due)) else ()
        for k, (instrument, waiting) in enumerate(zip(self.instruments, self.waiting)):
            waiting += [(tick, instrument.read(now, values[k][None])[0]) for tick in due[k]]
            while waiting and waiting[0][0] <= self.count:
                self.held[k] = waiting.pop(0)[1]
        self.count += 1

    @property
    def y(self) -> Array:
        """Last readings of all sensors."""
        return np.concatenate(self.held)


class Ticks(NamedTuple):
    """Clock of a sampled loop: ticks in the sample time of its controller, ticks of its delay, clocks of sensors."""

    period: int
    late: int
    sensors: tuple[SampleClock, ...]

    def readout(self, model: Model, sensors: Sequence[Sensor], tick: float, seed: int = 0) -> Readout:
        """Return new instruments on this clock."""
        return Readout(instruments(model, sensors, seed), self.sensors, tick)


def common_ticks(period: float, delay: float, sensors: Sequence[Sensor] = ()) -> Ticks:
    """Return the clock with the coarsest tick that divides a sample time and the times of all sensors."""
    if not (np.isfinite(delay) and delay >= 0):
        raise ModelError(f"delay: got {delay!r}, expected zero or a positive number of seconds")
    times = [period, delay]
    for sensor in sensors:
        times += [sensor.sample_time or period, sensor.delay]
    for ticks in range(1, FINEST + 1):
        found = np.array(times) / period * ticks
        whole = np.round(found)
        if (np.abs(found - whole) < 1e-9 * np.maximum(1.0, found)).all() and whole[::2].all():
            own, late, *others = whole.astype(int).tolist()
            return Ticks(own, late, tuple(map(SampleClock, others[::2], others[1::2])))
    raise ModelError(_no_tick(period, delay, sensors))


def _no_tick(period: float, delay: float, sensors: Sequence[Sensor]) -> str:
    """Message for times that have no common tick."""
    if not sensors:
        return f"delay: got {delay!r}, expected a multiple of sample_time / k for some k up to {FINEST}"
    given = ", ".join(f"{s.sample_time or period:g} s late by {s.delay:g} s" for s in sensors)
    return (
        f"sensors: sample times and delays ({given}) have no common tick with the controller's {period:g} s; expected "
        f"multiples of {period:g} s / k for some k up to {FINEST}"
    )


__all__ = [
    "Instrument",
    "Readout",
    "Ticks",
    "capture_times",
    "common_ticks",
    "instruments",
    "low_pass",
    "reading_times",
]
