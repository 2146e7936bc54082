"""Measured motion: splines through samples, or local polynomials where samples are rough."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.trajectories.splines import Piece, Piecewise, spline_pieces, timed_rows
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError

EVEN = 1e-3
"""Tolerance of even samples for local polynomials, over the time between two samples."""
SAME = 1e-6
"""Tolerance of the time of a break, over the time between two samples."""
_QUINTIC = np.array([[-6.0, -1.5, 10.0, -4.0, 0.5], [8.0, 1.5, -15.0, 7.0, -1.0], [-3.0, -0.5, 6.0, -3.0, 0.5]])
"""Third to fifth coefficient in an interval of length 1, from rate and acceleration at its start, the way, and rate and
acceleration at its end."""


@checked
class MeasuredMotion(Piecewise):
    """Motion through `positions` (K, n) sampled at `times` (K,), for joints that move as measured.

    Without `window` a spline of degree `order` goes through the samples. With `window` a polynomial of degree `order`
    is fitted to so many samples around each (Savitzky and Golay). It gives position, rate and acceleration at the
    sample; polynomials of degree 5 join them, so that the acceleration is continuous. Use it for encoders, whose steps
    a spline would differentiate twice.

    Parameters
    ----------
    times : (K,)
        Times, rising, s.
    positions : (K, n)
        Rad or m.
    order : int
        Degree: 3, 5 or 7 of a spline, 2 or more of local polynomials.
    window : int, optional
        Number of samples for each local polynomial, odd and more than `order`.
    breaks : sequence of float
        Times of samples at which the rate jumps, s. The motions before and behind are separate; in a run the jump is an
        impulse.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 251)
    >>> turn = pliant.control.MeasuredMotion(t, np.round(0.5 * t**2, 4), order=2, window=31)
    >>> _, rate, acceleration = turn(0.5)
    >>> round(float(rate[0]), 2), round(float(acceleration[0]), 1)
    (0.5, 1.0)
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        order: int = 3,
        window: int | None = None,
        breaks: Sequence[float] = (),
    ) -> None:
        at, through = timed_rows("positions", times, positions)
        if window is None and order not in (3, 5, 7):
            raise ModelError(f"order: got {order!r}, expected 3, 5 or 7 for a spline")
        if window is not None and not (order >= 2 and window > order and window % 2):
            raise ModelError(
                f"window: got {window!r} samples for polynomials of degree {order}, expected an odd number above the "
                "degree, and a degree of at least 2"
            )
        least = order + 1 if window is None else window
        pieces: list[Piece] = []
        for first, last in _stretches(at, breaks):
            if last - first < least:
                raise ModelError(
                    f"positions: got {last - first} samples from {at[first]:g} to {at[last - 1]:g} s, expected at "
                    f"least {least} between two breaks for order={order}, window={window}"
                )
            own = slice(first, last)
            given = at[own], through[own], order
            pieces += _spline(*given) if window is None else _local(*given, window)
        self.begins_in_motion = bool(at[0] <= 0.0)  # a run may begin within a record
        super().__init__(pieces, float(at[-1]))


def _stretches(at: Array, breaks: Sequence[float]) -> list[tuple[int, int]]:
    """Return the first sample of each stretch between two breaks, and the one behind its last. The sample at a break
    belongs to both stretches."""
    cuts = []
    for time in numbers("breaks", breaks) if len(breaks) else ():
        k = int(np.argmin(np.abs(at - time)))
        if not 0 < k < len(at) - 1 or abs(at[k] - time) > SAME * (at[k] - at[k - 1]):
            raise ModelError(f"breaks: got {time:g} s, expected the time of a sample, neither the first nor the last")
        cuts.append(k)
    edges = [0, *sorted(set(cuts)), len(at) - 1]
    return [(a, b + 1) for a, b in itertools.pairwise(edges)]


def _spline(at: Array, through: Array, order: int) -> list[Piece]:
    """Return pieces of the spline through samples (K, n) at times `at` (K,)."""
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(at, through, k=order)
    return spline_pieces(spline, np.unique(spline.t)[:-1], order)


def _local(at: Array, through: Array, order: int, window: int) -> list[Piece]:
    """Return pieces that join local polynomials, from samples (K, n) at times `at` (K,)."""
    from scipy.signal import savgol_filter

    h = (at[-1] - at[0]) / (len(at) - 1)
    uneven = np.abs(np.diff(at) - h)
    if uneven.max() > EVEN * h:
        raise ModelError(
            f"times: the step from {at[uneven.argmax()]:.6g} s is {at[uneven.argmax() + 1] - at[uneven.argmax()]:.6g} "
            f"s, the others take {h:.6g} s; expected even samples for local polynomials"
        )
    x, v, a = (savgol_filter(through, window, order, deriv=k, axis=0) for k in range(3))  # per interval, not per second
    away = x[1:] - x[:-1]
    high = np.tensordot(_QUINTIC, np.stack([v[:-1], a[:-1], away, v[1:], a[1:]]), 1)
    low = np.stack([x[:-1], v[:-1], a[:-1] / 2])
    rows = np.concatenate([low, high]) / h ** np.arange(6)[:, None, None]
    return [Piece(float(start), rows[:, k]) for k, start in enumerate(at[:-1])]
