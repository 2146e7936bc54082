"""Controllers on a computer: called at sample times, held in between, acting after a delay, on what sensors say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.controllers.controller import Controller, Felt, Law, Sampler
from pliant.control.sensing.sampled_step import Tick, TickBuilder, draws
from pliant.control.sensing.sensor_chain import common_ticks
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.control.trajectories.trajectories import positive
from pliant.errors import ModelError
from pliant.model.model import Model


@checked
@dataclass(frozen=True)
class Sampled(Controller):
    """Another controller, computed every `sample_time` seconds, held in between and acting `delay` seconds later.

    Before the first value arrives the torque is zero. States of the controller advance by one Euler step per sample.

    With `sensors` the controller sees what they say in place of the true coordinates and rates: encoders and
    tachometers, each with a clock, delay and errors of its own, held between its samples. What the controller needs,
    some sensor has to read.

    Parameters
    ----------
    controller : Controller
        What is computed at the samples.
    sample_time : float
        Seconds.
    delay : float
        Seconds; a multiple of the sample time divided by a whole number up to 64, as all times of the sensors.
    sensors : sequence of Sensor
        Encoders and tachometers that it reads; none: it sees the true state.

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
        """Checks the times and binds the controller."""
        inner = self.controller.bind(model)
        if inner.senses:
            raise ModelError(
                f"controller: got {type(self.controller).__name__} with an accelerometer, expected one without; give "
                "OutputFeedback the sample_time and the delay itself"
            )
        seen = Seen(inner, tuple(self.sensors)) if len(self.sensors) else None
        return SampledLaw(inner, self.sample_time, self.delay, seen)


class Seen:
    """Coordinates and rates that a law gets from sensors; all others are zero, and it needs none of them."""

    def __init__(self, law: Law, sensors: tuple[Sensor, ...]) -> None:
        self.sensors, self.model = sensors, law.model
        self.measurement = Measurement(law.model, sensors)
        self.entries = [self._entry(sensor) for sensor in sensors]
        self._require_all(law)

    def _entry(self, sensor: Sensor) -> tuple[str, int]:
        found = sensor.reads(self.model)
        if found is None:
            raise ModelError(
                f"sensors: got {type(sensor).__name__}, expected encoders and tachometers, which say what a controller "
                "of joints sees; give others to an observer (OutputFeedback)"
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

    def state(self, y: Any, q: Any, qd: Any) -> tuple[Any, Any]:
        """What the law sees of readings y, in place of q and qd, which are zeros."""
        for k, (kind, place) in enumerate(self.entries):
            (q if kind == "q" else qd)[place] = y[k]
        return q, qd

    def ideal(self, q: Any, qd: Any) -> list[Any]:
        """True values of what is read, each one number or expression long."""
        return [(q if kind == "q" else qd)[place : place + 1] for kind, place in self.entries]


class SampledLaw(Law):
    """A law computed at sample times; `sample_time` is the tick at which the run asks, which delays and sensors may
    refine."""

    tunable = ("inner",)

    def __init__(self, inner: Law, sample_time: float, delay: float, seen: Seen | None = None) -> None:
        super().__init__(inner.model)
        self.inner, self.period, self.delay, self.seen = inner, positive("sample_time", sample_time), delay, seen
        self.breaks, self.measurement = inner.breaks, seen.measurement if seen else None
        self.clock = common_ticks(self.period, delay, seen.sensors if seen else ())
        self.sample_time = self.period / self.clock.period

    def expression(self, t: Any, q: Any, qd: Any, z: Any = None) -> Any:
        """A sampled law has no expression in time."""
        raise ModelError("a sampled controller has no expression; give it to simulate whole")

    def step(self, t: float, q: Any, qd: Any, z: Any) -> tuple[Array, Array]:
        """Torques and rates that the law would compute at this instant."""
        return self.inner.step(t, q, qd, z)

    @property
    def initial_state(self) -> Array:
        """Of the law that is sampled."""
        return self.inner.initial_state

    def ticking(self, t: Any, q: Any, qd: Any, felt: Felt) -> Tick:
        """A tick as expressions; the law knows the nominal arm."""
        tick, model, seen = TickBuilder(self.clock), self.model, self.seen
        if seen is not None:
            y = tick.readings(model, seen.sensors, float(self.sample_time or 0.0), seen.ideal(q, qd))
            q, qd = seen.state(y, ca.SX.zeros(model.n_q), ca.SX.zeros(model.n))
        z = tick.entry(self.inner.initial_state)
        known = [model.parameter_symbols], [ca.DM(model.nominal_parameters)]
        tau, rate = ca.substitute([ca.SX(part) for part in self.inner.with_states(t, q, qd, z)], *known)
        tick.advance(z, self._following(z, rate))
        return tick.acting(tau)

    def draws(self, ticks: int, seed: int = 0) -> Array:
        """(ticks, k) noise of its sensors."""
        return np.zeros((ticks, 0)) if self.measurement is None else draws(self.measurement, self.clock, ticks, seed)

    def _following(self, z: Any, rate: Any) -> Any:
        """States one sample later."""
        return z + self.period * rate

    def sampler(self) -> Sampler:
        """A fresh controller: its own states, queue and instruments."""
        seen, model = self.seen, self.model

        def watch(memory: dict[str, Any], t: float, q: Array, qd: Array) -> None:
            assert seen is not None
            memory["readout"].advance(lambda: seen.ideal(q, qd))

        def compute(memory: dict[str, Any], t: float, q: Array, qd: Array) -> Array:
            if seen is not None:
                q, qd = seen.state(memory["readout"].y, np.zeros(model.n_q), np.zeros(model.n))
            tau, rate = self.inner.step(t, q, qd, memory["z"])
            memory["z"] = self._following(memory["z"], rate)
            return tau

        own: dict[str, Any] = {"z": self.inner.initial_state}
        if seen is not None:
            own["readout"] = self.clock.readout(model, seen.sensors, float(self.sample_time or 0.0))
        return HeldLaw(compute, model.n_joints, self.clock.period, self.clock.late, own, watch if seen else None)


@dataclass
class HeldLaw:
    """A law at its sample times: computed on every `ticks`-th call, given back `late` calls later.

    `memory` is all that changes from call to call: what `compute(memory, t, q, qd, ...)`, and `watch` at every call
    before it, keep of their `own`, and how far the queue is.
    """

    compute: Callable[..., Array]
    m: int
    ticks: int
    late: int
    memory: dict[str, Any] = field(default_factory=dict)
    watch: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        still = np.zeros(self.m)
        self.memory = {"count": 0, "value": still, "queue": [still] * self.late, "acted": still} | self.memory

    def __call__(self, *given: Any) -> Array:
        """The torques that act from this tick on."""
        memory = self.memory
        if self.watch is not None:
            self.watch(memory, *given)
        if memory["count"] % self.ticks == 0:
            memory["value"] = self.compute(memory, *given)
        memory["count"] += 1
        memory["queue"].append(memory["value"])
        memory["acted"] = memory["queue"].pop(0)
        return np.asarray(memory["acted"])
