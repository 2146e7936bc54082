"""Rest-to-rest motion without residual vibration, by optimal control: least time or least effort under torque limits.

The unknowns are the accelerations of the actuated coordinates, continuous and linear over each interval, so that the
commanded motion is exactly a cubic spline; the flexible coordinates follow from their own equations, driven by that
motion (decoupling again: (36) of [TG95]), by Gauss collocation. Start and goal are states of static rest, hence nothing
vibrates after the end. Solved by IPOPT with exact derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.control.decoupling import checked_estimate
from pliant.control.law import actuated, checked_limit
from pliant.control.splines import Piece, Piecewise
from pliant.control.trajectories import numbers, positive
from pliant.errors import ModelError, PliantError
from pliant.model import Model
from pliant.options import ObjectiveName
from pliant.signatures import checked


@dataclass(frozen=True)
class RestToRest:
    """An optimal motion.

    Attributes
    ----------
    trajectory : Piecewise
        Actuated coordinates over time: a controller's reference, or `simulate(..., motion=trajectory.motion(model))`.
    torque : (times, values, "cubic")
        What `simulate(..., torque=)` takes to drive the arm open loop.
    duration : float
        Seconds.
    t, q, qd, tau : (N,), (N, n), (N, n), (N, m)
        States and torques at nodes and collocation points.
    q0 : (n,)
        State of rest at the start.
    cost : float
        Seconds, or the integral of tau^2 (N^2 m^2 s).
    violation : float
        Largest violation of a constraint, in its own unit.
    iterations : int
        Of the solver.
    """

    trajectory: Piecewise
    duration: float
    t: Array
    q: Array
    qd: Array
    tau: Array
    q0: Array
    cost: float
    violation: float
    iterations: int

    @property
    def torque(self) -> tuple[Array, Array, str]:
        """Torques over time as samples with cubic interpolation."""
        return self.t, self.tau, "cubic"


@checked
def rest_to_rest(
    model: Model,
    start: ArrayLike,
    goal: ArrayLike,
    duration: float | None = None,
    torque_limit: ArrayLike | None = None,
    objective: ObjectiveName = "effort",
    intervals: int = 40,
    degree: int = 4,
) -> RestToRest:
    """Motion from rest at joint positions `start` to rest at `goal` that leaves no vibration.

    Parameters
    ----------
    model : Model
        The arm.
    start, goal : (m,)
        Joint positions, rad or m.
    duration : float
        Seconds; for objective "time" a first guess, and optional.
    torque_limit : number or (m,), optional
        Needed for objective "time". Held at nodes and collocation points.
    objective : "effort" or "time"
        Least integral of tau^2, or least duration.
    intervals, degree : int
        Grid: pieces of the motion, and collocation points in each.

    Returns
    -------
    RestToRest
        Trajectory, torques, cost.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> move = pliant.control.rest_to_rest(model, [0.0, 0.0], [0.3, 0.2], duration=1.5, intervals=6, degree=3)
    >>> move.violation < 1e-6, float(move.t[-1])
    (True, 1.5)
    """
    if intervals < 4 or degree < 2:
        raise ModelError(f"intervals, degree: got {intervals}, {degree}, expected at least 4 and 2")
    checked_estimate(model, None)  # torques must act on single coordinates
    limit = None if torque_limit is None else checked_limit("torque_limit", torque_limit, model.n_joints)
    ends = _Ends.at(model, start, goal, limit)
    if objective == "time" and limit is None:
        raise ModelError("torque_limit: least time needs torque limits")
    if objective == "effort" and duration is None:
        raise ModelError("duration: least effort needs a duration")
    guess = positive("duration", duration) if duration is not None else ends.guess(model, limit)
    return _Transcription(model, ends, limit, objective, guess, intervals, degree).solve()


@dataclass(frozen=True)
class _Ends:
    """States of rest at start and goal, and the torques that hold them."""

    start: Array
    goal: Array
    hold_start: Array
    hold_goal: Array

    @classmethod
    def at(cls, model: Model, start: ArrayLike, goal: ArrayLike, limit: Array | None) -> _Ends:
        model.layout.require_plain("optimal motion")
        a, b = (model.equilibrium(numbers(k, v, model.n_joints)) for k, v in (("start", start), ("goal", goal)))
        ends = cls(a, b, model.holding_torque(a), model.holding_torque(b))
        for name, hold in (("start", ends.hold_start), ("goal", ends.hold_goal)):
            if limit is not None and (np.abs(hold) >= limit).any():
                raise ModelError(
                    f"{name}: holding the arm there takes torques {np.round(hold, 4)}, torque_limit is {limit}; raise "
                    "the limit or choose a pose that it can hold"
                )
        return ends

    def guess(self, model: Model, limit: Array | None) -> float:
        """Duration of a cycloid of each joint alone, with a margin."""
        assert limit is not None
        rows = actuated(model)
        inertia = np.maximum.reduce([np.diag(model.mass_matrix(q))[rows] for q in (self.start, self.goal)])
        spare = np.maximum(limit - np.maximum(np.abs(self.hold_start), np.abs(self.hold_goal)), 0.1 * limit)
        travel = np.abs(self.goal - self.start)[rows]
        return float(max(1.5 * np.sqrt(2 * np.pi * travel * inertia / spare).max(), 1e-3))


class _Transcription:
    """The motion as a nonlinear program: matrices with one column per node, or per collocation point."""

    def __init__(
        self, model: Model, ends: _Ends, limit: Array | None, objective: str, guess: float, N: int, d: int
    ) -> None:
        self.model, self.ends, self.limit, self.objective, self.guess = model, ends, limit, objective, guess
        self.N, self.d = N, d
        self.rows = actuated(model)
        self.flexible = [k for k in range(model.n) if k not in self.rows]
        self.m, self.f = len(self.rows), len(self.flexible)
        self.points = np.array(ca.collocation_points(d, "legendre"))
        self.C, self.D, self.weights = _collocation(self.points)
        self.scale = float(
            np.max(np.abs([ends.hold_start, ends.hold_goal, *([limit] if limit is not None else [])])) or 1.0
        )
        self._variables()
        self._constraints()

    def _dynamics(self) -> Any:
        """Accelerations of the flexible coordinates, and torques, for a commanded acceleration."""
        n = self.model.n
        q, qd, a = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.sym("a", self.m)
        equations = self.model.equations
        held = {index: a[k] for k, index in enumerate(self.rows)}
        qdd = equations.accelerations(q, qd, ca.SX.zeros(n), held)
        tau = equations.inverse_dynamics(q, qd, qdd)[self.rows]
        nominal = ca.SX(ca.DM(self.model.nominal_parameters))
        outputs = ca.substitute([qdd[self.flexible], tau], [self.model.parameter_symbols], [nominal])
        F = ca.Function("F", [q, qd, a], outputs)
        r, c = ca.SX.sym("r", self.m), ca.SX.sym("c", self.f)
        rd, cd = ca.SX.sym("rd", self.m), ca.SX.sym("cd", self.f)
        full, rate = ca.SX.zeros(n), ca.SX.zeros(n)
        full[self.rows], rate[self.rows] = r, rd
        if self.f:
            full[self.flexible], rate[self.flexible] = c, cd
        return ca.Function("dynamics", [r, c, rd, cd, a], list(F(full, rate, a)))

    def _variables(self) -> None:
        m, f, N, d = self.m, self.f, self.N, self.d
        self.T = ca.MX.sym("T")
        self.a, self.r, self.v = (ca.MX.sym(name, m, N + 1) for name in ("a", "r", "v"))
        self.y = ca.MX.sym("y", 2 * f, N + 1)  # flexible coordinates and rates at nodes
        self.Y = ca.MX.sym("Y", 2 * f, N * d)  # and at collocation points
        self.x = ca.vertcat(self.T, *(ca.vec(v) for v in (self.a, self.r, self.v, self.y, self.Y)))

    def _constraints(self) -> None:
        N, d, f = self.N, self.d, self.f
        h = self.T / N
        step = self.a[:, 1:] - self.a[:, :-1]
        a0, v0, r0 = self.a[:, :-1], self.v[:, :-1], self.r[:, :-1]
        spline = [  # exact integrals of a linear acceleration
            self.v[:, 1:] - v0 - h * (a0 + step / 2),
            self.r[:, 1:] - r0 - h * v0 - h**2 * (a0 / 2 + step / 6),
        ]
        inner = [self._inside(h, a0, step, v0, r0, float(s)) for s in self.points]
        # columns: interval by interval, points within
        a, v, r = (_interleave([point[k] for point in inner], N) for k in range(3))
        F = self._dynamics().map(N * d)
        acceleration, tau = F(r, self.Y[:f, :], v, self.Y[f:, :], a)
        g = [ca.vec(x) for x in spline]
        if f:
            rate = h * ca.vertcat(self.Y[f:, :], acceleration)
            for k in range(N):
                block = ca.horzcat(self.y[:, k], self.Y[:, k * d : (k + 1) * d])
                g.append(ca.vec(ca.mtimes(block, ca.DM(self.C)) - rate[:, k * d : (k + 1) * d]))
                g.append(ca.mtimes(block, ca.DM(self.D)) - self.y[:, k + 1])
        nodes = self._dynamics().map(N + 1)
        _, tau_nodes = nodes(self.r, self.y[:f, :], self.v, self.y[f:, :], self.a)
        self.equalities = ca.vertcat(*g)
        self.tau, self.tau_nodes = tau, tau_nodes
        weights = ca.repmat(ca.DM(self.weights).T, 1, N)
        effort = ca.sum2(ca.sum1((tau / self.scale) ** 2) * weights) * h
        wiggle = ca.sumsqr(step * N) * 1e-10
        self.cost = effort * self.scale**2 if self.objective == "effort" else self.T
        self.goal = (effort if self.objective == "effort" else self.T + 1e-4 * effort) + wiggle * self.T

    def _inside(self, h: Any, a0: Any, step: Any, v0: Any, r0: Any, s: float) -> tuple[Any, Any, Any]:
        """Acceleration, rate and position at the fraction `s` of every interval."""
        a = a0 + s * step
        v = v0 + h * (s * a0 + s**2 / 2 * step)
        return a, v, r0 + h * s * v0 + h**2 * (s**2 / 2 * a0 + s**3 / 6 * step)

    def _start(self) -> Array:
        """A quintic motion of the guessed duration, the links' deflection in proportion."""
        u = np.linspace(0, 1, self.N + 1)
        at = ((np.arange(self.N)[:, None] + self.points) / self.N).ravel()
        law = u**3 * (10 - 15 * u + 6 * u**2)
        rate = 30 * u**2 * (1 - u) ** 2 / self.guess
        accelerate = 60 * u * (1 - u) * (1 - 2 * u) / self.guess**2
        travel = (self.ends.goal - self.ends.start)[self.rows][:, None]
        r = self.ends.start[self.rows][:, None] + travel * law

        def deflection(s: Array) -> Array:
            c0, c1 = self.ends.start[self.flexible], self.ends.goal[self.flexible]
            return np.vstack([c0[:, None] + np.outer(c1 - c0, s), np.zeros((self.f, len(s)))])

        blocks = (travel * accelerate, r, travel * rate, deflection(u), deflection(at))
        return np.concatenate([[self.guess], *(b.ravel(order="F") for b in blocks)])

    def _bounds(self) -> tuple[Array, Array]:
        """Start and goal at rest, without acceleration."""
        low, high = -np.inf * np.ones(self.x.shape[0]), np.inf * np.ones(self.x.shape[0])
        low[0], high[0] = (1e-3 * self.guess, np.inf) if self.objective == "time" else (self.guess, self.guess)
        place = 1
        still = np.zeros(self.m)
        e, fl = self.ends, np.zeros(self.f)
        for first, last in (
            (still, still),
            (e.start[self.rows], e.goal[self.rows]),
            (still, still),
            (np.concatenate([e.start[self.flexible], fl]), np.concatenate([e.goal[self.flexible], fl])),
        ):
            k = len(first)
            low[place : place + k] = high[place : place + k] = first
            end = place + k * (self.N + 1)
            low[end - k : end] = high[end - k : end] = last
            place = end
        return low, high

    def solve(self) -> RestToRest:
        """Runs IPOPT and reads the motion."""
        g, count = [self.equalities], self.equalities.shape[0]
        low, high = [np.zeros(count)], [np.zeros(count)]
        if self.limit is not None:
            torques = ca.vec(ca.horzcat(self.tau, self.tau_nodes) / ca.DM(self.limit))
            g.append(torques)
            low.append(-np.ones(torques.shape[0]))
            high.append(np.ones(torques.shape[0]))
        problem = {"x": self.x, "f": self.goal, "g": ca.vertcat(*g)}
        quiet = {"print_level": 0, "sb": "yes", "max_iter": 500, "tol": 1e-7, "constr_viol_tol": 1e-10}
        quiet |= {"mu_strategy": "adaptive"}
        options: Any = {"ipopt": quiet, "print_time": False, "error_on_fail": False}
        solver = ca.nlpsol("motion", "ipopt", problem, options)
        lbx, ubx = self._bounds()
        bounds = {"lbg": np.concatenate(low), "ubg": np.concatenate(high)}
        found = solver(x0=self._start(), lbx=lbx, ubx=ubx, **bounds)
        stats = solver.stats()
        values = np.array(found["g"], dtype=float).ravel()
        violation = float(np.maximum(bounds["lbg"] - values, values - bounds["ubg"]).max(initial=0.0))
        if not stats["success"] or violation > 1e-6:
            raise PliantError(
                f"rest_to_rest: no motion found ({stats['return_status']}, constraints violated by {violation:.2g}); "
                "allow more time or torque, or more intervals"
            )
        return self._read(np.array(found["x"], dtype=float).ravel(), violation, int(stats["iter_count"]))

    def _read(self, x: Array, violation: float, iterations: int) -> RestToRest:
        N = self.N
        names = [self.a, self.r, self.v, self.y, self.Y, self.tau, self.tau_nodes, self.cost]
        out = ca.Function("read", [self.x], names)(x)
        a, r, v, y, Y, tau, tau_nodes, cost = (np.array(o, dtype=float) for o in out)
        T = float(x[0])
        h = T / N
        pieces = []
        for k in range(N):
            jerk = (a[:, k + 1] - a[:, k]) / h
            pieces.append(Piece(k * h, np.stack([r[:, k], v[:, k], a[:, k] / 2, jerk / 6])))
        trajectory = Piecewise(pieces, T)
        inner = (np.arange(N)[:, None] + self.points).ravel() * h
        t = np.concatenate([np.arange(N + 1) * h, inner])
        order = np.argsort(t)
        joints, rates, _ = trajectory(t)
        joints[: N + 1], rates[: N + 1] = r.T, v.T
        q, qd = np.zeros((len(t), self.model.n)), np.zeros((len(t), self.model.n))
        q[:, self.rows], qd[:, self.rows] = joints, rates
        q[:, self.flexible] = np.vstack([y[: self.f].T, Y[: self.f].T])
        qd[:, self.flexible] = np.vstack([y[self.f :].T, Y[self.f :].T])
        torque = np.vstack([tau_nodes.T, tau.T])
        return RestToRest(
            trajectory, T, t[order], q[order], qd[order], torque[order], self.ends.start, float(cost.squeeze()),
            violation, iterations,
        )  # fmt: skip


def _interleave(columns: list[Any], N: int) -> Any:
    """From one (m, N) matrix per point to (m, N d), interval by interval."""
    d = len(columns)
    m = columns[0].shape[0]
    return ca.reshape(ca.vertcat(*columns), m, N * d)


def _collocation(points: Array) -> tuple[Array, Array, Array]:
    """Derivatives (d+1, d), end values (d+1, 1) and quadrature weights (d,) of polynomials through 0 and points."""
    C, D, B = ca.collocation_coeff(list(points))
    return np.array(C), np.array(D), np.array(B).ravel()
