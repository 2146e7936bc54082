"""Momentum observer: residuals that detect a collision, torques that oppose disturbances [DM03].

The momentum p = M qd changes by dp/dt = S tau + beta + d, with beta = (dM/dt) qd - bias from the model, and d all
forces that the model does not contain. The residual r = L (p - int (S tau + beta + r) dt) then follows d as
r' = L (d - r). No acceleration is measured and no inertia is inverted. For a flexible arm the rows of joints and motors
are used, so that vibration of the model is no disturbance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.control.controllers.computed_torque import checked_estimate
from pliant.control.controllers.controller import (
    NO_STATES,
    Controller,
    Felt,
    Law,
    LawOutput,
    actuated,
    actuated_names,
    checked_limit,
)
from pliant.control.estimation.observer import require_torques
from pliant.control.trajectories.trajectories import constant
from pliant.errors import ModelError
from pliant.model.model import Model


def momentum(model: Model, q: Expression, qd: Expression) -> tuple[Expression, Expression]:
    """(n, 1) momentum p = M qd, and beta: the part of dp/dt that the model gives without torques."""
    e, n = model.equations, model.n
    x, v = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", n)
    still = ca.SX.zeros(n)
    p = e.inverse_dynamics(x, still, v) - e.inverse_dynamics(x, still, still)
    rate = ca.jtimes(p, x, model.chain.rates(x, v)) - e.bias(x, v)
    p, rate = ca.substitute([ca.densify(p), ca.densify(rate)], [x, v], [q, qd])
    return p, rate


@checked
@dataclass(frozen=True)
class DisturbanceObserver(Controller):
    """Another controller, less the estimated disturbance torque on the actuated coordinates [DM03].

    Parameters
    ----------
    inner : Controller
        Controller that is not sampled.
    gain : number or (m,)
        L, 1/s. The estimate follows a disturbance with the time constant 1 / L.
    estimate : Model, optional
        Model of the arm that the observer uses, with the same coordinates; the model of the run by default.

    Notes
    -----
    The disturbance is any unknown torque on the actuated coordinates: a load, friction that is not in the model, an
    error of the payload. A constant one is canceled without an integral of the error.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> held = pliant.control.PD(500.0, 50.0, [0.0, 0.5])
    >>> controller = pliant.control.DisturbanceObserver(held, gain=30.0)
    >>> pliant.simulate(model, 0.05, controller=controller).stats.status
    'finished'
    """

    inner: Controller
    gain: ArrayLike
    estimate: Model | None = None

    def bind(self, model: Model) -> Law:
        """Check the gain and the estimate."""
        return _ObservingLaw(model, self)


class _ObservingLaw(Law):
    def __init__(self, model: Model, given: DisturbanceObserver, inner: Law | None = None) -> None:
        super().__init__(model)
        require_torques(model, "DisturbanceObserver")
        self.given, self.inner = given, given.inner.bind(model) if inner is None else inner
        if self.inner.sample_time is not None:
            raise ModelError("DisturbanceObserver: the inner controller is sampled; sample the whole: Sampled(...)")
        self.gain = checked_limit("gain", given.gain, model.n_joints)
        self.estimate = checked_estimate(model, given.estimate)
        self.breaks, self.senses = self.inner.breaks, self.inner.senses
        self.n_states = self.inner.n_states + model.n_joints

    @property
    def initial_state(self) -> Array:
        """Initial state of the inner law, and zero for the integral, as for an undisturbed arm at rest."""
        return np.concatenate([self.inner.initial_state, np.zeros(self.model.n_joints)])

    def acting(self, felt: Felt) -> Law:
        """Return the law with the inner law of a run."""
        return _ObservingLaw(self.model, self.given, self.inner.acting(felt))

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Torques, rates of the inner states and of the integral."""
        own = self.inner.n_states
        tau, rate = self.inner.with_states(t, q, qd, z[:own])
        rows = actuated(self.model)
        p, beta = (part[rows] for part in momentum(self.estimate, q, qd))
        residual = constant(self.gain) * (p - z[own:])
        applied = tau - residual
        return applied, ca.vertcat(rate, applied + beta + residual)


