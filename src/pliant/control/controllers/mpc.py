"""Nonlinear model predictive control: multiple shooting, real-time iterations, bounds on what bends.

`MPC` describes costs and bounds. This module traces them as one function for each node. The compiled loops of
`pliant.compute.nmpc` solve the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.nmpc.horizon_memory import Dynamics, HorizonSolver
from pliant.compute.nmpc.quadratic_program import BROKEN, INFEASIBLE, LIMIT, SOLVED
from pliant.compute.nmpc.real_time_iteration import PLANNED, SAFE, SHIFTED, UNREAD
from pliant.control.controllers import riccati
from pliant.control.controllers.controller import (
    NO_STATES,
    Controller,
    Law,
    LawOutput,
    Sampler,
    actuated,
    actuated_places,
    checked_limit,
    gain_matrix,
    reference_for,
)
from pliant.control.controllers.lqr import check_weights, state_weight
from pliant.control.estimation.observer import require_torques
from pliant.control.sensing.sampled import HeldLaw, Memory
from pliant.control.trajectories.trajectories import Constant, Trajectory, numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.links.kinematics import tip_pose
from pliant.mechanics.links.stations import shape_curvature
from pliant.model.model import Model
from pliant.robot.stations import locate

STATUS = {
    SOLVED: "solved", LIMIT: "iteration limit", INFEASIBLE: "infeasible", BROKEN: "not finite",
    UNREAD: "measurement not finite",
}  # fmt: skip
SOURCE = {PLANNED: "plan", SHIFTED: "shifted plan", SAFE: "safe law"}
RELUCTANCE = 1e3
"""Cost of a slack of half the width of its bounds, over the cost of unit errors all along the horizon."""
NOTHING = 1e-9
"""Slack, over half the width of its bounds, that counts as rounding."""
Range = tuple[float, float] | float
Cost = Callable[[Expression, Expression, Expression, Expression], Expression]
"""Function of (t, q, qd, tau) in CasADi operations that returns residuals."""


class StrainBound(NamedTuple):
    """Bound of the strain of a fiber: plus and minus `limit`.

    Attributes
    ----------
    link : str
        Name of the link.
    x : float or "middle"
        Station, m from its root.
    at : (float, float)
        Fiber (y, z), m from the neutral axis.
    limit : float
        Largest strain.
    """

    link: str
    x: float | str
    at: tuple[float, float]
    limit: float


@dataclass(frozen=True)
class Predicted:
    """Torques for a measurement, and the plan behind them.

    Attributes
    ----------
    tau : (m,) array
        Torques to apply until the next step.
    status : str
        "solved", "iteration limit", "infeasible", "not finite" or "measurement not finite".
    source : str
        Origin of the torques: "plan", "shifted plan" or "safe law".
    t : (N + 1,) array
        Times of the nodes, s.
    q, qd : (N + 1, n) arrays
        Predicted coordinates and rates.
    torques : (N, m) array
        Planned torques of the intervals.
    slack : dict
        Largest predicted violation of each bounded output, in its unit; outputs that keep their bounds are left out.
    preparation, feedback : float
        Seconds spent before and after the measurement was known.
    iterations : int
        Iterations of the quadratic program; 0 if no bound was met.
    """

    tau: Array
    status: str
    source: str
    t: Array
    q: Array
    qd: Array
    torques: Array
    slack: dict[str, float]
    preparation: float
    feedback: float
    iterations: int


class BoundedOutput(NamedTuple):
    """Bounded number: its name, expression in q and qd, and bounds."""

    name: str
    value: Expression
    low: float
    high: float

    @property
    def unit(self) -> float:
        """Half the width of the bounds, or the size of a single one. It is the unit of slacks."""
        ends = [abs(x) for x in (self.low, self.high) if np.isfinite(x)]
        width = (self.high - self.low) / 2 if len(ends) == 2 else max(ends)
        return float(width) if width > 0 else 1.0


@checked
@dataclass(frozen=True)
class MPC(Controller):
    """Model predictive control: at each sample, torques that minimize a cost along the nonlinear model within bounds.

    The cost is the integral of dx^T Q dx + dtau^T R dtau and of further terms, from now to the horizon, by values at
    the nodes. dx and dtau are differences from the reference and from its torques at rest. Bounds of torques always
    hold. All other bounds hold if that is possible; `slack` gives their violation.

    If a step has no solution, the last plan goes on to its end. Then the safe law acts: torques that hold the arm where
    it was last measured, less `damping` times the actuated rates, within the bounds. `step` raises no error in a
    loop.

    Parameters
    ----------
    model : Model
        Model of the arm that the controller uses.
    horizon : float
        Seconds: one period of the lowest frequency, or more.
    intervals : int
        Number of intervals of the horizon. Torques are constant in each; a step is due at the start of each.
    reference : (m,) or Trajectory
        Desired joint positions.
    Q : number, (2n,), (2n, 2n) or mapping
        Weights of the state, as in `LQR`.
    R : number, (m,) or (m, m)
        Weights of the torques.
    tip : (3,) or Trajectory, optional
        Desired position of the tip, m.
    tip_weight : number
        Weight of the square of the tip error.
    cost : function, optional
        `cost(t, q, qd, tau)` in CasADi operations; the squares of its results are added to the integrand.
    terminal : "riccati", number or (2n, 2n), optional
        Cost of the last node: "riccati" for the cost to go of an LQR, a number for so many seconds of the cost of its
        state, or a matrix. By default "riccati"; with `tip` or `cost` the horizon.
    torque, torque_rate : number or (m,), optional
        Bounds of the torques, N m, and of their rates, N m/s.
    positions, speeds : mapping, optional
        Bounds of coordinates, deflections among them, and of their rates, by name: (least, most), or one number for
        both sides.
    strains : sequence of StrainBound
        Fibers with bounded strain, from the curvature of the shapes.
    tip_bounds : mapping, optional
        Bounds of the tip by axis, "x", "y" or "z", m.
    slack_weight : number, optional
        Cost of a violation by half the width of the bounds; large by default. `inf` makes these bounds hard.
    stages, steps : int
        Stages of the Radau method, and its steps in an interval.
    iterations, first_iterations : int
        Rounds of linearization and solution at each step, and for a first plan.
    program_iterations : int
        Largest number of iterations of a quadratic program; each adds, removes or gives up one active bound.
    damping : number or (m,)
        Damping of the safe law, N m s/rad.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> mpc = pliant.control.MPC(
    ...     model, horizon=0.2, intervals=20, reference=[0.2, -0.1], Q={"joints": 100.0, "rates": 1.0}, R=1e-4,
    ...     torque=[400.0, 150.0], positions={"upper.bending_y.1": 0.03},
    ... )
    >>> found = mpc.step(np.concatenate([model.equilibrium([0.0, 0.0]), np.zeros(4)]), 0.0)
    >>> found.status, found.source, found.q.shape
    ('solved', 'plan', (21, 4))
    >>> mpc.step(np.full(8, np.nan), 0.01).source
    'shifted plan'
    >>> mpc.reset()
    >>> pliant.simulate(model, 0.05, q0=model.equilibrium([0.0, 0.0]), controller=mpc).stats.status
    'finished'
    """

    model: Model
    horizon: float
    intervals: int
    reference: AnglesLike | Trajectory
    Q: ArrayLike | Mapping[str, float]
    R: ArrayLike
    tip: ArrayLike | Trajectory | None = None
    tip_weight: float = 0.0
    cost: Cost | None = None
    terminal: str | ArrayLike | None = None
    torque: ArrayLike | None = None
    torque_rate: ArrayLike | None = None
    positions: Mapping[str, Range] = field(default_factory=dict)
    speeds: Mapping[str, Range] = field(default_factory=dict)
    strains: Sequence[StrainBound] = ()
    tip_bounds: Mapping[str, Range] = field(default_factory=dict)
    slack_weight: float | None = None
    stages: int = 3
    steps: int = 1
    iterations: int = 1
    first_iterations: int = 20
    program_iterations: int = 500
    damping: ArrayLike = 0.0

    def __post_init__(self) -> None:
        positive("horizon", self.horizon)
        for name, least in (
            ("intervals", 2), ("stages", 1), ("steps", 1), ("iterations", 1), ("first_iterations", 1),
            ("program_iterations", 1),
        ):  # fmt: skip
            if getattr(self, name) < least:
                raise ModelError(f"{name}: got {getattr(self, name)!r}, expected a whole number of {least} or more")
        _require_supported(self.model)
        self._parts  # noqa: B018  # raise now if something does not fit

    # ---------------------------------------------------------------------------------------------------------- use

    def step(self, x: ArrayLike, t: float = 0.0) -> Predicted:
        """Return torques for a measured state at a time. Call it once per sample.

        Parameters
        ----------
        x : (2n,) array
            Coordinates and rates. If they are not finite, the last plan goes on, or the safe law acts.
        t : float
            Time of the measurement, s.

        Returns
        -------
        Predicted

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> mpc = pliant.control.MPC(model, 0.2, 10, [0.0, 0.0], Q={"joints": 100.0, "rates": 1.0}, R=1e-4)
        >>> rest = np.concatenate([model.equilibrium([0.0, 0.0]), np.zeros(4)])
        >>> bool(np.allclose(mpc.step(rest).tau, model.holding_torque(rest[:4])))
        True
        """
        return self._own.step(self._measured(x), float(t))

    def prepare(self, t: float = 0.0) -> None:
        """Do all work that does not need the measurement, which is due at the time t. `step` is then fast.

        Parameters
        ----------
        t : float
            Time of the next step, s.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> mpc = pliant.control.MPC(model, 0.2, 10, [0.0, 0.0], Q={"joints": 100.0, "rates": 1.0}, R=1e-4)
        >>> rest = np.concatenate([model.equilibrium([0.0, 0.0]), np.zeros(4)])
        >>> found = mpc.step(rest, 0.0)
        >>> mpc.prepare(0.02)
        >>> mpc.step(rest, 0.02).preparation > 0
        True
        """
        self._own.prepare(float(t))

    def reset(self, tau: ArrayLike | None = None) -> None:
        """Forget the plan. The next step makes a first one.

        Parameters
        ----------
        tau : (m,) array, optional
            Torques that act now, from which bounded rates start; by default the torques at rest at the reference.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> mpc = pliant.control.MPC(model, 0.2, 10, [0.0, 0.0], Q={"joints": 100.0, "rates": 1.0}, R=1e-4)
        >>> mpc.reset([0.0, 0.0])
        """
        start = None if tau is None else numbers("tau", tau, self.model.n_joints)
        self._own.reset(start)

    def bind(self, model: Model) -> Law:
        """Return the law for an arm with the same coordinates."""
        if model.coordinates != self.model.coordinates:
            raise ModelError(
                f"controller: MPC predicts {', '.join(self.model.coordinates)}; expected a run of an arm with the same "
                f"coordinates, got {', '.join(model.coordinates)}"
            )
        return PredictiveLaw(model, self)

    def _measured(self, x: ArrayLike) -> Array:
        given = np.asarray(x, dtype=float)
        if given.shape != (2 * self.model.n,):
            raise ModelError(f"x: got shape {given.shape}, expected ({2 * self.model.n},), coordinates and rates")
        return given

    # -------------------------------------------------------------------------------------------------------- parts

    @property
    def interval(self) -> float:
        """Length of an interval and time between two steps, s."""
        return float(self.horizon) / self.intervals

    @cached_property
    def _own(self) -> Pilot:
        return self.pilot()

    @cached_property
    def _parts(self) -> Parts:
        return Parts.of(self)

    def pilot(self) -> Pilot:
        """Return a new controller of this description with its own memory.

        Returns
        -------
        Pilot

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> mpc = pliant.control.MPC(model, 0.1, 5, [0.0, 0.0], Q=1.0, R=1e-3)
        >>> mpc.pilot() is mpc.pilot()
        False
        """
        return Pilot(self, self._parts)


class Parts(NamedTuple):
    """Compiled parts of an `MPC`: dynamics, functions of nodes and of the safe law, bounded outputs, bounds, weights,
    and torques at rest at the reference."""

    dynamics: Dynamics
    node: Kernel
    end: Kernel
    hold: Kernel
    outputs: tuple[BoundedOutput, ...]
    torque: Array
    rate: Array
    weights: Array
    holding: Array

    @classmethod
    def of(cls, given: MPC) -> Parts:
        """Trace and compile the parts of a description."""
        model, m = given.model, given.model.n_joints
        slopes = model.kernel("forward_dynamics_derivatives")
        dynamics = Dynamics(
            n=model.n, m=m, slopes=slopes.address, parameters=model.nominal_parameters,
            stages=int(given.stages), steps=int(given.steps), owner=slopes,
        )  # fmt: skip
        target = Target(given)
        outputs = tuple(bounded_outputs(given, target.q, target.qd))
        most, rate = (
            np.full(m, np.inf) if x is None else checked_limit(name, x, m)
            for name, x in (("torque", given.torque), ("torque_rate", given.torque_rate))
        )
        holding = target.torque_at(0.0)
        weights = target.slack_weights(outputs, np.where(np.isfinite(most), most, np.abs(holding) + 1.0))
        node, end = target.kernels(outputs, dynamics)
        return cls(
            dynamics=dynamics, node=node, end=end, hold=safe_law(given), outputs=outputs,
            torque=np.array([-most, most]), rate=rate, weights=weights, holding=holding,
        )  # fmt: skip


class Target:
    """Cost of an `MPC` as expressions of t, x and tau, with nominal parameters of the model."""

    def __init__(self, given: MPC) -> None:
        self.given, self.model = given, given.model
        model, m = self.model, given.model.n_joints
        self.t, self.tau = ca.SX.sym("t"), ca.SX.sym("tau", m)
        self.q, self.qd = ca.SX.sym("q", model.n), ca.SX.sym("qd", model.n)
        self.x = ca.vertcat(self.q, self.qd)
        self.reference = reference_for(model, given.reference)
        self.Q, self.R = state_weight(model, given.Q), gain_matrix("R", given.R, m)
        check_weights(self.Q, self.R)
        self.path = None if given.tip is None else _path(given.tip)
        if not (np.isfinite(given.tip_weight) and given.tip_weight >= 0):
            raise ModelError(f"tip_weight: got {given.tip_weight!r}, expected zero or a positive number")

    @cached_property
    def rest(self) -> tuple[Expression, Expression]:
        """State (2n,) and torques (m,) of the reference at the time t: at rest with sag, or in motion with the sag of
        first order."""
        model, n = self.model, self.model.n
        if isinstance(self.reference, Constant):
            still = model.equilibrium(np.asarray(self.reference.position, dtype=float))
            return ca.SX(ca.DM(np.concatenate([still, np.zeros(n)]))), ca.SX(ca.DM(model.holding_torque(still)))
        q, qd, qdd = (self._spread(part) for part in self.reference.derivatives(self.t))
        unknown = [k for k in range(n) if k not in actuated_joints(model)]
        rows = [k for k in range(n) if k not in actuated(model)]
        free, none = ca.SX.sym("free", n), ca.SX.zeros(n)
        forces = model.equations.tree_forces(free, none, none)[rows]
        start = model.equilibrium(np.asarray(self.reference(0.0)[0], dtype=float).ravel())
        K = self._number(ca.jacobian(forces, free[unknown]), free, start)
        q[unknown] -= ca.mtimes(ca.DM(np.linalg.inv(K)), self._nominal(ca.substitute(forces, free, q)))
        tau = self._nominal(model.equations.tree_forces(q, qd, qdd)[actuated(model)])
        return ca.vertcat(q, qd), tau

    def _spread(self, joints: Expression) -> Expression:
        """(n, 1) coordinates with joints and motors at desired positions."""
        whole = ca.SX.zeros(self.model.n)
        for place, value in zip(actuated_joints(self.model), ca.vertsplit(joints)):
            whole[place] = value
        for place, value in zip(actuated_places(self.model), ca.vertsplit(joints)):
            whole[place] = value
        return whole

    def _nominal(self, expression: Expression) -> Expression:
        known = [self.model.parameter_symbols], [ca.DM(self.model.nominal_parameters)]
        return ca.substitute([ca.SX(expression)], *known)[0]

    def _number(self, expression: Expression, symbol: Expression, value: Array) -> Array:
        found = ca.Function("number", [symbol], [ca.densify(self._nominal(expression))])(value)
        return np.array(found, dtype=float)

    def torque_at(self, t: float) -> Array:
        """(m,) torques of the reference at a time."""
        return np.array(ca.Function("torque", [self.t], [ca.densify(ca.SX(self.rest[1]))])(t), dtype=float).ravel()

    def slack_weights(self, outputs: Sequence[BoundedOutput], torque: Array) -> Array:
        """(2, outputs) costs of slacks and of their squares, in the units of the outputs."""
        given = self.given.slack_weight
        if given is None:
            scale = float(np.trace(self.Q)) + float(torque @ self.R @ torque) + float(self.given.tip_weight)
            given = RELUCTANCE * scale * float(self.given.horizon)
        if not given > 0:
            raise ModelError(f"slack_weight: got {given!r}, expected a positive number")
        return np.array([[given / o.unit for o in outputs], [min(given, 1e300) / o.unit**2 for o in outputs]])

    # ------------------------------------------------------------------------------------------------------- traced

    @cached_property
    def _besides(self) -> Expression:
        """Residuals of the tip and of the user's cost."""
        parts = [ca.SX(0, 1)]
        if self.path is not None:
            place = tip_pose(self.model.chain, self.q)[:3, 3]
            parts.append(np.sqrt(self.given.tip_weight) * (place - self.path.expression(self.t)))
        if self.given.cost is not None:
            if not callable(self.given.cost):
                raise ModelError(f"cost: got {self.given.cost!r}, expected a function of (t, q, qd, tau)")
            parts.append(ca.vec(ca.SX(self.given.cost(self.t, self.q, self.qd, self.tau))))
        return ca.SX(self._nominal(ca.vertcat(*parts)))

    def kernels(self, outputs: Sequence[BoundedOutput], dynamics: Dynamics) -> tuple[Kernel, Kernel]:
        """Return the functions of a node and of the last node."""
        state, torque = self.rest
        away, effort = self.x - state, self.tau - torque
        own = ca.vertcat(ca.mtimes(ca.DM(_root(self.Q)), away), self._besides)
        whole = ca.vertcat(own, ca.mtimes(ca.DM(_root(self.R)), effort))
        node = np.sqrt(self.given.interval) * whole
        end = self._end(dynamics, away, ca.substitute([own], [self.tau], [torque])[0])
        return self._kernel("node", node, outputs), self._kernel("last_node", end, outputs)

    def _end(self, dynamics: Dynamics, away: Expression, own: Expression) -> Expression:
        """Residuals of the last node."""
        terminal = self.given.terminal
        if terminal is None:
            terminal = "riccati" if self.path is None and self.given.cost is None else float(self.given.horizon)
        if isinstance(terminal, str):
            if terminal != "riccati":
                raise ModelError(f"terminal: got {terminal!r}, expected 'riccati', seconds or a matrix")
            return ca.mtimes(ca.DM(_root(self._riccati(dynamics))), away)
        if np.ndim(terminal) == 0:
            return ca.SX(float(np.sqrt(positive("terminal", float(np.asarray(terminal))))) * own)
        P = gain_matrix("terminal", terminal, 2 * self.model.n)
        check_weights(P, np.eye(1))
        return ca.mtimes(ca.DM(_root(P)), away)

    def _riccati(self, dynamics: Dynamics) -> Array:
        """(2n, 2n) cost to go of the discrete regulator about rest at the initial reference."""
        model, h = self.model, self.given.interval
        q = model.equilibrium(np.asarray(self.reference(0.0)[0], dtype=float).ravel())
        _, A, B = dynamics.advance(np.concatenate([q, np.zeros(model.n)]), model.holding_torque(q), h)
        try:
            return riccati.discrete(A, B, h * self.Q, h * self.R)
        except np.linalg.LinAlgError as error:
            raise ModelError(
                f"terminal: no cost to go of a regulator ({error}); weigh every joint in Q, or give `terminal` seconds"
            ) from error

    def _kernel(self, name: str, residuals: Expression, outputs: Sequence[BoundedOutput]) -> Kernel:
        """Compile gradient and Gauss-Newton Hessian of a sum of squares, outputs and their slopes."""
        z = ca.vertcat(self.x, self.tau)
        J = ca.jacobian(residuals, z)
        y = self._nominal(ca.vertcat(ca.SX(0, 1), *(o.value for o in outputs)))
        found = [2 * ca.mtimes(J.T, residuals), 2 * ca.mtimes(J.T, J), y, ca.jacobian(y, self.x)]
        dense = ca.cse([ca.densify(ca.SX(part)) for part in found])
        names = ["gradient", "hessian", "outputs", "slopes"]
        return Kernel(ca.Function(name, [self.t, self.x, self.tau], dense, ["t", "x", "tau"], names))


