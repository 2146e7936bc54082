"""Rest-to-rest motion without residual vibration, by optimal control: least time or least effort within limits of
torque, rate, acceleration and jerk.

The unknowns are the accelerations of the actuated coordinates, continuous and linear over each interval. So the
commanded motion is a cubic spline. All other coordinates follow from their own equations, driven by that motion
(decoupling as in (36) of [TG95]), by Gauss collocation. Start and goal are states of static rest: the arm does not
vibrate after the end. `motion_response.py` has the equations, `motion_search.py` the program that IPOPT solves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.interrupts import interruptible
from pliant.base.signatures import checked
from pliant.base.stages import reporter
from pliant.control.controllers.computed_torque import checked_estimate
from pliant.control.controllers.controller import actuated_names, checked_limit
from pliant.control.planning.perturbed_model import Bystander
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_forces import smoothed
from pliant.control.planning.search.motion_grid import MotionGrid
from pliant.control.planning.search.motion_guess import SAFE, first_guess, stiff_shortest_time
from pliant.control.planning.search.motion_programs import TimePrograms
from pliant.control.planning.search.motion_response import Driven, DrivenMotion
from pliant.control.planning.search.motion_search import (
    LEAST_EFFORT,
    NEARBY,
    SHARP_TIME,
    SMOOTH_EFFORT,
    SMOOTH_TIME,
    MotionSearch,
    Unsolved,
)
from pliant.control.planning.search.time_limited import Watch, in_process, needs_process, prepared_for
from pliant.control.trajectories.splines import Piece, Piecewise
from pliant.control.trajectories.trajectories import Trajectory, numbers, positive
from pliant.errors import ModelError, PliantError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import ObjectiveName

SEARCH = "optimal motion"
"""Name of the search, under which `time_limited.py` notes that its functions are compiled."""
GUESS = 1.3
"""Duration at which a search for the least begins, as a multiple of that of the stiff arm."""
LONGER = (1.0, 1.5, 2.2)
"""Multiples of that duration which are tried one after another until a motion is found."""
SHORTER = 0.9
"""Next duration as a share of the last one for which a motion was found; its root after a duration without one."""
CLOSE = 1.01
"""Ratio of a duration with a motion to one without, at which the first counts as the shortest."""

Searching = Callable[..., MotionSearch]
"""A `MotionSearch` that lacks the arm on its grid, the guess and the aim."""


@dataclass(frozen=True, repr=False)
class RestToRest:
    """An optimal motion of the actuated coordinates: motors where drives are elastic, else joints.

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
        Largest violation of a condition of the search: of one at the end, as a share of what the command can change
        there, or of a torque limit, as a share of it.
    iterations : int
        Iterations of the solver.
    converged : bool
        The solver found the cost to be least nearby. If not, this is the best motion until the solver gave up. For
        objective "time" it may be the shortest motion, to a hundredth, for which a search converged. All conditions
        hold in either case.
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
        """Return trajectories for `simulate(..., motion=)`: of motors of elastic drives, and of joints elsewhere.

        Parameters
        ----------
        model : Model or Robot
            The arm that is driven.

        Returns
        -------
        dict of Trajectory
            One for each coordinate, by name.

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
    model: Model | Robot,
    start: AnglesLike,
    goal: AnglesLike,
    duration: float | None = None,
    torque_limit: ArrayLike | None = None,
    objective: ObjectiveName = "effort",
    intervals: int = 40,
    degree: int = 4,
    *,
    speed_limit: ArrayLike | None = None,
    acceleration_limit: ArrayLike | None = None,
    jerk_limit: ArrayLike | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> RestToRest:
    """Motion from rest at joint positions `start` to rest at `goal` that leaves no vibration.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    start, goal : (m,)
        Joint positions, rad or m.
    duration : float
        Seconds. Optional for objective "time", where it is a first guess.
    torque_limit : number or (m,), optional
        Needed for objective "time", unless `acceleration_limit` or `jerk_limit` is given. Torques keep it at nodes and
        collocation points.
    objective : "effort" or "time"
        Least integral of tau^2, or least duration.
    intervals, degree : int
        Grid: pieces of the motion, and collocation points in each.
    speed_limit, acceleration_limit, jerk_limit : number or (m,), optional
        Limits of the commanded motion, of motors where drives are elastic. The motion keeps them at every moment.
    time_limit : float, optional
        Seconds that the call may last, compiling included. Then the call returns the best motion that meets all
        conditions, not `converged`, or raises an error that says how far the search came.
    progress : bool or callable, optional
        By default a bar on long searches in a terminal. False shows nothing. A function gets the fraction done.

    Returns
    -------
    RestToRest
        Trajectory, torques, cost.

    Raises
    ------
    PliantError
        No motion was found, or `duration` is shorter than nine tenths of what the arm would take with links and drives
        stiff.
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
    model = model_of(model)
    watch = Watch(None if time_limit is None else positive("time_limit", time_limit))
    if intervals < 4 or degree < 2:
        raise ModelError(f"intervals, degree: got {intervals}, {degree}, expected at least 4 and 2")
    checked_estimate(model, None)  # torques must act on single coordinates
    limit = None if torque_limit is None else checked_limit("torque_limit", torque_limit, model.n_joints)
    limits = {"speed_limit": speed_limit, "acceleration_limit": acceleration_limit, "jerk_limit": jerk_limit}
    bounds = _bounds(limits, model.n_joints)
    if objective == "time" and limit is None and acceleration_limit is None and jerk_limit is None:
        raise ModelError("torque_limit: least time needs torque limits, or limits of acceleration or jerk")
    if objective == "effort" and duration is None:
        raise ModelError("duration: least effort needs a duration")
    asked = None if duration is None else positive("duration", duration)
    with interruptible("rest_to_rest"), reporter(progress, 1.0, "searching a motion", "") as report:
        watch = replace(watch, report=report)
        if needs_process(model, SEARCH, watch):
            search = partial(
                rest_to_rest, intervals=intervals, degree=degree, speed_limit=speed_limit,
                acceleration_limit=acceleration_limit, jerk_limit=jerk_limit,
            )  # fmt: skip
            given = (model, start, goal, duration, torque_limit, objective)
            return in_process(search, given, watch=watch, name="rest_to_rest")
        task = MotionTask(
            model=model,
            ends=RestEnds.at(model, start, goal, limit),
            limit=limit,
            timed=objective == "time",
            bounds=bounds,
            size=(intervals, degree),
        )
        return task.solved(asked, watch)


