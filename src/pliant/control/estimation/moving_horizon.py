"""Moving-horizon estimation: the states of the last samples that fit all their readings best.

Each Gauss-Newton step on all these states is a filter forward and a smoother backward [Bel94]. The estimate at the
start of the window stands for all older readings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.estimation.estimate import Belief
from pliant.control.estimation.kalman import KalmanFilter, Running, even
from pliant.errors import ModelError


@checked
@dataclass(frozen=True)
class MovingHorizon(KalmanFilter):
    """Moving-horizon estimator: a Kalman filter that fits the states of the last `window` samples at once.

    Parameters
    ----------
    model, sensors, sample_time, process, kind, unknown, wander
        As in `KalmanFilter`; `kind` is "extended".
    window : int
        Number of samples that are fitted together; the estimate at its start stands for older readings.
    iterations : int
        Number of Gauss-Newton steps at each sample.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-4) for joint in model.joints]
    >>> horizon = pliant.control.MovingHorizon(model, sensors, sample_time=2e-3, process=0.5, window=5)
    >>> rest = model.equilibrium([0.1, 0.2])
    >>> tau = np.tile(model.holding_torque(rest), (8, 1))
    >>> found = horizon.over(np.tile([0.1, 0.2], (8, 1)), tau, horizon.start(rest, spread=1e-3))
    >>> bool(np.abs(found.q[-1] - rest).max() < 1e-3)
    True
    """

    window: int = 10
    iterations: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind != "extended":
            raise ModelError(f"kind: got {self.kind!r}, expected 'extended' of a moving horizon")
        least = max(2, super().kept)
        if self.window < least or self.iterations < 1:
            raise ModelError(f"window, iterations: expected at least {least}, with the latest reading in it, and 1")

    @property
    def kept(self) -> int:
        """Number of moments of the window."""
        return self.window

    def _passed(self, running: Running) -> Belief:
        """Return the estimate after the oldest moment, which leaves the window, linear about its last state."""
        at = running.path[0].mean
        return self._ahead(self._read(running.before, running.y[0], running.felt[0], at), running.tau[0], at)

    def _fitted(self, running: Running, first: int) -> Belief:
        """Fit the states of the window to all its readings; return the estimate of the last."""
        if len(running.path):
            last = running.path[-1].mean
            guess = last + self.transition(last, running.tau[-2])[0]
        else:
            guess = running.before.mean
        path = np.array([*(belief.mean for belief in running.path), guess])
        for _ in range(self.iterations):
            path, now = self._nearer(running, path)
        running.path = [Belief(mean, now.covariance) for mean in path]
        return now

    def _nearer(self, running: Running, path: Array) -> tuple[Array, Belief]:
        """Do a Gauss-Newton step on all states of the window: a filter about the path, and a smoother back."""
        read, ahead, slopes = [], [running.before], []
        for k, x in enumerate(path):
            read.append(self._read(ahead[-1], running.y[k], running.felt[k], x))
            if k + 1 < len(path):
                step, F, Q = self.transition(x, running.tau[k])
                ahead.append(Belief(x + step + F @ (read[-1].mean - x), even(F @ read[-1].covariance @ F.T + Q)))
                slopes.append(F)
        means = [read[-1].mean]
        for k in range(len(path) - 2, -1, -1):
            gain = np.linalg.solve(ahead[k + 1].covariance, slopes[k] @ read[k].covariance).T
            means.append(read[k].mean + gain @ (means[-1] - ahead[k + 1].mean))
        return np.array(means[::-1]), read[-1]
