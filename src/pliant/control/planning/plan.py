"""`shape`: a motion that does not ring, beside the one that does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.interrupts import interruptible
from pliant.base.progress import reporter
from pliant.base.signatures import checked
from pliant.control.planning.joint_paths import DENSE, JointPath, Progress, shares
from pliant.control.planning.motion_bounds import MotionBounds
from pliant.control.planning.motion_programs import NEAR
from pliant.control.planning.motion_search import Unsolved
from pliant.control.planning.optimal import MotionTask, RestEnds
from pliant.control.planning.path_shaping import PathTask, within
from pliant.control.planning.path_timing import timed
from pliant.control.planning.plain_motion import plain_motion
from pliant.control.planning.residual_vibration import Residual, commanded, residual_vibration
from pliant.control.planning.stated_limits import require_limits, stated_limits
from pliant.control.planning.time_limited import Watch, in_process, needs_process, prepared_for
from pliant.control.planning.trajectory_files import JointMotion, read_trajectory
from pliant.control.planning.uncertainty import off_by
from pliant.control.trajectories.splines import Piecewise
from pliant.control.trajectories.trajectories import numbers, positive
from pliant.errors import ModelError, PliantError
from pliant.model.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.drawing.style import Paths

DESCRIBED = "as described"
"""The arm as the file has it, among those that are off."""
SEARCH = "shaped motion"
"""Whose functions are compiled."""
SEARCHED = 0.6
"""Share of a time limit that a search has; the rest is for shapers and for runs of what was found."""
SPARED = 0.99
"""Share of the torque limits that a search may use: it sees torques at points of a grid."""
LEFT = ((2e-4, 0.07), (1e-4, 0.02))
"""What each mode may swing by at the end, as a share of the plain motion's swing: of the arm, and of those that are
off; the second where several modes together swing by more than `ALLOWED`."""
ALLOWED = (0.04, 0.18)
SEEN = 1e-7
"""Swings below this are none, m."""
GUESS = 1.1
"""Duration at which the search begins, as a multiple of the plain motion's."""
FEWEST = 8
"""Pieces of a motion that can be steered at all."""
ROWS = 201
"""Of the motion that is written, at least."""


@dataclass(frozen=True)
class Compared:
    """One arm under both commands.

    Attributes
    ----------
    plain, shaped : Residual
        Its runs.
    """

    plain: Residual
    shaped: Residual

    @property
    def ratio(self) -> float:
        """What the shaped motion rings by, over what the plain one does."""
        return self.shaped.peak / self.plain.peak if self.plain.peak else 0.0


