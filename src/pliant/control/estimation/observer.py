"""Steady-state Kalman observer of the flexible states, on recorded readings or in the loop of a regulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Complex, Expression
from pliant.base.signatures import checked
from pliant.control.controllers import riccati
from pliant.control.controllers.controller import NO_STATES, Controller, Felt, Law, LawOutput, Sampler
from pliant.control.controllers.lqr import LQR, UNREACHED, Design, rest_state, system, unreached
from pliant.control.sensing.sampled import HeldLaw, Memory, Value
from pliant.control.sensing.sampled_step import Tick, TickBuilder, draws
from pliant.control.sensing.sensor_chain import common_ticks
from pliant.control.sensing.sensors import Acting, Measurement, Sensor
from pliant.control.trajectories.trajectories import numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.model import Model


@checked
@dataclass(frozen=True)
class Observer:
    """Steady-state Kalman filter about a rest configuration.

    Parameters
    ----------
    joints : (m,)
        Joint positions of the configuration.
    sensors : sequence of Sensor
        Sensors, whose `noise` is that of the filter. A sensor without noise gets `floor`.
    process : float
        Spectral density of unknown torques at the joints, and of unknown forces on the amplitudes (N m per sqrt(Hz)).
    floor : float
        Least standard deviation of a reading in the filter.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> kalman = pliant.control.Observer([0.0, 0.0], sensors).design(model)
    >>> bool(kalman.poles.real.max() < 0)
    True
    """

    joints: AnglesLike
    sensors: Sequence[Sensor]
    process: float = 1.0
    floor: float = 1e-4

    def design(self, model: Model, sample_time: float | None = None) -> Filter:
        """Return the continuous filter, or the sampled one.

        Parameters
        ----------
        model : Model
            Model of the observed arm.
        sample_time : float, optional
            Seconds between readings; a continuous filter by default.

        Returns
        -------
        Filter
        """
        x0, u0 = rest_state(model, numbers("joints", self.joints, model.n_joints))
        A, B = system(model, x0)
        measurement = Measurement(model, self.sensors)
        C, D, y0 = measurement.matrices(x0, u0)
        noise = np.maximum(np.maximum(measurement.noise, measurement.quantum / np.sqrt(12)), self.floor)
        W = positive("process", self.process) ** 2 * _disturbance(model, x0)
        _require_detectable(model, A, C)
        period = None if sample_time is None else positive("sample_time", sample_time)
        if period is not None:
            A, B, W = _discretized(A, B, W, period)
        return Filter(
            model=model, measurement=measurement, x0=x0, u0=u0, y0=y0, A=A, B=B, C=C, D=D,
            L=_gain(A, C, W, noise, sampled=period is not None), period=period,
        )  # fmt: skip


@dataclass(frozen=True)
class Filter:
    """Filter xh' = A xh + B u + L (y - C xh - D u) about (x0, u0, y0). If sampled, A and B are discrete.

    Attributes
    ----------
    model : Model
    measurement : Measurement
        Sensors of the filter.
    x0, u0, y0 : (2n,), (m,), (k,)
        State, torques and readings of the configuration.
    A, B, C, D : array
        Linear system; A and B are those of one sample if `period` is given.
    L : (2n, k)
        Gain of the filter; if sampled, it corrects xh.
    period : float or None
        Sample time, s.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> kalman = pliant.control.Observer([0.0, 0.0], sensors).design(model, sample_time=1e-3)
    >>> readings, torques = np.tile(kalman.y0, (50, 1)), np.tile(kalman.u0, (50, 1))
    >>> kalman.estimate(readings, torques).shape
    (50, 8)
    """

    model: Model
    measurement: Measurement
    x0: Array
    u0: Array
    y0: Array
    A: Array
    B: Array
    C: Array
    D: Array
    L: Array
    period: float | None

    @property
    def poles(self) -> Complex:
        """Eigenvalues of the estimation error, 1/s; if sampled, those of one sample."""
        step = np.eye(len(self.A)) - self.L @ self.C
        return np.linalg.eigvals(self.A @ step if self.period else self.A - self.L @ self.C).astype(complex)

    def estimate(self, y: ArrayLike, tau: ArrayLike, start: ArrayLike | None = None) -> Array:
        """Return filtered states (N, 2n) from readings (N, k) and torques (N, m) at sample times.

        Parameters
        ----------
        y : (N, k) array
            Readings.
        tau : (N, m) array
            Torques that acted.
        start : (2n,) array, optional
            State at the first sample; that of the configuration by default.

        Returns
        -------
        (N, 2n) array
        """
        if self.period is None:
            raise ModelError("estimate: design the observer with a sample_time to run it on recorded readings")
        Y, U = np.asarray(y, dtype=float) - self.y0, np.asarray(tau, dtype=float) - self.u0
        xh = np.zeros(len(self.A)) if start is None else np.asarray(start, dtype=float) - self.x0
        out = []
        for reading, u in zip(Y, U):
            xh = xh + self.L @ (reading - self.C @ xh - self.D @ u)
            out.append(xh)
            xh = self.A @ xh + self.B @ u
        return np.array(out) + self.x0


@checked
@dataclass(frozen=True)
class OutputFeedback(Controller):
    """Regulator that acts on the estimate of an observer instead of the true state.

    Without `sample_time` the loop is continuous and traced, with ideal sensors. With it, readings have noise (from
    `seed`), rounding and the clocks of their sensors, the filter is discrete, and torques are held and act `delay`
    seconds late. The filter takes the last reading of a sensor for the present value.

    Parameters
    ----------
    regulator : LQR
        Continuous regulator with `inner="torque"`.
    observer : Observer
        Observer about the same configuration.
    sample_time : float, optional
        Seconds between readings; a continuous loop by default.
    delay : float
        Seconds between reading and acting.
    seed : int
        Number that is added to the seeds of the sensors.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> regulator = pliant.control.LQR([0.0, 0.0], Q=1.0, R=0.01)
    >>> controller = pliant.control.OutputFeedback(regulator, pliant.control.Observer([0.0, 0.0], sensors))
    >>> controller.bind(model).n_states
    8
    """

    regulator: LQR
    observer: Observer
    sample_time: float | None = None
    delay: float = 0.0
    seed: int = 0

    def bind(self, model: Model) -> Law:
        """Design regulator and filter for this model."""
        if self.regulator.inner != "torque":
            raise ModelError("regulator: expected inner='torque'; the decoupling law needs the true state")
        filtered = self.observer.design(model, self.sample_time)
        if self.sample_time is None:
            return _ContinuousFeedback(model, self.regulator.design(model), filtered)
        given = self.regulator
        sampled = LQR(joints=given.joints, Q=given.Q, R=given.R, inner="torque", sample_time=self.sample_time)
        return _SampledFeedback(model, sampled.design(model), filtered, self)


class _ContinuousFeedback(Law):
    def __init__(self, model: Model, design: Design, filtered: Filter, felt: Felt | None = None) -> None:
        super().__init__(model)
        self.design, self.filter, self.felt = design, filtered, felt
        require_torques(model)
        self.n_states, self.senses = 2 * model.n, filtered.measurement.accelerated

    def acting(self, felt: Felt) -> Law:
        """Return the law with sensors that feel the inputs of a run; the filter does not know these."""
        return _ContinuousFeedback(self.model, self.design, self.filter, felt)

    @property
    def initial_state(self) -> Array:
        """State of the rest configuration."""
        return self.filter.x0

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Torques from the estimate z, and its rate."""
        d, f = self.design, self.filter
        tau = ca.DM(d.u0) - ca.mtimes(ca.DM(d.G), z - ca.DM(d.x0))
        dx, du = z - ca.DM(f.x0), tau - ca.DM(f.u0)
        if self.felt is None:
            y = f.measurement.expression(q, qd, tau, t)
        else:
            qdd = self.felt.accelerations(tau) if self.senses else ca.SX.zeros(self.model.n)
            y = f.measurement.felt(q, qd, qdd, Acting(t, self.felt.loads, self.felt.base))
        innovation = y - ca.DM(f.y0)
        innovation = innovation - ca.mtimes(ca.DM(f.C), dx) - ca.mtimes(ca.DM(f.D), du)
        rate = ca.mtimes(ca.DM(f.A), dx) + ca.mtimes(ca.DM(f.B), du) + ca.mtimes(ca.DM(f.L), innovation)
        return tau, rate


