"""`plan`: a motion without residual vibration, compared with the plain motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.interrupts import interruptible
from pliant.base.signatures import checked
from pliant.base.stages import reporter
from pliant.control.planning.paths.joint_paths import DENSE, JointPath, Progress, shares
from pliant.control.planning.paths.path_shaping import PathTask, within
from pliant.control.planning.paths.path_timing import timed
from pliant.control.planning.plain_motion import plain_motion
from pliant.control.planning.residual_vibration import Residual, commanded, residual_vibration
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_programs import NEAR
from pliant.control.planning.search.motion_search import Unsolved
from pliant.control.planning.search.optimal import MotionTask, RestEnds
from pliant.control.planning.search.time_limited import Watch, in_process, needs_process, prepared_for
from pliant.control.planning.stated_limits import require_limits, stated_limits
from pliant.control.planning.trajectory_files import JointMotion, read_trajectory
from pliant.control.planning.uncertainty import off_by
from pliant.control.trajectories.splines import Piecewise
from pliant.control.trajectories.trajectories import numbers, positive
from pliant.errors import ModelError, PliantError
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.drawing.style import Paths
    from pliant.simulation.runs.results import Result

DESCRIBED = "as described"
"""Name of the arm as its file has it, among arms with errors of payload and stiffness."""
SEARCH = "shaped motion"
"""Name of the search, under which `time_limited.py` notes that its functions are compiled."""
SEARCHED = 0.6
"""Share of a time limit for the search; the rest is for shapers and for simulations of the result."""
SPARED = 0.99
"""Share of the torque limits that a search may use: it sees torques at points of a grid only."""
ALLOWED = (0.04, 0.18)
"""Largest residual vibration as a share of that of the plain motion: of the arm, and of arms with errors."""
LEFT = ((2e-4, 0.07), (1e-4, 0.02))
"""Bounds for each single mode, likewise, for a first and a second search. The second is made where several modes
together vibrate by more than `ALLOWED`."""
SEEN = 1e-7
"""Amplitude of the tip below which an arm counts as still, m."""
GUESS = 1.1
"""Duration at which the search begins, as a multiple of the plain motion's."""
FEWEST = 8
"""Least number of intervals with which a motion can be steered."""
ROWS = 201
"""Rows of `Plan.motion`."""
SHORTEST = 1e-5
"""Least sample time of a motion that is written, s."""


@dataclass(frozen=True)
class Compared:
    """Residual vibration of one arm.

    Attributes
    ----------
    plain, shaped : Residual
        After the plain and after the shaped motion.
    """

    plain: Residual
    shaped: Residual

    @property
    def ratio(self) -> float:
        """Peak after the shaped motion over that after the plain one; 0 if there is none."""
        return self.shaped.peak / self.plain.peak if self.plain.peak else 0.0


