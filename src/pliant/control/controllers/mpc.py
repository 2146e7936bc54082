"""Nonlinear model predictive control: multiple shooting, real-time iterations, bounds on what bends.

`MPC` says what is wanted; `horizon` does the work, compiled. What costs and what is bounded is traced here, as one
function for each node.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

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
    Controller,
    Law,
    Sampler,
    actuated,
    actuated_places,
    checked_limit,
    gain_matrix,
    reference_for,
)
from pliant.control.controllers.lqr import check_weights, state_weight
from pliant.control.estimation.observer import require_torques
from pliant.control.sensing.sampled import HeldLaw
from pliant.control.trajectories.trajectories import Constant, Trajectory, numbers, positive
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.links.kinematics import tip_pose
from pliant.mechanics.links.stations import locate, shape_curvature
from pliant.model.model import Model

STATUS = {
    SOLVED: "solved", LIMIT: "iteration limit", INFEASIBLE: "infeasible", BROKEN: "not finite",
    UNREAD: "measurement not finite",
}  # fmt: skip
SOURCE = {PLANNED: "plan", SHIFTED: "shifted plan", SAFE: "safe law"}
RELUCTANCE = 1e3
"""By how much a slack of one, of half the width of its bounds, costs more than errors of one all along the horizon."""
NOTHING = 1e-9
"""Of half the width of bounds: a slack that is the rounding of a program."""
Range = tuple[float, float] | float


class StrainBound(NamedTuple):
    """Strain of a fiber that stays within plus and minus `limit`.

    Attributes
    ----------
    link : str
        Name of the link.
    x : float or "middle"
        Station, m from its root.
    at : (float, float)
        Fiber (y, z), m from the neutral axis.
    limit : float
        Strain.
    """

    link: str
    x: float | str
    at: tuple[float, float]
    limit: float


@dataclass(frozen=True)
class Predicted:
    """An answer to a measurement.

    Attributes
    ----------
    tau : (m,) array
        Torques to apply until the next step.
    status : str
        "solved", "iteration limit", "infeasible", "not finite" or "measurement not finite".
    source : str
        Where the torques come from: "plan", "shifted plan" or "safe law".
    t : (N + 1,) array
        Times of the nodes, s.
    q, qd : (N + 1, n) arrays
        Predicted coordinates and rates.
    torques : (N, m) array
        Planned torques of the intervals.
    slack : dict
        By how much a bounded output is predicted to leave its bounds, at most, in its unit; those that do not are not
        in it.
    preparation, feedback : float
        Seconds spent before and after the measurement was looked at.
    iterations : int
        Of the quadratic program; 0 where no bound was met.
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
    """A bounded number: its name, expression in q and qd, and bounds."""

    name: str
    value: Any
    low: float
    high: float

    @property
    def unit(self) -> float:
        """Half the width of the bounds, or the size of the only one: slacks are counted in it."""
        ends = [abs(x) for x in (self.low, self.high) if np.isfinite(x)]
        width = (self.high - self.low) / 2 if len(ends) == 2 else max(ends)
        return float(width) if width > 0 else 1.0


