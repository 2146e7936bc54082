"""Fastest timing along a path that leaves an arm at rest, by linear programs and simulations in turn.

The share s of the way goes from 0 to 1 and never back; its acceleration is linear between nodes. Linear programs
(`motion_programs.py`) minimize the duration within the limits of the joints. Further conditions keep the residual
vibration small, as the modes of `path_modes.py` predict it. Then the arms are simulated, and the error of that
prediction is added to the conditions of the next round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.paths.joint_paths import JointPath, hermite_pieces, shares, stretch_for
from pliant.control.planning.paths.path_modes import ModalResponse, PathModes, Timed, middles
from pliant.control.planning.paths.path_shaping import PathTask
from pliant.control.planning.paths.path_torques import PathTorques
from pliant.control.planning.perturbed_model import FELT
from pliant.control.planning.residual_vibration import Residual
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_programs import NEAR, TimePrograms
from pliant.control.planning.search.motion_search import Unsolved
from pliant.control.planning.search.time_limited import Watch
from pliant.control.trajectories.splines import Piecewise

INSIDE = (1e-9, *(k / 6 for k in range(1, 6)), 1 - 1e-9)
"""Shares of an interval at which limits are checked: jerks jump at its ends."""
PIECES = 240
"""Least number of polynomials of a motion."""
MISSED = 1e-4
"""Tolerance of conditions: the ends are met afterwards, slowing down keeps the limits, and vibrations are simulated."""
PER_PERIOD, MOST_INTERVALS = 3, 120
"""Intervals in a period of the slowest vibration, and their largest number in total."""
ROUNDS = 6
"""Largest number of rounds of programs and simulations."""
LEFT = (2e-3, 0.07)
"""Largest vibration of each mode at the end, over that of the plain motion: of the arm, and of arms with errors."""
STILL, ALLOWED = (0.01, 0.15), (0.04, 0.18)
"""Residual vibration of all modes together, likewise, at which rounds end, and which is allowed after the last."""
SPARED = 0.99
"""Share of the torque limits that programs may use: they see torques at some moments only."""
SEEN = 1e-12
"""Amplitude of the tip below which an arm counts as still, m."""


def way_rows(tau: Array, intervals: int, order: int) -> Array:
    """Return (P, N + 1) slopes of the way by its accelerations at the nodes, which are zero at both ends.

    Parameters
    ----------
    tau : (P,) array
        Shares of the duration.
    intervals : int
        Number N of intervals.
    order : int
        0 for the way, 1 for its rate, 2 for its acceleration, 3 for its jerk.
    """
    since, power = np.maximum(tau[:, None] - np.linspace(0, 1, intervals + 1), 0.0), 3 - order
    ramps = since**power / (1, 1, 2, 6)[power] if power else np.asarray(since > 0, dtype=float)
    rows = np.zeros_like(ramps)
    rows[:, 1:-1] = intervals * (ramps[:, :-2] - 2 * ramps[:, 1:-1] + ramps[:, 2:])
    return rows


@dataclass(frozen=True)
class Timing:
    """Timing of a path: accelerations d2s/dtau2 `a` (N + 1,) at even nodes of tau = t / T, and the duration T, s."""

    a: Array
    T: float

    @classmethod
    def smooth(cls, path: JointPath, bounds: MotionBounds, intervals: int) -> Timing:
        """Return the fastest polynomial of fifth degree within bounds."""
        tau = np.linspace(0, 1, intervals + 1)
        slow = cls(60 * tau * (1 - tau) * (1 - 2 * tau), 1.0).settled()
        return cls(slow.a, stretch_for(shares(slow.on(path), bounds)))

    def settled(self) -> Timing:
        """Return the nearest timing that ends at the end of the way, at rest."""
        ends = np.concatenate([way_rows(np.ones(1), len(self.a) - 1, order) for order in (0, 1)])
        return Timing(self.a + np.linalg.pinv(ends) @ ([1.0, 0.0] - ends @ self.a), self.T)

    def on(self, path: JointPath) -> Piecewise:
        """Return the motion along a path."""
        N = len(self.a) - 1
        tau = np.linspace(0.0, 1.0, N * int(np.ceil(PIECES / N)) + 1)
        s, rate, acceleration = (way_rows(tau, N, k) @ self.a / self.T**k for k in range(3))
        by, twice = path.slope(s, 1), path.slope(s, 2)
        qd, qdd = by * rate[:, None], by * acceleration[:, None] + twice * (rate**2)[:, None]
        return Piecewise(hermite_pieces(self.T * tau, path.at(s), qd, qdd), self.T, path.names)


@dataclass
class Followed:
    """An arm that follows a timing.

    Attributes
    ----------
    modes : PathModes
    unit, share : float
        A swing of the tip, m, and the share of it that each mode may have after the end.
    beside : (2 k,) array
        Simulated less predicted swings of the modes, m.
    """

    modes: PathModes
    unit: float
    share: float
    beside: Array = field(init=False)

    def __post_init__(self) -> None:
        self.beside = np.zeros(2 * len(self.modes.omega))


@dataclass(frozen=True)
class _Conditions:
    """Conditions low <= g <= high (K,), and their slopes J (K, N_x) by unknowns before scaling."""

    g: Array
    J: Array
    low: Array
    high: Array

    @classmethod
    def joined(cls, parts: Sequence[_Conditions]) -> _Conditions:
        """Return all conditions one after another."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("g", "J", "low", "high")))


