"""Measured and predicted frequencies and damping where an arm vibrates freely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.validation.decay import Decay, free_decay

if TYPE_CHECKING:
    from pliant.validation.channel_match import ChannelMatch


@dataclass(frozen=True)
class RingDown:
    """Free vibration in one window of time.

    Parameters
    ----------
    start, end : float
        Ends of the window, s.
    measured, predicted : Decay
        Vibration of all channels that move there; `predicted` is None where the model does not vibrate.

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 401)
    >>> decay = pliant.validation.free_decay(t, np.cos(12.0 * t), [1.8])
    >>> pliant.validation.RingDown(0.0, 2.0, decay, None).to_dict()["predicted"]
    """

    start: float
    end: float
    measured: Decay
    predicted: Decay | None

    def to_dict(self) -> dict[str, object]:
        """Plain data.

        Returns
        -------
        dict
            For JSON.
        """
        found: dict[str, object] = {"start_s": self.start, "end_s": self.end}
        for name, decay in (("measured", self.measured), ("predicted", self.predicted)):
            values = decay and {"frequencies_hz": decay.frequencies.tolist(), "damping": decay.damping.tolist()}
            found[name] = values
        return found


def ring_down(matches: Iterable[ChannelMatch], window: tuple[float, float], near: Array) -> RingDown:
    """Fit decaying sinusoids near these frequencies that the channels have in common between two times."""
    start, end = float(window[0]), float(window[1])
    channels = list(matches)
    t = channels[0].t
    rows = (t >= start) & (t < end)
    same = [m for m in channels if rows.any() and m.t.shape == t.shape and np.ptp(m.measured[rows]) > 0]
    if rows.sum() < 3 or not same or not len(near):
        raise ModelError(f"ringing: got {start:g} to {end:g} s, where nothing was read, or an arm that does not bend")
    measured = free_decay(t[rows], np.column_stack([m.measured[rows] for m in same]), near.tolist())
    moving = [m.predicted[rows] for m in same if np.ptp(m.predicted[rows]) > 0]
    predicted = free_decay(t[rows], np.column_stack(moving), near.tolist()) if moving else None
    return RingDown(start, end, measured, predicted)
