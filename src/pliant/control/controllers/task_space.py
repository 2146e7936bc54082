"""Task space: inverse kinematics of the tip of a flexible arm, or of another frame, and straight paths of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression, StateLike
from pliant.base.signatures import checked
from pliant.control.trajectories.splines import Piecewise, spline_pieces
from pliant.control.trajectories.trajectories import Cycloidal, Quintic, Trajectory, positive
from pliant.errors import ModelError
from pliant.model.equilibrium.statics import resting, settled
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.states import displaced, read_state
from pliant.model.validity import steep, tell
from pliant.options import LineLaw

Guess = ArrayLike | Mapping[str, object] | None
MOST_SAMPLES = 500
TYPED_ROTATION = 1e-6  # of R R^T - 1: seven typed digits of a rotation leave 2e-7
LAWS = {"cycloidal": Cycloidal, "quintic": Quintic}


@checked
def inverse_kinematics(
    model: Model | Robot,
    target: ArrayLike,
    guess: ArrayLike | Mapping[str, object] | None = None,
    deflected: bool = True,
    tolerance: float = 1e-10,
    tries: int = 20,
    frame: str = "tip",
) -> Array:
    """Return joint positions (m,) that put the tip, or another frame, at `target`.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    target : (3,) or (4, 4)
        Position of the frame in the base, or its pose.
    guess : (m,) array, (n_q,) array or mapping, optional
        Start of the search, which finds a near solution. By default zero, then `tries` seeded random ones. A free base
        and free joints stay where the guess has them.
    deflected : bool
        True: the arm sags under gravity at the solution (static rest). False: it is undeformed.
    tolerance : float
        Largest error, m and rad.
    tries : int
        Number of starts.
    frame : str
        One of `model.frames`.

    Returns
    -------
    (m,) array
        For an arm with spherical joints all coordinates (n_q,), undeformed: a quaternion is no list of positions.

    Raises
    ------
    ModelError
        No solution was found: the target is out of reach.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> joints = pliant.control.inverse_kinematics(model, [1.0, 1.0, 0.0], guess=[0.1, 1.4], deflected=False)
    >>> print(np.degrees(joints).round(6) + 0.0)
    [ 0. 90.]
    """
    model = model_of(model)
    goal, task = _target(target), _Task(model, frame, deflected, tolerance)
    return task.positions(task.reach(goal, guess, tries))


class _Task:
    """Search for a pose of a frame. States are coordinates of the undeformed arm; steps are along actuated speeds."""

    def __init__(self, model: Model, frame: str, deflected: bool, tolerance: float = 1e-10) -> None:
        model.layout.require_open("motions of a frame in space")
        self.model, self.frame, self.deflected, self.tolerance = model, frame, deflected, tolerance
        self.moving = [shaft.index for shaft in model.chain.shafts]

    def positions(self, q: Array) -> Array:
        """Positions of the joints; all coordinates if a joint has a quaternion."""
        chain = self.model.chain
        return q if any(shaft.place is None for shaft in chain.shafts) else q[chain.shaft_places()]

    def start(self, guess: Guess) -> Array:
        """Undeformed arm with its joints at the guess."""
        q, chain = self.model.layout.rest(), self.model.chain
        if guess is not None:
            values = cast(StateLike, guess) if isinstance(guess, Mapping) else np.atleast_1d(guess)
            given = read_state(self.model, values, "guess")
            joints = [k for link in chain.links for k in link.joint_places]
            joints += [shaft.place for shaft in chain.shafts if shaft.place is not None]
            q[joints] = given[joints]
        return q

    def step(self, q: Array, step: Array) -> Array:
        """State moved along the actuated speeds."""
        whole = np.zeros(self.model.n)
        whole[self.moving] = step
        return displaced(self.model, q, whole)

    def reach(self, goal: Array, guess: Guess, tries: int = 20) -> Array:
        """Return a state that reaches the goal within the joint limits; raise `ModelError` if none is found."""
        model, start = self.model, self.start(guess)
        rng = np.random.default_rng(0)
        best, found = np.inf, start
        for attempt in range(tries if guess is None else max(1, tries // 4)):
            first = start if attempt == 0 else self.step(start, rng.normal(size=len(self.moving)))
            q, miss = self.levenberg(goal, first)
            q = _unwound(model, q, start)
            if miss < self.tolerance and _within_limits(model, q):
                if self.deflected:
                    tell(model, steep(model, settled(model, q)))
                return q
            if miss < best:
                best, found = miss, q
        where = self.pose(found)[0][:3, 3]
        if best < self.tolerance:
            raise ModelError(
                f"target: {np.round(goal[:3, 3], 6)} is reached only beyond the joint limits, at "
                f"{np.round(self.positions(found), 4)}; choose another target or another guess"
            )
        raise ModelError(
            f"target: {np.round(goal[:3, 3], 6)} is out of reach, the nearest {self.frame} position found is "
            f"{np.round(where, 6)} ({best:.3g} away); choose a target that the arm can reach"
        )

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Pose of the frame and its Jacobian (6, m) [angular; linear], which includes the change of the sag."""
        model = self.model
        q = settled(model, q) if self.deflected else q
        pose, J = model.pose(q, frame=self.frame), model.jacobian(q, frame=self.frame)
        unknown, rows = resting(model) if self.deflected else ([], [])
        direct = np.take(J, self.moving, axis=1)
        if not unknown:
            return pose, direct
        K = model.stiffness(q)
        sag = -np.linalg.solve(K[np.ix_(rows, unknown)], K[np.ix_(rows, self.moving)])  # d(others)/d(joints) at rest
        return pose, direct + np.take(J, unknown, axis=1) @ sag

    def levenberg(self, goal: Array, q: Array) -> tuple[Array, float]:
        """Levenberg-Marquardt search from one start; returns the state and the remaining error."""
        error, J = _miss(goal, *self.pose(q))
        damping = 1e-3
        for _ in range(100):
            size = float(np.linalg.norm(error))
            if size < self.tolerance or damping > 1e8:
                break
            step = np.linalg.solve(J.T @ J + damping * np.eye(J.shape[1]), J.T @ error)
            trial = self.step(q, np.asarray(step, dtype=float))
            error_trial, J_trial = _miss(goal, *self.pose(trial))
            if np.linalg.norm(error_trial) < size:
                q, error, J, damping = trial, error_trial, J_trial, damping / 10
            else:
                damping *= 10
        return q, float(np.linalg.norm(error))


