"""Shapers along a path that is kept.

Input shapers follow the pose. Then a small correction of the timing reduces the residual vibration of the simulated
arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.paths.following_shapers import followed, frequencies_along
from pliant.control.planning.paths.joint_paths import JointPath, Progress, shares, stretch_for
from pliant.control.planning.residual_vibration import Residual, residual_vibration
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.trajectories.splines import Piecewise
from pliant.model.model import Model

MOST_MODES, FAR = 3, 5.0
"""Vibrations that shapers cancel: so many of the lowest, up to so many times the lowest frequency."""
BUMPS, WATCHED = 8, 36
"""Number of basis functions of a correction of the timing, and of moments at which the tip is looked at."""
CHANGE = 2e-3
"""Step of finite differences, as a share of the way."""
ROUNDS, TRIES = 3, 5
STILL, ROBUST = 0.01, 0.1
"""Residual vibration at which corrections end, over that of the plain motion: of the arm, and of arms with errors."""
SMALL = 0.05
"""Regularization of a correction, over the largest singular value of its slopes."""
TIGHT = 1.0001
"""Factor by which a motion may exceed a limit before another one is tried; the result keeps the limit."""


@dataclass(frozen=True)
class PathTask:
    """Requirements on a motion along a path.

    Attributes
    ----------
    arms : sequence of Model
        The arm, then arms with errors.
    path : JointPath
    bounds : MotionBounds
    effort : (m,) array
        Torque limits.
    plain : sequence of Residual
        Residual vibration of each arm after the plain motion.
    """

    arms: Sequence[Model]
    path: JointPath
    bounds: MotionBounds
    effort: Array
    plain: Sequence[Residual]

    def shaped(self, progress: Progress) -> tuple[Piecewise, list[Residual]]:
        """Return a shaped motion and the residual vibration of each arm, from a progress along the path."""
        u, hertz = frequencies_along(self.arms[0], self.path, MOST_MODES)
        served = [k for k in range(hertz.shape[1]) if hertz[:, k].mean() < FAR * hertz[:, 0].mean()]

        def slower(stretch: float) -> Progress:
            found = progress.stretched(stretch)
            for k in served:
                found = followed(found, u, hertz[:, k], len(self.arms) > 1)
            return found

        stretch = 1.0
        for _ in range(TRIES):
            chosen, runs = self._corrected(within(slower, self.path, self.bounds, stretch))
            over = self._beyond(chosen, runs[0])
            if over <= TIGHT:
                break
            stretch *= 1.02 * over
        chosen = chosen.stretched(max(over, 1.0))
        motion = chosen.on(self.path)
        return motion, runs if over <= 1.0 else self.runs(motion)

    def runs(self, motion: Piecewise) -> list[Residual]:
        """Return the residual vibration of each arm after a motion."""
        return [residual_vibration(arm, motion, motion.end) for arm in self.arms]

    def still(self, runs: Sequence[Residual], allowed: tuple[float, float]) -> bool:
        """Return whether the arm, and arms with errors, vibrate by at most these shares of their plain vibration."""
        shares_left = [run.peak / max(plain.peak, 1e-12) for run, plain in zip(runs, self.plain)]
        return shares_left[0] <= allowed[0] and max(shares_left) <= allowed[1]

    def _beyond(self, progress: Progress, run: Residual) -> float:
        """Return the factor by which a motion is too fast; `run` is that of the arm."""
        return max(stretch_for(shares(progress.on(self.path), self.bounds)), float(np.sqrt(self.takes(run))))

    def takes(self, run: Residual) -> float:
        """Return the largest share of its torque limit that a motor takes during a command."""
        return float(np.abs(run.run.tau[run.run.t <= run.duration, : len(self.effort)] / self.effort).max())

    def _corrected(self, progress: Progress) -> tuple[Progress, list[Residual]]:
        """Return a progress and its residual vibration after Gauss-Newton steps that reduce it.

        Unknowns are amplitudes of `BUMPS` smooth changes of the timing; residuals are positions of the tips after the
        end. Finite differences of simulations give the slopes.
        """
        runs = self.runs(progress.on(self.path))
        for _ in range(ROUNDS):
            if self.still(runs, (STILL, ROBUST)):
                break
            tau = progress.t / progress.duration
            bumps = np.stack([64 * (tau * (1 - tau)) ** 3 * np.cos(np.pi * k * tau) for k in range(BUMPS)])
            before = _tip_positions(runs)
            changed = [Progress(progress.t, progress.u + CHANGE * bump).on(self.path) for bump in bumps]
            behind = [_tip_positions(self.runs(motion)) for motion in changed]
            slopes = (np.stack(behind, axis=1) - before[:, None]) / CHANGE
            A = np.concatenate([slopes, SMALL * np.linalg.norm(slopes, 2) * np.eye(BUMPS)])
            amplitudes = np.linalg.lstsq(A, -np.append(before, np.zeros(BUMPS)), rcond=None)[0]
            trial = Progress(progress.t, progress.u + amplitudes @ bumps)
            trial_runs = self.runs(trial.on(self.path))
            if np.abs(_tip_positions(trial_runs)).sum() >= np.abs(before).sum():
                break
            progress, runs = trial, trial_runs
        return progress, runs


def within(
    shaped: Callable[[float], Progress], path: JointPath, bounds: MotionBounds, stretch: float = 1.0
) -> Progress:
    """Return a progress that keeps bounds: `shaped(stretch)` is stretched for speed and acceleration, and smoothed for
    jerk. `stretch` is the first factor of the time."""
    soft = 0.0
    for _ in range(12):
        chosen = shaped(stretch)
        chosen = chosen.softened(soft) if soft else chosen
        taken = shares(chosen.on(path), bounds)
        over = stretch_for({**taken, "jerk": 0.0})
        if max(over, taken["jerk"]) <= TIGHT:
            break
        stretch *= max(over, 1.0)
        if over <= TIGHT:
            soft = max(soft * min(taken["jerk"], 2.0), 0.01 * chosen.duration)
    return chosen.stretched(max(stretch_for(taken), 1.0))


def _tip_positions(runs: Sequence[Residual]) -> Array:
    """Return positions of the tips, from rest, at `WATCHED` moments after the end: (3 WATCHED number of runs,), m."""
    found = []
    for one in runs:
        t = np.linspace(one.duration, float(one.run.t[-1]), WATCHED)
        found += [np.interp(t, one.run.t, one.run.tip[:, k] - one.rest[k]) for k in range(3)]
    return np.concatenate(found)
