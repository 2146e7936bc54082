"""What is wrong with a recording, told before anything is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.identification import Recording
from pliant.signatures import checked

GAP = 1.5
"""Of the usual time between two samples: where there is more, some are missing."""
UNEVEN = 0.05
"""Of that time: samples that stray by more have no rate."""
STUCK = 0.02
"""Of the samples, at the largest or the smallest value in a row: a channel that has met its end."""
LEAST_STUCK = 10
OUTERMOST = 1e-9
"""Of the range of a channel."""


@checked
def recording_faults(recording: Recording) -> list[str]:
    """One line for each thing that makes a recording unfit: missing samples, an uneven rate, channels that are constant
    or have met the end of their range.

    Parameters
    ----------
    recording : Recording
        As measured.

    Returns
    -------
    list of str
        Empty if nothing was found.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> pliant.validation.recording_faults(pliant.Recording(t, {"upper": np.sin(t), "fore": 0 * t}))
    ['fore: constant at 0 from 0 to 1 s; a channel that says nothing cannot be compared']
    """
    found = []
    for channel in recording.channels:
        times, values = recording.reading(channel)
        found += [f"{channel}: {fault}" for fault in (*_clock_faults(times), *_value_faults(times, values))]
    return found


def _clock_faults(times: Array) -> Iterator[str]:
    steps = np.diff(times)
    if not len(steps):
        return
    usual = float(np.median(steps))
    gaps = np.flatnonzero(steps > GAP * usual)
    if len(gaps):
        missing = int(np.round(steps[gaps] / usual - 1).sum())
        yield (
            f"about {missing} samples are missing, first behind {times[gaps[0]]:.6g} s, where {steps[gaps[0]]:.4g} s "
            f"pass instead of {usual:.4g} s"
        )
    others = np.delete(steps, gaps)
    stray = float(np.abs(others - usual).max())
    if stray > UNEVEN * usual:
        at = int(np.abs(steps - usual).argmax())
        yield f"the rate is uneven: steps of {others.min():.4g} to {others.max():.4g} s, near {times[at]:.6g} s"


def _value_faults(times: Array, values: Array) -> Iterator[str]:
    low, high = float(values.min()), float(values.max())
    if low == high:
        span = f"from {times[0]:.6g} to {times[-1]:.6g} s"
        yield f"constant at {low:.6g} {span}; a channel that says nothing cannot be compared"
        return
    for end, name in ((high, "largest"), (low, "smallest")):
        first, count = _longest(np.abs(values - end) <= OUTERMOST * (high - low))
        resting = first == 0 or first + count == len(values)  # an arm that waits before or after it moves
        if not resting and count >= max(LEAST_STUCK, STUCK * len(values)):
            span = f"for {count} samples from {times[first]:.6g} s"
            yield f"stays at its {name} value {end:.6g} {span}; it may be saturated"


def _longest(held: Any) -> tuple[int, int]:
    """First place and length of the longest run of true entries."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int((ends - starts).argmax())
    return int(starts[k]), int(ends[k] - starts[k])
