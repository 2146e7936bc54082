"""Paths of the joints, and progress along them: shaping changes the progress and keeps the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.trajectories.splines import Piece, Piecewise, spline_pieces
from pliant.errors import ModelError

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

DENSE = 801
"""Samples of a motion while it is shaped."""
STATIONS = 121
"""Largest number of samples of a path."""
KNOTS = 161
"""Knots of the resulting motion."""


@dataclass(frozen=True)
class JointPath:
    """Positions along a path, by the share `u` of its length, from 0 to 1.

    Attributes
    ----------
    u : (K,) array
        Shares of the length, rising.
    q : (K, m) array
        Positions there.
    names : tuple of str
        Names of the coordinates.
    """

    u: Array
    q: Array
    names: tuple[str, ...]

    @classmethod
    def of(cls, t: Array, q: Array, names: tuple[str, ...]) -> tuple[JointPath, Progress]:
        """Return the path of a motion q (N, m) at times t (N,), and its progress along it."""
        way = np.linalg.norm(np.diff(q, axis=0) / np.maximum(np.ptp(q, axis=0).max(), 1e-300), axis=1)
        if not way.any():
            raise ModelError("trajectory: no joint moves")
        u = np.append(0.0, np.cumsum(way) / way.sum())
        even = np.linspace(
            0.0, 1.0, STATIONS
        )  # a motion has many samples near its ends, whose small distances are noise
        kept = np.unique(np.clip(np.searchsorted(u, even), 0, len(u) - 1))
        kept = np.append(kept[np.diff(u[kept], append=2.0) > 0.2 / STATIONS][:-1], len(u) - 1)
        return cls(u[kept], q[kept], names), Progress(t, u)

    @cached_property
    def _spline(self) -> BSpline:
        from scipy.interpolate import make_interp_spline

        return make_interp_spline(self.u, self.q, k=min(5, len(self.u) - 1))

    def at(self, u: Array) -> Array:
        """Return positions (N, m) at shares u (N,) of the length."""
        return np.asarray(self._spline(np.clip(u, 0.0, 1.0)))

    def slope(self, u: Array, order: int) -> Array:
        """Return derivatives (N, m) of this order of the positions by the share of the length."""
        return np.asarray(self._spline(np.clip(u, 0.0, 1.0), order))


@dataclass(frozen=True)
class Progress:
    """Share `u` (N,) of the way at times `t` (N,), s."""

    t: Array
    u: Array

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.t[-1])

    def stretched(self, factor: float) -> Progress:
        """Return the same progress, slower by a factor."""
        return Progress(self.t * factor, self.u)

    def softened(self, seconds: float) -> Progress:
        """Return the running mean over so many seconds, and over a third of that: acceleration and jerk do not jump."""
        return self._mean(seconds)._mean(seconds / 3)

    def _mean(self, seconds: float) -> Progress:
        """Return the running mean, exact for the cubic spline through the samples."""
        from scipy.interpolate import make_interp_spline

        whole, end = make_interp_spline(self.t, self.u, k=3).antiderivative(), self.duration

        def integral(t: Array) -> Array:
            return np.asarray(whole(np.clip(t, 0.0, end)) + np.maximum(t - end, 0.0) * self.u[-1])

        t = np.linspace(0.0, end + seconds, len(self.t))
        return Progress(t, (integral(t) - integral(t - seconds)) / seconds)

    def on(self, path: JointPath) -> Piecewise:
        """Return the motion along a path: a quintic spline, at rest at both ends."""
        from scipy.interpolate import make_interp_spline

        at = np.linspace(0.0, self.duration, KNOTS)
        u = smooth(self.t, self.u, at)
        still = [(k, np.zeros(path.q.shape[1])) for k in (1, 2)]
        spline = make_interp_spline(at, path.at(u), k=5, bc_type=(still, still))
        return Piecewise(spline_pieces(spline, at[:-1], 5), self.duration, path.names)


def smooth(x: Array, y: Array, at: Array) -> Array:
    """Return the cubic spline through points (x, y) at `at`; beyond the ends it is constant."""
    from scipy.interpolate import make_interp_spline

    return np.asarray(make_interp_spline(x, y, k=3)(np.clip(at, x[0], x[-1])))


def shares(motion: Piecewise, bounds: MotionBounds) -> dict[str, float]:
    """Return the largest share of the limits of speed, acceleration and jerk that a motion takes; 0 without a limit."""
    t = np.linspace(0.0, motion.end, 8 * DENSE)
    _, qd, qdd = motion(t)
    inner = (t[1:] + t[:-1]) / 2
    jerk = _third(motion, inner)
    found = {"speed": qd / bounds.speed, "acceleration": qdd / bounds.acceleration, "jerk": jerk / bounds.jerk}
    return {name: float(np.abs(x).max()) for name, x in found.items()}


def stretch_for(taken: Mapping[str, float]) -> float:
    """Return the factor by which the time must grow to bring shares of speed, acceleration and jerk to one."""
    return max(taken["speed"], float(np.sqrt(taken["acceleration"])), float(np.cbrt(taken["jerk"])))


def hermite_pieces(t: Array, q: Array, qd: Array, qdd: Array) -> list[Piece]:
    """Return polynomials of fifth degree between times t (N,), through positions, rates and accelerations (N, n)."""
    h = np.diff(t)[:, None]
    x, v, a = q[:-1], qd[:-1], qdd[:-1]
    dx, dv, da = q[1:] - (x + h * v + h**2 * a / 2), h * (qd[1:] - v - h * a), h**2 * (qdd[1:] - a)
    rows = (x, v, a / 2, (10 * dx - 4 * dv + da / 2) / h**3, (7 * dv - 15 * dx - da) / h**4,
            (6 * dx - 3 * dv + da / 2) / h**5)  # fmt: skip
    return [Piece(start, piece) for start, piece in zip(t[:-1].tolist(), np.stack(rows, axis=1))]


def _third(motion: Piecewise, t: Array) -> Array:
    """Return third derivatives (N, n) of a motion at times t (N,)."""
    starts = np.array([piece.start for piece in motion.pieces])
    k = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
    rows = np.stack(
        [np.concatenate([p.coefficients, np.zeros((6 - len(p.coefficients), motion.n))]) for p in motion.pieces]
    )
    since = (t - starts[k])[:, None]
    return np.asarray(6 * rows[k, 3] + 24 * rows[k, 4] * since + 60 * rows[k, 5] * since**2)
