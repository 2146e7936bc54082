"""Trajectories: q, qd, qdd over time as numbers, and positions as an expression of time.

A trajectory moves `n` coordinates at once. A controller takes it whole as its reference; `trajectory[k]` is one
coordinate; `simulate(..., motion=)` takes `trajectory.motion(model)`. Rates are exact derivatives of the expression, so
that position, rate and acceleration agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array, Expression
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.robot.parts.angles import in_radians


def constant(value: Expression | Array | float) -> Expression:
    """Return a number or an array as an expression; an expression stays as it is."""
    return value if isinstance(value, ca.SX) else ca.SX(ca.DM(value))


RUN_TIME = "time of a run"
"""Name of the symbol for time in the equations of a run, which looks up the pieces of a series."""
_LOOKED_UP: ContextVar[tuple[object, ...]] = ContextVar("looked_up", default=())


@contextmanager
def looking_up(series: tuple[object, ...]) -> Iterator[None]:
    """Context in which equations are traced that have the pieces of these series as inputs."""
    token = _LOOKED_UP.set(series)
    try:
        yield
    finally:
        _LOOKED_UP.reset(token)


def is_looked_up(series: object, t: Expression | float) -> bool:
    """Return whether a run looks up the pieces of a series by this time: in its equations, and without a delay."""
    known = any(series is one for one in _LOOKED_UP.get())
    return known and isinstance(t, ca.SX) and t.is_scalar() and t.is_symbolic() and t.name() == RUN_TIME


class Trajectory:
    """A motion of `n` coordinates over time; subclasses give `n`, `breaks` and `expression`."""

    n: int
    tunable: tuple[str, ...] = ()
    """Attributes whose numbers may be symbols in its expression, see `pliant.base.tuning`."""
    breaks: tuple[float, ...] = ()
    """Times at which a derivative jumps: integration steps end there."""
    coordinates: tuple[str, ...] | None = None
    """Names of the coordinates that it moves, if it was made for an arm: motors of elastic drives, or joints. None: it
    moves any coordinates, in order."""
    joints: Trajectory | None = None
    """Motion of the joints while it moves motors, if known."""

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions at time `t`.

        Parameters
        ----------
        t : expression
            Time, s.

        Returns
        -------
        expression
            (n, 1).
        """
        raise NotImplementedError

    def derivatives(self, t: Expression) -> tuple[Expression, Expression, Expression]:
        """Return (n, 1) positions, rates and accelerations at time `t`.

        Parameters
        ----------
        t : expression
            Time, s.

        Returns
        -------
        q, qd, qdd : (n, 1) expression

        Examples
        --------
        >>> move = pliant.control.Quintic([0.0], [1.0], 2.0)
        >>> [float(x) for x in move.derivatives(1.0)]
        [0.5, 0.9375, 0.0]
        """
        time = ca.SX.sym("t")
        q = ca.SX(self.expression(time))
        qd = ca.jacobian(q, time)
        outputs = ca.substitute([q, qd, ca.jacobian(qd, time)], [time], [ca.SX(t)])
        return outputs[0], outputs[1], outputs[2]

    @cached_property
    def _function(self) -> ca.Function:
        t = ca.SX.sym("t")
        return ca.Function("trajectory", [t], [ca.densify(x) for x in self.derivatives(t)])

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd at one time, each (n,), or at times (N,), each (N, n)."""
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise ModelError(f"t: got shape {times.shape}, expected one time or a list of times")
        values = self._function(times.reshape(1, -1))
        q, qd, qdd = (np.array(v, dtype=float).T for v in values)
        return (q, qd, qdd) if times.ndim else (q[0], qd[0], qdd[0])

    def __getitem__(self, index: int) -> Trajectory:
        return Component(self, range(self.n)[index])

    def __len__(self) -> int:
        return self.n

    def motion(self, model: Model, joints: Sequence[str] | None = None) -> dict[str, Trajectory]:
        """Return a trajectory for each coordinate by its name, for `simulate(..., motion=)`.

        Parameters
        ----------
        model : Model
            The arm.
        joints : sequence of str, optional
            Names of the coordinates that it moves; by default its own `coordinates`, else all joints in order.

        Returns
        -------
        dict of Trajectory
            One for each coordinate, by name.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> move = pliant.control.Cycloidal([0.0, 0.0], [0.2, 0.1], 0.1)
        >>> result = pliant.simulate(model, 0.1, motion=move.motion(model))
        >>> print(result.q[-1, :2].round(9))
        [0.2 0.1]
        """
        names = tuple(joints or self.coordinates or model.joints)
        for name in self.coordinates or ():
            model.index(name)  # raises an error if the arm has no such coordinate
        if len(names) != self.n:
            raise ModelError(f"trajectory: it moves {self.n} coordinates, expected {len(names)} ({', '.join(names)})")
        return {name: self[k] for k, name in enumerate(names)}


class Component(Trajectory):
    """One coordinate of a trajectory."""

    n = 1
    tunable = ("whole",)

    def __init__(self, whole: Trajectory, index: int) -> None:
        self.whole, self.index = whole, index

    @property
    def breaks(self) -> tuple[float, ...]:  # type: ignore[override]
        """Times at which a derivative of the whole trajectory jumps."""
        return self.whole.breaks

    def expression(self, t: Expression) -> Expression:
        """Return the position of this coordinate."""
        return self.whole.expression(t)[self.index]

    def derivatives(self, t: Expression) -> tuple[Expression, Expression, Expression]:
        """Return position, rate and acceleration of this coordinate."""
        q, qd, qdd = (x[self.index] for x in self.whole.derivatives(t))
        return q, qd, qdd


def numbers(name: str, value: object, size: int | None = None) -> Array:
    """Return a vector of finite numbers or angles that a user gave as `name`; `size` None allows any length."""
    try:
        out = np.atleast_1d(np.asarray(in_radians(value), dtype=float))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name}: got {value!r}, expected numbers") from error
    if out.ndim != 1 or not np.isfinite(out).all() or (size is not None and out.shape != (size,)):
        wanted = "a list of" if size is None else str(size)
        raise ModelError(f"{name}: got {value!r}, expected {wanted} finite numbers")
    return out


def positive(name: str, value: object) -> float:
    """Return a number that a user gave as `name`, if it is positive and finite."""
    return _between(name, value, 0.0, "positive")


def moment(name: str, value: object) -> float:
    """Return a number that a user gave as `name`, if it is finite."""
    return _between(name, value, -np.inf, "finite")


def _between(name: str, value: object, low: float, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low < float(value) < np.inf:
        raise ModelError(f"{name}: got {value!r}, expected a {wanted} number")
    return float(value)


class _RestToRest(Trajectory):
    """`start` + (`goal` - `start`) s(u), u from 0 to 1 over `duration`, at rest before `begin` and after the end."""

    tunable: tuple[str, ...] = ("start", "goal", "duration", "begin")

    def __init__(self, start: AnglesLike, goal: AnglesLike, duration: float, begin: float = 0.0) -> None:
        self.start = numbers("start", start)
        self.goal = numbers("goal", goal, len(self.start))
        self.n = len(self.start)
        self.duration, self.begin = positive("duration", duration), moment("begin", begin)
        self.breaks = (self.begin, *(self.begin + self.duration * u for u in self._inner_breaks()), self.end)

    @property
    def end(self) -> float:
        """Time of arrival, s."""
        return self.begin + self.duration

    def _inner_breaks(self) -> Iterable[float]:
        return ()

    def law(self, u: Expression) -> Expression:
        """Return s(u), from 0 to 1 as u goes from 0 to 1.

        Parameters
        ----------
        u : expression
            Share of the duration, from 0 to 1.

        Returns
        -------
        expression
            Share of the way.
        """
        raise NotImplementedError

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions."""
        u = ca.fmin(ca.fmax((t - self.begin) / self.duration, 0), 1)
        return constant(self.start) + constant(self.goal - self.start) * self.law(u)


