"""Base classes of controllers: a frozen description that, bound to a model, gives torques as an expression.

`controller.bind(model)` checks sizes against the model and returns a `Law`. A law without states gives
`expression(t, q, qd)`; one with states (integrals, estimates) gives `expression(t, q, qd, z)`: torques and rates of z.
The same law is a plain function of numbers: `law(t, q, qd)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.derived import Same
from pliant.base.signatures import checked
from pliant.base.tuning import entries, form, mapped, numbers_of
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.control.trajectories.trajectories import Constant, Trajectory, constant
from pliant.errors import ModelError, warn_user
from pliant.mechanics.links.chain import MovingBase
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model

T = TypeVar("T")
Sampler = Callable[..., Array]
LawOutput: TypeAlias = SX
"""Torques of a law; with states, a tuple of torques and rates of the states."""
NO_STATES = ca.SX(0, 1)


class Felt(NamedTuple):
    """Inputs of sensors in a run, besides the state.

    Attributes
    ----------
    loads : sequence of Load
        Loads on the arm.
    base : MovingBase or None
        Motion of the base.
    accelerations : function
        Function of the torques (n_joints,) of a law that returns accelerations (n,) under them and all other inputs:
        other torques, loads, the base, prescribed motion, friction. Sampled laws call it with numbers.
    parameters : (P,) array, optional
        Values of the model's parameters in the run; nominal by default.
    """

    loads: tuple[Load, ...]
    base: MovingBase | None
    accelerations: Callable[[Array | SX], Array | SX]
    parameters: Array | None = None


@dataclass(frozen=True, kw_only=True)
class MotionWanted:
    """Motion for which the studio wants a controller: from `start` to `goal`, or at rest at `start`.

    Attributes
    ----------
    start, goal : sequence of float
        Positions of the driven joints, rad or m.
    moves : bool
        Whether the arm moves.
    reference : mapping
        Path, as a scenario file gives it.
    frequency : float
        Frequency of the closed loop, Hz.
    """

    start: Sequence[float]
    goal: Sequence[float]
    moves: bool
    reference: Mapping[str, object]
    frequency: float


class Controller:
    """Base class of controllers. A controller is built from plain data and knows no model until it is bound.

    Notes
    -----
    A subclass defines `bind`; docs/extend.md has an example. The studio offers controllers with `in_studio`, with the
    parameters of `offered`.
    """

    knows_no_robot: ClassVar[bool] = False
    """True if one controller serves robots with other numbers; otherwise each robot gets its own."""
    follows_paths: ClassVar[bool] = True
    """True if it follows a path, False if it only settles at a goal."""
    in_studio: ClassVar[bool] = False
    """True if the studio offers it, with the parameters of `offered`."""

    @classmethod
    def offered(cls, model: Model, wanted: MotionWanted) -> dict[str, object]:
        """Parameters that the studio proposes for a motion, as a scenario file gives them.

        Parameters
        ----------
        model : Model
            The arm.
        wanted : MotionWanted
            The motion.

        Returns
        -------
        dict
            Parameters by name.
        """
        raise NotImplementedError

    def bind(self, model: Model) -> Law:
        """Return the control law for this model; raise `ModelError` if sizes do not fit.

        Parameters
        ----------
        model : Model
            The arm that is driven.

        Returns
        -------
        Law
            Law that a run evaluates.
        """
        raise NotImplementedError


class Law:
    """Controller that is bound to a model.

    Parameters
    ----------
    model : Model
        The arm that is driven.
    """

    n_states: int = 0
    senses: bool = False
    sample_time: float | None = None
    breaks: tuple[float, ...] = ()
    gains: tuple[str, ...] = ()
    """Names of gain matrices that may be expressions; see `with_symbols`."""
    tunable: tuple[str, ...] = ()
    """Attributes whose numbers may be symbols in the expression; see `pliant.base.tuning`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def initial_state(self) -> Array:
        """(n_states,) initial values of the controller's own states."""
        return np.zeros(self.n_states)

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """(n_joints, 1) torques; with states, torques and rates of the states.

        Parameters
        ----------
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.
        z : (n_states, 1) expression
            States of the controller; none by default.

        Returns
        -------
        expression, or tuple of two
            (n_joints, 1) torques, and (n_states, 1) rates of the states where there are any.
        """
        raise NotImplementedError

    def with_states(self, t: Expression, q: Expression, qd: Expression, z: Expression) -> tuple[Expression, Expression]:
        """Torques and rates of the states; the rates are empty for a law without states.

        Parameters
        ----------
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.
        z : (n_states, 1) expression
            States of the controller.

        Returns
        -------
        tau, rate : expression
            (n_joints, 1) and (n_states, 1).

        Examples
        --------
        >>> import casadi
        >>> law = pliant.control.PID(1.0, 1.0, 1.0, [0.0, 0.0]).bind(pliant.load("two-link").model())
        >>> tau, rate = law.with_states(0.0, casadi.SX.zeros(4), casadi.SX.zeros(4), casadi.SX.zeros(2))
        >>> tau.shape, rate.shape
        ((2, 1), (2, 1))
        """
        if self.n_states:
            tau, rate = self.expression(t, q, qd, z)
            return tau, rate
        return self.expression(t, q, qd), NO_STATES

    @cached_property
    def _kernel(self) -> tuple[Kernel, Array]:
        """Function of t, q, qd, z, parameters and tunable numbers that returns torques and rates, and these numbers."""
        known = form(self)
        if known is None:
            return Kernel(self._traced(self, ca.SX(0, 1))), np.zeros(0)
        recorded = Recorded(lambda: self._traced(*opened(self)), f"law {known}", title="a controller")
        return self.model.first.derived("laws", known, lambda: Kernel(recorded)), numbers_of(self)

    def _traced(self, law: Law, numbers: Expression) -> ca.Function:
        model, p = self.model, self.model.parameter_symbols
        t, z = ca.SX.sym("t"), ca.SX.sym("z", self.n_states)
        q, qd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        tau, rate = law.with_states(t, q, qd, z)
        outputs = [ca.densify(ca.SX(tau)), ca.densify(ca.SX(rate))]
        names = ["t", "q", "qd", "z", "p", "numbers"]
        return ca.Function("law", [t, q, qd, z, p, numbers], ca.cse(outputs), names, ["tau", "rate"])

    def __call__(self, t: float, q: ArrayLike, qd: ArrayLike, z: ArrayLike | None = None) -> Array:
        """Torques (n_joints,) as numbers; `z` defaults to the initial state."""
        return self.step(t, q, qd, self.initial_state if z is None else z)[0]

    def step(self, t: float, q: ArrayLike, qd: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
        """Torques and rates of the states as numbers.

        Parameters
        ----------
        t : float
            Time, s.
        q, qd : (n,) array
            State of the arm.
        z : (n_states,) array
            States of the controller.

        Returns
        -------
        tau, rate : (n_joints,), (n_states,) array

        Examples
        --------
        >>> law = pliant.control.PID(1.0, 1.0, 1.0, [0.1, 0.2], gravity="none").bind(pliant.load("two-link").model())
        >>> tau, rate = law.step(0.0, np.zeros(4), np.zeros(4), law.initial_state)
        >>> print(tau, rate)
        [0.1 0.2] [0.1 0.2]
        """
        kernel, numbers = self._kernel
        tau, rate = kernel(np.array([t], dtype=float), q, qd, z, self.model.nominal_parameters, numbers)
        return tau, rate

    def acting(self, felt: Felt) -> Law:
        """Return the law for a run, whose sensors feel the inputs of that run.

        Parameters
        ----------
        felt : Felt
            Loads, motion of the base, and accelerations under torques of this law and all other inputs.

        Returns
        -------
        Law

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> law = pliant.control.PD(100.0, 10.0, [0.0, 0.5]).bind(model)
        >>> law.acting(pliant.control.controllers.controller.Felt((), None, lambda tau: tau)) is law
        True
        """
        return self

    def sampler(self) -> Sampler:
        """Return a new function of (t, q, qd) that a sampled run calls at its sample times.

        Returns
        -------
        function
            Function of (t, q, qd), and of a `Felt` if the law `senses`. It returns (n_joints,) torques and keeps a
            memory of its own.
        """
        raise NotImplementedError


def feedback_gain(name: str, value: ArrayLike, joints: Sequence[str]) -> Array:
    """Return a gain matrix on positions, speeds or integrals; warn of negative gains."""
    found = gain_matrix(name, value, len(joints))
    wrong = [joint for joint, own in zip(joints, np.diag(found)) if own < 0]
    if wrong:
        warn_user(
            f"{name}: got {np.diag(found).min():g} for {', '.join(wrong)}, expected 0 or more, since a negative gain "
            "drives a joint away from its goal; check the sign"
        )
    return found


def gain_matrix(name: str, value: ArrayLike, m: int) -> Array:
    """Return an (m, m) gain from a number, m numbers (a diagonal) or a matrix."""
    try:
        given = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name}: got {value!r}, expected a number, {m} numbers or a {m} x {m} matrix") from error
    if given.ndim == 0:
        given = np.full(m, float(given))
    if given.shape not in ((m,), (m, m)) or not np.isfinite(given).all():
        raise ModelError(
            f"{name}: got shape {given.shape}, expected a number, {m} numbers (one per joint) or a {m} x {m} matrix"
        )
    return np.diag(given) if given.ndim == 1 else given