def _unwound(model: Model, q: Array, near: Array) -> Array:
    """Remove whole turns of revolute joints, towards `near`."""
    turning = [shaft.place for shaft in model.chain.shafts if shaft.turns and shaft.place is not None]
    q = q.copy()
    q[turning] -= 2 * np.pi * np.round((q[turning] - near[turning]) / (2 * np.pi))
    return q


def _within_limits(model: Model, q: Array) -> bool:
    """Return whether the joints are inside the limits of the robot."""
    for freedom, shaft in zip(model.robot.freedoms.values(), model.chain.shafts):
        limits = freedom.limits
        if limits is not None and shaft.place is not None:
            low = -np.inf if limits.lower is None else float(limits.lower)
            high = np.inf if limits.upper is None else float(limits.upper)
            if not low <= q[shaft.place] <= high:
                return False
    return True


def _target(target: ArrayLike) -> Array:
    """4x4 goal. Its rotation is NaN if only a position is wanted."""
    given = np.asarray(target, dtype=float)
    if given.shape == (3,) and np.isfinite(given).all():
        goal = np.full((4, 4), np.nan)
        goal[:3, 3] = given
        return goal
    if (
        given.shape != (4, 4)
        or not np.isfinite(given).all()
        or np.abs(given[:3, :3] @ given[:3, :3].T - np.eye(3)).max() > TYPED_ROTATION
    ):
        raise ModelError(f"target: got shape {given.shape}, expected a position (3,) or a pose (4, 4) with a rotation")
    return given


def _miss(goal: Array, pose: Array, J: Array) -> tuple[Array, Array]:
    """Remaining error of the frame, and its Jacobian."""
    to_go = goal[:3, 3] - pose[:3, 3]
    if np.isnan(goal[0, 0]):
        return to_go, J[3:]
    R = goal[:3, :3] @ pose[:3, :3].T
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = np.linalg.norm(axis), (np.trace(R) - 1) / 2
    turn = axis * (np.arctan2(sine, cosine) / sine if sine > 1e-12 else 1.0)
    return np.concatenate([turn, to_go]), J