@dataclass(frozen=True, repr=False)
class Plan:
    """A motion without residual vibration, and a comparison with the plain motion.

    Attributes
    ----------
    trajectory : Piecewise
        Motion of the motors of elastic drives, and of joints elsewhere: the reference of a controller, or
        `simulate(..., motion=shaped.trajectory.motion(model))`.
    plain : Piecewise
        Motion that it replaces.
    motion : JointMotion
        Positions, rates, accelerations and feedforward torques at even times, by the names of the joints.
    method : str
        "optimal control", "timing" of a path that is kept, or "shapers".
    compared : dict of Compared
        Residual vibration after both motions: of the arm "as described", and of arms with the stated errors.
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
        """Duration, s."""
        return self.trajectory.end

    @property
    def frequency(self) -> float:
        """Lowest natural frequency of the arm at the end, Hz."""
        return self.compared[DESCRIBED].shaped.frequency

    def __repr__(self) -> str:
        here = self.compared[DESCRIBED]
        return (
            f"Plan({self.duration:.4g} s by {self.method}, rings by {1e3 * here.shaped.peak:.3g} mm; plain "
            f"{self.plain.end:.4g} s, {1e3 * here.plain.peak:.3g} mm)"
        )

    def to_dict(self) -> dict[str, object]:
        """Return times, residual vibration and shares of limits as plain data.

        Returns
        -------
        dict
            Seconds, meters, shares.

        Examples
        --------
        >>> still = pliant.plan(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
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
        """Plot the distance of the tip from its place at rest after both motions, and the motions.

        Parameters
        ----------
        path : str, path or list of them, optional
            Where to write it.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> still = pliant.plan(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> len(still.plot().axes)
        2
        """
        from pliant.control.planning.plan_figure import shaped_figure

        return shaped_figure(self, path)

    def sampled(self, sample_time: float) -> JointMotion:
        """Return the motion at every tick of a clock, up to the first tick at which it is over.

        Parameters
        ----------
        sample_time : float
            Seconds between two rows.

        Returns
        -------
        JointMotion
            Positions, rates, accelerations and feedforward torques.

        Examples
        --------
        >>> still = pliant.plan(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> rows = still.sampled(0.004)
        >>> float(rows.t[1]), bool(rows.t[-1] >= still.duration), float(rows.q[-1, 0])
        (0.004, True, 0.5)
        """
        require_ticks(sample_time)
        ticks = int(np.ceil(self.duration / sample_time * (1 - 1e-12)))
        return _rows(
            self.motion.joints,
            self.trajectory,
            self.compared[DESCRIBED].shaped.run,
            np.arange(ticks + 1, dtype=float) * sample_time,
        )

    def to_csv(self, path: str | os.PathLike[str], sample_time: float | None = None) -> Path:
        """Write a table of the motion: times, and for each joint position, rate, acceleration and feedforward torque.

        Parameters
        ----------
        path : path
        sample_time : float, optional
            Seconds between two rows; without it the rows of `motion`.

        Returns
        -------
        Path

        Examples
        --------
        >>> still = pliant.plan(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> print(still.to_csv("motion.csv", sample_time=0.004).read_text().splitlines()[0])
        time,arm,arm.rate,arm.acceleration,arm.torque
        """
        return (self.motion if sample_time is None else self.sampled(sample_time)).to_csv(path)

    def to_ros(self, path: str | os.PathLike[str], sample_time: float | None = None) -> Path:
        """Write the text form of a ROS 2 `trajectory_msgs/JointTrajectory`.

        Parameters
        ----------
        path : path
        sample_time : float, optional
            Seconds between two points; without it those of `motion`.

        Returns
        -------
        Path

        Examples
        --------
        >>> still = pliant.plan(pliant.load("spin-up").model(), [0.0], [0.5], intervals=10)
        >>> pliant.planning.read_trajectory(still.to_ros("motion.yaml", sample_time=0.004)).joints
        ('arm',)
        """
        return (self.motion if sample_time is None else self.sampled(sample_time)).to_ros(path)


def require_ticks(sample_time: float) -> None:
    """Raise `ModelError` for a sample time of no controller."""
    if positive("sample_time", sample_time) < SHORTEST:
        raise ModelError(f"sample_time: got {sample_time:g} s, expected {SHORTEST:g} s or more")


def _rows(joints: tuple[str, ...], trajectory: Piecewise, run: Result, t: Array) -> JointMotion:
    """Motion at times (K,), with the torques of its run."""
    q, qd, qdd = trajectory(t)
    tau = np.stack([np.interp(t, run.t, column) for column in run.tau.T], axis=1)[:, : trajectory.n]
    return JointMotion(joints=joints, t=t, q=q, qd=qd, qdd=qdd, tau=tau)


@checked
def plan(
    model: Model | Robot,
    start: AnglesLike | None = None,
    goal: AnglesLike | None = None,
    trajectory: JointMotion | str | os.PathLike[str] | None = None,
    *,
    payload: float | None = None,
    payload_error: float = 0.0,
    stiffness_error: float = 0.0,
    speed_limit: ArrayLike | None = None,
    acceleration_limit: ArrayLike | None = None,
    jerk_limit: ArrayLike | None = None,
    torque_limit: ArrayLike | None = None,
    intervals: int = 30,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> Plan:
    """Return a motion of the joints without residual vibration, within limits of speed, acceleration, jerk and torque.

    From `start` to `goal` the path is free: optimal control finds the fastest motion that ends at rest. The path of a
    `trajectory` is kept, and so is the straight path of arms with loops or a free base: linear programs find the
    fastest timing that ends at rest. If a search finds nothing, input shapers are used, with frequencies that follow
    the pose.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    start, goal : (m,), optional
        Joint positions, rad or m.
    trajectory : JointMotion or path, optional
        Motion of the joints instead of start and goal, or a file that `read_trajectory` reads.
    payload : float, optional
        Mass of the payload instead of the described one, kg.
    payload_error, stiffness_error : float
        Largest relative errors of payload and stiffness, in both directions. The residual vibration is small for these
        too.
    speed_limit, acceleration_limit, jerk_limit, torque_limit : number or (m,), optional
        Limits instead of those of the robot file; joints that move need all but the last.
    intervals : int
        Intervals of the motion that a search finds. A path that is kept may get more.
    time_limit : float, optional
        Seconds that the call may last, compiling included. The search has six tenths of them, then shapers replace it.
        If nothing at all is found in time, an error says so.
    progress : bool or callable, optional
        By default a bar in a terminal. False shows nothing. A function gets the fraction done.

    Returns
    -------
    Plan

    Raises
    ------
    ModelError
        Limits are missing, or start or goal violate them.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> still = pliant.plan(model, [-0.4, 0.3], [0.1, -0.2], intervals=16)
    >>> still.compared["as described"].ratio < 0.05, still.method
    (True, 'optimal control')
    """
    model = model_of(model)
    watch = Watch(None if time_limit is None else positive("time_limit", time_limit))
    arm = model if payload is None else _loaded(model, payload)
    limits = {
        "speed_limit": speed_limit, "acceleration_limit": acceleration_limit, "jerk_limit": jerk_limit,
        "torque_limit": torque_limit,
    }  # fmt: skip
    bounds, torque_limits = stated_limits(arm, limits)
    if intervals < FEWEST:
        raise ModelError(f"intervals: got {intervals}, expected at least {FEWEST}")
    with interruptible("plan"), reporter(progress, 1.0, "planning a motion", "") as report:
        watch = replace(watch, report=report)
        if needs_process(model, SEARCH, watch):
            search = partial(
                plan, intervals=intervals, payload=payload, payload_error=payload_error,
                stiffness_error=stiffness_error, speed_limit=speed_limit, acceleration_limit=acceleration_limit,
                jerk_limit=jerk_limit, torque_limit=torque_limit,
            )  # fmt: skip
            return in_process(search, (model, start, goal, trajectory), watch=watch, name="plan")
        shaping = _Shaping(
            model=arm,
            bounds=bounds,
            effort=torque_limits,
            off=off_by(arm, payload_error, stiffness_error),
            intervals=intervals,
            watch=watch.part(SEARCHED),
        )
        if trajectory is not None:
            if start is not None or goal is not None:
                raise ModelError("trajectory: it has its own start and goal; give either these or a trajectory")
            given = trajectory if isinstance(trajectory, JointMotion) else read_trajectory(trajectory)
            found = shaping.along(given.in_order(arm.joints))
        elif start is not None and goal is not None:
            begin, end = (numbers(name, x, arm.n_joints) for name, x in (("start", start), ("goal", goal)))
            found = shaping.between(begin, end)
        else:
            raise ModelError("start, goal: expected both, or a trajectory")
        prepared_for(model, SEARCH)
        return found


def _loaded(model: Model, payload: float) -> Model:
    """Return the arm with a payload of this mass, kg."""
    if not isinstance(payload, int | float) or not 0 <= payload < np.inf:
        raise ModelError(f"payload: got {payload!r}, expected a mass in kg")
    if isinstance(model.robot.payload, tuple):
        raise ModelError("payload: the arm has several; change them in the robot")
    return model.replace({"payload.mass": float(payload)})


@dataclass(frozen=True)
class _Shaping:
    """Search for a shaped motion.

    Attributes
    ----------
    model : Model or Robot
        The arm.
    bounds : MotionBounds
        Limits of positions, rates, accelerations and jerks.
    effort : (m,) array
        Torque limits, infinite where there is none.
    off : mapping of Model
        Arms with errors of payload and stiffness, by their names.
    intervals : int
        Intervals of the motion.
    watch : Watch
        Time limit and listener of the search.
    """

    model: Model
    bounds: MotionBounds
    effort: Array
    off: Mapping[str, Model]
    intervals: int
    watch: Watch

    @property
    def _arms(self) -> dict[str, Model]:
        """Arms by name: the arm as described, then arms with errors."""
        return {DESCRIBED: self.model, **self.off}

    def between(self, start: Array, goal: Array) -> Plan:
        """Return a motion between joint positions (m,) on any path."""
        model = self.model
        require_limits(model, self.bounds, start != goal)
        if (start == goal).all():
            raise ModelError("goal: it is the start; expected another position of some joint")
        for name, pose in (("start", start), ("goal", goal)):
            self._check_pose(name, pose)
        if not model.layout.is_open or not model.layout.plain:
            plain = plain_motion(model, start=start, goal=goal, bounds=self.bounds, effort=self.effort)
            return self._along(*self._path_of(plain), plain, self._residuals(plain))
        ends = RestEnds.at(model, start, goal, SPARED * self.effort)
        motors = [shaft.actuated for shaft in model.layout.shafts]
        plain = plain_motion(
            model, start=ends.start[motors], goal=ends.goal[motors], bounds=self.bounds, effort=self.effort
        )
        before = self._residuals(plain)
        try:
            found, after = self._fastest(ends, plain, before)
        except Unsolved:  # with a time limit no further search
            return self._along(*self._path_of(plain), plain, before, search=self.watch.time_limit is None)
        return self._compared(found, plain, "optimal control", before=before, after=after)

    def _fastest(
        self, ends: RestEnds, plain: Piecewise, before: dict[str, Residual]
    ) -> tuple[Piecewise, dict[str, Residual]]:
        """Return the fastest motion by optimal control, and its residual vibration of all arms.

        Raises
        ------
        Unsolved
            The search found no motion.
        """
        units = {name: max(run.peak, SEEN) for name, run in before.items()}
        for own_share, off_share in LEFT:
            task = MotionTask(
                model=self.model,
                ends=ends,
                limit=SPARED * self.effort,
                timed=True,
                bounds=self.bounds.times(1 - NEAR),
                size=(self.intervals, 4),
                others=tuple((arm, units[name], off_share) for name, arm in self.off.items()),
                swing=(units[DESCRIBED], own_share),
            )
            found = task.fastest(GUESS * plain.end, self.watch).trajectory
            after = self._residuals(found)
            if all(after[name].peak <= ALLOWED[name != DESCRIBED] * units[name] for name in units):
                break
        return found, after

    def along(self, given: JointMotion) -> Plan:
        """Return a motion on the path of a motion of the joints."""
        t = np.linspace(0.0, float(given.t[-1]), DENSE)
        q = given.at(t)
        require_limits(self.model, self.bounds, np.ptp(q, axis=0) > 0)
        path, progress = JointPath.of(t, q, commanded(self.model))
        for row in (0, *q.argmin(axis=0), *q.argmax(axis=0), -1):
            self._check_pose(f"trajectory: at {t[row]:.4g} s", q[row])
        path = JointPath(path.u, path.q + self._wind_up(path), path.names)
        plain = within(progress.stretched, path, self.bounds).on(path)
        at_speed = Progress(t * plain.end / progress.duration, progress.u)
        return self._along(path, at_speed, plain, self._residuals(plain))

    def _check_pose(self, name: str, pose: Array) -> None:
        """Refuse joint positions (m,) outside their limits, and those that torques within their limits do not hold."""
        model = self.model
        for joint, low, x, high in zip(model.joints, self.bounds.lower, pose, self.bounds.upper):
            if not low <= x <= high:
                raise ModelError(f"{name}: joint {joint} is at {x:g}, its limits are {low:g} and {high:g}")
        if not model.layout.is_open or not model.layout.plain:
            return
        hold = model.holding_torque(model.equilibrium(pose))
        for joint, takes, limit in zip(model.joints, np.abs(hold), self.effort):
            if not takes < SPARED * limit:
                raise ModelError(
                    f"{name}: holding joint {joint} there takes {takes:.4g}, limits.effort allows {limit:g}; "
                    "carry less, raise the limit or choose another pose"
                )

    def _path_of(self, plain: Piecewise) -> tuple[JointPath, Progress]:
        """Return the path of a motion of the motors, and its progress along it."""
        t = np.linspace(0.0, plain.end, DENSE)
        return JointPath.of(t, plain(t)[0], commanded(self.model))

    def _wind_up(self, path: JointPath) -> Array:
        """Return by how much motors lead their joints at rest along a path: (K, m), or (1,) with stiff drives."""
        model = self.model
        if not model.layout.driven or not model.layout.is_open:
            return np.zeros(1)
        joints, motors = model.layout.shaft_places(), [shaft.actuated for shaft in model.layout.shafts]
        u = np.linspace(0.0, 1.0, 9)
        rest = [model.equilibrium(q) for q in path.at(u)]
        lead = np.array([q[motors] - q[joints] for q in rest])
        return np.stack([np.interp(path.u, u, column) for column in lead.T], axis=1)

    def _along(
        self, path: JointPath, progress: Progress, plain: Piecewise, before: dict[str, Residual], search: bool = True
    ) -> Plan:
        """Return a motion on a path: with the fastest timing if a `search` finds one, else by shapers.

        Parameters
        ----------
        path : JointPath
            Path of the motors.
        progress : Progress
            Timing that shapers change.
        plain : Piecewise
            Motion to compare with.
        before : dict of Residual
            Its residual vibration, of all arms.
        search : bool
            Search for the fastest timing.
        """
        task = PathTask(
            arms=tuple(self._arms.values()), path=path, bounds=self.bounds, effort=self.effort,
            plain=[before[name] for name in self._arms],
        )  # fmt: skip
        method, found, runs = self._timed_or_shaped(task, progress, search)
        takes = task.takes(runs[0])
        if takes > 1 + 1e-6:
            raise PliantError(
                f"limits.effort: the path takes {takes:.3g} times what it allows, however slowly; carry less, raise "
                "the limit or choose another path"
            )
        return self._compared(found, plain, method, before=before, after=dict(zip(self._arms, runs)))

    def _timed_or_shaped(
        self, task: PathTask, progress: Progress, search: bool
    ) -> tuple[str, Piecewise, list[Residual]]:
        """Return the method, the motion, and its residual vibration of all arms."""
        if search:
            try:
                return "timing", *timed(task, self.intervals, self.watch)
            except Unsolved:
                pass
        return "shapers", *task.shaped(progress)

    def _residuals(self, motion: Piecewise) -> dict[str, Residual]:
        """Return the residual vibration of all arms after a motion."""
        return {name: residual_vibration(arm, motion, motion.end) for name, arm in self._arms.items()}

    def _compared(
        self, found: Piecewise, plain: Piecewise, method: str, *, before: dict[str, Residual],
        after: dict[str, Residual],
    ) -> Plan:  # fmt: skip
        """Return the result from the motion that was found and the plain one, and the residual vibration of all arms
        `before` (plain) and `after` (found)."""
        run = after[DESCRIBED].run
        taken = shares(found, self.bounds)
        taken["effort"] = float(np.abs(run.tau[run.t <= found.end, : found.n] / self.effort).max())
        return Plan(
            trajectory=found,
            plain=plain,
            motion=_rows(tuple(self.model.joints), found, run, np.linspace(0.0, found.end, ROWS)),
            method=method,
            compared={name: Compared(plain=before[name], shaped=after[name]) for name in self._arms},
            shares=taken,
        )