class _SampledFeedback(Law):
    def __init__(self, model: Model, design: Design, filtered: Filter, given: OutputFeedback) -> None:
        super().__init__(model)
        self.design, self.filter, self.seed = design, filtered, given.seed
        self.measurement = filtered.measurement
        require_torques(model)
        self.senses = True
        self.clock = common_ticks(positive("sample_time", given.sample_time), given.delay, given.observer.sensors)
        self.sample_time = float(given.sample_time or 0.0) / self.clock.period

    def ticking(self, t: Expression, q: Expression, qd: Expression, felt: Felt) -> Tick:
        """Return a tick as expressions. At first the sensors feel the torques that hold the arm."""
        f, tick = self.filter, TickBuilder(self.clock)
        acted, xh, applied = (tick.entry(start) for start in (f.u0, np.zeros(len(f.A)), np.zeros(self.model.n_joints)))
        qdd = felt.accelerations(acted) if f.measurement.accelerated else ca.SX.zeros(self.model.n)
        ends = np.cumsum([0, *f.measurement.sizes]).tolist()
        ideal = ca.vertsplit(f.measurement.felt(q, qd, qdd, Acting(t, felt.loads, felt.base)), ends)
        y = tick.readings(self.model, f.measurement.sensors, float(self.sample_time or 0.0), ideal)
        tau, estimate, asked = self._filtered(y, xh, applied)
        tick.advance(xh, estimate)
        tick.advance(applied, asked)
        return tick.acting(tau, acted)

    def draws(self, ticks: int, seed: int = 0) -> Array:
        """(ticks, k) draws of the noise of its sensors."""
        return draws(self.measurement, self.clock, ticks, self.seed + seed)

    def _filtered(self, y: Value, xh: Value, applied: Value) -> tuple[Value, Value, Value]:
        """Return the torques of a sample, and estimate and torques for the next."""
        f, d = self.filter, self.design
        xh = xh + f.L @ (y - f.y0 - f.C @ xh - f.D @ applied)
        tau = d.u0 - d.G @ (xh + f.x0 - d.x0)
        applied = tau - f.u0
        return tau, f.A @ xh + f.B @ applied, applied

    def sampler(self) -> Sampler:
        """Return a new filter and new instruments. They feel the torques until the sample: at first those that hold the
        arm."""
        f, model = self.filter, self.model

        def compute(memory: Memory, t: float, q: Array, qd: Array, felt: Felt) -> Array:
            tau, memory["xh"], memory["applied"] = self._filtered(memory["readout"].y, memory["xh"], memory["applied"])
            return np.asarray(tau)

        own: Memory = {"xh": np.zeros(len(f.A)), "applied": np.zeros(model.n_joints), "acted": f.u0}
        own["readout"] = self.clock.readout(model, f.measurement.sensors, float(self.sample_time or 0.0), self.seed)
        return HeldLaw(
            compute=compute, m=model.n_joints, ticks=self.clock.period, late=self.clock.late, memory=own,
            watch=watching(f.measurement),
        )  # fmt: skip