class TimingSearch:
    """Search for the fastest timing, for `TimePrograms`.

    Unknowns (N_x,) are the accelerations at the N + 1 nodes, then the duration, all divided by `scale`.

    Parameters
    ----------
    path : JointPath
        Path that is kept.
    bounds : MotionBounds
        Bounds of the joints.
    arms : sequence of Followed
        Arms that shall hardly vibrate after the end.
    guess : Timing
        Timing at which the search begins.
    torques : PathTorques, optional
        Torques of the first arm, if they are limited.
    """

    def __init__(
        self, path: JointPath, bounds: MotionBounds, arms: Sequence[Followed], guess: Timing,
        torques: PathTorques | None = None,
    ) -> None:  # fmt: skip
        N = len(guess.a) - 1
        self.path, self.arms, self.bounds, self.torques = path, arms, bounds, torques
        self.commands = (1, N)
        self.scale = np.append(np.full(N + 1, np.abs(guess.a).max()), guess.T)
        self.start = np.append(guess.a, guess.T) / self.scale
        tau = ((np.arange(N)[:, None] + INSIDE) / N).ravel()
        self._rows = [_with_duration(way_rows(tau, N, order)) for order in range(4)]
        self._ends = np.concatenate([_with_duration(way_rows(np.ones(1), N, order)) for order in (0, 1)])
        self._fine = [_fine_rows(arm.modes.steps(guess.T), N) for arm in arms]
        slopes = [
            left.slopes * self.scale / arm.unit
            for arm, (_, left) in zip(arms, self._responses(np.append(guess.a, guess.T)))
        ]
        self._felt = [np.abs(each).sum(axis=1) > FELT * arm.share for arm, each in zip(arms, slopes)]
        self._last: tuple[Array, _Conditions] | None = None

    def response(self, x: Array) -> Timing:
        """Return the timing with unknowns x (N_x,)."""
        y = x * self.scale
        return Timing(y[:-1], float(y[-1]))

    def constraints(self, x: Array) -> Array:
        """Return (K,) constraints of size one."""
        return self._conditions(x).g

    def jacobian(self, x: Array) -> Array:
        """Return (K, N_x) slopes of the constraints."""
        return np.asarray(self._conditions(x).J * self.scale)

    @property
    def row_bounds(self) -> Array:
        """(2, K) least and greatest values of the constraints."""
        found = self._conditions(self.start if self._last is None else self._last[0])
        return np.array([found.low, found.high])

    def highest(self) -> list[int]:
        """Return the number of modes of each arm, from the lowest, up to the last one that a timing can excite."""
        pairs = [each.reshape(2, -1).any(axis=0) for each in self._felt]
        return [int(np.flatnonzero(each).max(initial=0)) + 1 for each in pairs]

    def correct(self, timing: Timing, runs: Sequence[Residual]) -> None:
        """Correct the predicted torques and swings by simulations of this timing, one of each arm."""
        responses = self._responses(np.append(timing.a, timing.T))
        if self.torques is not None:
            self.torques.correct(runs[0], self.torques.shares(*responses[0])[0])
        for arm, (_, left), run in zip(self.arms, responses, runs):
            arm.beside = arm.modes.swings(run) - left.swings

    def _conditions(self, x: Array) -> _Conditions:
        """Return all conditions at unknowns x; the last ones are kept."""
        if self._last is None or not np.array_equal(self._last[0], x):
            y = x * self.scale
            miss = self._ends @ y - [1.0, 0.0]
            ends = _Conditions(g=miss, J=self._ends, low=np.zeros(2), high=np.zeros(2))
            self._last = x.copy(), _Conditions.joined([ends, *self._limits(y), *self._swings(y)])
        return self._last[1]

    def _limits(self, y: Array) -> list[_Conditions]:
        """Return conditions at unscaled unknowns y: never back, and within speed, acceleration and jerk.

        Derivatives of q(s(tau)) by tau, and their slopes by the derivatives s, v, a and j of the way, follow by the
        chain rule.
        """
        rows, T = self._rows, float(y[-1])
        s, v, a, j = (each @ y for each in rows)
        q1, q2, q3, q4 = (self.path.slope(s, order).T for order in range(1, 5))
        derivatives = (q1 * v, q1 * a + q2 * v**2, q1 * j + 3 * q2 * v * a + q3 * v**3)  # (m, P) each
        slopes = (
            (q2 * v, q1),
            (q2 * a + q3 * v**2, 2 * q2 * v, q1),
            (q2 * j + 3 * q3 * v * a + q4 * v**3, 3 * q2 * a + 3 * q3 * v**2, 3 * q2 * v, q1),
        )
        limits = (self.bounds.speed, self.bounds.acceleration, self.bounds.jerk)
        one = np.ones(len(v))
        found = [_Conditions(g=v, J=rows[1], low=0 * v, high=np.full(len(v), np.inf))]
        for power, (limit, value, by) in enumerate(zip(limits, derivatives, slopes), start=1):
            for k in np.flatnonzero(np.isfinite(limit)):
                size = T**power * limit[k]
                J = sum((each[k, :, None] * row for each, row in zip(by, rows)), np.zeros_like(rows[0])) / size
                J[:, -1] -= power * value[k] / (size * T)
                found.append(_Conditions(g=value[k] / size, J=J, low=-one, high=one))
        return found

    def _swings(self, y: Array) -> list[_Conditions]:
        """Return conditions at unscaled unknowns y: swings of all arms at the end, then torques of the first."""
        responses = self._responses(y)
        found = []
        for arm, (_, left), felt in zip(self.arms, responses, self._felt):
            most = np.full(felt.sum(), arm.share)
            swings, slopes = (left.swings + arm.beside)[felt] / arm.unit, left.slopes[felt] / arm.unit
            found.append(_Conditions(g=swings, J=slopes, low=-most, high=most))
        if self.torques is not None:
            share, J = self.torques.shares(*responses[0])
            one = np.ones(share.size)
            found.append(_Conditions(g=share.ravel(), J=J.reshape(share.size, -1), low=-one, high=one))
        return found

    def _responses(self, y: Array) -> list[tuple[Timed, ModalResponse]]:
        """Return the timing at the moments that each arm needs, and the response of its modes."""
        moments = [_timed(y, rows) for rows in self._fine]
        return [(each, arm.modes.left(each)) for arm, each in zip(self.arms, moments)]


