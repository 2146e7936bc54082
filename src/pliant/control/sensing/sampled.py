"""Sampled controllers: called at sample times, held in between, acting after a delay, on readings of sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.controllers.controller import NO_STATES, Controller, Felt, Law, LawOutput, Sampler
from pliant.control.sensing.sampled_step import Tick, TickBuilder, draws
from pliant.control.sensing.sensor_chain import common_ticks
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.control.trajectories.trajectories import positive
from pliant.errors import ModelError
from pliant.model.model import Model

Value: TypeAlias = Array | SX
"""Numbers in a run, or expressions in a trace."""
Memory: TypeAlias = dict[str, Any]
"""Values by name that a sampled law keeps from call to call."""


@checked
@dataclass(frozen=True)
class Sampled(Controller):
    """Another controller, computed every `sample_time` seconds, held in between and acting `delay` seconds later.

    Before the first value arrives the torque is zero. States of the controller advance by one Euler step per sample.

    With `sensors` the controller gets their readings in place of the true coordinates and rates. They are encoders and
    tachometers, each with a clock, delay and errors of its own, held between samples. Each coordinate and rate that the
    controller needs must be read by a sensor.

    Parameters
    ----------
    controller : Controller
        Controller that is computed at the samples.
    sample_time : float
        Seconds.
    delay : float
        Seconds. Like all times of the sensors, a multiple of the sample time divided by a whole number up to 64.
    sensors : sequence of Sensor
        Encoders and tachometers that it reads; by default it reads the true state.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.Sampled(pliant.control.PD(50.0, 5.0, [0.0, 0.0]), sample_time=0.01)
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    >>> read = [pliant.control.Encoder(joint, resolution=4096, sample_time=0.002) for joint in model.joints]
    >>> read += [pliant.control.Tachometer(joint, delay=0.005) for joint in model.joints]
    >>> controller = pliant.control.Sampled(pliant.control.PD(50.0, 5.0, [0.0, 0.0]), 0.01, sensors=read)
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    """

    controller: Controller
    sample_time: float
    delay: float = 0.0
    sensors: Sequence[Sensor] = ()

    def bind(self, model: Model) -> Law:
        """Check the times and bind the controller."""
        inner = self.controller.bind(model)
        if inner.senses:
            raise ModelError(
                f"controller: got {type(self.controller).__name__} with an accelerometer, expected one without; give "
                "OutputFeedback the sample_time and the delay itself"
            )
        seen = Seen(inner, tuple(self.sensors)) if len(self.sensors) else None
        return SampledLaw(inner, self.sample_time, self.delay, seen)


class Seen:
    """Coordinates and rates that a law gets from sensors. All others are zero; the law depends on none of them."""

    def __init__(self, law: Law, sensors: tuple[Sensor, ...]) -> None:
        self.sensors, self.model = sensors, law.model
        self.measurement = Measurement(law.model, sensors)
        self.entries = [self._entry(sensor) for sensor in sensors]
        self._require_all(law)

    def _entry(self, sensor: Sensor) -> tuple[str, int]:
        found = sensor.reads(self.model)
        if found is None:
            raise ModelError(
                f"sensors: got {type(sensor).__name__}, expected encoders and tachometers, which read coordinates and "
                "rates; give others to an observer (OutputFeedback)"
            )
        return found

    def _require_all(self, law: Law) -> None:
        model = self.model
        t, z = ca.SX.sym("t"), ca.SX.sym("z", law.n_states)
        q, qd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        needed = ca.vertcat(*(ca.SX(part) for part in law.with_states(t, q, qd, z)))
        known = set(self.entries)
        for kind, symbols, names in (("q", q, model.coordinates), ("qd", qd, model.speeds)):
            for place, name in enumerate(names):
                if (kind, place) not in known and ca.depends_on(needed, symbols[place]):
                    what = name if kind == "q" else f"the rate of {name}"
                    sensor = "an Encoder" if kind == "q" else "a Tachometer"
                    raise ModelError(f"sensors: none reads {what}, which the controller needs; add {sensor} that does")

    def state(self, y: Value, q: Value, qd: Value) -> tuple[Value, Value]:
        """Return q and qd, which are zeros, with the readings y in their places."""
        for k, (kind, place) in enumerate(self.entries):
            (q if kind == "q" else qd)[place] = y[k]
        return q, qd

    def ideal(self, q: Value, qd: Value) -> list[Value]:
        """Return the true value for each reading, with one entry each."""
        return [(q if kind == "q" else qd)[place : place + 1] for kind, place in self.entries]


class SampledLaw(Law):
    """Law that is computed at sample times. The run calls it at ticks of `sample_time`, which may be a part of the
    controller's period because of delays and sensors."""

    tunable = ("inner",)

    def __init__(self, inner: Law, sample_time: float, delay: float, seen: Seen | None = None) -> None:
        super().__init__(inner.model)
        self.inner, self.period, self.delay, self.seen = inner, positive("sample_time", sample_time), delay, seen
        self.breaks, self.measurement = inner.breaks, seen.measurement if seen else None
        self.clock = common_ticks(self.period, delay, seen.sensors if seen else ())
        self.sample_time = self.period / self.clock.period

    def expression(self, t: SX, q: SX, qd: SX, z: SX = NO_STATES) -> LawOutput:
        """Raise `ModelError`: a sampled law has no expression in time."""
        raise ModelError("a sampled controller has no expression; give it to simulate whole")

    def step(self, t: float, q: ArrayLike, qd: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
        """Return the torques and rates of the continuous law at this instant."""
        return self.inner.step(t, q, qd, z)

    @property
    def initial_state(self) -> Array:
        """Initial state of the continuous law."""
        return self.inner.initial_state

    def ticking(self, t: SX, q: SX, qd: SX, felt: Felt) -> Tick:
        """Return a tick as expressions. The law has the nominal parameters of the model."""
        tick, model, seen = TickBuilder(self.clock), self.model, self.seen
        if seen is not None:
            y = tick.readings(model, seen.sensors, float(self.sample_time or 0.0), seen.ideal(q, qd))
            q, qd = seen.state(y, ca.SX.zeros(model.n_q), ca.SX.zeros(model.n))
        z = tick.entry(self.inner.initial_state)
        known = [model.parameter_symbols], [ca.DM(model.nominal_parameters)]
        tau, rate = ca.substitute([ca.SX(part) for part in self.inner.with_states(t, q, qd, z)], *known)
        tick.advance(z, z + self.period * rate)
        return tick.acting(tau)

    def draws(self, ticks: int, seed: int = 0) -> Array:
        """(ticks, k) draws of the noise of its sensors."""
        return np.zeros((ticks, 0)) if self.measurement is None else draws(self.measurement, self.clock, ticks, seed)

    def sampler(self) -> Sampler:
        """Return a new controller with its own states, queue and instruments."""
        seen, model = self.seen, self.model

        def watch(memory: Memory, t: float, q: Array, qd: Array) -> None:
            assert seen is not None
            memory["readout"].advance(lambda: seen.ideal(q, qd))

        def compute(memory: Memory, t: float, q: Array, qd: Array) -> Array:
            if seen is not None:
                q, qd = seen.state(memory["readout"].y, np.zeros(model.n_q), np.zeros(model.n))
            tau, rate = self.inner.step(t, q, qd, memory["z"])
            memory["z"] = memory["z"] + self.period * rate
            return tau

        own: Memory = {"z": self.inner.initial_state}
        if seen is not None:
            own["readout"] = self.clock.readout(model, seen.sensors, float(self.sample_time or 0.0))
        return HeldLaw(
            compute=compute, m=model.n_joints, ticks=self.clock.period, late=self.clock.late, memory=own,
            watch=watch if seen else None,
        )  # fmt: skip


@dataclass
class HeldLaw:
    """Law at its sample times: computed on every `ticks`-th call, returned `late` calls later.

    `memory` holds all that changes from call to call: the queue, and the values of `compute(memory, t, q, qd, ...)` and
    of `watch`, which is called before it at every tick.
    """

    compute: Callable[..., Array]
    m: int
    ticks: int
    late: int
    memory: Memory = field(default_factory=dict)
    watch: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        still = np.zeros(self.m)
        self.memory = {"count": 0, "value": still, "queue": [still] * self.late, "acted": still} | self.memory

    def __call__(self, *given: object) -> Array:
        """Return the torques that act from this tick on."""
        memory = self.memory
        if self.watch is not None:
            self.watch(memory, *given)
        if memory["count"] % self.ticks == 0:
            memory["value"] = self.compute(memory, *given)
        memory["count"] += 1
        memory["queue"].append(memory["value"])
        memory["acted"] = memory["queue"].pop(0)
        return np.asarray(memory["acted"])
