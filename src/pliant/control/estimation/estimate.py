"""State estimates of an arm at a moment and over time, with statistics that test the consistency of a filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array


@dataclass(frozen=True)
class Belief:
    """State estimate of an arm at a moment.

    Attributes
    ----------
    mean : (2n + k,) array
        Coordinates, rates and unknown numbers.
    covariance : (2n + k, 2n + k) array
        Covariance of the error.
    surprise : float
        Normalized square of the last innovation (NIS).
    readings : int
        Number of readings in the last innovation.
    """

    mean: Array
    covariance: Array
    surprise: float = 0.0
    readings: int = 0


@dataclass(frozen=True)
class StateHistory:
    """State estimates over time.

    Attributes
    ----------
    t : (N,) array
        Times, s.
    q, qd : (N, n) arrays
        Coordinates and rates.
    numbers : (N, k) array
        Unknown numbers of the arm, in the order of their names.
    covariance : (N, 2n + k, 2n + k) array
        Covariances of the errors of all of them.
    nis : (N,) array
        Normalized squares of the innovations, of mean `readings` if model and noises are right.
    readings : (N,) array
        Number of readings that arrived at each sample.
    """

    t: Array
    q: Array
    qd: Array
    numbers: Array
    covariance: Array
    nis: Array
    readings: Array

    def spread(self) -> Array:
        """Standard deviations.

        Returns
        -------
        (N, 2n + k) array

        Examples
        --------
        >>> still, zero = np.zeros((1, 1)), np.zeros(1)
        >>> found = pliant.control.StateHistory(zero, still, still, np.zeros((1, 0)), 4 * np.eye(2)[None], zero, zero)
        >>> found.spread().tolist()
        [[2.0, 2.0]]
        """
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))

    def _error(self, q: ArrayLike, qd: ArrayLike) -> Array:
        return np.hstack([np.asarray(q, dtype=float) - self.q, np.asarray(qd, dtype=float) - self.qd])

    def nees(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """(N,) normalized squares of the errors against the true states (N, n), of mean 2n if the model is right.

        Parameters
        ----------
        q, qd : (N, n) array
            True coordinates and rates.

        Returns
        -------
        (N,) array

        Examples
        --------
        >>> still, zero = np.zeros((1, 1)), np.zeros(1)
        >>> found = pliant.control.StateHistory(zero, still, still, np.zeros((1, 0)), 4 * np.eye(2)[None], zero, zero)
        >>> found.nees([[2.0]], [[4.0]]).tolist()
        [5.0]
        """
        error = self._error(q, qd)
        k = error.shape[1]
        return np.array([e @ np.linalg.solve(P[:k, :k], e) for e, P in zip(error, self.covariance)])

    def inside(self, q: ArrayLike, qd: ArrayLike, sigmas: float = 3.0) -> float:
        """Part of all coordinates and rates with an error within so many standard deviations.

        Parameters
        ----------
        q, qd : (N, n) array
            True coordinates and rates.
        sigmas : float
            Standard deviations.

        Returns
        -------
        float

        Examples
        --------
        >>> still, zero = np.zeros((1, 1)), np.zeros(1)
        >>> found = pliant.control.StateHistory(zero, still, still, np.zeros((1, 0)), 4 * np.eye(2)[None], zero, zero)
        >>> found.inside([[2.0]], [[7.0]])
        0.5
        """
        error = self._error(q, qd)
        return float(np.mean(np.abs(error) <= sigmas * self.spread()[:, : error.shape[1]]))