def bounded_outputs(given: MPC, q: Expression, qd: Expression) -> list[BoundedOutput]:
    """List all numbers that are bounded at nodes."""
    model, found = given.model, []
    for name, bound in given.positions.items():
        found.append(BoundedOutput(name, q[model.index(name)], *_range(f"positions[{name!r}]", bound)))
    for name, bound in given.speeds.items():
        found.append(BoundedOutput(f"rate of {name}", qd[model.speed_index(name)], *_range(f"speeds[{name!r}]", bound)))
    for k, strain in enumerate(given.strains):
        found.append(_strain(model, q, k, StrainBound(*strain)))
    tip = tip_pose(model.chain, q)[:3, 3]
    for axis, bound in given.tip_bounds.items():
        if axis not in ("x", "y", "z"):
            raise ModelError(f"tip_bounds: got {axis!r}, expected 'x', 'y' or 'z'")
        found.append(BoundedOutput(f"tip {axis}", tip["xyz".index(axis)], *_range(f"tip_bounds[{axis!r}]", bound)))
    return found


def _strain(model: Model, q: Expression, k: int, given: StrainBound) -> BoundedOutput:
    y, z = numbers(f"strains[{k}].at", given.at, 2)
    limit = positive(f"strains[{k}].limit", given.limit)
    place, eta = locate(model.layout, given.link, given.x)
    link = model.chain.links[place]
    bend = shape_curvature(link, model.chain.body(link, q), eta)
    return BoundedOutput(f"strain of {given.link} at {given.x}", -y * bend[2] + z * bend[1], -limit, limit)


