"""Controller that acts on the state estimate of a filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.controller import NO_STATES, Controller, Felt, Law, LawOutput, Sampler
from pliant.control.estimation.estimate import Belief
from pliant.control.estimation.kalman import WHOLE, KalmanFilter
from pliant.control.estimation.observer import require_torques, watching
from pliant.control.sensing.sampled import HeldLaw, Memory
from pliant.control.sensing.sensor_chain import common_ticks
from pliant.control.sensing.sensors import Measurement
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.model import Model


@checked
@dataclass(frozen=True)
class Estimated(Controller):
    """Another controller on the state estimate of a filter, at every sample of the filter.

    The sensors of the filter read the arm of the run, with noise, rounding and clocks. The filter and the controller
    use the filter's own model, which may differ from that of the run: fewer shapes, another payload. Joints are
    the same.

    Parameters
    ----------
    controller : Controller
        Controller that acts on coordinates and rates of the filter's model.
    estimator : KalmanFilter
        Filter, also a `MovingHorizon`. Its `sample_time` is that of the loop.
    start : Belief
        Estimate before the first reading.
    delay : float
        Seconds between reading and acting; a multiple of the sample time.
    seed : int
        Number that is added to the seeds of the sensors.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=4e-3, process=0.5)
    >>> start = kalman.start(model.equilibrium([0.0, 0.0]), spread=0.01)
    >>> regulator = pliant.control.LQR([0.0, 0.0], Q=1.0, R=0.01)
    >>> controller = pliant.control.Estimated(regulator, kalman, start)
    >>> pliant.simulate(model, 0.02, model.equilibrium([0.0, 0.0]), controller=controller).stats.status
    'finished'
    """

    controller: Controller
    estimator: KalmanFilter
    start: Belief
    delay: float = 0.0
    seed: int = 0

    def bind(self, model: Model) -> Law:
        """Bind the controller to the filter's model, and the sensors to this one."""
        believed = self.estimator.model
        if believed.joints != model.joints:
            raise ModelError(
                f"estimator: its arm has the joints {', '.join(believed.joints)}, expected {', '.join(model.joints)}"
            )
        inner = self.controller.bind(believed)
        if inner.senses or inner.sample_time is not None:
            raise ModelError(
                f"controller: got {type(self.controller).__name__}, expected one that acts on coordinates and rates at "
                "any time; the filter has the sensors and the clock"
            )
        period = float(self.estimator.sample_time)
        if abs(self.delay - period * round(self.delay / period)) > WHOLE * period:
            raise ModelError(
                f"delay: got {self.delay:g} s, expected a multiple of the filter's sample_time, {period:g} s"
            )
        require_torques(model, "Estimated")
        return _EstimatedLaw(model, inner, self)


class _EstimatedLaw(Law):
    senses = True

    def __init__(self, model: Model, inner: Law, given: Estimated) -> None:
        super().__init__(model)
        self.inner, self.given, self.breaks = inner, given, inner.breaks
        kalman = given.estimator
        self.measurement = Measurement(model, kalman.sensors)
        self.clock = common_ticks(float(kalman.sample_time), given.delay, kalman.sensors)
        self.sample_time = float(kalman.sample_time) / self.clock.period

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Raise `UnsupportedModel`: a filter with late readings has no expression."""
        raise UnsupportedModel("Estimated: runs one arm at a time, in simulate; it has no expression")

    def sampler(self) -> Sampler:
        """Return a new filter and new instruments, which feel the torques that acted until the sample."""
        given, model, sensed = self.given, self.model, self.measurement
        n = given.estimator.model.n

        def compute(memory: Memory, t: float, q: Array, qd: Array, felt: Felt) -> Array:
            running = memory["running"]
            running.act(memory["acted"])
            believed = running.update(memory["readout"].y, memory["acted"]).mean
            tau, rate = self.inner.step(t, believed[:n], believed[n : 2 * n], memory["z"])
            memory["z"] = memory["z"] + float(given.estimator.sample_time) * rate
            return np.asarray(tau)

        own: Memory = {"running": given.estimator.running(given.start), "z": self.inner.initial_state}
        own["readout"] = self.clock.readout(model, sensed.sensors, float(self.sample_time or 0.0), given.seed)
        return HeldLaw(
            compute=compute, m=model.n_joints, ticks=self.clock.period, late=self.clock.late, memory=own,
            watch=watching(sensed),
        )  # fmt: skip
