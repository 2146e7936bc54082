"""Faults of a recording, found before anything is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.arrays import Array, Booleans
from pliant.base.signatures import checked
from pliant.identification.recording import Recording
from pliant.options import SaturationName

GAP = 1.5
"""Factor on the usual time between two samples beyond which samples are missing."""
UNEVEN = 0.05
"""Part of the usual time between two samples by which steps may differ from it."""
STUCK = 0.02
"""Part of the samples that a channel may stay at its largest or smallest value."""
LEAST_STUCK = 10
"""Samples that a channel may always stay there."""
SPANS = (3, 6, 12)
"""Samples over which speeds before and after such a stay are computed."""
BRAKED = 0.6
"""Part of the speed a little earlier that a clipped channel still has; a joint that brakes evenly has a third."""
OUTERMOST = 1e-9
"""Part of the range of a channel within which a value counts as its largest or smallest."""


@checked
def recording_faults(recording: Recording, saturation: SaturationName = "auto") -> list[str]:
    """Faults of a recording, one line each: missing samples, an uneven rate, channels that are constant or saturated.

    Parameters
    ----------
    recording : Recording
        The recording as measured.
    saturation : "auto", "refuse" or "warn"
        Whether it is a fault that a channel stays at its largest or smallest value for long. "auto": if it arrives and
        leaves at full speed, as a clipped sensor does, but not if it stops there, as a joint held by friction does.
        "refuse": always. "warn": never. The other cases are in `recording_doubts`.

    Returns
    -------
    list of str
        Empty if nothing was found.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> pliant.validation.recording_faults(pliant.identification.Recording(t, {"upper": np.sin(t), "fore": 0 * t}))
    ['fore: constant at 0 from 0 to 1 s; a channel that says nothing cannot be compared']
    """
    found = []
    for channel in recording.channels:
        times, values = recording.reading(channel)
        held = [text for text, clipped in _held(times, values) if _counts(clipped, saturation)]
        found += [f"{channel}: {fault}" for fault in (*_clock_faults(times), *_constant(times, values), *held)]
    return found


@checked
def recording_doubts(recording: Recording, saturation: SaturationName = "auto") -> list[str]:
    """Doubts about a recording: one line for each channel that stays at its largest or smallest value for long, where
    this is no fault.

    Parameters
    ----------
    recording : Recording
        The recording as measured.
    saturation : "auto", "refuse" or "warn"
        As in `recording_faults`.

    Returns
    -------
    list of str
        Empty if nothing was found.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> clipped = pliant.identification.Recording(t, {"upper": np.clip(np.sin(6 * t), -1.0, 0.8)})
    >>> pliant.validation.recording_doubts(clipped), len(pliant.validation.recording_doubts(clipped, "warn"))
    ([], 1)
    """
    return [
        f"{channel}: {text}"
        for channel in recording.channels
        for text, clipped in _held(*recording.reading(channel))
        if not _counts(clipped, saturation)
    ]


def _counts(clipped: bool, saturation: str) -> bool:
    return saturation == "refuse" or (saturation == "auto" and clipped)


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


def _constant(times: Array, values: Array) -> Iterator[str]:
    if values.min() == values.max():
        span = f"from {times[0]:.6g} to {times[-1]:.6g} s"
        yield f"constant at {values[0]:.6g} {span}; a channel that says nothing cannot be compared"


def _held(times: Array, values: Array) -> Iterator[tuple[str, bool]]:
    """Messages on ends of the range at which a channel stays, and whether it is clipped there."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return
    for end, name in ((high, "largest"), (low, "smallest")):
        first, count = _longest(np.abs(values - end) <= OUTERMOST * (high - low))
        resting = first == 0 or first + count == len(values)  # an arm that waits before or after it moves
        if not resting and count >= max(LEAST_STUCK, STUCK * len(values)):
            span = f"for {count} samples from {times[first]:.6g} s"
            clipped = _at_speed(values[first::-1]) and _at_speed(values[first + count - 1 :])
            why = "the sensor is clipped" if clipped else "the joint stands still, or the sensor is clipped"
            yield f"stays at its {name} value {end:.6g} {span}; {why}", clipped


def _at_speed(values: Array) -> bool:
    """Return whether a channel leaves its first value at about the speed that it has a little later. The step to the
    second value is left out: it is shorter where the channel is clipped."""
    moved = np.abs(values[1:] - values[min(1, len(values) - 1)])
    spans = [n for n in SPANS if 2 * n < len(moved)]
    return bool(spans) and all(moved[n] > BRAKED * (moved[2 * n] - moved[n]) for n in spans)


def _longest(held: Booleans) -> tuple[int, int]:
    """First place and length of the longest run of true entries."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int((ends - starts).argmax())
    return int(starts[k]), int(ends[k] - starts[k])
