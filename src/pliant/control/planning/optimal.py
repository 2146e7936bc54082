"""Rest-to-rest motion without residual vibration, by optimal control: least time or least effort within limits of
torque, rate, acceleration and jerk.

The unknowns are the accelerations of the actuated coordinates, continuous and linear over each interval, so that the
commanded motion is exactly a cubic spline; all other coordinates follow from their own equations, driven by that motion
(decoupling again: (36) of [TG95]), by Gauss collocation. Start and goal are states of static rest, hence nothing
vibrates after the end. `motion_response.py` has the equations, `motion_search.py` the program that IPOPT solves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.interrupts import interruptible
from pliant.base.progress import reporter
from pliant.base.signatures import checked
from pliant.control.controllers.computed_torque import checked_estimate
from pliant.control.controllers.controller import actuated_names, checked_limit
from pliant.control.planning.motion_bounds import MotionBounds
from pliant.control.planning.motion_forces import smoothed
from pliant.control.planning.motion_grid import MotionGrid
from pliant.control.planning.motion_guess import SAFE, first_guess, stiff_shortest_time
from pliant.control.planning.motion_programs import TimePrograms
from pliant.control.planning.motion_response import Driven, DrivenMotion
from pliant.control.planning.motion_search import (
    LEAST_EFFORT,
    NEARBY,
    SHARP_TIME,
    SMOOTH_EFFORT,
    SMOOTH_TIME,
    MotionSearch,
    Unsolved,
)
from pliant.control.planning.perturbed_model import Bystander
from pliant.control.planning.time_limited import Watch, in_process, needs_process, prepared_for
from pliant.control.trajectories.splines import Piece, Piecewise
from pliant.control.trajectories.trajectories import Trajectory, numbers, positive
from pliant.errors import ModelError, PliantError
from pliant.model.model import Model
from pliant.options import ObjectiveName


@dataclass(frozen=True, repr=False)
class RestToRest:
    """An optimal motion. It knows which coordinates its samples are of: motors where drives are elastic, else joints.

    Attributes
    ----------
    trajectory : Piecewise
        Actuated coordinates over time, by name (`trajectory.coordinates`): a controller's reference, or
        `simulate(..., motion=trajectory.motion(model))`.
    joints : Piecewise
        The joints over time: the same where drives are stiff, else behind the motors by the wind-up of the drives.
    torque : (times, values, "cubic")
        What `simulate(..., torque=)` takes to drive the arm, open loop or beside a controller.
    duration : float
        Seconds.
    t, q, qd, tau : (N,), (N, n), (N, n), (N, m)
        States and torques at nodes and collocation points.
    q0 : (n,)
        State of rest at the start.
    cost : float
        Seconds, or the integral of tau^2 (N^2 m^2 s).
    violation : float
        Largest violation of a condition of the search: of the end, as a share of what the command can change there, or
        of a torque limit, as a share of it.
    iterations : int
        Of the solver.
    converged : bool
        Whether the solver found the cost to be least nearby. If not, it is the best motion until it gave up, or of the
        least time the shortest, to a hundredth, for which a search came to an end; all conditions hold.
    """

    trajectory: Piecewise
    joints: Piecewise
    duration: float
    t: Array
    q: Array
    qd: Array
    tau: Array
    q0: Array
    cost: float
    violation: float
    iterations: int
    converged: bool = True

    def __repr__(self) -> str:
        moved, end = ", ".join(self.trajectory.coordinates or ()), "" if self.converged else ", not converged"
        return (
            f"RestToRest({moved} in {self.duration:.4g} s, cost {self.cost:.4g}, {len(self.t)} samples, "
            f"{self.iterations} iterations{end})"
        )

    @property
    def torque(self) -> tuple[Array, Array, str]:
        """Torques over time as samples with cubic interpolation."""
        return self.t, self.tau, "cubic"

    def motion(self, model: Model) -> dict[str, Trajectory]:
        """What `simulate(..., motion=)` takes: motors of elastic drives, and joints elsewhere.

        Parameters
        ----------
        model : Model
            The arm that is driven.

        Returns
        -------
        dict of Trajectory
            Of one coordinate each, by name.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> move = pliant.control.rest_to_rest(model, [0.0, 0.0], [0.3, 0.2], duration=1.5, intervals=6, degree=3)
        >>> list(move.motion(model))
        ['upper', 'fore']
        """
        return self.trajectory.motion(model)


@checked
def rest_to_rest(
    model: Model,
    start: AnglesLike,
    goal: AnglesLike,
    duration: float | None = None,
    torque_limit: ArrayLike | None = None,
    objective: ObjectiveName = "effort",
    intervals: int = 40,
    degree: int = 4,
    *,
    rate_limit: ArrayLike | None = None,
    acceleration_limit: ArrayLike | None = None,
    jerk_limit: ArrayLike | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
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
        Needed for objective "time", unless `acceleration_limit` or `jerk_limit` is given. Held at nodes and
        collocation points.
    objective : "effort" or "time"
        Least integral of tau^2, or least duration.
    intervals, degree : int
        Grid: pieces of the motion, and collocation points in each.
    rate_limit, acceleration_limit, jerk_limit : number or (m,), optional
        Of the commanded motion, of motors where drives are elastic; held at every moment.
    time_limit : float, optional
        Seconds that the call may last, compiling included. Then it ends with the best motion that holds all conditions,
        not `converged`, or with an error that says how far it came.
    progress : bool or callable, optional
        A bar on long searches in a terminal by default; False is silence; a function gets the fraction done.

    Returns
    -------
    RestToRest
        Trajectory, torques, cost.

    Raises
    ------
    PliantError
        No motion was found; before the search, where `duration` is shorter than nine tenths of what the arm would take
        with links and drives stiff.
    Interrupted
        Ctrl-C, a KeyboardInterrupt.

    Notes
    -----
    Coulomb friction changes its sign over at least a tenth of each joint's mean speed in the search.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> move = pliant.control.rest_to_rest(model, [0.0, 0.0], [0.3, 0.2], duration=1.5, intervals=6, degree=3)
    >>> move.violation < 1e-6, float(move.t[-1])
    (True, 1.5)
    >>> print(repr(move).partition(", cost")[0])
    RestToRest(upper, fore in 1.5 s
    """
    watch = Watch(None if time_limit is None else positive("time_limit", time_limit))
    if intervals < 4 or degree < 2:
        raise ModelError(f"intervals, degree: got {intervals}, {degree}, expected at least 4 and 2")
    checked_estimate(model, None)  # torques must act on single coordinates
    limit = None if torque_limit is None else checked_limit("torque_limit", torque_limit, model.n_joints)
    given: dict[str, Any] = {
        "rate_limit": rate_limit,
        "acceleration_limit": acceleration_limit,
        "jerk_limit": jerk_limit,
    }
    none = MotionBounds.none(model.n_joints)
    bounds = MotionBounds(
        none.lower,
        none.upper,
        *(none.upper if x is None else checked_limit(name, x, model.n_joints) for name, x in given.items()),
    )
    if objective == "time" and limit is None and acceleration_limit is None and jerk_limit is None:
        raise ModelError("torque_limit: least time needs torque limits, or limits of acceleration or jerk")
    if objective == "effort" and duration is None:
        raise ModelError("duration: least effort needs a duration")
    asked = None if duration is None else positive("duration", duration)
    with interruptible("rest_to_rest"), reporter(progress, 1.0, "searching a motion", "") as report:
        watch = replace(watch, report=report)
        if needs_process(model, SEARCH, watch):
            search = partial(rest_to_rest, intervals=intervals, degree=degree, **given)
            found = in_process(
                search, (model, start, goal, duration, torque_limit, objective), watch, "rest_to_rest"
            )  # fmt: skip
            return cast("RestToRest", found)
        ends = RestEnds.at(model, start, goal, limit)
        task = MotionTask(model, ends, limit, objective == "time", bounds, (intervals, degree))
        return task.solved(asked, watch)


