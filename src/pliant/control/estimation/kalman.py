"""Extended and unscented Kalman filters: states of an arm from its readings, along the nonlinear model.

Between two samples the arm follows xd = f(x, tau, p) + w with white generalized forces w. About an estimate this is
xd = f + A (x - x0), which is solved exactly over the sample time. So stiff links cost nothing, and the only error is
the change of A within one sample. The transition, the step of the mean and the covariance of the forces come from one
series over a short part of the sample time and from doubling, without growing exponentials. Unknown numbers of the arm,
such as its payload, are constant states.

A late reading, such as that of a camera, is entered at the moment of its capture, and the filter repeats the steps from
there. So the estimate uses all readings that have arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.control.estimation.estimate import Belief, StateHistory
from pliant.control.estimation.observer import require_torques
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.control.trajectories.trajectories import numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.model import Model
from pliant.model.states import read_state
from pliant.options import KalmanName

WHOLE = 1e-6
"""Relative error of a time that counts as a multiple of the sample time."""
TERMS = 10
"""Number of terms of the series, for arguments up to 0.5; the rest is below 1e-10."""


class Channel(Protocol):
    """Recorded readings of a sensor, as in `result.measured`."""

    @property
    def t(self) -> Array:
        """(N,) times, s."""

    @property
    def values(self) -> Array:
        """(N,) readings."""


@checked
@dataclass(frozen=True)
class KalmanFilter:
    """Coordinates, rates and unknown numbers of an arm from sampled readings and torques, along its nonlinear model.

    Parameters
    ----------
    model : Model
        Model of the arm that the filter uses.
    sensors : sequence of Sensor
        Sensors in the order of their readings, each with `noise`, or with a `quantum` in its place. A sensor with its
        own `sample_time` is read at these times only. A sensor with a `delay` gives earlier values.
    sample_time : float
        Seconds between readings; torques are held in between. Times of the sensors must be multiples of it.
    process : number or (n,)
        Root of the spectral density of white forces on the coordinates, N m sqrt(s) or N sqrt(s). They stand for errors
        of the model.
    kind : "extended" or "unscented"
        Linearization about the estimate, or 2 (2n + k) + 1 points around it.
    unknown : mapping, optional
        Unknown numbers among `model.parameters`, with the standard deviations of their nominal values.
    wander : number
        Change of an unknown number per root second, over its first standard deviation.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3, process=0.5)
    >>> rest = model.equilibrium([0.1, 0.2])
    >>> tau = np.tile(model.holding_torque(rest), (20, 1))
    >>> found = kalman.over(np.tile([0.1, 0.2], (20, 1)), tau, kalman.start(rest, spread=1e-3))
    >>> bool(np.abs(found.q[-1] - rest).max() < 1e-3)
    True
    """

    model: Model
    sensors: Sequence[Sensor]
    sample_time: float
    process: ArrayLike = 1.0
    kind: KalmanName = "extended"
    unknown: Mapping[str, float] = field(default_factory=dict)
    wander: float = 0.0

    def __post_init__(self) -> None:
        model = self.model
        positive("sample_time", self.sample_time)
        model.layout.require_plain("a Kalman filter")
        require_torques(model, "KalmanFilter")
        for name, deviation in self.unknown.items():
            if name not in model.parameters:
                raise ModelError(f"unknown: {name!r} is no parameter of the model; robot.model(parameters=[{name!r}])")
            positive(f"unknown[{name!r}]", deviation)
        if not (self._forces >= 0).all():
            raise ModelError("process: expected finite numbers of 0 or more, one or one for each coordinate")
        if not (self._noise > 0).all():
            raise ModelError("sensors: each needs `noise` or a `quantum`, by which readings are weighed")
        for sensor in self.sensors:
            if sensor.cutoff is not None:
                raise UnsupportedModel(
                    f"sensors: {sensor.label(model)!r} has a low-pass, which the filter does not know; leave `cutoff` "
                    "out, or correct the readings for it"
                )
        self.every, self.late  # noqa: B018  these check the times of sensors

    # -------------------------------------------------------------------------------------------------------- model

    @property
    def _measurement(self) -> Measurement:
        return self.model.derived("measurement", tuple(self.sensors), lambda: Measurement(self.model, self.sensors))

    @property
    def _noise(self) -> Array:
        """(m,) standard deviations of the readings, with rounding as a uniform error."""
        found = self._measurement
        return np.asarray(np.hypot(found.noise, found.quantum / np.sqrt(12)))

    def _samples(self, name: str, neutral: float) -> Array:
        """(m,) a time of each sensor in samples, repeated for its readings."""
        found = self._measurement
        given = [getattr(sensor, name) or neutral for sensor in found.sensors]
        counts = np.round(np.array(given) / self.sample_time)
        for sensor, time, count in zip(found.sensors, given, counts):
            if abs(count * self.sample_time - time) > WHOLE * time:
                raise ModelError(
                    f"sensors: {name} of {sensor.label(self.model)!r} is {time:g} s, expected a multiple of the "
                    f"filter's sample_time of {self.sample_time:g} s"
                )
        return np.repeat(counts.astype(int), found.sizes)

    @property
    def every(self) -> Array:
        """(m,) samples between two readings."""
        return self._samples("sample_time", self.sample_time)

    @property
    def late(self) -> Array:
        """(m,) samples by which a reading is late."""
        return self._samples("delay", 0.0)

    @property
    def kept(self) -> int:
        """Number of moments that a running filter keeps."""
        return int(self.late.max()) + 1

    @property
    def _forces(self) -> Array:
        """(n,) roots of the densities of white forces."""
        given = numbers("process", self.process)
        return given * np.ones(self.model.n) if len(given) == 1 else numbers("process", given, self.model.n)

    @property
    def _chosen(self) -> list[int]:
        return [self.model.parameters.index(name) for name in self.unknown]

    def _values(self, x: Array) -> Array:
        """(P,) parameters of the model with their estimates."""
        p = self.model.nominal_parameters.copy()
        p[self._chosen] = x[2 * self.model.n :]
        return p

    @property
    def _slopes(self) -> Kernel:
        """Accelerations, their slopes by q, qd and p, and the inverse of the inertia matrix."""

        def trace() -> Kernel:
            model, n = self.model, self.model.n
            q, qd, tau = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.sym("tau", model.n_joints)
            p = model.parameter_symbols
            force = ca.SX.sym("force", n)
            a = model.equations.accelerations(q, qd, ca.mtimes(model.chain.actuation(), tau) + force)
            found = [a, ca.jacobian(a, q), ca.jacobian(a, qd), ca.jacobian(a, p), ca.jacobian(a, force)]
            still = ca.substitute(found, [force], [ca.SX.zeros(n)])
            return Kernel(ca.Function("along", [q, qd, tau, p], ca.cse([ca.densify(x) for x in still])), "vm")

        return self.model.derived("slopes of a filter", (), trace)

    @property
    def _reading(self) -> Kernel:
        """Readings and their slopes by q, qd and p."""

        def trace() -> Kernel:
            model, n = self.model, self.model.n
            q, qd, tau = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.sym("tau", model.n_joints)
            p = model.parameter_symbols
            sensed = self._measurement
            y = ca.DM(sensed.gain) * ca.SX(sensed.expression(q, qd, tau)) + ca.DM(sensed.offset)
            found = [y, ca.jacobian(y, q), ca.jacobian(y, qd), ca.jacobian(y, p)]
            return Kernel(ca.Function("reading", [q, qd, tau, p], ca.cse([ca.densify(x) for x in found])), "vm")

        return self.model.derived("slopes of readings", tuple(self.sensors), trace)

    # -------------------------------------------------------------------------------------------------------- steps

    def start(self, q0: StateLike | None = None, qd0: StateLike | None = None, spread: ArrayLike = 0.1) -> Belief:
        """Return a first estimate, with nominal values of unknown numbers.

        Parameters
        ----------
        q0, qd0 : (n,) arrays or mappings, optional
            Coordinates and rates; at rest by default.
        spread : number or (2n,) array
            Their standard deviations.

        Returns
        -------
        Belief
        """
        n = self.model.n
        mean = np.concatenate([
            read_state(self.model, q0), read_state(self.model, qd0, "qd"), self.model.nominal_parameters[self._chosen],
        ])  # fmt: skip
        deviations = np.concatenate([np.broadcast_to(np.asarray(spread, float), (2 * n,)), [*self.unknown.values()]])
        return Belief(mean, np.diag(deviations**2))

    def predict(self, belief: Belief, tau: ArrayLike) -> Belief:
        """Return the estimate one sample later, under constant torques.

        Parameters
        ----------
        belief : Belief
            Present estimate.
        tau : (n_joints,) array
            Torques.

        Returns
        -------
        Belief

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
        >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3)
        >>> rest = kalman.start(model.equilibrium([0.1, 0.2]))
        >>> later = kalman.predict(rest, model.holding_torque(rest.mean[:4]))
        >>> bool(np.abs(later.mean - rest.mean).max() < 1e-9)
        True
        """
        if self.kind == "extended":
            return self._ahead(belief, tau, belief.mean)
        points, weights = _points(belief)
        moved = [self.transition(x, tau) for x in points]
        after = points + np.array([step for step, _, _ in moved])
        mean = weights @ after
        away = after - mean
        return Belief(mean, even(away.T @ (weights[:, None] * away) + moved[0][2]))

    def correct(self, belief: Belief, y: ArrayLike, tau: ArrayLike) -> Belief:
        """Return the estimate with the readings of this moment.

        Parameters
        ----------
        belief : Belief
            Estimate without them.
        y : (m,) array
            Readings; those that are not finite are left out.
        tau : (n_joints,) array
            Torques at this moment, which act on accelerometers.

        Returns
        -------
        Belief

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
        >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3)
        >>> rest = kalman.start(model.equilibrium([0.1, 0.2]))
        >>> known = kalman.correct(rest, [0.1, 0.2], [0.0, 0.0])
        >>> bool(known.covariance[0, 0] < 1e-4 * rest.covariance[0, 0])
        True
        """
        if self.kind == "extended":
            return self._read(belief, y, tau, belief.mean)
        seen = np.isfinite(given := np.asarray(y, dtype=float))
        if not seen.any():
            return Belief(belief.mean, belief.covariance)
        points, weights = _points(belief)
        each = np.array([self.reading(x, tau)[0][seen] for x in points])
        miss, away = given[seen] - weights @ each, each - weights @ each
        S = away.T @ (weights[:, None] * away) + np.diag(self._noise[seen] ** 2)
        gain = np.linalg.solve(S, away.T @ (weights[:, None] * (points - belief.mean))).T
        P = belief.covariance - gain @ S @ gain.T
        return Belief(belief.mean + gain @ miss, even(P), float(miss @ np.linalg.solve(S, miss)), len(miss))

    def _read(self, belief: Belief, y: ArrayLike, tau: ArrayLike, at: Array) -> Belief:
        """Return the estimate with readings, linear about another state."""
        given = np.asarray(y, dtype=float)
        expected, C = self.reading(at, tau)
        seen = np.isfinite(given)
        if not seen.any():
            return Belief(belief.mean, belief.covariance)
        C, R = C[seen], np.diag(self._noise[seen] ** 2)
        miss = given[seen] - expected[seen] - C @ (belief.mean - at)
        S = C @ belief.covariance @ C.T + R
        gain = np.linalg.solve(S, C @ belief.covariance).T
        rest = np.eye(len(at)) - gain @ C  # Joseph form, which stays positive
        P = rest @ belief.covariance @ rest.T + gain @ R @ gain.T
        return Belief(belief.mean + gain @ miss, even(P), float(miss @ np.linalg.solve(S, miss)), len(miss))

    def _ahead(self, belief: Belief, tau: ArrayLike, at: Array) -> Belief:
        """Return the estimate one sample later, linear about another state."""
        step, F, Q = self.transition(at, tau)
        return Belief(at + step + F @ (belief.mean - at), even(F @ belief.covariance @ F.T + Q))

    def over(self, y: ArrayLike, tau: ArrayLike, start: Belief) -> StateHistory:
        """Return the estimates over recorded readings and torques at sample times.

        Parameters
        ----------
        y : (N, m) array
            Readings; NaN for missing ones.
        tau : (N, n_joints) array
            Torques from each sample on.
        start : Belief
            Estimate before the first reading.

        Returns
        -------
        StateHistory
        """
        Y, U = np.asarray(y, dtype=float), np.asarray(tau, dtype=float)
        if Y.ndim != 2 or Y.shape[1] != len(self._noise) or U.shape != (len(Y), self.model.n_joints):
            raise ModelError(
                f"y, tau: got shapes {Y.shape} and {U.shape}, expected (N, {len(self._noise)}) and "
                f"(N, {self.model.n_joints})"
            )
        running = self.running(start)
        return self._history([running.update(y, u) for y, u in zip(Y, U)])

    def readings(self, measured: Mapping[str, Channel]) -> Array:
        """(N, m) readings of the sensors in a run, `result.measured`, with one row per sample.

        Parameters
        ----------
        measured : mapping
            Channels with `t` and `values`, by their names.

        Returns
        -------
        (N, m) array
            NaN for missing readings.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> slow = pliant.control.Encoder("upper", noise=1e-4, sample_time=0.02, name="slow")
        >>> kalman = pliant.control.KalmanFilter(model, [slow], sample_time=0.01)
        >>> kalman.readings(pliant.simulate(model, 0.04, sensors=[slow]).measured).shape
        (5, 1)
        """
        names = self._measurement.channels
        for name in names:
            if name not in measured:
                raise ModelError(f"measured: has no channel {name!r}, expected one of each sensor: {', '.join(names)}")
        times = [np.asarray(measured[name].t, dtype=float) / self.sample_time for name in names]
        out = np.full((1 + max(int(t[-1] + WHOLE) for t in times), len(names)), np.nan)
        for k, (name, t) in enumerate(zip(names, times)):
            rows = np.round(t).astype(int)
            due = np.abs(t - rows) < WHOLE * np.maximum(rows, 1)
            out[rows[due], k] = np.asarray(measured[name].values, dtype=float)[due]
        return out

    def running(self, start: Belief) -> Running:
        """Return a filter that runs sample by sample.

        Parameters
        ----------
        start : Belief
            Estimate before the first reading.

        Returns
        -------
        Running

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
        >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3)
        >>> rest = model.equilibrium([0.1, 0.2])
        >>> running = kalman.running(kalman.start(rest))
        >>> belief = running.update([0.1, 0.2], model.holding_torque(rest))
        >>> bool(np.abs(belief.mean[:4] - rest).max() < 1e-6)
        True
        """
        return Running(self, start)

    def _passed(self, running: Running) -> Belief:
        """Return the estimate before the readings of the second kept moment; the first is dropped."""
        return self.predict(running.path[0], running.tau[0])

    def _fitted(self, running: Running, first: int) -> Belief:
        """Return the present estimate after new readings of the kept moment `first` or later ones."""
        known = running.path[first:]
        del running.path[first:]
        for k in range(first, len(running.y)):
            before = self.predict(running.path[-1], running.tau[k - 1]) if k else running.before
            running.path.append(self.correct(before, running.y[k], running.felt[k]))
        new, now = running.path[first:], running.path[-1]
        surprise, readings = (
            sum(getattr(belief, name) for belief in new) - sum(getattr(belief, name) for belief in known)
            for name in ("surprise", "readings")
        )
        return Belief(now.mean, now.covariance, surprise, readings)

    def _history(self, beliefs: list[Belief]) -> StateHistory:
        means = np.array([belief.mean for belief in beliefs])
        n, times = self.model.n, np.array([self.sample_time * k for k in range(len(means))])
        return StateHistory(
            t=times, q=means[:, :n], qd=means[:, n : 2 * n], numbers=means[:, 2 * n :],
            covariance=np.array([belief.covariance for belief in beliefs]),
            nis=np.array([belief.surprise for belief in beliefs]),
            readings=np.array([belief.readings for belief in beliefs]),
        )  # fmt: skip

    def reading(self, x: Array, tau: ArrayLike) -> tuple[Array, Array]:
        """Return the expected readings at a state, and their slopes by it.

        Parameters
        ----------
        x : (2n + k,) array
            Coordinates, rates and unknown numbers.
        tau : (n_joints,) array
            Torques.

        Returns
        -------
        y : (m,) array
        C : (m, 2n + k) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
        >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3)
        >>> rest = kalman.start(model.equilibrium([0.1, 0.2]))
        >>> y, C = kalman.reading(rest.mean, [0.0, 0.0])
        >>> y.round(3).tolist(), C.shape
        ([0.1, 0.2], (2, 8))
        """
        n, k = self.model.n, len(self._noise)
        y, *by = self._reading(x[:n], x[n : 2 * n], np.asarray(tau, dtype=float), self._values(x))
        by_q, by_qd, by_p = (np.reshape(a, (k, -1)) for a in by)
        return np.asarray(y), np.hstack([by_q, by_qd, by_p[:, self._chosen]])

    def transition(self, x: Array, tau: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the step of a state over a sample, the transition matrix, and the covariance of the white forces.

        Parameters
        ----------
        x : (2n + k,) array
            Coordinates, rates and unknown numbers.
        tau : (n_joints,) array
            Torques, held.

        Returns
        -------
        step : (2n + k,) array
        F : (2n + k, 2n + k) array
        Q : (2n + k, 2n + k) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
        >>> kalman = pliant.control.KalmanFilter(model, sensors, sample_time=1e-3)
        >>> rest = kalman.start(model.equilibrium([0.1, 0.2]))
        >>> step, F, Q = kalman.transition(rest.mean, [0.0, 0.0])
        >>> step.shape, F.shape, Q.shape
        ((8,), (8, 8), (8, 8))
        """
        n, size = self.model.n, len(x)
        q, qd, extra = x[:n], x[n : 2 * n], slice(2 * n, size)
        a, *by = self._slopes(q, qd, np.asarray(tau, dtype=float), self._values(x))
        by_q, by_qd, by_p, inverse = (np.reshape(b, (n, -1)) for b in by)
        A = np.zeros((size + 1, size + 1))  # the last column is the rate itself
        A[:n, n : 2 * n], A[:n, -1] = np.eye(n), qd
        A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n], A[n : 2 * n, -1] = by_q, by_qd, a
        A[n : 2 * n, extra] = by_p[:, self._chosen]
        W = np.zeros((size + 1, size + 1))
        pushed = inverse * self._forces
        W[n : 2 * n, n : 2 * n] = pushed @ pushed.T
        for k, deviation in enumerate(self.unknown.values()):
            W[2 * n + k, 2 * n + k] = (self.wander * deviation) ** 2
        F, Q = discretized(A, W, float(self.sample_time))
        return F[:-1, -1], F[:-1, :-1], Q[:-1, :-1]