def with_symbols(controller: Controller, names: Sequence[str], model: Model) -> Law:
    """Return the law of a controller with these gains as symbols, which are its `parameters` by entry. The law holds
    for all numbers of the same shapes."""
    law, m = copy(controller.bind(model)), model.n_joints
    symbols: dict[str, Expression] = {}
    for name in names:
        if name not in law.gains:
            raise ModelError(
                f"controller.{name}: {type(controller).__name__} has no such gain to differentiate by; expected one of "
                f"{', '.join(law.gains) or 'none'}"
            )
        shape = np.shape(getattr(controller, name))
        entries = [f"{name}{list(index) if index else ''}" for index in np.ndindex(shape)]
        symbols |= (own := {entry: ca.SX.sym(entry) for entry in entries})
        column = ca.vertcat(*own.values())
        matrix = column * ca.SX.eye(m) if not shape else ca.diag(column)
        setattr(law, name, matrix if len(shape) < 2 else ca.reshape(column, m, m).T)
    law.parameters = symbols  # type: ignore[attr-defined]
    return law


def opened(part: T) -> tuple[T, Expression]:
    """Return a law, a motion or several with symbols in place of their tunable numbers, and these symbols, in the order
    of `numbers_of`."""
    columns: list[Expression] = []

    def symbol(number: Array) -> Expression:
        chosen = entries(number)
        columns.append(column := ca.SX.sym("number", int(chosen.sum())))
        if number.ndim < 2:
            return column
        matrix = ca.SX(*number.shape)
        for k, place in enumerate(np.argwhere(chosen).tolist()):
            matrix[place[0], place[1]] = column[k]
        return matrix

    return mapped(part, symbol), ca.vertcat(*columns) if columns else ca.SX(0, 1)