class DrivenRun(Protocol):
    """Run with its motion and torques, such as a `Result`."""

    @property
    def t(self) -> Array:
        """(N,) times, s."""

    @property
    def q(self) -> Array:
        """(N, n) coordinates."""

    @property
    def qd(self) -> Array:
        """(N, n) rates."""

    @property
    def tau(self) -> Array:
        """(N, m) torques."""


@checked
@dataclass(frozen=True)
class CollisionMonitor:
    """Detects collisions of an arm from joint torques and motion, by the residual of its momentum [DM03].

    Parameters
    ----------
    model : Model
        Model of the arm that the monitor uses.
    gain : number or (m,)
        L, 1/s.
    threshold : number or (m,)
        Residual, N m or N, of a collision.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.2, controller=pliant.control.PD(500.0, 50.0, [0.0, 0.5]))
    >>> pliant.control.CollisionMonitor(model, gain=50.0, threshold=1.0).first(run) is None
    True
    """

    model: Model
    gain: ArrayLike
    threshold: ArrayLike

    def residual(self, result: DrivenRun) -> Array:
        """Return torques on the actuated coordinates that the model does not explain, over a run.

        Parameters
        ----------
        result : Result
            Result of `simulate`.

        Returns
        -------
        (N, m) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> run = pliant.simulate(model, 0.05, "equilibrium", controller=pliant.control.PD(500.0, 50.0, [0.0, 0.0]))
        >>> bool(np.abs(pliant.control.CollisionMonitor(model, 50.0, 1.0).residual(run)).max() < 0.1)
        True
        """
        return self.over(result.t, result.q, result.qd, result.tau)

    def over(self, t: ArrayLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Return the same residual from samples.

        Parameters
        ----------
        t : (N,) array
            Times, s. They must be close enough to follow the vibrations.
        q, qd : (N, n) array
            Coordinates and rates.
        tau : (N, m) array
            Torques that were applied.

        Returns
        -------
        (N, m) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest = model.equilibrium([0.0, 0.0])
        >>> still = np.zeros((3, 4)), np.tile(model.holding_torque(rest), (3, 1))
        >>> monitor = pliant.control.CollisionMonitor(model, 50.0, 1.0)
        >>> bool(np.abs(monitor.over([0.0, 0.1, 0.2], np.tile(rest, (3, 1)), *still)).max() < 1e-9)
        True
        """
        model = self.model
        times, torque = np.asarray(t, dtype=float), np.asarray(tau, dtype=float)
        p, beta = model.derived("momentum", actuated_names(model), self._kernel)(q, qd)
        L = checked_limit("gain", self.gain, model.n_joints)
        known = torque + beta
        r = np.zeros_like(torque)
        for k, h in enumerate(np.diff(times)):
            change = p[k + 1] - p[k] - h * (known[k] + known[k + 1]) / 2
            r[k + 1] = (r[k] * (1 - L * h / 2) + L * change) / (1 + L * h / 2)
        return r

    def first(self, result: DrivenRun) -> float | None:
        """Return the time at which the residual of a run first exceeds the threshold.

        Parameters
        ----------
        result : Result
            Result of `simulate`.

        Returns
        -------
        float or None
            Time, s; None if it never does.
        """
        limit = checked_limit("threshold", self.threshold, self.model.n_joints)
        beyond = (np.abs(self.residual(result)) > limit).any(axis=1)
        return float(result.t[int(np.argmax(beyond))]) if beyond.any() else None

    def _kernel(self) -> Kernel:
        model = self.model

        def trace() -> ca.Function:
            q, qd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
            rows = actuated(model)
            return ca.Function("momentum", [q, qd], ca.cse([part[rows] for part in momentum(model, q, qd)]))

        recipe = None if model.recipe is None else f"{model.recipe} momentum of actuated coordinates"
        return Kernel(Recorded(trace, recipe, title="momentum"))
