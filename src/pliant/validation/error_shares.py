"""Shares of the error of a prediction: by frequency, which add up, and by what would explain it, each alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.validation.channel_match import ChannelMatch

BAND = (0.6, 1.6)
"""Parts of the first frequency between which an error counts to the first mode; below, it counts to rigid motion."""


@dataclass(frozen=True)
class ErrorShares:
    """Parts of the squared error of a channel, each from 0 to 1.

    Parameters
    ----------
    rigid_motion, first_mode, higher : float or None
        Shares below, around and above the first frequency of the arm with its joints held; they add up to 1. None for
        an arm that does not bend.
    friction : float or None
        Share that other values of viscous and dry friction would explain, to first order; None where no joint with
        friction moves freely.
    delay : float
        Share that disappears if the measurement is shifted in time to fit best.

    Examples
    --------
    >>> pliant.validation.ErrorShares(0.5, 0.4, 0.1, None, 0.2).to_dict()["first_mode"]
    0.4
    """

    rigid_motion: float | None
    first_mode: float | None
    higher: float | None
    friction: float | None
    delay: float

    def to_dict(self) -> dict[str, object]:
        """Plain data.

        Returns
        -------
        dict
            For JSON.
        """
        return asdict(self)


def error_shares(match: ChannelMatch, first: float | None, friction: Array) -> ErrorShares:
    """Shares of the error of one channel. `first` is the first frequency of the arm in Hz, `friction` (N, F) are slopes
    of the prediction by numbers of friction."""
    error = match.measured - match.predicted
    size = float(error @ error)
    if size == 0.0:
        none = None if first is None else 0.0
        return ErrorShares(none, none, none, None, 0.0)
    slow, middle, fast = (None, None, None) if first is None else _bands(match.t, error, first)
    delay = max(0.0, 1.0 - (match.nrmse_undelayed / match.nrmse) ** 2) if match.delay else 0.0
    explained = None
    if friction.shape[1]:
        scaled = friction / np.maximum(np.linalg.norm(friction, axis=0), np.finfo(float).tiny)
        left = error - scaled @ np.linalg.lstsq(scaled, error, rcond=1e-8)[0]
        explained = 1.0 - float(left @ left) / size
    return ErrorShares(slow, middle, fast, explained, delay)


def _bands(t: Array, error: Array, first: float) -> list[float]:
    """Parts of the squared error in three bands of frequency, by Parseval's theorem; a constant is slow."""
    waves = np.abs(np.fft.rfft(error)) ** 2
    waves[1 : len(error) - len(waves) + 1] *= 2.0  # those with a partner of negative frequency
    f = np.fft.rfftfreq(len(error), (t[-1] - t[0]) / (len(t) - 1))
    parts = f < BAND[0] * first, (f >= BAND[0] * first) & (f < BAND[1] * first), f >= BAND[1] * first
    return [float(waves[part].sum() / waves.sum()) for part in parts]
