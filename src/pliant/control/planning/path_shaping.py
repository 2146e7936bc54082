"""A motion that keeps its path and does not ring: shapers that follow the pose, then a small correction of the timing
that takes away what the simulated arm still swings by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.following_shapers import followed, frequencies_along
from pliant.control.planning.joint_paths import JointPath, Progress, shares, stretch_for
from pliant.control.planning.motion_bounds import MotionBounds
from pliant.control.planning.residual_vibration import Residual, residual_vibration
from pliant.control.trajectories.splines import Piecewise
from pliant.model.model import Model

MOST_MODES, FAR = 3, 5.0
"""Vibrations that are shaped for: so many of the lowest, up to so many times the lowest frequency."""
BUMPS, WATCHED = 8, 36
"""Changes of the timing that a correction is made of, and moments at which the tip is looked at."""
CHANGE = 2e-3
"""Share of the way by which slopes are found."""
ROUNDS, TRIES = 3, 5
STILL, ROBUST = 0.01, 0.1
"""Shares of the plain motion's swing at which a correction is content: of the arm, and of those that are off."""
SMALL = 0.05
"""Of the strongest change: corrections that would take more than its inverse are left."""
TIGHT = 1.0001
"""What a limit may be missed by before a motion is changed; what is handed out keeps it."""


@dataclass(frozen=True)
class PathTask:
    """What is asked of a motion along a path.

    Attributes
    ----------
    arms : sequence of Model
        The arm, then those that are off.
    path : JointPath
    bounds : MotionBounds
    effort : (m,) array
        Greatest torques.
    plain : sequence of Residual
        What each arm rings by under the motion as it was.
    """

    arms: Sequence[Model]
    path: JointPath
    bounds: MotionBounds
    effort: Array
    plain: Sequence[Residual]

    def shaped(self, progress: Progress) -> tuple[Piecewise, list[Residual]]:
        """The motion, and what each arm rings by."""
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
        """What each arm rings by under a command."""
        return [residual_vibration(arm, motion, motion.end) for arm in self.arms]

    def still(self, runs: Sequence[Residual], allowed: tuple[float, float]) -> bool:
        """Whether the arm, and those that are off, ring by no more than these shares of what they did."""
        shares_left = [run.peak / max(plain.peak, 1e-12) for run, plain in zip(runs, self.plain)]
        return shares_left[0] <= allowed[0] and max(shares_left) <= allowed[1]

    def _beyond(self, progress: Progress, run: Residual) -> float:
        """By what factor a motion is too fast."""
        return max(stretch_for(shares(progress.on(self.path), self.bounds)), float(np.sqrt(self.takes(run))))

    def takes(self, run: Residual) -> float:
        """The largest share of its greatest torque that a motor takes under a command."""
        return float(np.abs(run.run.tau[run.run.t <= run.duration, : len(self.effort)] / self.effort).max())

    def _corrected(self, progress: Progress) -> tuple[Progress, list[Residual]]:
        """Gauss and Newton's method on the places of the tips after the end."""
        runs = self.runs(progress.on(self.path))
        for _ in range(ROUNDS):
            if self.still(runs, (STILL, ROBUST)):
                break
            tau = progress.t / progress.duration
            bumps = np.stack([64 * (tau * (1 - tau)) ** 3 * np.cos(np.pi * k * tau) for k in range(BUMPS)])
            before = _places(runs)
            moved = [
                _places(self.runs(Progress(progress.t, progress.u + CHANGE * bump).on(self.path))) for bump in bumps
            ]
            slopes = (np.stack(moved, axis=1) - before[:, None]) / CHANGE
            A = np.concatenate([slopes, SMALL * np.linalg.norm(slopes, 2) * np.eye(BUMPS)])
            c = np.linalg.lstsq(A, -np.append(before, np.zeros(BUMPS)), rcond=None)[0]
            trial = Progress(progress.t, progress.u + c @ bumps)
            again = self.runs(trial.on(self.path))
            if np.abs(_places(again)).sum() >= np.abs(before).sum():
                break
            progress, runs = trial, again
        return progress, runs


def within(
    shaped: Callable[[float], Progress], path: JointPath, bounds: MotionBounds, stretch: float = 1.0
) -> Progress:
    """The motion stretched until speed and acceleration keep their bounds, and softened until the jerk does."""
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


def _places(runs: Sequence[Residual]) -> Array:
    """Tips after the end, from rest, at some moments."""
    found = []
    for one in runs:
        t = np.linspace(one.duration, float(one.run.t[-1]), WATCHED)
        found += [np.interp(t, one.run.t, one.run.tip[:, k] - one.rest[k]) for k in range(3)]
    return np.concatenate(found)