def _bounds(limits: Mapping[str, ArrayLike | None], m: int) -> MotionBounds:
    """Return bounds of m coordinates from limits of rate, acceleration and jerk, by the names of their arguments."""
    none = MotionBounds.none(m)
    speed, acceleration, jerk = (
        none.upper if limit is None else checked_limit(name, limit, m) for name, limit in limits.items()
    )
    return replace(none, speed=speed, acceleration=acceleration, jerk=jerk)


@dataclass(frozen=True)
class MotionTask:
    """Requirements on a motion.

    Attributes
    ----------
    model : Model or Robot
        The arm.
    ends : RestEnds
        States of rest at start and goal.
    limit : (m,) array or None
        Torque limits.
    timed : bool
        Minimize the duration instead of the effort.
    bounds : MotionBounds
        Bounds of the commanded motion.
    size : (int, int)
        Intervals of the grid, and collocation points in each.
    others : tuple of (Model, float, float)
        Arms that shall hardly vibrate after the same command; for each a swing of its tip, m, and the share of it that
        each mode may have after the end.
    swing : (float, float), optional
        Such a swing and share of the arm itself, which then need not end at rest.
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
        """Return the motion of the duration that is `asked` for, or of least time.

        Parameters
        ----------
        asked : float or None
            Duration, s; for least time a guess.
        watch : Watch

        Raises
        ------
        PliantError
            No motion was found, or `asked` is too short for any.
        """
        ends, limit = self.ends, self.limit
        shortest = (
            None
            if limit is None
            else stiff_shortest_time(self.model, start=ends.start, goal=ends.goal, limit=limit, watch=watch)
        )
        if not self.timed and asked is not None and shortest is not None and asked < SAFE * shortest:
            raise PliantError(
                f"duration: got {asked:g} s, expected at least {SAFE * shortest:.3g} s: no motion found that is "
                f"faster within torque_limit even with links and drives stiff ({shortest:.3g} s, less a tenth); "
                'objective="time" finds the shortest one of the flexible arm'
            )
        least = self.bounds.shortest((ends.goal - ends.start)[self._actuated])
        if not self.timed and asked is not None and asked < least:
            raise PliantError(
                f"duration: got {asked:g} s, expected at least {least:.3g} s, which speed_limit, acceleration_limit "
                "and jerk_limit ask for"
            )
        T = asked if asked is not None else GUESS * max(shortest or 0.0, least)
        return self._searched(T or GUESS * ends.duration(self.model, limit), watch=watch, shortest=shortest)

    @property
    def _actuated(self) -> list[int]:
        return [shaft.actuated for shaft in self.model.layout.shafts]

    def fastest(self, T: float, watch: Watch) -> RestToRest:
        """Return the motion of least time by linear programs, from a plain motion of T seconds.

        Raises
        ------
        Unsolved
            No motion was found.
        """
        arm, grid, search = self._prepared(T)
        driven, guess = first_guess(arm, grid, start=self.ends.start, goal=self.ends.goal, duration=T)
        last = search(driven, guess, aim=SMOOTH_TIME)
        motion, programs, settled = TimePrograms(last).solve(watch)
        return self._result(driven, _Solution(last, motion, programs, settled), cost=motion.T)

    def _prepared(self, T: float) -> tuple[Model, MotionGrid, Searching]:
        """Return the arm with smooth friction, its grid, and a search with these requirements, for motions of about T
        seconds."""
        ends, shafts = self.ends, self.model.layout.shafts
        travel = np.abs(ends.goal - ends.start)[[shaft.index for shaft in shafts]]
        speeds = np.maximum(travel, 0.1 * travel.max()) / T
        intervals, degree = self.size
        grid = MotionGrid(n=self.model.n, actuated=tuple(self._actuated), intervals=intervals, degree=degree)
        start, goal = ends.start[self._actuated], ends.goal[self._actuated]
        others = [
            Bystander(smoothed(model, speeds), grid, start=start, goal=goal, unit=unit, share=share)
            for model, unit, share in self.others
        ]
        search = partial(
            MotionSearch, goal=ends.goal, limit=self.limit, bounds=self.bounds, others=others, swing=self.swing
        )
        return smoothed(self.model, speeds), grid, search

    def _searched(self, T: float, watch: Watch, shortest: float | None) -> RestToRest:
        """Return the motion from a guess of T seconds; if no least time is found, try longer guesses.

        `shortest` is the shortest time of the stiff arm, if known, for the message of an error.
        """
        arm, grid, search = self._prepared(T)
        durations = [T * longer for longer in (LONGER if self.timed else (1.0,))]
        try:
            for tries, T in enumerate(durations, 1):
                driven, guess = first_guess(arm, grid, start=self.ends.start, goal=self.ends.goal, duration=T)
                try:
                    found = _staged(search, driven, guess, timed=self.timed, watch=watch)
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
        cost = found.motion.T if self.timed else found.search.effort(found.motion)
        return self._result(driven, found, cost)

    def _result(self, driven: Driven, found: _Solution, cost: float) -> RestToRest:
        return result_of(
            self.model, driven, found.motion, cost=cost, violation=found.search.violation(found.motion),
            iterations=found.iterations, converged=found.least,
        )  # fmt: skip


@dataclass(frozen=True)
class _Solution:
    """Motion that a search found, after how many iterations, and whether its cost is least nearby."""

    search: MotionSearch
    motion: DrivenMotion
    iterations: int
    least: bool


def _staged(search: Searching, driven: Driven, guess: DrivenMotion, *, timed: bool, watch: Watch) -> _Solution:
    """Search for least effort; for least time then from there, first with smooth torques, then with sharp ones.

    A motion that was found before the time limit is kept.
    """
    first = search(driven, guess, aim=SMOOTH_EFFORT if timed else LEAST_EFFORT)
    effort, count, least = first.solve(watch)
    if not timed or watch.late:
        return _Solution(first, effort, count, least and not timed)
    try:
        smooth, more, _ = search(driven, effort, aim=SMOOTH_TIME).solve(watch)
    except Unsolved:
        if not watch.late:
            raise
        return _Solution(first, effort, count, least=False)
    count += more
    sharp = search(driven, smooth, aim=SHARP_TIME)
    try:
        fastest, more, least = sharp.solve(watch)
    except Unsolved:
        return _narrowed(search, driven, smooth, count, watch=watch)
    if least:
        return _Solution(sharp, fastest, count + more, least)
    return _narrowed(search, driven, fastest, count + more, watch=watch)


def _narrowed(search: Searching, driven: Driven, found: DrivenMotion, count: int, *, watch: Watch) -> _Solution:
    """Search for the shortest duration, to a hundredth, for which a search of least effort converges: it does so where
    that for least time does not. `count` iterations were made before."""
    last, share = search(driven, found, aim=NEARBY), SHORTER
    while share < 1 / CLOSE and not watch.late:
        command = found.nodes[:, 2, list(driven.grid.actuated)]
        try:
            trial = search(driven, driven.response(command, share * found.T, found), aim=NEARBY)
            found, more, _ = trial.solve(watch)
            last, count = trial, count + more
        except (Unsolved, ArithmeticError):
            share = float(np.sqrt(share))
    return _Solution(last, found, count, least=False)  # a search without a result is no proof that there is no motion


@dataclass(frozen=True)
class RestEnds:
    """States of rest at start and goal (n,), and the torques that hold them (m,)."""

    start: Array
    goal: Array
    hold_start: Array
    hold_goal: Array

    @classmethod
    def at(cls, model: Model, start: AnglesLike, goal: AnglesLike, limit: Array | None) -> RestEnds:
        """Return states of rest at joint positions (m,).

        Raises
        ------
        ModelError
            Torques within `limit` (m,) do not hold the arm there.
        """
        model.layout.require_plain("optimal motion")
        model.layout.require_open("optimal motion")
        a, b = (model.equilibrium(numbers(k, v, model.n_joints)) for k, v in (("start", start), ("goal", goal)))
        ends = cls(start=a, goal=b, hold_start=model.holding_torque(a), hold_goal=model.holding_torque(b))
        for name, hold in (("start", ends.hold_start), ("goal", ends.hold_goal)):
            if limit is not None and (np.abs(hold) >= limit).any():
                raise ModelError(
                    f"{name}: holding the arm there takes torques {np.round(hold, 4)}, torque_limit is {limit}; raise "
                    "the limit or choose a pose that it can hold"
                )
        return ends

    def duration(self, model: Model, limit: Array | None) -> float:
        """Return the duration, s, of cycloids of each joint alone within torque limits (m,), with a margin."""
        assert limit is not None
        rows = [shaft.actuated for shaft in model.layout.shafts]
        inertia = np.maximum.reduce([np.diag(model.mass_matrix(q))[rows] for q in (self.start, self.goal)])
        spare = np.maximum(limit - np.maximum(np.abs(self.hold_start), np.abs(self.hold_goal)), 0.1 * limit)
        travel = np.abs(self.goal - self.start)[rows]
        return float(max(np.sqrt(2 * np.pi * travel * inertia / spare).max(), 1e-3))


def result_of(
    model: Model,
    driven: Driven,
    found: DrivenMotion,
    *,
    cost: float,
    violation: float,
    iterations: int,
    converged: bool,
) -> RestToRest:
    """Return the result of a search that found this motion of the driven arm."""
    grid, T = driven.grid, found.T
    N, step, by_time = grid.intervals, found.T / grid.intervals, np.array([1, T, T**2])[:, None]
    nodes, inner = found.nodes / by_time, found.inner.reshape(-1, 3, grid.n) / by_time  # q, qd, qdd
    q, qd, qdd = (nodes[:, k][:, list(grid.actuated)] for k in range(3))
    cubics = [
        Piece(k * step, np.stack([q[k], qd[k], qdd[k] / 2, (qdd[k + 1] - qdd[k]) / (6 * step)])) for k in range(N)
    ]
    shafts = [shaft.index for shaft in model.layout.shafts]
    quintics = [_hermite(k * step, step, nodes[k : k + 2][..., shafts]) for k in range(N)]
    joints = Piecewise(quintics, T, model.joints)
    stiff = shafts == list(grid.actuated)
    trajectory = Piecewise(cubics, T, actuated_names(model), None if stiff else joints)
    t = np.concatenate([np.arange(N + 1) * step, T * grid.shares.ravel()])
    order = np.argsort(t)
    states = np.concatenate([nodes, inner])[order]
    tau = np.concatenate([found.tau_nodes, found.tau.reshape(-1, len(shafts))])[order]
    return RestToRest(
        trajectory=trajectory,
        joints=trajectory if stiff else joints,
        duration=T,
        t=t[order],
        q=states[:, 0],
        qd=states[:, 1],
        tau=tau,
        q0=driven.start,
        cost=cost,
        violation=violation,
        iterations=iterations,
        converged=converged,
    )


def _hermite(start: float, h: float, ends: Array) -> Piece:
    """Return the polynomial of fifth degree through positions, rates and accelerations `ends` (2, 3, n) at both ends of
    h seconds."""
    (q0, v0, a0), (q1, v1, a1) = ends
    p = q1 - q0 - h * v0 - h**2 / 2 * a0
    v, a = h * (v1 - v0 - h * a0), h**2 * (a1 - a0)
    high = ((10 * p - 4 * v + a / 2) / h**3, (-15 * p + 7 * v - a) / h**4, (6 * p - 3 * v + a / 2) / h**5)
    return Piece(start, np.stack([q0, v0, a0 / 2, *high]))