@checked
class Cycloidal(_RestToRest):
    """q = q0 + D (u - sin(2 pi u) / (2 pi)): zero rate and acceleration at both ends.

    Parameters
    ----------
    start, goal : (n,)
        Rad or m.
    duration : float
        Seconds from start to goal.
    begin : float
        Time at which the motion starts.

    Examples
    --------
    >>> move = pliant.control.Cycloidal([0.0], [1.0], duration=2.0, begin=0.5)
    >>> q, qd, qdd = move([0.5, 1.5, 2.5])
    >>> print(q[:, 0].round(9), move.end)
    [0.  0.5 1. ] 2.5
    """

    def law(self, u: Expression) -> Expression:
        """Return u - sin(2 pi u) / (2 pi)."""
        return u - ca.sin(2 * np.pi * u) / (2 * np.pi)


@checked
class MohanSaha(Cycloidal):
    """Profile (38) of [MS07], theta_i = (pi / T) t - sin(2 pi t / T) / 2: every joint from 0 to pi, a cycloid.

    Parameters
    ----------
    joints : int
        Number of coordinates.
    duration : float
        T, seconds.
    begin : float
        Time at which the motion starts.

    Examples
    --------
    >>> q, _, _ = pliant.control.MohanSaha(joints=1, duration=10.0)(5.0)
    >>> print((q / np.pi).round(9))
    [0.5]
    """

    def __init__(self, joints: int = 6, duration: float = 10.0, begin: float = 0.0) -> None:
        if isinstance(joints, bool) or not isinstance(joints, int) or joints < 1:
            raise ModelError(f"joints: got {joints!r}, expected a count of at least 1")
        super().__init__(np.zeros(joints), np.full(joints, np.pi), duration, begin)