@checked
@dataclass(frozen=True)
class MPC(Controller):
    """Torques that minimize a cost over a horizon ahead, along the nonlinear model, within bounds, anew at each sample.

    The cost is the integral of dx^T Q dx + dtau^T R dtau, and of what is given besides, from now to the horizon, by its
    values at the nodes; dx and dtau are from the reference and from what rests there. Bounds of torques are kept
    always, all others unless that is impossible: what is left of them is told as `slack`.

    Where a step has no solution, the torques of the last plan go on, for as long as it has; then the safe law acts:
    torques that hold the arm where it was seen last, less `damping` times the rates of what they act on, within the
    bounds. Nothing is ever raised in a loop.

    Parameters
    ----------
    model : Model
        What the controller believes the arm to be.
    horizon : float
        Seconds; one period of the lowest frequency, or more.
    intervals : int
        Pieces of the horizon, in each of which torques are constant; a step is due at the start of each.
    reference : (m,) or Trajectory
        Desired joint positions.
    Q : number, (2n,), (2n, 2n) or mapping
        Weights of the state, as in `LQR`.
    R : number, (m,) or (m, m)
        Weights of the torques.
    tip : (3,) or Trajectory, optional
        Desired position of the tip, m.
    tip_weight : number
        Of the square of its error.
    cost : function, optional
        `cost(t, q, qd, tau)` in CasADi operations; the squares of what it gives are added to the integrand.
    terminal : "riccati", number or (2n, 2n), optional
        What the last node costs: what an LQR would pay from there on; so many seconds of the cost of its state; a
        matrix. By default "riccati", and with `tip` the horizon itself.
    torque, torque_rate : number or (m,), optional
        Bounds of the torques, N m, and of their rates, N m/s.
    positions, speeds : mapping, optional
        Bounds of coordinates, deflections among them, and of their rates, by name: (least, most), or one number for
        both sides.
    strains : sequence of StrainBound
        Fibers whose strain is bounded, by the curvature of the shapes.
    tip_bounds : mapping, optional
        Bounds of the tip by axis, "x", "y" or "z", m.
    slack_weight : number, optional
        What leaving a bound by half the width of its bounds costs; much by default. `inf` makes these bounds hard.
    stages, steps : int
        Stages of the Radau method, and steps of it in an interval.
    iterations, first_iterations : int
        Rounds of linearizing and solving at each step, and for a first plan.
    program_iterations : int
        Most iterations of a quadratic program; each lets one bound be met, left, or given up.
    damping : number or (m,)
        Of the safe law, N m s/rad.

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
    cost: Any = None
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
        self._parts  # noqa: B018  # what does not fit is refused now

    # -------------------------------------------------------------------------------------------------- of the user

    def step(self, x: ArrayLike, t: float = 0.0) -> Predicted:
        """Torques for a measured state at a time; call it once a sample.

        Parameters
        ----------
        x : (2n,) array
            Coordinates and rates. What is not finite is answered by the last plan, or the safe law.
        t : float
            Time, s, at which the reference is taken.

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
        """Do ahead of a measurement, due at the time t, all that does not need it; `step` then answers at once.

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
        """Forget the plan: the next step makes a first one.

        Parameters
        ----------
        tau : (m,) array, optional
            Torques that act now, from which bounded rates start; by default those that hold the arm at the reference.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> mpc = pliant.control.MPC(model, 0.2, 10, [0.0, 0.0], Q={"joints": 100.0, "rates": 1.0}, R=1e-4)
        >>> mpc.reset([0.0, 0.0])
        """
        start = None if tau is None else numbers("tau", tau, self.model.n_joints)
        self._own.reset(start)

    def bind(self, model: Model) -> Law:
        """The law for an arm with the same coordinates."""
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

    # --------------------------------------------------------------------------------------------------- of its parts

    @property
    def interval(self) -> float:
        """Length of an interval, and time between two steps, s."""
        return float(self.horizon) / self.intervals

    @cached_property
    def _own(self) -> Pilot:
        return self.pilot()

    @cached_property
    def _parts(self) -> Parts:
        return Parts.of(self)

    def pilot(self) -> Pilot:
        """A fresh controller of this description, with memory of its own.

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
    """What an `MPC` follows from, traced and compiled: the dynamics, functions of nodes and of the safe law, bounded
    outputs, bounds, weights, and the torques that hold the reference."""

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
        """Trace and compile what is asked for."""
        model, m = given.model, given.model.n_joints
        slopes = model.kernel("forward_dynamics_derivatives")
        dynamics = Dynamics(
            model.n, m, slopes.address, model.nominal_parameters, int(given.stages), int(given.steps), slopes
        )
        target = Target(given)
        outputs = tuple(bounded_outputs(given, target.q, target.qd))
        most, rate = (
            np.full(m, np.inf) if x is None else checked_limit(name, x, m)
            for name, x in (("torque", given.torque), ("torque_rate", given.torque_rate))
        )
        holding = target.torque_at(0.0)
        weights = target.slack_weights(outputs, np.where(np.isfinite(most), most, np.abs(holding) + 1.0))
        node, end = target.kernels(outputs, dynamics)
        return cls(dynamics, node, end, safe_law(given), outputs, np.array([-most, most]), rate, weights, holding)


class Target:
    """What an `MPC` costs, as expressions of t, x and tau; parameters of the model have their nominal values."""

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
        """State (2n,) and torques (m,) of the reference at the time t: at rest with sag, or moving with the sag that
        the weights of the arm give at first order."""
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
        """(n, 1) coordinates with joints, and motors, where they are wanted."""
        whole = ca.SX.zeros(self.model.n)
        for place, value in zip(actuated_joints(self.model), ca.vertsplit(joints)):
            whole[place] = value
        for place, value in zip(actuated_places(self.model), ca.vertsplit(joints)):
            whole[place] = value
        return whole

    def _nominal(self, expression: Any) -> Any:
        known = [self.model.parameter_symbols], [ca.DM(self.model.nominal_parameters)]
        return ca.substitute([ca.SX(expression)], *known)[0]

    def _number(self, expression: Any, symbol: Any, value: Array) -> Array:
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
        """Residuals besides those of the state and the torques."""
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
        """Functions of a node and of the last one."""
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
        """(2n, 2n) cost to go of the discrete regulator about rest at the reference of time 0."""
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
        """Gradient and Gauss-Newton Hessian of a sum of squares, outputs and their slopes."""
        z = ca.vertcat(self.x, self.tau)
        J = ca.jacobian(residuals, z)
        y = self._nominal(ca.vertcat(ca.SX(0, 1), *(o.value for o in outputs)))
        found = [2 * ca.mtimes(J.T, residuals), 2 * ca.mtimes(J.T, J), y, ca.jacobian(y, self.x)]
        dense = ca.cse([ca.densify(ca.SX(part)) for part in found])
        names = ["gradient", "hessian", "outputs", "slopes"]
        return Kernel(ca.Function(name, [self.t, self.x, self.tau], dense, ["t", "x", "tau"], names))