SEARCH = "optimal motion"
"""Whose functions are compiled."""
GUESS = 1.3
"""Duration at which a search for the least begins, as a multiple of that of the stiff arm."""
LONGER = (1.0, 1.5, 2.2)
"""Times that duration, where nothing is found at first."""
SHORTER = 0.9
"""Share of the last duration for which a motion was found that is tried next; its root where none is found."""
CLOSE = 1.01
"""Ratio of a duration for which a motion is found to one for which none is, at which the shortest is found."""


@dataclass(frozen=True)
class MotionTask:
    """What is asked of a motion.

    Attributes
    ----------
    model : Model
    ends : RestEnds
        Where it begins and ends.
    limit : (m,) array or None
        Of the torques.
    timed : bool
        Whether the duration is to be least, rather than the effort.
    bounds : MotionBounds
        Of the commanded motion.
    size : (int, int)
        Intervals of the grid, and collocation points in each.
    others : tuple of (Model, float, float)
        Arms that the same command is to leave nearly still, a swing of their tips, m, and the share of it that each
        mode may have after the end.
    swing : (float, float), optional
        The same swing and share of the arm itself, instead of rest.
    """

    model: Model
    ends: RestEnds
    limit: Array | None
    timed: bool
    bounds: MotionBounds
    size: tuple[int, int]
    others: tuple[tuple[Model, float, float], ...] = ()
    swing: tuple[float, float] | None = None

    def solved(self, asked: float | None, watch: Watch) -> RestToRest:
        """The motion, of a duration that is `asked` for."""
        ends, limit = self.ends, self.limit
        shortest = None if limit is None else stiff_shortest_time(self.model, ends.start, ends.goal, limit, watch)
        if not self.timed and asked is not None and shortest is not None and asked < SAFE * shortest:
            raise PliantError(
                f"duration: got {asked:g} s, expected at least {SAFE * shortest:.3g} s: no motion found that is "
                f"faster within torque_limit even with links and drives stiff ({shortest:.3g} s, less a tenth); "
                'objective="time" finds the shortest one of the flexible arm'
            )
        least = self.bounds.shortest((ends.goal - ends.start)[self._actuated])
        if not self.timed and asked is not None and asked < least:
            raise PliantError(
                f"duration: got {asked:g} s, expected at least {least:.3g} s, which rate_limit, acceleration_limit and "
                "jerk_limit ask for"
            )
        T = asked if asked is not None else GUESS * max(shortest or 0.0, least)
        return self._searched(T or GUESS * ends.duration(self.model, limit), watch, shortest)

    @property
    def _actuated(self) -> list[int]:
        return [shaft.actuated for shaft in self.model.layout.shafts]

    def fastest(self, T: float, watch: Watch) -> RestToRest:
        """The motion of least time by linear programs, from a plain one of T seconds; raises `Unsolved`."""
        arm, grid, search = self._prepared(T)
        driven, guess = first_guess(arm, grid, self.ends.start, self.ends.goal, T)
        last = search(driven, guess, aim=SMOOTH_TIME)
        found, count, least = TimePrograms(last).solve(watch)
        return _read(self.model, driven, found, self.ends.start, found.T, last.violation(found), count, least)

    def _prepared(self, T: float) -> tuple[Model, MotionGrid, Searching]:
        """The arm, its grid, and a search that knows what is asked, for motions of about T seconds."""
        ends, shafts = self.ends, self.model.layout.shafts
        travel = np.abs(ends.goal - ends.start)[[shaft.index for shaft in shafts]]
        speeds = np.maximum(travel, 0.1 * travel.max()) / T
        grid = MotionGrid(self.model.n, tuple(self._actuated), *self.size)
        at = ends.start[self._actuated], ends.goal[self._actuated]
        others = [Bystander(smoothed(model, speeds), grid, *at, unit, share) for model, unit, share in self.others]
        search = partial(
            MotionSearch, goal=ends.goal, limit=self.limit, bounds=self.bounds, others=others, swing=self.swing
        )
        return smoothed(self.model, speeds), grid, search

    def _searched(self, T: float, watch: Watch, shortest: float | None) -> RestToRest:
        ends = self.ends
        arm, grid, search = self._prepared(T)
        durations = [T * longer for longer in (LONGER if self.timed else (1.0,))]
        try:
            for tries, T in enumerate(durations, 1):
                driven, guess = first_guess(arm, grid, ends.start, ends.goal, T)
                try:
                    last, found, iterations, least = _staged(search, driven, guess, self.timed, watch)
                    prepared_for(self.model, SEARCH)
                    break
                except Unsolved as error:
                    prepared_for(self.model, SEARCH)
                    if tries == len(durations) or "time_limit" in str(error):
                        raise
        except Unsolved as error:
            known = "" if shortest is None else f"; stiff, the arm would take {shortest:.3g} s within torque_limit"
            raise PliantError(
                f"rest_to_rest: {error}{known}; allow more duration or torque, or more intervals"
                + ("" if self.limit is None else '; objective="time" finds the shortest duration')
            ) from None
        cost = found.T if self.timed else last.effort(found)
        return _read(self.model, driven, found, ends.start, cost, last.violation(found), iterations, least)


