"""Arms that follow a command which was made for another: the same arm with another payload or stiffness, whose motors
do what they are told. What they ring by at the end is bounded, mode by mode, in meters at the tip."""

from __future__ import annotations

import numpy as np

from pliant.algebra.pencil import natural_modes
from pliant.arrays import Array
from pliant.control.planning.motion_curvature import Curvature
from pliant.control.planning.motion_forces import ArmForces
from pliant.control.planning.motion_grid import MotionGrid
from pliant.control.planning.motion_response import Driven, DrivenMotion, DrivenSlopes
from pliant.model.model import Model

FELT = 0.05
"""Share of its bound that the whole command must be able to change a mode by, to be a condition."""


def swing_rows(arm: ArmForces, rest: Array, free: list[int]) -> Array:
    """(2, f, 2 n) rows over a state near `rest`: what each mode swings by at the tip, m, by its place and by its rate,
    while what is not `free` stands."""
    n, at = len(rest), np.ix_(free, free)
    _, K, _, M = arm.slopes(rest, 0 * rest, 0 * rest)
    squares, Phi = natural_modes(K[at], M[at])
    size = np.linalg.norm(arm.model.jacobian(rest)[3:, free] @ Phi, axis=0)
    rows = np.zeros((2, len(free), 2 * n))
    rows[0][:, free], rows[1][:, [n + k for k in free]] = mode_rows(M[at], squares, Phi, size)
    return rows


def mode_rows(M: Array, squares: Array, Phi: Array, size: Array) -> tuple[Array, Array]:
    """(k, n) rows over displacements from rest and over speeds: what modes Phi (n, k) of unit inertia swing by, times
    `size` (k,)."""
    modal = (Phi.T @ M) * size[:, None]
    return modal, modal / np.sqrt(np.abs(squares))[:, None]


class Bystander:
    """An arm beside the one that a command is made for, on the same grid.

    Parameters
    ----------
    model : Model
        With the same coordinates.
    grid : MotionGrid
        Of the command.
    start, goal : (m,) array
        Of the actuated coordinates.
    unit, share : float
        The swing at the tip that counts as one, m, and the share of it that each mode may have after the end.
    """

    def __init__(
        self, model: Model, grid: MotionGrid, start: Array, goal: Array, unit: float, share: float = 1.0
    ) -> None:
        begin, rest = (model.equilibrium(each, held="motors") for each in (start, goal))
        arm = ArmForces(model)
        self.driven, self.goal, self.share = Driven(arm, grid, begin), np.concatenate([rest, 0 * rest]), share
        self._rows = swing_rows(arm, rest, list(grid.free)) / unit

    def following(self, guess: DrivenMotion, scale: Array) -> Following:
        """It under the command of a guess, where changes of the command by `scale` are of size one."""
        rows = np.concatenate([self._rows[0], self._rows[1] / guess.T])  # derivatives are by s = t / T
        return Following(self.driven, self.goal, rows, guess, scale, self.share)


class Following:
    """How the end of a bystander follows from the command.

    Parameters
    ----------
    driven : Driven
    goal : (2 n,) array
        State at rest.
    rows : (K, 2 n) array
        Of what must stay within `share` of one at the end.
    guess : DrivenMotion
        Of the arm that the command is made for.
    scale : (N_x,) array
        Of the unknowns.
    share : float
    """

    def __init__(
        self, driven: Driven, goal: Array, rows: Array, guess: DrivenMotion, scale: Array, share: float = 1.0
    ) -> None:
        self.driven, self.goal, self.share, self._curvature = driven, goal, share, Curvature(driven)
        self._slopes: DrivenSlopes | None = None
        self.at = driven.response(guess.nodes[:, 2, list(driven.grid.actuated)], guess.T, guess)
        reach = np.abs(rows @ self.end_slopes().end * scale).sum(axis=1)
        self.rows = rows[reach > FELT * share]
        self.count = len(self.rows)

    def follow(self, a: Array, T: float) -> None:
        """Accelerations d2q/ds2 (N + 1, m) at the nodes."""
        self.at, self._slopes = self.driven.response(a, T, self.at), None

    def end_slopes(self) -> DrivenSlopes:
        """Of the response, by accelerations at the nodes and by T."""
        if self._slopes is None:
            self._slopes = self.driven.slopes(self.at)
        return self._slopes

    def values(self) -> Array:
        """(K,) of size one."""
        return np.asarray(self.rows @ (self.at.nodes[-1, :2].ravel() - self.goal))

    def slopes(self) -> Array:
        """(K, N_x) of the values."""
        return np.asarray(self.rows @ self.end_slopes().end)

    def curvature(self, weights: Array) -> Array:
        """(N_x, N_x) of the values so weighed."""
        at = self.at
        return self._curvature.of(at, self.end_slopes(), weights @ self.rows, 0 * at.tau, 0 * at.tau_nodes)