class Running:
    """Running filter. Readings are entered at the moments of their capture, as they arrive.

    For the last moments, `y` are the readings, `felt` the torques at these moments, `tau` the torques from then on and
    `path` the estimates. `before` is the estimate before their readings.
    """

    def __init__(self, kalman: KalmanFilter, start: Belief) -> None:
        self.kalman, self.before, self.count = kalman, start, 0
        self.y: list[Array] = []
        self.felt: list[Array] = []
        self.tau: list[Array] = []
        self.path: list[Belief] = []

    def update(self, y: ArrayLike, tau: ArrayLike) -> Belief:
        """Return the estimate at this sample, with the readings that arrive now.

        Parameters
        ----------
        y : (m,) array
            Readings. Those that are not finite, or not due by the clock of their sensor, are left out.
        tau : (n_joints,) array
            Torques that act at this sample and, unless `act` gives others, until the next.

        Returns
        -------
        Belief

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> camera = pliant.control.TipPosition((0, 1), noise=1e-3, sample_time=0.04, delay=0.02)
        >>> kalman = pliant.control.KalmanFilter(model, [camera], sample_time=0.02)
        >>> running = kalman.running(kalman.start(model.equilibrium([0.1, 0.2])))
        >>> [running.update([1.9, 0.5], [0.0, 0.0]).readings for _ in range(4)]
        [0, 0, 2, 0]
        """
        kalman, given = self.kalman, np.asarray(y, dtype=float)
        if len(self.y) == kalman.kept:
            self.before = kalman._passed(self)
            for kept in (self.y, self.felt, self.tau, self.path):
                del kept[0]
        self.y.append(np.full(given.shape, np.nan))
        for torques in (self.felt, self.tau):
            torques.append(np.asarray(tau, dtype=float))
        now = len(self.y) - 1
        places = now - kalman.late
        due = np.isfinite(given) & (self.count % kalman.every == 0) & (places >= 0)
        for k in np.flatnonzero(due):
            self.y[places[k]][k] = given[k]
        self.count += 1
        return kalman._fitted(self, min([now, *places[due]]))

    def act(self, tau: ArrayLike) -> None:
        """Set other torques from the last sample on, which a controller computed from its estimate.

        Parameters
        ----------
        tau : (n_joints,) array
            Torques, held until the next sample.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> kalman = pliant.control.KalmanFilter(model, [pliant.control.Encoder("upper", noise=1e-4)], sample_time=0.02)
        >>> running = kalman.running(kalman.start())
        >>> belief = running.update([0.0], [0.0, 0.0])
        >>> running.act([5.0, 1.0])
        """
        self.tau[-1:] = [np.asarray(tau, dtype=float)] * len(self.tau[-1:])


