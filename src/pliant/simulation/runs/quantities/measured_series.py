"""One measured channel, as a result keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.control.sensing.sensors import Sensor


@dataclass(frozen=True)
class MeasuredSeries:
    """Readings of one channel of a sensor in a run.

    Attributes
    ----------
    name : str
        Name of the channel.
    t, values : (K,)
        Times of the readings, s, and the readings.
    unit : str
        Unit of the readings.
    noise : float
        Standard deviation of a reading by noise and digits, in its unit.
    sensor : Sensor or None
        The sensor; a file does not keep it.

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
    sensor: Sensor | None = field(default=None, repr=False)

    def held(self, t: Array) -> Array:
        """Latest reading at other times; before the first reading, that one.

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