def _with_duration(rows: Array) -> Array:
    """Return rows with a column of zeros for the duration, on which the way over tau does not depend."""
    return np.column_stack([rows, np.zeros(len(rows))])


def _fine_rows(steps: int, intervals: int) -> tuple[Array, Array, Array]:
    """Return slopes (P, N_x) of the way, its rate and acceleration by all unknowns, at P moments."""
    tau = middles(steps)
    way, rate, acceleration = (_with_duration(way_rows(tau, intervals, order)) for order in range(3))
    return way, rate, acceleration


def _timed(y: Array, rows: tuple[Array, Array, Array]) -> Timed:
    """Return the timing with unscaled unknowns y (N_x,) at the moments of these rows."""
    s, rate, acceleration = (each @ y for each in rows)
    return Timed(T=float(y[-1]), s=s, rate=rate, acceleration=acceleration, by=rows)


def fastest_timing(search: TimingSearch, watch: Watch | None = None) -> Timing:
    """Return the fastest timing that ends at rest and keeps the limits where they are checked.

    Raises
    ------
    Unsolved
        No timing was found, or none in time.
    """
    silent = Watch() if watch is None else Watch(watch.time_limit, None, watch.began)
    return TimePrograms(search, MISSED).solve(silent)[0].settled()


def timed(task: PathTask, intervals: int, watch: Watch) -> tuple[Piecewise, list[Residual]]:
    """Return the fastest motion along a path that leaves all arms nearly still, and the residual vibration of each.

    Parameters
    ----------
    task : PathTask
        Arms, path and limits.
    intervals : int
        Least number of intervals of the timing.
    watch : Watch

    Raises
    ------
    Unsolved
        No motion was found, or none in time.
    """
    path, bounds = task.path, task.bounds.times(1 - NEAR)
    periods = task.plain[0].duration * task.plain[0].frequency
    smooth = Timing.smooth(path, bounds, min(max(intervals, int(PER_PERIOD * periods)), MOST_INTERVALS))
    timing = fastest_timing(TimingSearch(path, bounds, arms=(), guess=smooth), watch)
    places = [k for k, arm in enumerate(task.arms) if k == 0 or arm is not task.arms[0]]
    arms = _followed(task, places, bounds, timing)
    limited = np.isfinite(task.effort).any()
    torques = PathTorques(arms[0].modes, path, SPARED * task.effort) if limited else None
    tight = bounds
    for k in range(ROUNDS):
        if watch.late:
            raise Unsolved(f"no motion found within time_limit {watch.time_limit:g} s, after {k} rounds")
        if watch.report is not None:
            watch.report((k + 1) / (ROUNDS + 1))
        search = TimingSearch(path, tight, arms=arms, guess=timing, torques=torques)
        timing = fastest_timing(search, watch)
        taken = shares(timing.on(path), bounds)
        timing = Timing(timing.a, timing.T * max(stretch_for(taken), 1.0))
        runs = task.runs(timing.on(path))
        strong_enough = task.takes(runs[0]) <= 1
        if strong_enough and task.still(runs, STILL):
            break
        search.correct(timing, [runs[k] for k in places])
        beyond = {name: getattr(tight, name) / max(share, 1.0) for name, share in taken.items()}
        tight = replace(tight, **beyond)  # between the moments at which limits are checked
    if not (strong_enough and task.still(runs, ALLOWED)):
        raise Unsolved(f"no motion found in {ROUNDS} rounds of programs and simulations")
    return timing.on(path), runs


def _followed(task: PathTask, places: Sequence[int], bounds: MotionBounds, timing: Timing) -> list[Followed]:
    """Return the arms of a task at these places, with as many modes as a timing can excite."""
    arms = [
        Followed(modes=PathModes(task.arms[k], task.path), unit=max(task.plain[k].peak, SEEN), share=LEFT[k > 0])
        for k in places
    ]
    counts = TimingSearch(task.path, bounds, arms=arms, guess=timing).highest()
    return [replace(arm, modes=arm.modes.lowest(count)) for arm, count in zip(arms, counts)]