def even(P: Array) -> Array:
    return np.asarray((P + P.T) / 2)


def _points(belief: Belief) -> tuple[Array, Array]:
    """(2d + 1, d) points around an estimate and their weights, with equal moments up to the third."""
    d = len(belief.mean)
    scale = np.sqrt(np.maximum(np.diag(belief.covariance), 1e-300))
    root = scale[:, None] * np.linalg.cholesky(belief.covariance / np.outer(scale, scale) + 1e-12 * np.eye(d))
    away = np.sqrt(d + 1.0) * root.T
    points = np.vstack([belief.mean, belief.mean + away, belief.mean - away])
    return points, np.array([1.0, *[0.5] * (2 * d)]) / (d + 1.0)


def discretized(A: Array, W: Array, duration: float) -> tuple[Array, Array]:
    """exp(A h), and the integral of exp(A s) W exp(A s)^T over h, by a series and doubling."""
    size = float(np.abs(A).sum(axis=0).max()) * duration
    doublings = max(0, int(np.ceil(np.log2(max(size, 1e-300) / 0.5))))
    h = duration / 2**doublings
    F, Q = np.eye(len(A)), np.zeros_like(W)
    power, noise = np.eye(len(A)), W
    for k in range(1, TERMS + 1):
        Q = Q + noise * h**k / float(np.prod(np.arange(1.0, k + 1)))
        power = power @ A * (h / k)
        F = F + power
        noise = A @ noise + noise @ A.T
    for _ in range(doublings):
        Q = Q + F @ Q @ F.T
        F = F @ F
    return F, Q
