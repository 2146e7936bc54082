"""Exact derivatives of results by numbers of the robot: frequencies, static rest, and the outcome of a run.

All take a model made with `parameters=[...]`, by which they differentiate. Only `finite_difference` is a difference
quotient: it works for any result, and checks the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression, StateLike
from pliant.base.signatures import checked, shown
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError, SimulationError
from pliant.integrators.driver import solve
from pliant.integrators.problem import Problem
from pliant.model.equilibrium import statics
from pliant.model.model import Model
from pliant.model.recipes import stiffness
from pliant.model.robot import Robot, model_of
from pliant.model.validity import tell
from pliant.options import JointsName, MethodName
from pliant.protocols import Control, PrescribedMotion, Torque
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start, judge_speeds
from pliant.simulation.runs.equations.composition import Composition, compose
from pliant.simulation.runs.equations.start_columns import start_columns
from pliant.simulation.runs.equations.variational import variational
from pliant.simulation.runs.inputs import read_start

EPS = float(np.finfo(np.float64).eps)
COINCIDE = 1e-9
"""Relative gap of two squared frequencies below which they count as one: some 1e6 units of round-off."""
MIXED = 1e-6
"""Largest angle by which round-off may turn one mode into another, and so the relative error of its gradient."""
LOOKS = 33
"""Number of times in a run at which its rates are judged."""


@dataclass(frozen=True)
class Sensitivity:
    """Values (k,) and their derivatives (k, P) by the parameters, whose paths are `parameters`.

    Attributes
    ----------
    values : (k,)
        Values of the quantities.
    gradient : (k, P)
        Derivatives of the quantities.
    parameters : tuple of str
        Paths of the parameters.
    nominal : (P,)
        Values of the parameters.
    """

    values: Array
    gradient: Array
    parameters: tuple[str, ...]
    nominal: Array

    @property
    def logarithmic(self) -> Array:
        """Relative change (k, P) of the value per relative change of the parameter."""
        return np.asarray(self.gradient * self.nominal / self.values[:, None])

    def __getitem__(self, path: str) -> Array:
        """Derivatives (k,) by one parameter."""
        if path not in self.parameters:
            raise ModelError(f"parameter: got {path!r}, expected one of {', '.join(self.parameters)}")
        return np.asarray(self.gradient[:, self.parameters.index(path)])


@checked
def frequency_sensitivity(
    model: Model | Robot, q: StateLike | None = None, joints: JointsName = "locked"
) -> Sensitivity:
    """Sensitivity of natural frequencies (Hz) about `q`: d(w^2) = phi^T (dK - w^2 dM) phi.

    A given state is fixed; the state of rest moves with the parameters, and K and M with it.

    Parameters
    ----------
    model : Model or Robot
        Model with parameters.
    q : (n,) array, optional
        State at which to linearize; static rest by default, as in `Model.frequencies`.
    joints : "locked" or "free"
        Whether joints are held or move.

    Returns
    -------
    Sensitivity
        Frequencies in Hz, derivatives in Hz per unit of each parameter; NaN for the zero frequency of a free joint.

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> bool((pliant.analysis.frequency_sensitivity(model).gradient < 0).all())
    True
    """
    model = model_of(model)
    _require_parameters(model)
    model.layout.require_open("sensitivities of frequencies (compare those of model.replace({...}))")
    model = fitted_to_start(model, q, None)
    state = statics.state_or_rest(model, q)
    modes = model.modes(state, joints)
    squares, Phi = modes.omega * np.abs(modes.omega), modes.shapes
    x, p, v, s = ca.SX.sym("q", model.n_q), model.parameter_symbols, ca.SX.sym("v", model.n), ca.SX.sym("s")
    K = stiffness(model.equations, x)
    work = ca.mtimes([v.T, K - s * model.equations.mass_matrix(x), v])
    f = ca.Function("slope", [x, p, v, s], [ca.densify(ca.gradient(work, y)) for y in (p, x)])
    stands = q is not None or model.layout.first
    moves = np.zeros((model.n_q, len(model.parameters))) if stands else statics.rest_slope(model, state)
    found = [f(state, model.nominal_parameters, Phi[:, k], squares[k]) for k in range(len(squares))]
    rows = [np.array(by_p).ravel() + np.array(by_x).ravel() @ moves for by_p, by_x in found]
    w = np.sqrt(np.abs(squares))
    coincide = (np.diff(squares) <= COINCIDE * np.abs(squares[1:])) & (w[1:] > 0)  # joints that nothing holds have none
    if coincide.any() or _mixing(model.stiffness(state), squares, Phi) > MIXED:
        raise ModelError("frequencies coincide: a repeated frequency has no gradient; change q or split the two planes")
    scale = np.where(w > 0, 1 / np.where(w > 0, 4 * np.pi * w, 1.0), np.nan)
    gradient = np.array(rows).reshape(len(squares), -1) * scale[:, None]
    return Sensitivity(np.sign(squares) * w / (2 * np.pi), gradient, model.parameters, model.nominal_parameters)


def _mixing(K: Array, squares: Array, Phi: Array) -> float:
    """Largest angle between a computed mode and the true one: coupling of two modes by K over the gap of their squares.

    Exact modes have no coupling; computed ones have the errors of the eigenvalue solution and of this product itself.
    A stiff spring in coordinates of its own, such as EA, couples no modes, however large it is.
    """
    left = np.abs(Phi.T @ K @ Phi) + len(K) * EPS * (np.abs(Phi.T) @ np.abs(K) @ np.abs(Phi))
    apart = np.abs(squares[:, None] - squares[None, :])
    apart[(squares == 0)[:, None] & (squares == 0)[None, :]] = np.inf
    np.fill_diagonal(apart, np.inf)
    return float((left / np.maximum(apart, np.finfo(float).tiny)).max(initial=0.0))


@checked
def rest_sensitivity(
    model: Model | Robot, quantity: Callable[[Expression], Expression], joints: AnglesLike
) -> Sensitivity:
    """Sensitivity of `quantity(q)`, in CasADi operations, at static rest with the joints at given positions.

    It follows from the implicit function theorem on the balance of forces: dc/dp = -K^-1 d(force)/dp.

    Parameters
    ----------
    model : Model or Robot
        Model with parameters.
    quantity : function
        Function of q, in CasADi operations.
    joints : (m,) array
        Positions at which the joints are held.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> sag = pliant.analysis.rest_sensitivity(model, lambda q: q[2], [0.0, 0.0])
    >>> bool(sag.gradient[0, 0] < 0)
    True
    """
    model = model_of(model)
    _require_parameters(model)
    model = fitted_to_start(model, joints, None)
    q, p, x = model.equilibrium(joints), model.parameter_symbols, ca.SX.sym("q", model.n_q)
    value = ca.vertcat(quantity(x))
    slope = rest_slope(model, q)
    f = ca.Function("value", [x, p], [value, ca.densify(ca.jacobian(value, x)), ca.densify(ca.jacobian(value, p))])
    v, by_q, by_p = (np.array(o, dtype=float) for o in f(q, model.nominal_parameters))
    return Sensitivity(v.ravel(), by_p + by_q @ slope, model.parameters, model.nominal_parameters)


@checked
def rest_slope(model: Model | Robot, q: ArrayLike) -> Array:
    """Derivative (n, P) of the state of static rest `q` by the parameters, joints held.

    Parameters
    ----------
    model : Model or Robot
        Model with parameters.
    q : (n,) array
        A state of static rest.

    Returns
    -------
    (n, P) array

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> pliant.analysis.rest_slope(model, model.equilibrium([0.0, 0.0])).shape
    (4, 1)
    """
    model = model_of(model)
    at = numbers("q", q, model.n_q)
    return statics.rest_slope(fitted_to_start(model, at, None), at)


@checked
def run_sensitivity(
    model: Model | Robot,
    quantity: Callable[[Expression, Expression, Expression], Expression],
    t_end: float,
    q0: StateLike | None = None,
    qd0: ArrayLike | None = None,
    torque: Torque | None = None,
    controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    q0_slope: ArrayLike | None = None,
    method: MethodName = "auto",
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> Sensitivity:
    """Sensitivity of `quantity(t, q, qd)`, in CasADi operations, at the end of a run, by forward sensitivities.

    S = dx/dp is integrated beside the state, S' = (df/dx) S + df/dp, with the error control on both. `torque` and
    `controller` must be traced (or absent). `q0_slope` (n, P) is the derivative of the start by the parameters
    (`rest_slope` for a start at rest).

    Parameters
    ----------
    model : Model or Robot
        Model with parameters.
    quantity : function
        Function of (t, q, qd), in CasADi operations.
    t_end : float
        Duration, s.
    q0, qd0 : (n,) array, optional
        Start; zero by default.
    torque, controller : optional
        Inputs as in `pliant.simulate`, but no Python functions.
    motion : mapping, optional
        Prescribed coordinates, as in `pliant.simulate`.
    q0_slope : (n, P) array, optional
        Derivative of the start by the parameters; zero by default.
    method : str
        As in `pliant.simulate`.
    rtol, atol : float
        Local error.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> found = pliant.analysis.run_sensitivity(model, lambda t, q, qd: q[0], 0.05)
    >>> found.gradient.shape
    (1, 1)
    """
    model = model_of(model)
    _require_parameters(model)
    for name, given in (("torque", torque), ("controller", controller)):
        if given is not None and not (hasattr(given, "expression") or hasattr(given, "bind")):
            raise ModelError(
                f"{name}: got {shown(given)}, expected an object with `expression(t, q, qd)`; "
                "pliant.gradients.gradient takes numbers and samples"
            )
    model = fitted_to_start(model, q0, qd0, t_end=float(t_end))
    composed = compose(model, torque, controller, motion or {}, (), None, False, closed=True)
    if composed.sample_time is not None:
        raise ModelError("run_sensitivity: a sampled controller has no sensitivity; bind it without sampling")
    p = np.concatenate([np.zeros(model.layout.n_inputs), model.nominal_parameters])
    q, qd, work = read_start(model, q0, qd0, placed=composed.on_paths, before=composed.before_start)
    if work is not None:
        raise ModelError("run_sensitivity: a prescribed rate jumps at the start; leave its rate out of qd0")
    x0 = composed.start(q, qd, p)
    N, P = len(x0), len(model.parameters)
    dq, still = np.zeros((model.n, P)), np.zeros((model.n, P))
    if q0_slope is not None:
        slope = np.asarray(q0_slope, dtype=float)
        if slope.shape != (model.n_q, P):
            raise ModelError(f"q0_slope: got shape {slope.shape}, expected {(model.n_q, P)}")
        known = [k for k, name in enumerate(model.speeds) if name in model.coordinates]
        dq[known] = slope[statics.places(model, known)]
    S0 = start_columns(composed, q, qd, p, (q0, qd0), dq, still, np.eye(P))
    if q0_slope is not None:  # coordinates of joints with quaternions, which no loop moves
        turned = [k for k, place in enumerate(composed.free_places) if model.coordinates[place] not in model.speeds]
        S0[turned] += slope[[composed.free_places[k] for k in turned]]
    problem = _augmented(composed, N, P)
    solution = solve(
        problem, (0.0, float(t_end)), np.concatenate([x0, S0.ravel(order="F")]), method=method, rtol=rtol, atol=atol,
        outputs=np.linspace(0.0, float(t_end), LOOKS), p=p, breaks=composed.breaks(t_end),
    )  # fmt: skip
    if solution.status == "failed":
        raise SimulationError(f"the run broke down: {solution.message}", None)
    tell(model, judge_speeds(model, composed.histories(solution.t, solution.x[:, :N])[1]))
    final = solution.x[-1]
    return _outcome(model, composed, quantity, float(t_end), final[:N], final[N:].reshape(N, P, order="F"), p)


def _augmented(composed: Composition, N: int, P: int) -> Problem:
    """State and sensitivities as one problem."""
    e = composed.equations
    x, t, p = e.x, e.t, e.p
    S = ca.SX.sym("S", N, P)
    inputs = p.shape[0] - P
    f = e.xdot
    seeds = ca.vertcat(S, ca.SX.zeros(inputs, P), ca.SX.eye(P))
    return variational(composed, t, x, f, S, ca.vertcat(x, p), seeds, p)


def _outcome(
    model: Model,
    composed: Composition,
    quantity: Callable[[Expression, Expression, Expression], Expression],
    t_end: float,
    x: Array,
    S: Array,
    p: Array,
) -> Sensitivity:
    """Sensitivity of a quantity at the end of a run, from the state x and its sensitivities S."""
    e = composed.equations
    value = ca.vertcat(quantity(e.t, e.q, e.qd))
    by_x, by_p = ca.jacobian(value, e.x), ca.jacobian(value, e.p)[:, model.layout.n_inputs :]
    f = ca.Function("outcome", [e.t, e.x, e.p], [value, ca.densify(by_x), ca.densify(by_p)])
    v, Jx, Jp = (np.array(o, dtype=float) for o in f(t_end, x, p))
    return Sensitivity(v.ravel(), Jp + Jx @ S, model.parameters, model.nominal_parameters)


@checked
def finite_difference(robot: Robot, path: str, quantity: Callable[[Robot], ArrayLike], step: float = 1e-4) -> Array:
    """Derivative of any result by a number of the robot: differences of fourth order (third, to one side, at a bound).

    `step` is relative to the value (absolute where the value is zero).

    Parameters
    ----------
    robot : Robot
        The arm.
    path : str
        Path of the number.
    quantity : function
        Returns numbers for a robot.
    step : float
        Step relative to the value (absolute where the value is zero).

    Returns
    -------
    array
        Derivative of the result of `quantity`, per unit of the number.

    Examples
    --------
    >>> arm = pliant.load("two-link")
    >>> slope = pliant.analysis.finite_difference(arm, "payload.mass", lambda robot: robot.model().frequencies())
    >>> bool((slope < 0).all())
    True
    """
    value = robot.paths().get(path)
    if value is None:
        raise ModelError(f"path: {path!r} is not a number of this robot; see robot.paths()")
    h = step * (abs(value) or 1.0)

    def at(offset: float) -> Array:
        return np.asarray(quantity(robot.replace({path: value + offset})), dtype=float)

    try:
        robot.replace({path: value - 2 * h})
    except ModelError:  # a bound of the description, such as no mass below zero: differences to one side
        return np.asarray((-11 * at(0.0) + 18 * at(h) - 9 * at(2 * h) + 2 * at(3 * h)) / (6 * h))
    return np.asarray((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h))


def _require_parameters(model: Model) -> None:
    if not model.parameters:
        raise ModelError("sensitivity: make the model with robot.model(parameters=['links.upper.beam.EI_z', ...])")
