"""One measured channel, as a result keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.arrays import Array


@dataclass(frozen=True)
class MeasuredSeries:
    """What a sensor has read in a run.

    Attributes
    ----------
    name : str
        Of the channel.
    t, values : (K,)
        Times of the readings, s, and what was read.
    unit : str
        Of the values.
    noise : float
        Standard deviation of a reading by noise and digits, in its unit.
    sensor : Sensor or None
        That read it; a file does not keep it.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> encoder = pliant.control.Encoder("upper", resolution=4096, sample_time=0.01)
    >>> run = pliant.simulate(model, 0.1, torque=[5.0, 0.0], sensors=[encoder])
    >>> run.measured["upper"].values.shape
    (11,)
    """

    name: str
    t: Array
    values: Array
    unit: str = ""
    noise: float = 0.0
    sensor: Any = field(default=None, repr=False)

    def held(self, t: Array) -> Array:
        """The last reading at other times; the first before it.

        Parameters
        ----------
        t : (N,) array
            Seconds.

        Returns
        -------
        (N,) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> clock = pliant.control.Encoder("upper", sample_time=0.05)
        >>> run = pliant.simulate(model, 0.1, torque=[5.0, 0.0], sensors=[clock])
        >>> read = run.measured["upper"]
        >>> bool(read.held(np.array([0.07]))[0] == read.values[1])
        True
        """
        return np.asarray(self.values[np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1)])