Searching = Callable[..., MotionSearch]
"""A `MotionSearch` that knows all but the arm on its grid, the guess and the aim."""


def _staged(
    search: Searching, driven: Driven, guess: DrivenMotion, timed: bool, watch: Watch
) -> tuple[MotionSearch, DrivenMotion, int, bool]:
    """Least effort at once; least time from there, with smooth torques first. What was found is kept when late."""
    first = search(driven, guess, aim=SMOOTH_EFFORT if timed else LEAST_EFFORT)
    found, count, least = first.solve(watch)
    if not timed or watch.late:
        return first, found, count, least and not timed
    smooth = search(driven, found, aim=SMOOTH_TIME)
    try:
        found, more, _ = smooth.solve(watch)
    except Unsolved:
        if not watch.late:
            raise
        return first, found, count, False
    sharp = search(driven, found, aim=SHARP_TIME)
    try:
        faster, last, least = sharp.solve(watch)
    except Unsolved:
        faster, last, least = found, 0, False
    if least:
        return sharp, faster, count + more + last, least
    return _narrowed(search, driven, faster, count + more + last, watch)


def _narrowed(
    search: Searching, driven: Driven, found: DrivenMotion, count: int, watch: Watch
) -> tuple[MotionSearch, DrivenMotion, int, bool]:
    """The shortest duration for which a search of least effort comes to an end, to a hundredth: it converges where that
    for the time itself does not."""
    last, share = search(driven, found, aim=NEARBY), SHORTER
    while share < 1 / CLOSE and not watch.late:
        command = found.nodes[:, 2, list(driven.grid.actuated)]
        try:
            trial = search(driven, driven.response(command, share * found.T, found), aim=NEARBY)
            found, more, _ = trial.solve(watch)
            last, count = trial, count + more
        except (Unsolved, ArithmeticError):
            share = float(np.sqrt(share))
    return last, found, count, False  # a search that ends without a motion is no proof that there is none


