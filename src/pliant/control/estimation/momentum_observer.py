"""What pushes an arm, from its momentum: residuals that tell a collision, torques that oppose disturbances [DM03].

p = M qd changes by dp/dt = S tau + beta + d, with beta = (dM/dt) qd - bias from the model and d all that it does not
know. The residual r = L (p - int (S tau + beta + r) dt) then follows d as r' = L (d - r): no acceleration is measured
and no inertia is inverted. Of an arm that bends, the rows of its joints and motors are taken, so that vibration that
the model describes is no disturbance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    actuated,
    actuated_names,
    checked_limit,
)
from pliant.control.estimation.observer import require_torques
from pliant.control.trajectories.trajectories import constant
from pliant.errors import ModelError
from pliant.model.model import Model


def momentum(model: Model, q: Expression, qd: Expression) -> tuple[Expression, Expression]:
    """(n, 1) momentum p = M qd, and beta: what of dp/dt the model knows without torques."""
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
    """Another controller, less the torque that disturbs the actuated coordinates, as their momentum tells it [DM03].

    Parameters
    ----------
    inner : Controller
        Not sampled.
    gain : number or (m,)
        L, 1/s: the estimate follows a disturbance with the time constant 1 / L.
    estimate : Model, optional
        What the observer believes the arm to be, with the same coordinates; the arm itself by default.

    Notes
    -----
    What is estimated is any torque on the coordinates on which torques act: a load, friction that the model has not, an
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
        """Checks the gain and the estimate."""
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
        """Of the inner law; the integral begins at zero, as if nothing disturbed an arm at rest."""
        return np.concatenate([self.inner.initial_state, np.zeros(self.model.n_joints)])

    def acting(self, felt: Felt) -> Law:
        """With the inner law as it acts there."""
        return _ObservingLaw(self.model, self.given, self.inner.acting(felt))

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> Any:
        """Torques, rates of the inner states and of the integral."""
        own = self.inner.n_states
        tau, rate = self.inner.with_states(t, q, qd, z[:own])
        rows = actuated(self.model)
        p, beta = (part[rows] for part in momentum(self.estimate, q, qd))
        residual = constant(self.gain) * (p - z[own:])
        applied = tau - residual
        return applied, ca.vertcat(rate, applied + beta + residual)


@checked
@dataclass(frozen=True)
class CollisionMonitor:
    """Tells from joint torques and motion alone when something hits an arm: by the residual of its momentum [DM03].

    Parameters
    ----------
    model : Model
        What the monitor believes the arm to be.
    gain : number or (m,)
        L, 1/s.
    threshold : number or (m,)
        Residual, N m or N, at which a collision is told.

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

    def residual(self, result: Any) -> Array:
        """Torques that the model does not explain, on the coordinates on which torques act, over a run.

        Parameters
        ----------
        result : Result
            Of `simulate`.

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
        """Likewise from samples.

        Parameters
        ----------
        t : (N,) array
            Times, s; close enough to follow the vibrations.
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

    def first(self, result: Any) -> float | None:
        """Time at which the residual of a run is first beyond the threshold.

        Parameters
        ----------
        result : Result
            Of `simulate`.

        Returns
        -------
        float or None
            s; None where it never is.
        """
        limit = checked_limit("threshold", self.threshold, self.model.n_joints)
        beyond = (np.abs(self.residual(result)) > limit).any(axis=1)
        return float(result.t[int(np.argmax(beyond))]) if beyond.any() else None

    def _kernel(self) -> Kernel:
        model = self.model

        def trace() -> Any:
            q, qd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
            rows = actuated(model)
            return ca.Function("momentum", [q, qd], ca.cse([part[rows] for part in momentum(model, q, qd)]))

        recipe = None if model.recipe is None else f"{model.recipe} momentum of actuated coordinates"
        return Kernel(Recorded(trace, recipe, title="momentum"))
