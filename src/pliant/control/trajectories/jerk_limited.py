"""Fastest straight motion within limits of rate, acceleration and jerk: seven phases of constant jerk."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import AnglesLike, Array
from pliant.base.signatures import checked
from pliant.control.controllers.controller import checked_limit
from pliant.control.trajectories.splines import Piece, Piecewise
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError


def phases(distance: float, speed: float, acceleration: float, jerk: float) -> tuple[float, float, float]:
    """Return the phases of the fastest motion over a distance from rest to rest, s: changing acceleration, constant
    acceleration, constant speed. Limits may be infinite, but not all of them."""
    if distance == 0.0:
        return 0.0, 0.0, 0.0
    if np.isinf(jerk):
        top = min(speed, np.sqrt(distance * acceleration))
        ramp = 0.0 if np.isinf(acceleration) else float(top / acceleration)
        return 0.0, ramp, float(distance / top - top / acceleration)
    change = min(np.cbrt(distance / (2 * jerk)), np.sqrt(speed / jerk), acceleration / jerk)
    a = jerk * change
    # with the acceleration a held for h, the top speed is a (change + h) and the way a (change + h) (2 change + h)
    by_way = (-3 * change + np.sqrt(change**2 + 4 * distance / a)) / 2
    held = max(min(by_way, speed / a - change), 0.0) if a >= acceleration * (1 - 1e-12) else 0.0
    top = a * (change + held)
    return float(change), float(held), max(float(distance / top - 2 * change - held), 0.0)


def shortest_time(distance: float, speed: float, acceleration: float, jerk: float) -> float:
    """Return the duration of the fastest motion from rest to rest, s; 0 without limits."""
    if np.isinf([speed, acceleration, jerk]).all():
        return 0.0
    change, held, even = phases(float(distance), float(speed), float(acceleration), float(jerk))
    return 4 * change + 2 * held + even


@checked
class JerkLimited(Piecewise):
    """Fastest motion on the straight line from `start` to `goal` within limits, with seven phases of constant jerk.

    All coordinates follow the same law of the way: limits of the coordinates, as shares of the way, limit it together.

    Parameters
    ----------
    start, goal : (n,)
        Rad or m.
    speed_limit, acceleration_limit, jerk_limit : number or (n,)
        Limits of each coordinate, rad/s, rad/s^2, rad/s^3 or with m.
    begin : float
        Time at which the motion starts.

    Examples
    --------
    >>> move = pliant.control.JerkLimited([0.0], [1.0], speed_limit=1.0, acceleration_limit=2.0, jerk_limit=8.0)
    >>> move.end, float(move(move.end / 2)[1][0].round(9))
    (1.75, 1.0)
    """

    def __init__(
        self, start: AnglesLike, goal: AnglesLike, speed_limit: ArrayLike, acceleration_limit: ArrayLike,
        jerk_limit: ArrayLike, begin: float = 0.0,
    ) -> None:  # fmt: skip
        a = numbers("start", start)
        way = numbers("goal", goal, len(a)) - a
        given = {"speed_limit": speed_limit, "acceleration_limit": acceleration_limit, "jerk_limit": jerk_limit}
        limits = {name: checked_limit(name, value, len(a)) for name, value in given.items()}
        moving = way != 0.0
        if not np.isfinite(limits["jerk_limit"][moving]).all():
            raise ModelError(f"jerk_limit: got {jerk_limit!r}, expected finite numbers")
        if not moving.any():
            super().__init__([Piece(begin, a[None])], begin)
            return
        shares = [float((limit[moving] / np.abs(way[moving])).min()) for limit in limits.values()]
        pieces, end = _law(phases(1.0, *shares), jerk=shares[2], start=a, way=way, begin=begin)
        super().__init__(pieces, end)


def _law(
    times: tuple[float, float, float], jerk: float, start: Array, way: Array, begin: float
) -> tuple[list[Piece], float]:
    """Return pieces of the motion from `start` along `way` (n,), and its end.

    `times` are those of `phases` and `jerk` is that of the share of the way.
    """
    change, held, even = times
    pieces, t, s = [], begin, np.zeros(3)  # share of the way, its rate and acceleration
    for sign, seconds in ((1, change), (0, held), (-1, change), (0, even), (-1, change), (0, held), (1, change)):
        if seconds == 0.0:
            continue
        powers = np.array([s[0], s[1], s[2] / 2, sign * jerk / 6])
        rows = np.outer(powers, way)
        rows[0] += start
        pieces.append(Piece(t, rows))
        s = np.array([
            powers @ seconds ** np.arange(4), s[1] + s[2] * seconds + sign * jerk * seconds**2 / 2,
            s[2] + sign * jerk * seconds,
        ])  # fmt: skip
        t += seconds
    return pieces, t