def bounded_outputs(given: MPC, q: Expression, qd: Expression) -> list[BoundedOutput]:
    """All numbers that are bounded at nodes."""
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
    place, eta = locate(model.chain, given.link, given.x)
    link = model.chain.links[place]
    bend = shape_curvature(link, model.chain.body(link, q), eta)
    return BoundedOutput(f"strain of {given.link} at {given.x}", -y * bend[2] + z * bend[1], -limit, limit)


def _range(name: str, given: Range) -> tuple[float, float]:
    """(least, most) of a pair, or of one positive number."""
    try:
        ends = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: got {given!r}, expected (least, most) or one positive number") from error
    low, high = (-ends, ends) if ends.ndim == 0 else ends if ends.shape == (2,) else (np.nan, np.nan)
    if not low < high or not (np.isfinite(low) or np.isfinite(high)):
        raise ModelError(f"{name}: got {given!r}, expected (least, most) or one positive number")
    return float(low), float(high)


def _root(W: Array) -> Array:
    """L with L^T L = W, of a weight; a diagonal one stays diagonal."""
    if not (W - np.diag(np.diag(W))).any():
        return np.diag(np.sqrt(np.maximum(np.diag(W), 0.0)))
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _path(given: Any) -> Trajectory:
    """The path of a tip."""
    path = given if isinstance(given, Trajectory) else Constant(numbers("tip", given, 3))
    if path.n != 3:
        raise ModelError(f"tip: it moves {path.n} coordinates, expected 3, the position of the tip")
    return path


def actuated_joints(model: Model) -> list[int]:
    """Places of the joints that torques move, whether motors stand between or not."""
    return list(model.layout.shaft_places())


def safe_law(given: MPC) -> Kernel:
    """Torques that hold a position, less damping: a function of the state."""
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
    """A predictive controller at work: a description, and the memory of one plan.

    Parameters
    ----------
    given : MPC
        What is wanted.
    parts : Parts
        The same traced and compiled.
    """

    def __init__(self, given: MPC, parts: Parts) -> None:
        self.given, self.parts = given, parts
        outputs = parts.outputs
        self.solver = HorizonSolver(
            parts.dynamics, given.intervals, len(outputs),
            (parts.node.address, parts.end.address, parts.hold.address), given.interval, parts.torque,
            parts.rate, np.array([[o.low for o in outputs], [o.high for o in outputs]]), parts.weights,
            given.first_iterations, given.iterations, given.program_iterations, parts,
        )  # fmt: skip
        self._spent, self._due = 0.0, np.nan
        self.reset(None)

    def reset(self, tau: Array | None) -> None:
        """Forget the plan; tau acts now.

        Parameters
        ----------
        tau : (m,) array or None
            None: those of the reference.
        """
        self._due = np.nan
        self.solver.forget(np.clip(self.parts.holding if tau is None else tau, *self.parts.torque))

    def prepare(self, t: float) -> None:
        """Linearize ahead of a measurement.

        Parameters
        ----------
        t : float
            Its time, s.
        """
        began = time.perf_counter()
        self.solver.prepare(t)
        self._spent, self._due = time.perf_counter() - began, t

    def step(self, x: Array, t: float) -> Predicted:
        """Torques for a measurement.

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
            solver.tau, STATUS[status], SOURCE[int(told[0])], t + given.interval * np.arange(given.intervals + 1.0),
            states[:, :n], states[:, n:], solver.torques, slack, self._spent, spent, int(told[2]),
        )  # fmt: skip


class PredictiveLaw(Law):
    """An `MPC` in a run: asked at its sample times, its torques held in between.

    Parameters
    ----------
    model : Model
        The arm of the run.
    given : MPC
        What is wanted.
    """

    def __init__(self, model: Model, given: MPC) -> None:
        super().__init__(model)
        self.given, self.sample_time = given, given.interval

    def expression(self, t: Any, q: Any, qd: Any, z: Any = None) -> Any:
        """A predictive law has no expression."""
        raise ModelError("a predictive controller has no expression; give it to simulate whole")

    def step(self, t: float, q: Any, qd: Any, z: Any) -> tuple[Array, Array]:
        """Torques of a first plan from this state."""
        return self.given.pilot().step(np.concatenate([q, qd]), t).tau, np.zeros(0)

    def sampler(self) -> Sampler:
        """A fresh controller: its own plan."""
        pilot = self.given.pilot()

        def compute(memory: dict[str, Any], t: float, q: Array, qd: Array) -> Array:
            pilot.solver.plan[:] = memory["plan"]
            found = pilot.step(np.concatenate([q, qd]), t)
            memory["plan"] = pilot.solver.plan.copy()
            return found.tau

        return HeldLaw(compute, self.model.n_joints, 1, 0, {"plan": pilot.solver.plan.copy()})