@dataclass(frozen=True, repr=False)
class ShapedMotion:
    """A motion that does not ring, and what is known of it.

    Attributes
    ----------
    trajectory : Piecewise
        Of the motors of elastic drives and of joints elsewhere: a reference of controllers, or
        `simulate(..., motion=shaped.trajectory.motion(model))`.
    plain : Piecewise
        The motion that it stands in for.
    motion : JointMotion
        Positions, rates, accelerations and feedforward torques at even times, by the names of the joints.
    method : str
        "optimal control", "timing" of a path that is kept, or "shapers".
    compared : dict of Compared
        What both motions ring by: "as described", and for arms that are off by what was stated.
    shares : dict of float
        Largest share of each limit that the motion takes.
    """

    trajectory: Piecewise
    plain: Piecewise
    motion: JointMotion
    method: str
    compared: dict[str, Compared]
    shares: dict[str, float]

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.trajectory.end

    @property
    def frequency(self) -> float:
        """The lowest one of the arm at the end, Hz."""
        return self.compared[DESCRIBED].shaped.frequency

    def __repr__(self) -> str:
        here = self.compared[DESCRIBED]
        return (
            f"ShapedMotion({self.duration:.4g} s by {self.method}, rings by {1e3 * here.shaped.peak:.3g} mm; plain "
            f"{self.plain.end:.4g} s, {1e3 * here.plain.peak:.3g} mm)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Times, swings and shares of limits as plain data.

        Returns
        -------
        dict
            Seconds, meters, shares.

        Examples
        --------
        >>> still = pliant.shape(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> sorted(still.to_dict())
        ['duration', 'frequency', 'method', 'plain_duration', 'residual', 'shares']
        """
        return {
            "method": self.method,
            "duration": self.duration,
            "plain_duration": self.plain.end,
            "frequency": self.frequency,
            "residual": {
                name: {"plain": both.plain.peak, "shaped": both.shaped.peak, "ratio": both.ratio}
                for name, both in self.compared.items()
            },
            "shares": self.shares,
        }

    def plot(self, path: Paths = None) -> Figure:
        """Distance of the tip from its place at rest under both commands, and the commands.

        Parameters
        ----------
        path : str, path or list of them, optional
            Where to write it.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> still = pliant.shape(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> len(still.plot().axes)
        2
        """
        from pliant.control.planning.plan_figure import shaped_figure

        return shaped_figure(self, path)


@checked
def shape(
    model: Model,
    start: AnglesLike | None = None,
    goal: AnglesLike | None = None,
    trajectory: JointMotion | str | os.PathLike[str] | None = None,
    *,
    payload: float | None = None,
    payload_error: float = 0.0,
    stiffness_error: float = 0.0,
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    intervals: int = 30,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> ShapedMotion:
    """A motion of the joints that does not ring, within limits of speed, acceleration, jerk and torque.

    From `start` to `goal` the path is free: the fastest motion that ends at rest is found by optimal control. The path
    of a `trajectory` is kept, and so is the straight path of arms with loops or a free base: the fastest timing that
    ends at rest is found. Where a search finds nothing, shapers take its place whose frequencies follow the pose.

    Parameters
    ----------
    model : Model
        The arm.
    start, goal : (m,), optional
        Joint positions, rad or m.
    trajectory : JointMotion or path, optional
        Instead of start and goal: joints over time, or a file that `read_trajectory` reads.
    payload : float, optional
        Mass in the hand instead of the described one, kg.
    payload_error, stiffness_error : float
        By what share payload and stiffness may be off, either way: the motion is to ring little there too.
    speed, acceleration, jerk, effort : number or (m,), optional
        Limits instead of those of the robot file; joints that move need all but the last.
    intervals : int
        Pieces of the motion that a search finds; of a path that is kept, at least so many.
    time_limit : float, optional
        Seconds that the call may last, compiling included: the search has six tenths of it, then shapers take its
        place. An error says where nothing at all was found in time.
    progress : bool or callable, optional
        A bar in a terminal by default; False is silence; a function gets the fraction done.

    Returns
    -------
    ShapedMotion

    Raises
    ------
    ModelError
        Limits are missing, or start or goal lie outside them.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> still = pliant.shape(model, [-0.4, 0.3], [0.1, -0.2], intervals=12)
    >>> still.compared["as described"].ratio < 0.05, still.method
    (True, 'optimal control')
    """
    watch = Watch(None if time_limit is None else positive("time_limit", time_limit))
    arm = model if payload is None else _loaded(model, payload)
    limits, torques = stated_limits(arm, {"speed": speed, "acceleration": acceleration, "jerk": jerk, "effort": effort})
    if intervals < FEWEST:
        raise ModelError(f"intervals: got {intervals}, expected at least {FEWEST}")
    with interruptible("shape"), reporter(progress, 1.0, "shaping a motion", "") as report:
        watch = replace(watch, report=report)
        if needs_process(model, SEARCH, watch):
            more: dict[str, Any] = {"payload": payload, "payload_error": payload_error}
            more["stiffness_error"] = stiffness_error
            more |= {"speed": speed, "acceleration": acceleration, "jerk": jerk, "effort": effort}
            search = partial(shape, intervals=intervals, **more)
            return cast("ShapedMotion", in_process(search, (model, start, goal, trajectory), watch, "shape"))
        off = off_by(arm, payload_error, stiffness_error)
        shaping = _Shaping(arm, limits, torques, off, intervals, watch.part(SEARCHED))
        if trajectory is not None:
            if start is not None or goal is not None:
                raise ModelError("trajectory: it has its own start and goal; give either these or a trajectory")
            given = trajectory if isinstance(trajectory, JointMotion) else read_trajectory(trajectory)
            return _prepared(model, shaping.along(given.in_order(arm.joints)))
        if start is None or goal is None:
            raise ModelError("start, goal: expected both, or a trajectory")
        begin, end = (numbers(name, x, arm.n_joints) for name, x in (("start", start), ("goal", goal)))
        return _prepared(model, shaping.between(begin, end))


def _prepared(model: Model, found: ShapedMotion) -> ShapedMotion:
    """What was found, all functions being compiled."""
    prepared_for(model, SEARCH)
    return found


def _loaded(model: Model, payload: float) -> Model:
    """The arm with this mass in its hand."""
    if not isinstance(payload, int | float) or not 0 <= payload < np.inf:
        raise ModelError(f"payload: got {payload!r}, expected a mass in kg")
    if isinstance(model.robot.payload, tuple):
        raise ModelError("payload: the arm has several; change them in the robot")
    return model.replace({"payload.mass": float(payload)})


@dataclass(frozen=True)
class _Shaping:
    model: Model
    bounds: MotionBounds
    effort: Array
    off: Mapping[str, Model]
    intervals: int
    watch: Watch

    def between(self, start: Array, goal: Array) -> ShapedMotion:
        """From rest to rest on any path."""
        model, effort = self.model, self.effort
        self._check_ends(start, goal)
        if not model.layout.is_open or not model.layout.plain:
            return self._straight(start, goal)
        ends = RestEnds.at(model, start, goal, SPARED * effort)
        act = [shaft.actuated for shaft in model.layout.shafts]
        plain = plain_motion(model, ends.start[act], ends.goal[act], self.bounds, effort)
        known = self._known(plain)
        bounds = self.bounds.times(1 - NEAR)
        task = partial(MotionTask, model, ends, SPARED * effort, True, bounds, (self.intervals, 4))
        try:
            for own, off in LEFT:
                units = {name: max(run.peak, SEEN) for name, run in known.items()}
                others = tuple((arm, units[name], off) for name, arm in self.off.items())
                found = task(others, (units[DESCRIBED], own)).fastest(GUESS * plain.end, self.watch)
                runs = self._known(found.trajectory)
                if self._content(known, runs):
                    break
        except Unsolved:
            return self._kept(*self._path_of(plain), plain, known, search=self.watch.time_limit is None)
        return self._told(found.trajectory, plain, "optimal control", known, runs)

    def _content(self, known: dict[str, Residual], runs: dict[str, Residual]) -> bool:
        """Whether all arms ring by as little as they may."""
        return all(runs[name].peak <= ALLOWED[name != DESCRIBED] * max(known[name].peak, SEEN) for name in known)

    def _check_ends(self, start: Array, goal: Array) -> None:
        require_limits(self.model, self.bounds, start != goal)
        if (start == goal).all():
            raise ModelError("goal: it is the start; expected another position of some joint")
        for name, at in (("start", start), ("goal", goal)):
            self._check_pose(name, at)

    def _check_pose(self, name: str, at: Array) -> None:
        """Refuse joint positions outside their limits, and those that torques within theirs do not hold."""
        model = self.model
        for joint, low, x, high in zip(model.joints, self.bounds.lower, at, self.bounds.upper):
            if not low <= x <= high:
                raise ModelError(f"{name}: joint {joint} is at {x:g}, its limits are {low:g} and {high:g}")
        if not model.layout.is_open or not model.layout.plain:
            return
        hold = model.holding_torque(model.equilibrium(at))
        for joint, takes, limit in zip(model.joints, np.abs(hold), self.effort):
            if not takes < SPARED * limit:
                raise ModelError(
                    f"{name}: holding joint {joint} there takes {takes:.4g}, limits.effort allows {limit:g}; "
                    "carry less, raise the limit or choose another pose"
                )

    def _straight(self, start: Array, goal: Array) -> ShapedMotion:
        """On the straight path of the motors."""
        plain = plain_motion(self.model, start, goal, self.bounds, self.effort)
        return self._kept(*self._path_of(plain), plain, self._known(plain))

    def _path_of(self, plain: Piecewise) -> tuple[JointPath, Progress]:
        t = np.linspace(0.0, plain.end, DENSE)
        return JointPath.of(t, plain(t)[0], commanded(self.model))

    def along(self, given: JointMotion) -> ShapedMotion:
        """With the path of a motion of the joints."""
        t = np.linspace(0.0, float(given.t[-1]), DENSE)
        q = given.at(t)
        require_limits(self.model, self.bounds, np.ptp(q, axis=0) > 0)
        path, progress = JointPath.of(t, q, commanded(self.model))
        for at in (0, *q.argmin(axis=0), *q.argmax(axis=0), -1):
            self._check_pose(f"trajectory: at {t[at]:.4g} s", q[at])
        path = JointPath(path.u, path.q + self._wind_up(path), path.names)
        plain = within(progress.stretched, path, self.bounds).on(path)
        return self._kept(path, Progress(t * plain.end / progress.duration, progress.u), plain, self._known(plain))

    def _wind_up(self, path: JointPath) -> Array:
        """By what motors lead their joints at rest along a path."""
        model = self.model
        if not model.layout.driven or not model.layout.is_open:
            return np.zeros(1)
        places, act = model.layout.shaft_places(), [shaft.actuated for shaft in model.layout.shafts]
        u = np.linspace(0.0, 1.0, 9)
        rest = [model.equilibrium(q) for q in path.at(u)]
        lead = np.array([q[act] - q[places] for q in rest])
        return np.stack([np.interp(path.u, u, column) for column in lead.T], axis=1)

    def _kept(
        self, path: JointPath, progress: Progress, plain: Piecewise, known: dict[str, Residual], search: bool = True
    ) -> ShapedMotion:
        names = (DESCRIBED, *self.off)
        arms, before = (self.model, *self.off.values()), [known[name] for name in names]
        task = PathTask(arms, path, self.bounds, self.effort, before)
        method, found, runs = self._timed_or_shaped(task, progress, search)
        takes = task.takes(runs[0])
        if takes > 1 + 1e-6:
            raise PliantError(
                f"limits.effort: the path takes {takes:.3g} times what it allows, however slowly; carry less, raise "
                "the limit or choose another path"
            )
        return self._told(found, plain, method, known, dict(zip(names, runs)))

    def _timed_or_shaped(
        self, task: PathTask, progress: Progress, search: bool
    ) -> tuple[str, Piecewise, list[Residual]]:
        """By which method, the motion, and what each arm rings by."""
        if search:
            try:
                return "timing", *timed(task, self.intervals, self.watch)
            except Unsolved:
                pass
        return "shapers", *task.shaped(progress)

    def _known(self, motion: Piecewise) -> dict[str, Residual]:
        """What all arms ring by under a command."""
        arms = {DESCRIBED: self.model, **self.off}
        return {name: residual_vibration(arm, motion, motion.end) for name, arm in arms.items()}

    def _told(
        self, found: Piecewise, plain: Piecewise, method: str, known: dict[str, Residual], runs: dict[str, Residual]
    ) -> ShapedMotion:
        run = runs[DESCRIBED].run
        t = np.linspace(0.0, found.end, ROWS)
        tau = np.stack([np.interp(t, run.t, column) for column in run.tau.T], axis=1)[:, : found.n]
        taken = shares(found, self.bounds)
        taken["effort"] = float(np.abs(run.tau[run.t <= found.end, : found.n] / self.effort).max())
        motion = JointMotion(tuple(self.model.joints), t, *found(t), tau)
        pairs = {name: Compared(known[name], runs[name]) for name in (DESCRIBED, *self.off)}
        return ShapedMotion(found, plain, motion, method, pairs, taken)
