"""Signals over time, for loads, shaken bases and test motions: sines, pulses and samples."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Expression
from pliant.base.signatures import checked
from pliant.control.trajectories.splines import Piece, Piecewise, timed_rows
from pliant.control.trajectories.trajectories import Trajectory, constant, moment, numbers, positive
from pliant.options import PulseName


@checked
class Sine(Trajectory):
    """`offset` + `amplitude` sin(2 pi f (t - begin) + `phase`) from `begin` on; `offset` alone before.

    Parameters
    ----------
    amplitude, offset : (n,)
        In the unit of the driven quantity.
    frequency : float
        Hz.
    phase : float
        Radians.
    begin : float
        Seconds.

    Examples
    --------
    >>> values, _, _ = pliant.control.Sine([2.0], frequency=0.5)([0.0, 0.5, 1.5])
    >>> print(values[:, 0].round(9))
    [ 0.  2. -2.]
    """

    tunable = ("amplitude", "offset", "frequency", "phase", "begin")

    def __init__(
        self,
        amplitude: ArrayLike,
        frequency: float,
        phase: float = 0.0,
        offset: ArrayLike | None = None,
        begin: float = 0.0,
    ) -> None:
        self.amplitude = numbers("amplitude", amplitude)
        self.n = len(self.amplitude)
        self.offset = np.zeros(self.n) if offset is None else numbers("offset", offset, self.n)
        self.frequency, self.phase = positive("frequency", frequency), moment("phase", phase)
        self.begin = moment("begin", begin)
        self.breaks = (self.begin,)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) values."""
        wave = ca.sin(2 * np.pi * self.frequency * (t - self.begin) + self.phase)
        return constant(self.offset) + constant(self.amplitude) * ca.if_else(t >= self.begin, wave, 0)


@checked
class Pulse(Trajectory):
    """`height` for `duration` seconds from `begin` on, zero elsewhere: a blow ("half-sine") or a push ("rectangle").

    Parameters
    ----------
    height : (n,)
        In the unit of the driven quantity.
    duration : float
        Seconds.
    begin : float
        Seconds.
    shape : "half-sine" or "rectangle"

    Examples
    --------
    >>> values, _, _ = pliant.control.Pulse([100.0], duration=0.2, begin=1.0)([0.9, 1.1, 1.3])
    >>> print(values[:, 0].round(6))
    [  0. 100.   0.]
    """

    tunable = ("height", "duration", "begin")

    def __init__(self, height: ArrayLike, duration: float, begin: float = 0.0, shape: PulseName = "half-sine") -> None:
        self.height = numbers("height", height)
        self.n = len(self.height)
        self.duration, self.begin = positive("duration", duration), moment("begin", begin)
        self.shape = shape
        self.breaks = (self.begin, self.begin + self.duration)

    def expression(self, t: Expression) -> Expression:
        """Return (n, 1) values."""
        u = (t - self.begin) / self.duration
        form = ca.sin(np.pi * u) if self.shape == "half-sine" else ca.SX(1)
        return constant(self.height) * ca.if_else(ca.logic_and(u >= 0, u < 1), form, 0)


@checked
class Samples(Piecewise):
    """`values` (K, n) at `times` (K,), straight in between, the end values beyond.

    Its rate jumps, which suits loads and references. Use `Waypoints` for a joint that follows exactly.

    Parameters
    ----------
    times : (K,)
        Times, rising, s.
    values : (K, n)
        In the unit of the driven quantity.

    Examples
    --------
    >>> values, _, _ = pliant.control.Samples([0.0, 1.0], [[0.0], [4.0]])([0.25, 2.0])
    >>> print(values[:, 0])
    [1. 4.]
    """

    tunable = (*Piecewise.tunable, "times", "values")

    def __init__(self, times: ArrayLike, values: Sequence[ArrayLike] | ArrayLike) -> None:
        at, table = timed_rows("values", times, values)
        slopes = np.diff(table, axis=0) / np.diff(at)[:, None]
        self.times, self.values = at, table
        super().__init__(
            [Piece(float(a), np.stack([y, s])) for a, y, s in zip(at[:-1], table[:-1], slopes)], float(at[-1])
        )
