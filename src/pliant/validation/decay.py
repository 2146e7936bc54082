"""Frequencies and damping of an arm that vibrates freely, by a fit of decaying sinusoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.trajectories.splines import timed_rows
from pliant.errors import ModelError

FREQUENCY, RATIO = 0.05, 0.005
"""Typical sizes of changes in the fit: of frequencies, Hz, and of damping ratios."""
FIRST_RATIO = 0.01
"""Damping ratio at which the fit begins."""


@dataclass(frozen=True)
class Decay:
    """Decaying sinusoids of a free vibration.

    Parameters
    ----------
    frequencies : (k,)
        Frequencies, Hz.
    damping : (k,)
        Damping ratios, of critical.
    amplitudes : (k, channels) complex
        Amplitudes at the first sample.
    nrmse : (channels,)
        Normalized error of the fit.

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 401)
    >>> pliant.validation.free_decay(t, np.cos(12.0 * t), [1.8]).amplitudes.shape
    (1, 1)
    """

    frequencies: Array
    damping: Array
    amplitudes: Array
    nrmse: Array


@checked
def free_decay(t: ArrayLike, readings: ArrayLike, near: Sequence[float]) -> Decay:
    """Fit decaying sinusoids, beside an offset and a drift, that all channels have in common.

    Parameters
    ----------
    t : (N,)
        Rising times, s.
    readings : (N,) or (N, channels)
        Readings while nothing acts on the arm.
    near : sequence of float
        Frequencies at which the fit begins, Hz.

    Returns
    -------
    Decay

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 401)
    >>> found = pliant.validation.free_decay(t, np.exp(-0.3 * t) * np.cos(12.0 * t), [1.8])
    >>> round(float(found.frequencies[0]), 4), round(float(found.damping[0]), 4)
    (1.9105, 0.025)
    """
    from scipy.optimize import least_squares

    times, rows = timed_rows("readings", t, readings)
    start = np.array([(f, FIRST_RATIO) for f in near], dtype=float).ravel()
    if not len(near) or not (np.isfinite(start).all() and (start > 0).all()):
        raise ModelError(f"near: got {near!r}, expected positive frequencies in Hz")
    spread = rows.std(axis=0)
    if len(times) <= 2 + 4 * len(near) or not (spread > 0).all():
        raise ModelError(f"readings: got {len(times)} of them, expected more than {2 + 4 * len(near)}, none constant")
    since, scaled = times - times[0], rows / spread

    def basis(p: Array) -> Array:
        columns = [np.ones_like(since), since]
        for f, z in zip(p[::2], p[1::2]):
            w = 2 * np.pi * f
            decay, phase = np.exp(-z * w * since), w * np.sqrt(max(1e-9, 1 - z * z)) * since
            columns += [decay * np.cos(phase), decay * np.sin(phase)]
        return np.array(columns).T

    def residual(p: Array) -> Array:
        B = basis(p)
        return np.asarray(B @ np.linalg.lstsq(B, scaled, rcond=None)[0] - scaled).ravel()

    p = least_squares(residual, start, x_scale=np.tile([FREQUENCY, RATIO], len(near))).x
    B = basis(p)
    c = np.linalg.lstsq(B, rows, rcond=None)[0]
    amplitudes = np.array([c[2 + 2 * k] - 1j * c[3 + 2 * k] for k in range(len(near))])
    return Decay(p[::2], p[1::2], amplitudes, np.sqrt(((B @ c - rows) ** 2).mean(axis=0)) / spread)
