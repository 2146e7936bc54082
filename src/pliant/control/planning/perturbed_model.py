"""Arms that follow a command made for another arm: the same arm with another payload or stiffness, whose motors follow
the command exactly. Their residual vibration is bounded mode by mode, in meters at the tip."""

from __future__ import annotations

import numpy as np

from pliant.algebra.natural_modes import natural_modes
from pliant.arrays import Array
from pliant.control.planning.search.motion_curvature import Curvature
from pliant.control.planning.search.motion_forces import ArmForces
from pliant.control.planning.search.motion_grid import MotionGrid
from pliant.control.planning.search.motion_response import Driven, DrivenMotion, DrivenSlopes
from pliant.model.model import Model

FELT = 0.05
"""A mode is a condition if all unknowns together can change its swing by more than this share of its bound."""


def swing_rows(arm: ArmForces, rest: Array, free: list[int]) -> Array:
    """Return (2, f, 2 n) rows: products with a state (q, qd), counted from `rest` (n,), are swings of f modes at the
    tip, m, by displacement and by rate. All coordinates but the `free` ones stand still."""
    n, at = len(rest), np.ix_(free, free)
    _, K, _, M = arm.slopes(rest, 0 * rest, 0 * rest)
    squares, Phi = natural_modes(K[at], M[at])
    size = np.linalg.norm(arm.model.jacobian(rest)[3:, free] @ Phi, axis=0)
    rows = np.zeros((2, len(free), 2 * n))
    rows[0][:, free], rows[1][:, [n + k for k in free]] = mode_rows(M[at], squares, Phi, size)
    return rows


def mode_rows(M: Array, squares: Array, Phi: Array, size: Array) -> tuple[Array, Array]:
    """Return (k, n) rows over displacements and (k, n) rows over speeds: products are amplitudes of k modes, times
    `size`.

    Parameters
    ----------
    M : (n, n) array
        Mass matrix.
    squares : (k,) array
        Squares of angular frequencies.
    Phi : (n, k) array
        Modes of unit inertia.
    size : (k,) array
        Factors.
    """
    modal = (Phi.T @ M) * size[:, None]
    return modal, modal / np.sqrt(np.abs(squares))[:, None]


class Bystander:
    """An arm other than the one for which a command is made, on the same grid.

    Parameters
    ----------
    model : Model
        The other arm, with the same coordinates.
    grid : MotionGrid
        Grid of the command.
    start, goal : (m,) array
        Positions of the actuated coordinates.
    unit, share : float
        A swing of the tip, m, and the share of it that each mode may have after the end.
    """

    def __init__(
        self, model: Model, grid: MotionGrid, start: Array, goal: Array, unit: float, share: float = 1.0
    ) -> None:
        begin, rest = (model.equilibrium(each, held="motors") for each in (start, goal))
        arm = ArmForces(model)
        self.driven, self.share = Driven(arm, grid, begin), share
        self.goal = np.concatenate([rest, 0 * rest])
        self._rows = swing_rows(arm, rest, list(grid.free)) / unit

    def following(self, guess: DrivenMotion, scale: Array) -> Following:
        """Return this arm under the command of a guess; `scale` (N_x,) are changes of unknowns of size one."""
        rows = np.concatenate([self._rows[0], self._rows[1] / guess.T])  # derivatives are by s = t / T
        return Following(self.driven, goal=self.goal, rows=rows, guess=guess, scale=scale, share=self.share)


class Following:
    """Conditions on the end of a bystander, as a function of the command.

    Parameters
    ----------
    driven : Driven
        The other arm on the grid.
    goal : (2 n,) array
        State of rest.
    rows : (K, 2 n) array
        Products with the end state, counted from the goal, must lie between -`share` and `share`. Rows that the
        command hardly changes are left out.
    guess : DrivenMotion
        First motion of the arm for which the command is made.
    scale : (N_x,) array
        Changes of unknowns of size one.
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
        """Take a command: accelerations d2q/ds2 (N + 1, m) at the nodes, and the duration, s."""
        self.at, self._slopes = self.driven.response(a, T, self.at), None

    def end_slopes(self) -> DrivenSlopes:
        """Return slopes of the response by accelerations at the nodes and by T."""
        if self._slopes is None:
            self._slopes = self.driven.slopes(self.at)
        return self._slopes

    def values(self) -> Array:
        """Return values (K,) of the conditions, of size one."""
        return np.asarray(self.rows @ (self.at.nodes[-1, :2].ravel() - self.goal))

    def slopes(self) -> Array:
        """Return slopes (K, N_x) of the values."""
        return np.asarray(self.rows @ self.end_slopes().end)

    def curvature(self, weights: Array) -> Array:
        """Return second derivatives (N_x, N_x) of the values times `weights` (K,)."""
        at = self.at
        return self._curvature.of(
            at, self.end_slopes(), end=weights @ self.rows, tau=0 * at.tau, tau_nodes=0 * at.tau_nodes
        )