@checked
class TipLine(Trajectory):
    """Motion of the tip, or of another frame, along straight lines through `points` (K, 3), from rest to rest.

    Inverse kinematics gives joint positions at `samples` stations of each line. A quintic spline joins them as a
    function of the share of the line, which follows the time law. Joint rates and accelerations vanish at both ends.
    The tip is on the line at the stations, and between them as near as the spline. Rates would be discontinuous at a
    corner, so the motion comes to rest there.

    Parameters
    ----------
    model : Model or Robot
    points : (K, 3)
        Tip positions in the base; K >= 2.
    duration : float
        Seconds for the whole path, divided among the lines by length.
    begin : float
        Start of the motion, s.
    guess : (m,) array, (n_q,) array or mapping, optional
        Joint positions near those of the first point, as in `inverse_kinematics`.
    deflected : bool
        Whether positions include the static sag under gravity.
    law : "cycloidal" or "quintic"
    samples : int
        Number of stations of each line.
    frame : str
        One of `model.frames`.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> line = pliant.control.TipLine(model, [[1.2, 0.5, 0.0], [1.0, 0.8, 0.0]], 1.0, guess=[0.0, 0.8], samples=6)
    >>> q, _, _ = line(1.0)
    >>> print(model.tip_pose(model.equilibrium(q))[:3, 3].round(6) + 0.0)
    [1.  0.8 0. ]
    """

    tunable = ("_lines", "_starts")

    def __init__(
        self,
        model: Model | Robot,
        points: Sequence[ArrayLike] | ArrayLike,
        duration: float,
        begin: float = 0.0,
        guess: ArrayLike | Mapping[str, object] | None = None,
        deflected: bool = True,
        law: LineLaw = "cycloidal",
        samples: int = 20,
        frame: str = "tip",
    ) -> None:
        model = model_of(model)
        corners = np.asarray(points, dtype=float)
        if corners.ndim != 2 or corners.shape[0] < 2 or corners.shape[1] != 3 or not np.isfinite(corners).all():
            raise ModelError(f"points: got shape {corners.shape}, expected at least two rows of three finite numbers")
        if not 6 <= samples <= MOST_SAMPLES:
            raise ModelError(f"samples: got {samples!r}, expected 6 to {MOST_SAMPLES} stations on a line")
        lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
        if not ((lengths > 0) & (lengths < np.inf)).all():
            raise ModelError("points: two neighbors are the same point, or infinitely far apart")
        times = begin + positive("duration", duration) * np.concatenate([[0], np.cumsum(lengths)]) / lengths.sum()
        if not np.isfinite(times).all():
            raise ModelError(f"duration, begin: got {duration:g} and {begin:g}, expected finite numbers of seconds")
        self.n, self.breaks = model.n_joints, tuple(float(t) for t in times)
        self._lines: list[tuple[Trajectory, Piecewise]] = []
        self._starts = self.breaks[1:]
        places, task, q = model.layout.shaft_places(), _Task(model, frame, deflected), guess
        for a, b, t0, t1 in zip(corners, corners[1:], times, times[1:]):
            stations = np.linspace(0.0, 1.0, samples + 1)
            rows = []
            for s in stations:
                q = task.reach(_target(a + s * (b - a)), q)
                rows.append(q[places])
            share = LAWS[law]([0.0], [1.0], float(t1 - t0), float(t0))
            self._lines.append((share, _Through(stations, np.array(rows))))

    def expression(self, t: Expression) -> Expression:
        """(n, 1) joint positions."""
        value = self._lines[0][1].expression(self._lines[0][0].expression(t))
        for (share, spline), start in zip(self._lines[1:], self._starts):
            value = ca.if_else(t >= start, spline.expression(share.expression(t)), value)
        return value


class _Through(Piecewise):
    """Quintic spline through stations with free ends; the time law makes rates vanish there."""

    def __init__(self, at: Array, points: Array) -> None:
        from scipy.interpolate import make_interp_spline

        spline = make_interp_spline(at, points, k=5)
        super().__init__(spline_pieces(spline, np.unique(spline.t[5:-5])[:-1], 5), float(at[-1]))