def watching(sensed: Measurement) -> Callable[..., None]:
    """Return a function by which the instruments of a sampled law read the arm, under torques until then."""
    ends = np.cumsum(sensed.sizes)[:-1]

    def watch(memory: Memory, t: float, q: Array, qd: Array, felt: Felt) -> None:
        def ideal() -> list[Array]:
            qdd = felt.accelerations(memory["acted"]) if sensed.accelerated else np.zeros(sensed.model.n)
            return np.split(sensed.read(t, q, qd, qdd, felt), ends)

        memory["readout"].advance(ideal)

    return watch


def require_torques(model: Model, who: str = "OutputFeedback") -> None:
    """Raise `UnsupportedModel` if a motor takes currents or voltages: the controller knows torques only."""
    for shaft in model.chain.shafts:
        if shaft.motor is not None and shaft.motor.command != "torque":
            raise UnsupportedModel(
                f"{who}: the motor of {shaft.name} is commanded by {shaft.motor.command}; expected "
                "torque, set `command: torque` in its motor"
            )


def _disturbance(model: Model, x0: Array) -> Array:
    """Covariance of the rates under unit white forces on every coordinate."""
    inverse = np.linalg.inv(model.mass_matrix(x0[: model.n]))
    n = model.n
    W = np.zeros((2 * n, 2 * n))
    W[n:, n:] = inverse @ inverse.T
    return W


def _gain(A: Array, C: Array, W: Array, noise: Array, sampled: bool) -> Array:
    weighed, one = C / noise[:, None], np.eye(len(noise))
    P = _riccati(riccati.discrete if sampled else riccati.continuous, A.T, weighed.T, W, one)
    inverse = np.linalg.inv(weighed @ P @ weighed.T + one) if sampled else one
    return np.asarray(P @ weighed.T @ inverse / noise[None, :])


def _riccati(solver: Callable[..., Array], *matrices: Array) -> Array:
    try:
        return solver(*matrices)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ModelError(
            f"observer: the Riccati equation has no reliable solution ({error}); `process` is too large for the noise "
            "of the sensors: raise `floor` or the noise, or lower `process`"
        ) from error


def _discretized(A: Array, B: Array, W: Array, period: float) -> tuple[Array, Array, Array]:
    """Discrete A and B of held inputs, and the covariance of the noise of a sample (Van Loan, by doubling)."""
    from scipy.linalg import expm

    n, m = B.shape
    F = np.block([[A, B], [np.zeros((m, n + m))]])
    E = expm(F * period)
    steps = max(0, int(np.ceil(np.log2(max(1.0, float(np.abs(A).sum(1).max()) * period)))))
    h = period / 2**steps
    G = expm(np.block([[-A, W], [np.zeros((n, n)), A.T]]) * h)
    Phi = G[n:, n:].T
    gathered = Phi @ G[:n, n:]
    for _ in range(steps):
        gathered, Phi = gathered + Phi @ gathered @ Phi.T, Phi @ Phi
    return E[:n, :n], E[:n, n:], (gathered + gathered.T) / 2


def _require_detectable(model: Model, A: Array, C: Array) -> None:
    """Raise `ModelError` if no sensor sees an undamped motion. The message names it."""
    n = model.n
    scale = np.concatenate([np.ones(n), np.full(n, max(1.0, float(np.sqrt(np.abs(A[n:, :n]).max()))))])
    As = A / scale[:, None] * scale[None, :] / scale[-1]
    Cs = C * scale[None, :]
    Cs = Cs / np.maximum(np.linalg.norm(Cs, axis=1, keepdims=True), np.finfo(float).tiny)
    weakest, unseen = unreached(As.T, Cs.T)
    if weakest < UNREACHED:
        name = model.coordinates[int(np.argmax(unseen))]
        raise ModelError(
            f"the sensors do not see an undamped motion of {name!r}; add a sensor that does (an encoder on its joint, "
            "a strain gauge on its link) or give the link damping"
        )
