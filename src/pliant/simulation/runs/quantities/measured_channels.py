"""Readings of sensors in a run: each at its own times, of states that the run gave at these times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pliant.arrays import Array
from pliant.base.derived import Same
from pliant.compute.tape import one_sided_time
from pliant.control.sensing.sensor_chain import Instrument, capture_times, reading_times
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.errors import ModelError
from pliant.integrators.solution import Solution
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.protocols import MovingBase
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.equations.rate_jumps import Impulses
from pliant.simulation.runs.inputs import Inputs
from pliant.simulation.runs.quantities.measured_series import MeasuredSeries
from pliant.simulation.runs.results import Result

MOST_READINGS = 1e7
"""Readings of one sensor in a run, at most: more would fill the memory."""


def measurement_of(
    model: Model, sensors: Sequence[Sensor], loads: Sequence[Load], base: MovingBase | None
) -> Measurement:
    """Functions of these sensors on this arm, kept with the model."""
    key = (*map(Same, sensors), Same(base), *map(Same, loads))
    return model.derived("sensors", key, lambda: Measurement(model, sensors, loads, base))


class Watching:
    """Sensors of a run: names the times at which they need states, and reads these."""

    def __init__(
        self, model: Model, sensors: Sequence[Sensor], composed: Composition, rows: Array, t_end: float
    ) -> None:
        for sensor in sensors:
            if not isinstance(sensor, Sensor):
                raise ModelError(f"sensors: got {type(sensor).__name__}, expected sensors of pliant.control")
            if sensor.sample_time is not None and t_end > MOST_READINGS * sensor.sample_time:
                raise ModelError(
                    f"sample_time: got {sensor.sample_time:g} s for a run of {t_end:g} s; expected at most "
                    f"{MOST_READINGS:g} readings"
                )
        self.composed, self.rows = composed, rows
        self.measured = measurement_of(model, tuple(sensors), composed.loads, composed.base)
        self.channels = self.measured.channels
        self.times = [reading_times(sensor, rows, t_end) for sensor in sensors]
        self.captures = [capture_times(sensor, times) for sensor, times in zip(sensors, self.times)]

    @property
    def outputs(self) -> Array:
        """Times at which states are wanted: rows of the result, and times of readings."""
        return np.unique(np.concatenate([self.rows, *self.captures]))

    def split(self, solution: Solution) -> tuple[Solution, Solution]:
        """The solution at the rows of the result, and all of it."""
        own = np.isin(solution.t, self.rows)
        return replace(solution, t=solution.t[own], x=solution.x[own]), solution

    def read(self, solution: Solution, inputs: Inputs, impulses: Impulses | None) -> dict[str, MeasuredSeries]:
        """Channels by name, as far as the run went."""
        good = np.isfinite(solution.x).all(axis=1)  # rows before a breakdown
        t, x = solution.t[good], solution.x[good]
        ideal = self._ideal(t, x, inputs, impulses)
        found: list[MeasuredSeries] = []
        model, first, names = self.measured.model, 0, iter(self.channels)
        for sensor, size, times, captures in zip(self.measured.sensors, self.measured.sizes, self.times, self.captures):
            done = np.isin(captures, t) & (times <= solution.t_end)
            own = ideal[np.searchsorted(t, captures[done]), first : first + size]
            values = Instrument(sensor, model).read(captures[done], own)
            noise = float(np.hypot(sensor.noise, sensor.digit(model) / np.sqrt(12)))
            found += [
                MeasuredSeries(next(names), times[done], values[:, k], sensor.unit(model), noise, sensor)
                for k in range(size)
            ]
            first += size
        return {one.name: one for one in found}

    def _ideal(self, t: Array, x: Array, inputs: Inputs, impulses: Impulses | None) -> Array:
        """(N, k) ideal readings, under the inputs that acted until these times."""
        c, measured = self.composed, self.measured
        behind = t if impulses is None else impulses.behind(t)
        q, qd, _ = c.histories(behind, x)
        qdd = np.zeros_like(qd)
        if measured.accelerated:
            acted = inputs.history(np.maximum(one_sided_time.before(t), 0.0), q, qd)
            qdd = c.torques(behind, x, acted, inputs.parameters)[2]
        p = np.tile(inputs.parameters, (len(t), 1))
        return np.asarray(measured.reading(c.loads, c.base)(behind[:, None], q, qd, qdd, p)).reshape(len(t), -1)


def ideal_readings(run: Result, sensor: Sensor) -> Array:
    """(N, k) ideal readings of a sensor at the rows of a run."""
    h = run.history
    reading = measurement_of(run.model, (sensor,), h.loads, h.base).reading(h.loads, h.base)
    p = np.tile(h.parameters, (len(h.t), 1))
    return np.asarray(reading(h.t[:, None], h.q, h.qd, h.qdd, p)).reshape(len(h.t), -1)
