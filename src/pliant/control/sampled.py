"""Controllers on a computer: called at sample times, held in between, acting after a delay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.control.law import Controller, Felt, Law, Sampler
from pliant.control.trajectories import positive
from pliant.errors import ModelError
from pliant.model import Model
from pliant.signatures import checked

FINEST = 64
"""A delay is a multiple of the sample time divided by at most this."""


@checked
@dataclass(frozen=True)
class Sampled(Controller):
    """Another controller, computed every `sample_time` seconds, held in between and acting `delay` seconds later.

    Before the first value arrives the torque is zero. States of the controller advance by one Euler step per sample.

    Parameters
    ----------
    controller : Controller
        What is computed at the samples.
    sample_time : float
        Seconds.
    delay : float
        Seconds; a multiple of the sample time divided by a whole number up to 64.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.Sampled(pliant.control.PD(50.0, 5.0, [0.0, 0.0]), sample_time=0.01)
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    """

    controller: Controller
    sample_time: float
    delay: float = 0.0

    def bind(self, model: Model) -> Law:
        """Checks the times and binds the controller."""
        inner = self.controller.bind(model)
        if inner.senses:
            raise ModelError(
                f"controller: got {type(self.controller).__name__} with an accelerometer, expected one without; give "
                "OutputFeedback the sample_time and the delay itself"
            )
        return SampledLaw(inner, self.sample_time, self.delay)


class SampledLaw(Law):
    """A law computed at sample times; `sample_time` is the tick at which the run asks, which a delay may refine."""

    tunable = ("inner",)

    def __init__(self, inner: Law, sample_time: float, delay: float) -> None:
        super().__init__(inner.model)
        self.inner, self.period, self.delay = inner, positive("sample_time", sample_time), delay
        self.breaks = inner.breaks
        self.ticks, self.late = delay_ticks(self.period, delay)
        self.sample_time = self.period / self.ticks

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

    def sample(self, t: Any, q: Any, qd: Any, z: Any, felt: Felt) -> tuple[Any, Any]:
        """Expressions: torques of a sample, and states for the next; the law knows the nominal arm."""
        known = [self.model.parameter_symbols], [ca.DM(self.model.nominal_parameters)]
        tau, rate = ca.substitute([ca.SX(part) for part in self.inner.with_states(t, q, qd, z)], *known)
        return tau, self._following(z, rate)

    def _following(self, z: Any, rate: Any) -> Any:
        """States one sample later."""
        return z + self.period * rate

    def sampler(self) -> Sampler:
        """A fresh controller: its own states and queue."""

        def compute(memory: dict[str, Any], t: float, q: Array, qd: Array) -> Array:
            tau, rate = self.inner.step(t, q, qd, memory["z"])
            memory["z"] = self._following(memory["z"], rate)
            return tau

        own = {"z": self.inner.initial_state}
        return HeldLaw(compute, self.model.n_joints, self.ticks, self.late, own)


def delay_ticks(period: float, delay: float) -> tuple[int, int]:
    """Ticks in a sample time and ticks of delay, for the coarsest tick that divides both."""
    if not (np.isfinite(delay) and delay >= 0):
        raise ModelError(f"delay: got {delay!r}, expected zero or a positive number of seconds")
    for ticks in range(1, FINEST + 1):
        late = delay / period * ticks
        if abs(late - round(late)) < 1e-9 * max(1.0, late):
            return ticks, round(late)
    raise ModelError(f"delay: got {delay!r}, expected a multiple of sample_time / k for some k up to {FINEST}")


@dataclass
class HeldLaw:
    """A law at its sample times: computed on every `ticks`-th call, given back `late` calls later.

    `memory` is all that changes from call to call: what `compute(memory, t, q, qd, ...)` keeps of its `own`, and how
    far the queue is.
    """

    compute: Callable[..., Array]
    m: int
    ticks: int
    late: int
    memory: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        still = np.zeros(self.m)
        self.memory = {"count": 0, "value": still, "queue": [still] * self.late, "acted": still} | self.memory

    def __call__(self, *given: Any) -> Array:
        """The torques that act from this tick on."""
        memory = self.memory
        if memory["count"] % self.ticks == 0:
            memory["value"] = self.compute(memory, *given)
        memory["count"] += 1
        memory["queue"].append(memory["value"])
        memory["acted"] = memory["queue"].pop(0)
        return np.asarray(memory["acted"])
