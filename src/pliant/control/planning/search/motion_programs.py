"""Motions of least time by a sequence of linear programs.

Motions of least time lie where limits meet: at most moments one limit is reached. There the slopes of all conditions g
are enough: a linear program finds the next motion as well as a quadratic one, and needs no second derivatives.

    minimize    T + `WIGGLE` sum of |second differences of acceleration| + `MISSED` v
    subject to  low - v <= g + J dx <= high + v,  v >= 0,  and |dx| within a trust region

The merit is the same sum with the actual conditions of the arm. A step is taken if the merit falls. If it hardly falls,
a second program corrects the step: conditions that were found behind it replace g, with the same slopes. If that does
not help, the region shrinks.

Shapes: m accelerations at a node, N intervals, N_x = (N + 1) m + 1 unknowns, `count` conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.search.motion_search import Unsolved
from pliant.control.planning.search.time_limited import Watch

Found = TypeVar("Found", covariant=True)

WIGGLE = 2e-4
"""Weight of second differences of the scaled accelerations, which smooths the motion where it is undetermined."""
MISSED = 20.0
"""Weight of the largest miss of a condition; conditions are scaled to size one."""
REGION, SMALLEST, LARGEST = 0.3, 1e-5, 1.0
"""Size of the trust region at first, at least and at most: change of a scaled acceleration."""
TIMED = 0.3
"""Largest change of the scaled duration, as a share of the size of the region."""
NEAR = 1e-5
"""Tolerance of conditions: linear programs come no closer where friction changes its sign."""
STEPS = 60
"""Programs after which a search gives up."""
SETTLED = 2e-5
"""A search ends when a program promises a smaller decrease of the merit, which is of size one."""
POOR, FAIR, GOOD = 0.01, 0.2, 0.7
"""Actual over promised decrease of the merit: below the first a step is not taken, below the second the region shrinks,
above the third it grows."""


@dataclass(frozen=True)
class _Iterate:
    """Scaled unknowns, and the conditions there.

    Attributes
    ----------
    x : (N_x,) array
    g : (count,) array
    miss : float
        Largest miss of a condition.
    merit : float
        The sum that is minimized.
    """

    x: Array
    g: Array
    miss: float
    merit: float


class TimedSearch(Protocol[Found]):
    """A search for least time: scaled unknowns (accelerations at all nodes, then the duration), and conditions."""

    start: Array

    @property
    def commands(self) -> tuple[int, int]:
        """Number of accelerations at a node, and of intervals between nodes."""

    @property
    def row_bounds(self) -> Array:
        """(2, count) least and greatest values of the constraints."""

    def constraints(self, x: Array) -> Array:
        """Return (count,) constraints of size one; NaN where there is no motion."""

    def jacobian(self, x: Array) -> Array:
        """Return (count, N_x) slopes of the constraints."""

    def response(self, x: Array) -> Found | None:
        """Return the motion at unknowns x, or None if there is none."""


class TimePrograms(Generic[Found]):
    """Sequence of linear programs for one search.

    Parameters
    ----------
    search : TimedSearch
        Its conditions and slopes are used, its cost is not.
    near : float
        Tolerance of conditions.
    """

    def __init__(self, search: TimedSearch[Found], near: float = NEAR) -> None:
        self.search, self.near = search, near
        m, N = search.commands
        self._reach = np.ones(len(search.start))  # size of the trust region in each unknown, over that in the first
        self._reach[[*range(m), *range(N * m, (N + 1) * m)]] = 0.0  # no acceleration at both ends
        self._reach[-1] = TIMED
        second = np.eye(N - 1, N + 1) - 2 * np.eye(N - 1, N + 1, 1) + np.eye(N - 1, N + 1, 2)
        self._bends = np.hstack([np.kron(second, np.eye(m)), np.zeros(((N - 1) * m, 1))])  # second differences by x

    def solve(self, watch: Watch) -> tuple[Found, int, bool]:
        """Solve program after program.

        Returns
        -------
        motion
            Conditions hold to the tolerance.
        programs : int
            Number of programs.
        settled : bool
            Another program would hardly change the motion.

        Raises
        ------
        Unsolved
            No motion was found, or none in time.
        """
        region, count, settled = REGION, 0, False
        at, best = self._evaluated(self.search.start), None
        if at is None:
            raise Unsolved("the arm has no response where the search begins")
        while count < STEPS and region > SMALLEST and not settled:
            at, region, programs, settled = self._step(at, region)
            count += programs
            best = at if at.miss < self.near else best
            if watch.report is not None:
                watch.report(min(count / STEPS, 1.0))
            if watch.late and best is None:
                raise Unsolved(f"no motion found within time_limit {watch.time_limit:g} s, after {count} programs")
            if watch.late:
                break
        found = None if best is None else self.search.response(best.x)
        if found is None:
            raise Unsolved(f"no motion found ({count} linear programs, a condition missed by {at.miss:.1e})")
        return found, count, settled

    def _step(self, at: _Iterate, region: float) -> tuple[_Iterate, float, int, bool]:
        """Solve programs in shrinking regions until a step is taken.

        Returns
        -------
        iterate : _Iterate
            The next one, or the same if none is better.
        region : float
            Size of the trust region there.
        programs : int
            Number of regions that were tried.
        settled : bool
            No program promises a decrease that is worth a step.
        """
        J, count = self.search.jacobian(at.x), 0
        while region > SMALLEST:
            count += 1
            trial, promised = self._trial(at, J, region)
            if promised < SETTLED and at.miss < self.near:
                return at, region, count, True
            gain = -1.0 if trial is None else (at.merit - trial.merit) / promised
            if gain > GOOD:
                region = min(2 * region, LARGEST)
            elif gain < FAIR:
                region = region / 3
            if trial is not None and gain > POOR:
                return trial, region, count, False
        return at, region, count, False

    def _trial(self, at: _Iterate, J: Array, region: float) -> tuple[_Iterate | None, float]:
        """Return the iterate to which a program leads, None if the arm has no response there, and the decrease of the
        merit that the program promises."""
        dx, promised = self._program(at, at.g, J, region)
        trial = self._evaluated(at.x + dx)
        if trial is not None and at.merit - trial.merit < FAIR * promised:
            corrected, _ = self._program(at, trial.g - J @ dx, J, region)
            again = self._evaluated(at.x + corrected)
            trial = again if again is not None and again.merit < trial.merit else trial
        return trial, promised

    def _evaluated(self, x: Array) -> _Iterate | None:
        """Return the iterate with unknowns x (N_x,); None if the arm has no response there."""
        g = self.search.constraints(x)
        if np.isnan(g).any():
            return None
        low, high = self.search.row_bounds
        miss = float(np.maximum(g - high, low - g).max(initial=0.0))
        merit = float(x[-1] + WIGGLE * np.abs(self._bends @ x).sum() + MISSED * miss)
        return _Iterate(x=x, g=g, miss=miss, merit=merit)

    def _program(self, at: _Iterate, g: Array, J: Array, region: float) -> tuple[Array, float]:
        """Solve the linear program with conditions g (count,) and slopes J (count, N_x).

        Its unknowns are dx, bounds of the absolute second differences, and the largest miss v. Conditions that no step
        within the region can reach are left out.

        Returns
        -------
        dx : (N_x,) array
        promised : float
            Decrease of the merit.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, identity, vstack

        (low, high), reach = self.search.row_bounds, region * self._reach
        far, size, K = np.abs(J) @ reach, len(at.x), len(self._bends)
        upper, lower = g + far > high, g - far < low
        slopes, bends, one = np.vstack([J[upper], -J[lower]]), csr_array(self._bends), identity(K)
        matrix = vstack([
            hstack([csr_array(slopes), csr_array((len(slopes), K)), csr_array(-np.ones((len(slopes), 1)))]),
            hstack([bends, -one, csr_array((K, 1))]),
            hstack([-bends, -one, csr_array((K, 1))]),
        ])  # fmt: skip
        bent = self._bends @ at.x
        right = np.concatenate([(high - g)[upper], (g - low)[lower], -bent, bent])
        cost = np.concatenate([np.zeros(size - 1), [1.0], np.full(K, WIGGLE), [MISSED]])
        bounds = [*zip(-reach, reach), *[(0.0, None)] * (K + 1)]
        found = linprog(cost, A_ub=matrix, b_ub=right, bounds=bounds, method="highs")
        if found.x is None:
            raise Unsolved(f"a linear program of the search has no solution ({found.message})")
        return np.asarray(found.x[:size]), at.merit - float(at.x[-1] + found.fun)