def _range(name: str, given: Range) -> tuple[float, float]:
    """Return (least, most) of a pair, or of one positive number."""
    try:
        ends = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: got {given!r}, expected (least, most) or one positive number") from error
    low, high = (-ends, ends) if ends.ndim == 0 else ends if ends.shape == (2,) else (np.nan, np.nan)
    if not low < high or not (np.isfinite(low) or np.isfinite(high)):
        raise ModelError(f"{name}: got {given!r}, expected (least, most) or one positive number")
    return float(low), float(high)


def _root(W: Array) -> Array:
    """L with L^T L = W of a weight; L of a diagonal weight is diagonal."""
    if not (W - np.diag(np.diag(W))).any():
        return np.diag(np.sqrt(np.maximum(np.diag(W), 0.0)))
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _path(given: ArrayLike | Trajectory) -> Trajectory:
    """Return the path of a tip."""
    path = given if isinstance(given, Trajectory) else Constant(numbers("tip", given, 3))
    if path.n != 3:
        raise ModelError(f"tip: it moves {path.n} coordinates, expected 3, the position of the tip")
    return path


def actuated_joints(model: Model) -> list[int]:
    """Indices of the joint coordinates that torques move, with or without elastic drives."""
    return list(model.layout.shaft_places())


def safe_law(given: MPC) -> Kernel:
    """Compile the safe law: torques that hold a position, less damping, as a function of the state."""
    model, n = given.model, given.model.n
    q, qd, still = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.zeros(n)
    size = None if np.ndim(given.damping) == 0 else model.n_joints
    damping = numbers("damping", given.damping, size) * np.ones(model.n_joints)
    if not (np.isfinite(damping).all() and (damping >= 0).all()):
        raise ModelError(f"damping: got {given.damping!r}, expected numbers of 0 or more")
    rows = actuated(model)
    hold = model.equations.tree_forces(q, still, still)[rows] - ca.DM(damping) * qd[rows]
    known = [model.parameter_symbols], [ca.DM(model.nominal_parameters)]
    (tau,) = ca.substitute([ca.SX(hold)], *known)
    return Kernel(ca.Function("safe_law", [ca.vertcat(q, qd)], [ca.densify(tau)], ["x"], ["tau"]))