@checked
class Quintic(_RestToRest):
    """Fifth-order polynomial 10 u^3 - 15 u^4 + 6 u^5: zero rate and acceleration at both ends.

    Parameters
    ----------
    start, goal : (n,)
        Rad or m.
    duration : float
        Seconds from start to goal.
    begin : float
        Time at which the motion starts.

    Examples
    --------
    >>> q, qd, _ = pliant.control.Quintic([0.0], [1.0], duration=2.0)(1.0)
    >>> print(q.round(9), qd.round(9))
    [0.5] [0.9375]
    """

    def law(self, u: Expression) -> Expression:
        """Return 10 u^3 - 15 u^4 + 6 u^5."""
        return u**3 * (10 + u * (6 * u - 15))


@checked
class Trapezoidal(_RestToRest):
    """Constant acceleration, constant rate, constant deceleration; `ramp` is the fraction of each of the two ramps.

    Parameters
    ----------
    start, goal : (n,)
        Rad or m.
    duration : float
        Seconds from start to goal.
    begin : float
        Time at which the motion starts.
    ramp : float
        Fraction of the duration that each of the two ramps takes.

    Examples
    --------
    >>> _, qd, _ = pliant.control.Trapezoidal([0.0], [1.0], duration=2.0, ramp=0.25)(1.0)
    >>> print(qd.round(6))
    [0.666667]
    """

    tunable = (*_RestToRest.tunable, "ramp")

    def __init__(
        self, start: AnglesLike, goal: AnglesLike, duration: float, begin: float = 0.0, ramp: float = 0.25
    ) -> None:
        self.ramp = positive("ramp", ramp)
        if self.ramp > 0.5:
            raise ModelError(f"ramp: got {ramp!r}, expected a fraction of the duration up to 0.5")
        super().__init__(start, goal, duration, begin)

    def _inner_breaks(self) -> Iterable[float]:
        return (self.ramp, 1 - self.ramp)

    def law(self, u: Expression) -> Expression:
        """Return the area up to u under the trapezium of unit area whose ramps take `ramp` each."""
        r, top = self.ramp, 1 / (1 - self.ramp)
        rising, cruising = top * u**2 / (2 * r), top * (u - r / 2)
        falling = 1 - top * (1 - u) ** 2 / (2 * r)
        return ca.if_else(u < r, rising, ca.if_else(u < 1 - r, cruising, falling))


@checked
class Step(Trajectory):
    """A jump from `start` to `goal` at `time`: for references of controllers, not for prescribed motion.

    Parameters
    ----------
    start, goal : (n,)
        Positions before and after.
    time : float
        Time of the jump, s.

    Examples
    --------
    >>> q, _, _ = pliant.control.Step([0.0], [1.0], time=0.5)([0.4, 0.6])
    >>> print(q[:, 0])
    [0. 1.]
    """

    tunable = ("start", "goal", "time")

    def __init__(self, start: AnglesLike, goal: AnglesLike, time: float = 0.0) -> None:
        self.start = numbers("start", start)
        self.goal = numbers("goal", goal, len(self.start))
        self.n, self.time = len(self.start), moment("time", time)
        self.breaks = (self.time,)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions."""
        return constant(self.start) + constant(self.goal - self.start) * ca.if_else(t >= self.time, 1, 0)


@checked
class Constant(Trajectory):
    """A fixed position.

    Parameters
    ----------
    position : (n,)
        Rad or m.

    Examples
    --------
    >>> q, qd, qdd = pliant.control.Constant([0.1, 0.2])(3.0)
    >>> print(q, qd)
    [0.1 0.2] [0. 0.]
    """

    tunable = ("position",)

    def __init__(self, position: AnglesLike) -> None:
        self.position = numbers("position", position)
        self.n = len(self.position)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions."""
        return ca.SX(constant(self.position))
