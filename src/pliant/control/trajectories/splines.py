"""Piecewise polynomials, splines through waypoints, and trajectories one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression
from pliant.base.signatures import checked
from pliant.control.trajectories.trajectories import Trajectory, constant, is_looked_up, numbers
from pliant.errors import ModelError

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

LONGEST_WRITTEN = 50
"""Most pieces that are written out in the equations. More of them are a series, in which a run looks up the piece of
the moment."""


@dataclass(frozen=True)
class Piece:
    """A polynomial in (t - start) that holds from `start` on: `coefficients` (degree + 1, n), constant term first."""

    start: float
    coefficients: Array
    tunable: ClassVar = ("start", "coefficients")


class Piecewise(Trajectory):
    """Polynomials one after another; before the first and after `end` the end positions hold.

    More than 50 pieces are a series: the coefficients of the current polynomial are inputs of the equations of a run,
    and steps end where pieces meet. So the equations do not grow with the number of pieces, and another series of the
    same form compiles nothing.

    Parameters
    ----------
    pieces : sequence of Piece
        Start times and coefficients of rising powers.
    end : float
        Time at which the last piece ends, s.
    coordinates : sequence of str, optional
        Names of the coordinates that it moves, as in `Trajectory`.
    joints : Trajectory, optional
        Motion of the joints while it moves motors.

    Examples
    --------
    >>> spline = pliant.control.Waypoints([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])
    >>> isinstance(spline, pliant.control.Piecewise)
    True
    """

    tunable: tuple[str, ...] = ("pieces", "end", "joints")
    begins_in_motion = False
    """True if the motion does not begin at rest."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        end: float,
        coordinates: Sequence[str] | None = None,
        joints: Trajectory | None = None,
    ) -> None:
        if not pieces:
            raise ModelError("pieces: expected at least one polynomial")
        self.pieces, self.end = tuple(pieces), float(end)
        self.n = self.pieces[0].coefficients.shape[1]
        self.breaks = (*(piece.start for piece in self.pieces), self.end)
        if coordinates is not None:
            self.coordinates = tuple(coordinates)
            if len(self.coordinates) != self.n:
                raise ModelError(f"coordinates: got {len(self.coordinates)} names, expected {self.n}")
        if joints is not None:
            self.joints = joints
        if len(self.pieces) > LONGEST_WRITTEN:
            self._make_series()

    def _make_series(self) -> None:
        """Set starts (K,), the first of them -inf, and coefficients (K, degree + 1, n) for all times, and the form that
        determines the equations."""
        inner = np.stack([piece.coefficients for piece in self.pieces])
        ends = np.zeros((2, *inner.shape[1:]))
        last = self.pieces[-1]
        powers = (self.end - last.start) ** np.arange(inner.shape[1])
        ends[:, 0] = inner[0, 0], powers @ last.coefficients
        ends[0] = inner[0] if self.begins_in_motion else ends[0]
        behind = np.nextafter(self.end, np.inf)  # a run that ends there sees the last piece
        self.series_starts = np.array([-np.inf, *(piece.start for piece in self.pieces), behind])
        self.series_rows = np.concatenate([ends[:1], inner, ends[1:]])
        self.form = self.series_form = f"series {inner.shape[1:]}"
        self.recipe = hashlib.sha256(self.series_starts.tobytes() + self.series_rows.tobytes()).hexdigest()
        self.tunable = ()

    @property
    def is_series(self) -> bool:
        """True if a run looks up the piece of the moment."""
        return len(self.pieces) > LONGEST_WRITTEN

    @cached_property
    def held(self) -> Expression:
        """Symbols for the piece of the moment: coefficients, power by power, then the start."""
        return ca.SX.sym("series", self.series_rows[0].size + 1)

    def _polynomial(self, t: Expression) -> Expression:
        """Return (n, 1) positions by the piece of the moment."""
        since, value = t - self.held[-1], ca.SX.zeros(self.n)
        for k in reversed(range(self.series_rows.shape[1])):
            value = self.held[k * self.n : (k + 1) * self.n] + since * value
        return value

    def derivatives(self, t: Expression) -> tuple[Expression, Expression, Expression]:
        """Return (n, 1) positions, rates and accelerations."""
        if not is_looked_up(self, t):
            return super().derivatives(t)
        q = self._polynomial(t)
        qd = ca.jacobian(q, t)
        return q, qd, ca.jacobian(qd, t)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd at one time, each (n,), or at times (N,), each (N, n)."""
        if not self.is_series or np.ndim(t) > 1:
            return super().__call__(t)
        times = np.atleast_1d(np.asarray(t, dtype=float))
        piece = np.searchsorted(self.series_starts, times, side="right") - 1
        rows, start = self.series_rows[piece], self.series_starts[piece]
        since = np.where(np.isfinite(start), times - start, 0.0)
        found = []
        for _ in range(3):
            powers = since[:, None] ** np.arange(rows.shape[1])
            found.append(np.einsum("tk,tkn->tn", powers, rows))
            rows = rows[:, 1:] * np.arange(1, rows.shape[1])[:, None]
        q, qd, qdd = found if np.ndim(t) else [x[0] for x in found]
        return q, qd, qdd

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions by Horner's scheme with the coefficients of the piece of the moment."""
        if is_looked_up(self, t):
            return self._polynomial(t)
        time = ca.fmin(t if self.begins_in_motion else ca.fmax(t, self.pieces[0].start), self.end)
        start, table = ca.SX(self.pieces[0].start), ca.SX(constant(self.pieces[0].coefficients))
        for piece in self.pieces[1:]:
            inside = time >= piece.start
            start = ca.if_else(inside, piece.start, start)
            table = ca.if_else(inside, constant(piece.coefficients), table)
        since, value = time - start, table[-1, :]
        for k in reversed(range(table.shape[0] - 1)):
            value = table[k, :] + since * value
        return value.T


