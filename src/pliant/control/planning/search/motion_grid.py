"""Grid of intervals over a motion, and the linear maps from accelerations to positions and rates.

Time is the share s = t / T of the duration. Accelerations of actuated coordinates are linear between nodes, so that
their motion is a cubic spline. All other coordinates follow by Gauss collocation of positions and rates, which has
order 2 `degree` at the nodes and is stable for modes of any frequency. (Integrating polynomials of acceleration twice
is not stable.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss

from pliant.arrays import Array


@dataclass(frozen=True)
class MotionGrid:
    """Equal intervals with Gauss points.

    The motion over an interval is linear in the `width` numbers that are *local* to it: q (n) and dq/ds (n) at its
    begin; d2q/ds2 of the m actuated coordinates at its begin, then at its end; d2q/ds2 of the f free coordinates at the
    first Gauss point, at the second, and so on.

    Parameters
    ----------
    n : int
        Number of coordinates.
    actuated : tuple of int
        Coordinates that torques drive.
    intervals : int
        Number N of intervals.
    degree : int
        Number d of Gauss points in an interval.
    """

    n: int
    actuated: tuple[int, ...]
    intervals: int
    degree: int

    @cached_property
    def free(self) -> tuple[int, ...]:
        """(f,) coordinates that no torque drives."""
        return tuple(k for k in range(self.n) if k not in self.actuated)

    @cached_property
    def points(self) -> Array:
        """(d,) Gauss points of an interval, from 0 to 1."""
        return (leggauss(self.degree)[0] + 1) / 2

    @cached_property
    def weights(self) -> Array:
        """(d,) weights of the quadrature at these points; their sum is 1."""
        return leggauss(self.degree)[1] / 2

    @property
    def shares(self) -> Array:
        """(N, d) times of the Gauss points, as shares of the duration."""
        return (np.arange(self.intervals)[:, None] + self.points) / self.intervals

    @property
    def inputs(self) -> slice:
        """Accelerations of actuated coordinates among the local numbers."""
        return slice(2 * self.n, 2 * (self.n + len(self.actuated)))

    @property
    def inner(self) -> slice:
        """Accelerations at the Gauss points among the local numbers."""
        return slice(2 * (self.n + len(self.actuated)), self.width)

    @property
    def width(self) -> int:
        """Number of local numbers."""
        return 2 * (self.n + len(self.actuated)) + self.degree * len(self.free)

    @cached_property
    def at_points(self) -> Array:
        """(d, 3 n, width) maps from local numbers to q, dq/ds, d2q/ds2 at the Gauss points."""
        A = self._integrals(self.points)
        maps = [self._map(float(s), row @ A, row, own) for s, row, own in zip(self.points, A, np.eye(self.degree))]
        return np.stack([each.reshape(3 * self.n, -1) for each in maps])

    @cached_property
    def at_end(self) -> Array:
        """(2 n, width) map from local numbers to q, dq/ds at the end of an interval."""
        A, (b,) = self._integrals(self.points), self._integrals(np.ones(1))
        return self._map(1.0, b @ A, b, 0 * b)[:2].reshape(2 * self.n, -1)

    def _integrals(self, upto: Array) -> Array:
        """Return (len(upto), d) integrals from 0 of the Lagrange polynomials of the Gauss points."""
        basis = [Polynomial.fromroots(np.delete(self.points, j)) for j in range(self.degree)]
        return np.stack([(b / b(s)).integ()(upto) for b, s in zip(basis, self.points)], axis=-1)

    def _map(self, s: float, twice: Array, once: Array, own: Array) -> Array:
        """Return the map (3, n, width) from local numbers to q, dq/ds, d2q/ds2 at the share s of an interval.

        `twice`, `once` and `own` (d,) are weights of free accelerations at the Gauss points, integrated twice, once,
        and not.
        """
        n, m, f, H = self.n, len(self.actuated), len(self.free), 1 / self.intervals
        out, every = np.zeros((3, n, self.width)), np.arange(n)
        out[0, every, every] = 1
        out[:2, every, n + every] = np.array([[H * s], [1]])
        for k, i in enumerate(self.actuated):  # exact integrals of a linear acceleration
            out[:, i, 2 * n + k] = H**2 * (s**2 / 2 - s**3 / 6), H * (s - s**2 / 2), 1 - s
            out[:, i, 2 * n + m + k] = H**2 * s**3 / 6, H * s**2 / 2, s
        for k, i in enumerate(self.free):
            out[:, i, self.inner.start + k :: f] = np.stack([H**2 * twice, H * once, own])
        return out
