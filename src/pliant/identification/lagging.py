"""A low-pass between the motion of an arm and the reading of a channel, with its slope."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.sensing.sensor_chain import low_pass


def lagged(times: Array, values: Array, lag: float) -> tuple[Array, Array]:
    """(N, k) columns behind a low-pass of first order with this time constant, and (N,) the slope of the first by it.

    They are straight between two times and settled at the first, as in `control/sensing/sensor_chain.py`.
    """
    out, slope = np.array(values), np.zeros(len(values))
    for k, step in enumerate(np.diff(times), 1):
        old, new, before = values[k - 1], values[k], out[k - 1]
        a = step / lag if lag > 0 else np.inf
        kept, followed = low_pass(a)
        out[k] = old + (before - old) * kept + (new - old) * followed
        if step > 0:  # d kept = a kept / lag, d followed = -(1 - followed - kept) / lag, -1 / step without a lag
            by_kept, by_followed = (a * kept / lag, -(1 - followed - kept) / lag) if lag > 0 else (0.0, -1 / step)
            slope[k] = slope[k - 1] * kept + (before[0] - old[0]) * by_kept + (new[0] - old[0]) * by_followed
        else:
            slope[k] = slope[k - 1]
    return out, slope