def spline_pieces(spline: BSpline, starts: Array, order: int) -> list[Piece]:
    """Return the polynomials of a spline of this order that begin at `starts` (K,)."""
    factorial = np.cumprod([1, *range(1, order + 1)])
    rows = np.stack([spline(starts, k) / factorial[k] for k in range(order + 1)], axis=1)
    return [Piece(float(start), row) for start, row in zip(starts, rows)]


def timed_rows(name: str, times: ArrayLike, values: Sequence[ArrayLike] | ArrayLike) -> tuple[Array, Array]:
    """Return rising times (N,) and a row of finite numbers (N, n) for each; a list of numbers is one column."""
    at = numbers("times", times)
    try:
        rows = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: got {values!r}, expected {len(at)} rows of numbers") from error
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != len(at) or not np.isfinite(rows).all():
        raise ModelError(f"{name}: got shape {rows.shape}, expected one finite row for each of the {len(at)} times")
    if len(at) < 2 or not (np.diff(at) > 0).all():
        raise ModelError(f"times: got {times!r}, expected at least two strictly rising times")
    return at, rows


@checked
class Waypoints(Piecewise):
    """Spline through `points` (K, n) at `times` (K,).

    Cubic (`order` 3, continuous acceleration, zero end rates) or quintic (`order` 5, zero end rates and accelerations).

    Parameters
    ----------
    times : (K,)
        Times, rising, s.
    points : (K, n)
        Rad or m.
    order : int
        3 or 5.

    Examples
    --------
    >>> q, _, _ = pliant.control.Waypoints([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])(1.0)
    >>> print(q.round(9))
    [1.]
    """

    tunable = (*Piecewise.tunable, "times", "points")

    def __init__(self, times: ArrayLike, points: ArrayLike, order: int = 3) -> None:
        from scipy.interpolate import make_interp_spline

        at, through = timed_rows("points", times, points)
        if order not in (3, 5):
            raise ModelError(f"order: got {order!r}, expected 3 or 5")
        rest = [(k, np.zeros(through.shape[1])) for k in range(1, (order + 1) // 2)]
        spline = make_interp_spline(at, through, k=order, bc_type=(rest, rest))
        self.times, self.points = at, through
        super().__init__(spline_pieces(spline, at[:-1], order), float(at[-1]))


@checked
class Phases(Trajectory):
    """Trajectories one after another: the first from the start, each other one from its time in `times` on.

    It is as smooth as its parts where they meet. Each should begin where the one before has come to rest.

    Parameters
    ----------
    parts : sequence of Trajectory
        Trajectories with the same number of coordinates.
    times : (len(parts) - 1,)
        Begin of each part but the first, s.

    Examples
    --------
    >>> there = pliant.control.Quintic([0.0], [1.0], 1.0)
    >>> back = pliant.control.Quintic([1.0], [0.0], 1.0, begin=2.0)
    >>> q, _, _ = pliant.control.Phases([there, back], [2.0])([0.0, 1.5, 3.0])
    >>> print(q[:, 0].round(9) + 0.0)
    [0. 1. 0.]
    """

    tunable = ("parts", "times", "joints")

    def __init__(self, parts: Sequence[Trajectory], times: ArrayLike) -> None:
        at = numbers("times", times) if len(parts) > 1 else np.zeros(0)
        if len(parts) == 0 or len(at) != len(parts) - 1 or not (np.diff(at) > 0).all():
            raise ModelError(
                f"times: got {times!r} for {len(parts)} parts, expected a rising time for each but the first"
            )
        if len({part.n for part in parts}) != 1:
            raise ModelError(
                f"parts: they move {[part.n for part in parts]} coordinates, expected the same number each"
            )
        self.parts, self.times, self.n = tuple(parts), at, parts[0].n
        own = [b for part in parts for b in part.breaks]
        self.breaks = tuple(sorted({float(b) for b in (*own, *at)}))
        sides = {part.coordinates for part in parts}
        if len(sides) > 1:
            raise ModelError(
                "parts: they move " + " and ".join(sorted("joints" if s is None else ", ".join(s) for s in sides))
                + "; expected the same coordinates in each"
            )  # fmt: skip
        if parts[0].coordinates is not None:
            self.coordinates = parts[0].coordinates
        behind = [part.joints for part in parts if part.joints is not None]
        if len(behind) == len(parts):
            self.joints = Phases(behind, at)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) positions."""
        value = ca.SX(self.parts[0].expression(t))
        for k, part in enumerate(self.parts[1:]):
            value = ca.if_else(t >= self.times[k], part.expression(t), value)
        return value