@dataclass(frozen=True)
class RestEnds:
    """States of rest at start and goal, and the torques that hold them."""

    start: Array
    goal: Array
    hold_start: Array
    hold_goal: Array

    @classmethod
    def at(cls, model: Model, start: AnglesLike, goal: AnglesLike, limit: Array | None) -> RestEnds:
        """Of joint positions; refuses those that torques within `limit` do not hold."""
        model.layout.require_plain("optimal motion")
        model.layout.require_open("optimal motion")
        a, b = (model.equilibrium(numbers(k, v, model.n_joints)) for k, v in (("start", start), ("goal", goal)))
        ends = cls(a, b, model.holding_torque(a), model.holding_torque(b))
        for name, hold in (("start", ends.hold_start), ("goal", ends.hold_goal)):
            if limit is not None and (np.abs(hold) >= limit).any():
                raise ModelError(
                    f"{name}: holding the arm there takes torques {np.round(hold, 4)}, torque_limit is {limit}; raise "
                    "the limit or choose a pose that it can hold"
                )
        return ends

    def duration(self, model: Model, limit: Array | None) -> float:
        """Of a cycloid of each joint alone, with a margin."""
        assert limit is not None
        rows = [shaft.actuated for shaft in model.layout.shafts]
        inertia = np.maximum.reduce([np.diag(model.mass_matrix(q))[rows] for q in (self.start, self.goal)])
        spare = np.maximum(limit - np.maximum(np.abs(self.hold_start), np.abs(self.hold_goal)), 0.1 * limit)
        travel = np.abs(self.goal - self.start)[rows]
        return float(max(np.sqrt(2 * np.pi * travel * inertia / spare).max(), 1e-3))


def _read(
    model: Model,
    driven: Driven,
    found: DrivenMotion,
    q0: Array,
    cost: float,
    violation: float,
    iterations: int,
    converged: bool = True,
) -> RestToRest:
    grid, T = driven.grid, found.T
    h, N = T / grid.intervals, grid.intervals
    nodes = found.nodes / np.array([1, T, T**2])[:, None]
    q, v, a = (nodes[:, k][:, list(grid.actuated)] for k in range(3))
    cubic = [Piece(k * h, np.stack([q[k], v[k], a[k] / 2, (a[k + 1] - a[k]) / (6 * h)])) for k in range(N)]
    shafts = [shaft.index for shaft in model.layout.shafts]
    joints = Piecewise([_hermite(k * h, h, nodes[k : k + 2][..., shafts]) for k in range(N)], T, model.joints)
    stiff = shafts == list(grid.actuated)
    trajectory = Piecewise(cubic, T, actuated_names(model), None if stiff else joints)
    t = np.concatenate([np.arange(N + 1) * h, T * grid.shares.ravel()])
    order, inner = np.argsort(t), found.inner.reshape(-1, 3, grid.n)
    every = np.concatenate([nodes, inner / np.array([1, T, T**2])[:, None]])[order]
    tau = np.concatenate([found.tau_nodes, found.tau.reshape(-1, len(shafts))])[order]
    return RestToRest(
        trajectory, trajectory if stiff else joints, T, t[order], every[:, 0], every[:, 1], tau, q0, cost, violation,
        iterations, converged,
    )  # fmt: skip


def _hermite(start: float, h: float, ends: Array) -> Piece:
    """The quintic through positions, rates and accelerations `ends` (2, 3, n) at both ends of h seconds."""
    (q0, v0, a0), (q1, v1, a1) = ends
    p = q1 - q0 - h * v0 - h**2 / 2 * a0
    v, a = h * (v1 - v0 - h * a0), h**2 * (a1 - a0)
    high = ((10 * p - 4 * v + a / 2) / h**3, (-15 * p + 7 * v - a) / h**4, (6 * p - 3 * v + a / 2) / h**5)
    return Piece(start, np.stack([q0, v0, a0 / 2, *high]))