def _require_supported(model: Model) -> None:
    model.layout.require_plain("predictive control")
    model.layout.require_open("predictive control")
    model.layout.require_uncoupled("predictive control")
    require_torques(model, "MPC")
    if model.layout.drive_states:
        raise UnsupportedModel(
            f"MPC: drives have states ({', '.join(model.layout.drive_states)}), which it does not predict; take the "
            "motor, the hysteresis or the bristles of the friction away"
        )


class Pilot:
    """Running predictive controller: a description, and the memory of one plan.

    Parameters
    ----------
    given : MPC
        Description.
    parts : Parts
        Its compiled parts.
    """

    def __init__(self, given: MPC, parts: Parts) -> None:
        self.given, self.parts = given, parts
        outputs = parts.outputs
        self.solver = HorizonSolver(
            dynamics=parts.dynamics, intervals=given.intervals, outputs=len(outputs),
            addresses=(parts.node.address, parts.end.address, parts.hold.address), length=given.interval,
            torque=parts.torque, rate=parts.rate, weights=parts.weights,
            bounds=np.array([[o.low for o in outputs], [o.high for o in outputs]]),
            first=given.first_iterations, iterations=given.iterations, most=given.program_iterations, owner=parts,
        )  # fmt: skip
        self._spent, self._due = 0.0, np.nan
        self.reset(None)

    def reset(self, tau: Array | None) -> None:
        """Forget the plan. The torques tau act now.

        Parameters
        ----------
        tau : (m,) array or None
            None for the torques of the reference.
        """
        self._due = np.nan
        self.solver.forget(np.clip(self.parts.holding if tau is None else tau, *self.parts.torque))

    def prepare(self, t: float) -> None:
        """Linearize before a measurement.

        Parameters
        ----------
        t : float
            Time of the measurement, s.
        """
        began = time.perf_counter()
        self.solver.prepare(t)
        self._spent, self._due = time.perf_counter() - began, t

    def step(self, x: Array, t: float) -> Predicted:
        """Return torques for a measurement.

        Parameters
        ----------
        x : (2n,) array
            Coordinates and rates.
        t : float
            Time, s.

        Returns
        -------
        Predicted
        """
        if self._due != t:
            self.prepare(t)
        began = time.perf_counter()
        status = self.solver.answer(x)
        spent = time.perf_counter() - began
        self._due = np.nan
        return self._told(t, status, spent)

    def _told(self, t: float, status: int, spent: float) -> Predicted:
        solver, given, n = self.solver, self.given, self.given.model.n
        told, states = solver.told, solver.states
        slack = {o.name: float(s) for o, s in zip(self.parts.outputs, solver.slack) if s > NOTHING * o.unit}
        return Predicted(
            tau=solver.tau, status=STATUS[status], source=SOURCE[int(told[0])],
            t=t + given.interval * np.arange(given.intervals + 1.0),
            q=states[:, :n], qd=states[:, n:], torques=solver.torques, slack=slack,
            preparation=self._spent, feedback=spent, iterations=int(told[2]),
        )  # fmt: skip


class PredictiveLaw(Law):
    """`MPC` in a run: called at its sample times, with torques held in between.

    Parameters
    ----------
    model : Model
        Model of the run.
    given : MPC
        Description.
    """

    def __init__(self, model: Model, given: MPC) -> None:
        super().__init__(model)
        self.given, self.sample_time = given, given.interval

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Raise `ModelError`: a predictive law has no expression."""
        raise ModelError("a predictive controller has no expression; give it to simulate whole")

    def step(self, t: float, q: ArrayLike, qd: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
        """Return the torques of a first plan from this state."""
        return self.given.pilot().step(np.concatenate([q, qd]), t).tau, np.zeros(0)

    def sampler(self) -> Sampler:
        """Return a new controller with its own plan."""
        pilot = self.given.pilot()

        def compute(memory: Memory, t: float, q: Array, qd: Array) -> Array:
            pilot.solver.plan[:] = memory["plan"]
            found = pilot.step(np.concatenate([q, qd]), t)
            memory["plan"] = pilot.solver.plan.copy()
            return found.tau

        memory = {"plan": pilot.solver.plan.copy()}
        return HeldLaw(compute=compute, m=self.model.n_joints, ticks=1, late=0, memory=memory)