def but_for(controller: Controller, names: Sequence[str]) -> tuple[object, ...]:
    """Key of a controller that is equal for controllers which differ in the numbers of these gains alone."""
    parts: list[object] = [type(controller)]
    for each in fields(controller):  # type: ignore[arg-type]
        value = getattr(controller, each.name)
        try:
            number = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            parts.append(value if isinstance(value, str) else Same(value))
        else:
            parts.append((number.shape, b"" if each.name in names else number.tobytes()))
    return tuple(parts)


def reference_for(model: Model, given: Trajectory | AnglesLike) -> Trajectory:
    """Return the desired motion from a trajectory or a fixed position, after a check of its size and its names."""
    trajectory = given if isinstance(given, Trajectory) else Constant(given)
    if trajectory.n != model.n_joints:
        raise ModelError(
            f"reference: it moves {trajectory.n} coordinates, expected {model.n_joints} ({', '.join(model.joints)})"
        )
    if trajectory.coordinates not in (None, tuple(model.joints), actuated_names(model)):
        raise ModelError(
            f"reference: it moves {', '.join(trajectory.coordinates or ())}; expected a path of the joints "
            f"({', '.join(model.joints)}) or of what their torques act on ({', '.join(actuated_names(model))})"
        )
    return trajectory


def actuated_names(model: Model) -> tuple[str, ...]:
    """Name of the coordinate on which each torque acts: the motor if there is one, else the joint."""
    shafts = zip(model.layout.shafts, model.joints)
    return tuple(name if shaft.drive is None else model.coordinates[shaft.drive.place] for shaft, name in shafts)


