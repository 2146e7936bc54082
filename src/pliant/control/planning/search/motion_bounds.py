"""Bounds of positions, rates, accelerations and jerks of a commanded motion, as linear constraints on the accelerations
at the nodes of a grid.

The acceleration is linear between nodes, so that the rate is a parabola and the position a cubic. Both lie within the
hull of their Bezier points, which are linear in the accelerations. If these points keep a bound, the motion keeps it at
every moment.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from pliant.arrays import Array
from pliant.control.trajectories.jerk_limited import shortest_time


@dataclass(frozen=True)
class MotionBounds:
    """Bounds of m actuated coordinates; infinite where there is none.

    Attributes
    ----------
    lower, upper : (m,) array
        Positions, rad or m.
    speed, acceleration, jerk : (m,) array
        Absolute values, rad/s, rad/s^2, rad/s^3 or with m.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    jerk: Array

    @classmethod
    def none(cls, m: int) -> MotionBounds:
        """Return no bounds, of m coordinates."""
        return cls(np.full(m, -np.inf), *(np.full(m, np.inf) for _ in fields(cls)[1:]))

    def times(self, share: float) -> MotionBounds:
        """Return the same bounds with this share of the speeds, accelerations and jerks."""
        return replace(
            self, speed=share * self.speed, acceleration=share * self.acceleration, jerk=share * self.jerk
        )  # fmt: skip

    def shortest(self, travel: Array) -> float:
        """Return the shortest time, s, over distances `travel` (m,); 0 without bounds."""
        return max(shortest_time(*each) for each in zip(np.abs(travel), self.speed, self.acceleration, self.jerk))


@dataclass(frozen=True)
class BoundRows:
    """Constraints low <= (L a) / T^p <= high of size one, where `a` are the accelerations d2q/ds2 at all nodes.

    Attributes
    ----------
    L : (K, (N + 1) m) array
    power : (K,) array
        The exponents p.
    low, high : (K,) array
    """

    L: Array
    power: Array
    low: Array
    high: Array

    @classmethod
    def over(cls, bounds: MotionBounds, start: Array, intervals: int) -> BoundRows:
        """Return the constraints of a motion from positions `start` (m,) over a number of intervals."""
        rate, position = _bezier_points(intervals)
        jerk = intervals * np.diff(np.eye(intervals + 1), axis=0)
        m, parts = len(start), []
        for points, power, low, high in (
            (position, 0, bounds.lower - start, bounds.upper - start),
            (rate, 1, -bounds.speed, bounds.speed),
            (np.eye(intervals + 1), 2, -bounds.acceleration, bounds.acceleration),
            (jerk, 3, -bounds.jerk, bounds.jerk),
        ):
            for k in np.flatnonzero(np.isfinite(low) | np.isfinite(high)):
                size = float(np.min(np.abs([x for x in (low[k], high[k]) if np.isfinite(x) and x] or [1.0])))
                L = np.zeros((len(points), (intervals + 1) * m))
                L[:, k::m] = points / size
                parts.append((L, *(np.full(len(points), x) for x in (power, low[k] / size, high[k] / size))))
        if not parts:
            return cls(np.zeros((0, (intervals + 1) * m)), *(np.zeros(0) for _ in range(3)))
        L, power_of, low_of, high_of = (np.concatenate(each) for each in zip(*parts))
        return cls(L, power_of, low_of, high_of)

    def values(self, a: Array, T: float) -> Array:
        """Return values (K,) at accelerations `a` ((N + 1) m,) and the duration T, s."""
        return np.asarray(self.L @ a / T**self.power)

    def slopes(self, a: Array, T: float) -> Array:
        """Return slopes (K, (N + 1) m + 1) of the values by the accelerations and T."""
        by_T = -self.power * self.values(a, T) / T
        return np.column_stack([self.L / (T**self.power)[:, None], by_T])

    def curvature(self, a: Array, T: float, weights: Array) -> tuple[Array, float]:
        """Return second derivatives of the values times `weights` (K,): ((N + 1) m,) by accelerations and T, and by T
        twice."""
        cross = -(weights * self.power / T ** (self.power + 1)) @ self.L
        return cross, float((weights * self.power * (self.power + 1)) @ self.values(a, T) / T**2)

    def violation(self, a: Array, T: float) -> float:
        """Return by how much the worst value is beyond its bound."""
        g = self.values(a, T)
        return float(np.maximum(g - self.high, self.low - g).max(initial=0.0))


def _bezier_points(intervals: int) -> tuple[Array, Array]:
    """Return rates (2 N, N + 1) and positions (3 N - 1, N + 1), which begin at zero, at the Bezier points behind the
    start: rows over the accelerations at the nodes."""
    N, H = intervals, 1 / intervals
    a, v, q = np.eye(N + 1), np.zeros(N + 1), np.zeros(N + 1)
    rates, positions = [], []
    for k in range(N):
        end_v = v + H * (a[k] + a[k + 1]) / 2
        end_q = q + H * v + H**2 * (a[k] / 3 + a[k + 1] / 6)
        rates += [v + H * a[k] / 2, end_v]
        positions += [q + H * v / 3, end_q - H * end_v / 3, end_q]
        v, q = end_v, end_q
    return np.stack(rates), np.stack(positions[1:])
