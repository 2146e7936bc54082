"""Least time by a sequence of linear programs.

Motions of least time lie where limits meet: at most moments one of them is reached. There a linear program, made of the
slopes of all conditions g, finds the next motion as well as a quadratic one would, and asks for no second derivatives.

    least    T + `WIGGLE` sum of |second differences of acceleration| + `MISSED` v
    so that  low - v <= g + J dx <= high + v,  v >= 0,  and |dx| within a region in which slopes are trusted

A step is taken where the same sum falls on the arm itself. Where it hardly does, the conditions found there stand in
for g once more, with the same slopes; then the region is made smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from pliant.arrays import Array
from pliant.control.planning.motion_search import Unsolved
from pliant.control.planning.time_limited import Watch

Found = TypeVar("Found", covariant=True)

WIGGLE = 2e-4
"""Weight of second differences of the scaled accelerations: what is open is made smooth."""
MISSED = 20.0
"""Weight of the largest miss of a condition, all of size one."""
REGION, SMALLEST, LARGEST = 0.3, 1e-5, 1.0
"""Changes of scaled accelerations that slopes are trusted for at first, at least and at most."""
TIMED = 0.3
"""The same of the duration, as a share of these."""
NEAR = 1e-5
"""What a condition may be missed by: linear programs go no further where friction changes its sign."""
STEPS = 60
"""After which a search is given up."""
SETTLED = 2e-5
"""What the sum, of size one, must be able to fall by for a step to be worth it."""
POOR, FAIR, GOOD = 0.01, 0.2, 0.7
"""Shares of what a step promises: with less it is not taken, with less the region shrinks, with more it grows."""


@dataclass(frozen=True)
class _Place:
    """Scaled unknowns, the conditions there, how far the worst is missed, and the sum that is made least."""

    x: Array
    g: Array
    miss: float
    sum: float


class TimedSearch(Protocol[Found]):
    """What is searched: scaled unknowns, the accelerations at all nodes and the duration, and conditions on them."""

    start: Array

    @property
    def commands(self) -> tuple[int, int]:
        """Accelerations at a node, and intervals between nodes."""

    @property
    def row_bounds(self) -> Array:
        """(2, count) least and greatest values of the constraints."""

    def constraints(self, x: Array) -> Array:
        """(count,) of size one; NaN where there is no motion."""

    def jacobian(self, x: Array) -> Array:
        """(count, N_x) of the constraints."""

    def response(self, x: Array) -> Found | None:
        """What was found there."""


class TimePrograms(Generic[Found]):
    """The sequence of programs of one search.

    Parameters
    ----------
    search : TimedSearch
        Its conditions and slopes; what it makes least does not count.
    near : float
        What a condition may be missed by.
    """

    def __init__(self, search: TimedSearch[Found], near: float = NEAR) -> None:
        self.search, self.near = search, near
        m, N = search.commands
        self._reach = np.ones(len(search.start))
        self._reach[[*range(m), *range(N * m, (N + 1) * m)]] = 0.0  # no acceleration at both ends
        self._reach[-1] = TIMED
        second = np.eye(N - 1, N + 1) - 2 * np.eye(N - 1, N + 1, 1) + np.eye(N - 1, N + 1, 2)
        self._bends = np.hstack([np.kron(second, np.eye(m)), np.zeros(((N - 1) * m, 1))])

    def solve(self, watch: Watch) -> tuple[Found, int, bool]:
        """The motion, how many programs it took, and whether another would hardly change it."""
        region, count, settled = REGION, 0, False
        at, best = self._place(self.search.start), None
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

    def _step(self, at: _Place, region: float) -> tuple[_Place, float, int, bool]:
        """The next place, the region there, how many programs it took, and whether it is the last."""
        J, count = self.search.jacobian(at.x), 0
        while region > SMALLEST:
            count += 1
            trial, expected = self._trial(at, J, region)
            if expected < SETTLED and at.miss < self.near:
                return at, region, count, True
            gain = -1.0 if trial is None else (at.sum - trial.sum) / expected
            region = min(2 * region, LARGEST) if gain > GOOD else region / 3 if gain < FAIR else region
            if trial is not None and gain > POOR:
                return trial, region, count, False
        return at, region, count, False

    def _trial(self, at: _Place, J: Array, region: float) -> tuple[_Place | None, float]:
        """Where the program leads, and by what the sum would fall on the way."""
        dx, expected = self._program(at, at.g, J, region)
        trial = self._place(at.x + dx)
        if trial is not None and at.sum - trial.sum < FAIR * expected:
            curved, _ = self._program(at, trial.g - J @ dx, J, region)
            again = self._place(at.x + curved)
            trial = again if again is not None and again.sum < trial.sum else trial
        return trial, expected

    def _place(self, x: Array) -> _Place | None:
        g = self.search.constraints(x)
        if np.isnan(g).any():
            return None
        low, high = self.search.row_bounds
        miss = float(np.maximum(g - high, low - g).max(initial=0.0))
        return _Place(x, g, miss, float(x[-1] + WIGGLE * np.abs(self._bends @ x).sum() + MISSED * miss))

    def _program(self, at: _Place, g: Array, J: Array, region: float) -> tuple[Array, float]:
        """The step where conditions are g, and by what it would make the sum less. Those out of reach are left out."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, identity, vstack

        (low, high), reach = self.search.row_bounds, region * self._reach
        far, size, K = np.abs(J) @ reach, len(at.x), len(self._bends)
        upper, lower = g + far > high, g - far < low
        A, B, E = np.vstack([J[upper], -J[lower]]), csr_array(self._bends), identity(K)
        rows: Any = vstack([
            hstack([csr_array(A), csr_array((len(A), K)), csr_array(-np.ones((len(A), 1)))]),
            hstack([B, -E, csr_array((K, 1))]),
            hstack([-B, -E, csr_array((K, 1))]),
        ])  # fmt: skip
        bent = self._bends @ at.x
        right = np.concatenate([(high - g)[upper], (g - low)[lower], -bent, bent])
        cost = np.concatenate([np.zeros(size - 1), [1.0], np.full(K, WIGGLE), [MISSED]])
        bounds = [*zip(-reach, reach), *[(0.0, None)] * (K + 1)]
        found = linprog(cost, A_ub=rows, b_ub=right, bounds=bounds, method="highs")
        if found.x is None:
            raise Unsolved(f"a linear program of the search has no solution ({found.message})")
        return np.asarray(found.x[:size]), at.sum - float(at.x[-1] + found.fun)