def actuated(model: Model) -> list[int]:
    """Index of the speed on which each torque acts: the motor if there is one, else the joint."""
    return [shaft.actuated for shaft in model.chain.shafts]


def actuated_places(model: Model) -> list[int]:
    """Index of the coordinate on which each torque acts; raises for spherical joints, which have none of their own."""
    pairs = zip(model.chain.shafts, model.layout.shaft_places())
    return [place if shaft.drive is None else shaft.drive.place for shaft, place in pairs]


def checked_limit(name: str, value: ArrayLike, m: int) -> Array:
    """(m,) positive limits from a number or m numbers."""
    try:
        limit = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name}: got {value!r}, expected a positive number or {m} of them") from error
    limit = np.full(m, float(limit)) if limit.ndim == 0 else limit
    if limit.shape != (m,) or np.isnan(limit).any() or (limit <= 0).any():
        raise ModelError(f"{name}: got {value!r}, expected a positive number or {m} of them (one per joint)")
    return limit


@checked
@dataclass(frozen=True)
class Limited(Controller):
    """Another controller with torques clipped at plus and minus `limit` (a number, or one per joint).

    Parameters
    ----------
    controller : Controller
        Controller whose torques are clipped.
    limit : number or (m,)
        N m or N.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.Limited(pliant.control.PD(1e4, 10.0, [1.0, 1.0]), limit=[100.0, 40.0])
    >>> print(controller.bind(model)(0.0, np.zeros(4), np.zeros(4)))
    [100.  40.]
    """

    controller: Controller
    limit: ArrayLike

    def bind(self, model: Model) -> Law:
        """Bind the controller and check that limits are positive."""
        return _LimitedLaw(self.controller.bind(model), checked_limit("limit", self.limit, model.n_joints))


class _LimitedLaw(Law):
    tunable = ("inner", "limit")

    def __init__(self, inner: Law, limit: Array) -> None:
        super().__init__(inner.model)
        self.inner, self.limit = inner, limit
        self.n_states, self.breaks, self.senses = inner.n_states, inner.breaks, inner.senses

    def acting(self, felt: Felt) -> Law:
        clipped = Felt(
            loads=felt.loads, base=felt.base, parameters=felt.parameters,
            accelerations=lambda tau: felt.accelerations(self._clipped(tau)),
        )  # fmt: skip
        return _LimitedLaw(self.inner.acting(clipped), self.limit)

    def _clipped(self, tau: Array | SX) -> SX:
        return ca.fmin(ca.fmax(tau, -constant(self.limit)), constant(self.limit))

    @property
    def initial_state(self) -> Array:
        return self.inner.initial_state

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        tau, rate = self.inner.with_states(t, q, qd, z)
        clipped = self._clipped(tau)
        return (clipped, rate) if self.n_states else clipped
