"""Spectrum and spectrogram of the tip's deflection, with the arm's own frequencies marked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.arrays import Array
from pliant.drawing.figure_data import TIME, ColorMap, Curve, Panel, Quantity, length_unit
from pliant.figures.run_panels import tip_shift
from pliant.options import JointsName
from pliant.simulation.runs.results import Result

FREQUENCY = Quantity("frequency", "Hz")
OWN: dict[JointsName, str] = {"free": "arm, joints free", "locked": "arm, joints locked"}
"""Labels of the arm's own frequencies."""
WINDOWS = 8
"""Number of windows of a spectrogram, which overlap by one half."""


def amplitudes(t: Array, values: Array) -> tuple[Array, Array]:
    """Frequencies in Hz, and amplitudes of all columns together, by a Hann window on evenly spaced times.

    A sine of amplitude a that fits the record gives a peak of height a.
    """
    count = len(t)
    even = np.linspace(t[0], t[-1], count)
    columns = np.column_stack([np.interp(even, t, column) for column in values.T])
    trend = np.column_stack([np.ones(count), even])
    columns = columns - trend @ np.linalg.lstsq(trend, columns, rcond=None)[0]
    window = np.hanning(count)
    lines = np.abs(np.fft.rfft(columns * window[:, None], axis=0)) * 2 / window.sum()
    return np.fft.rfftfreq(count, even[1] - even[0]), np.sqrt((lines**2).sum(axis=1))


def spectrum(result: Result) -> list[Panel]:
    """Amplitude over frequency, with marks at the arm's own frequencies in the last state, joints free and locked."""
    title, away = "spectrum of the tip's deflection", tip_shift(result)
    if note := _nothing(len(result), away):
        return [Panel(title, Quantity("amplitude", "mm"), note=note)]
    f, height = amplitudes(result.t, away)
    unit, scale = length_unit(height)
    own = {label: _model_frequencies(result, name) for name, label in OWN.items()}
    shown = _shown(f, own)
    curve = Curve("tip deflection", f[shown], scale * height[shown])
    marks = {label: values[(values > 0) & (values <= curve.x[-1])] for label, values in own.items()}
    return [Panel(title, Quantity("amplitude", unit), (curve,), FREQUENCY, span="log", marks=marks)]


def spectrogram(result: Result) -> list[Panel]:
    """Amplitude of the tip's deflection over time and frequency, with the arm's own frequencies over time."""
    title = "spectrogram of the tip's deflection"
    count, away = 2 * (len(result) // (WINDOWS + 1)), tip_shift(result)
    if note := _nothing(count, away):
        return [Panel(title, FREQUENCY, note=note)]
    starts = np.arange(0, len(result) - count + 1, max(count // 8, 1))
    found = [amplitudes(result.t[k : k + count], away[k : k + count]) for k in starts]
    rows, f = [int(k) + count // 2 for k in starts], found[0][0]
    own = {label: np.array([_model_frequencies(result, name, row) for row in rows]) for name, label in OWN.items()}
    shown = _shown(f, {label: values[0] for label, values in own.items()})
    heights = np.column_stack([height[shown] for _, height in found])
    unit, scale = length_unit(heights)
    image = ColorMap(result.t[rows], f[shown], scale * heights, Quantity("amplitude", unit))
    curves = (
        Curve(label, result.t[rows], curve, label)
        for label, values in own.items()
        for curve in values.T
        if 0 < curve[0] <= image.y[-1]
    )
    return [Panel(title, FREQUENCY, tuple(curves), TIME, map=image)]


def _nothing(rows: int, away: Array) -> str:
    """Reason why there is no spectrum; "" if there is one."""
    return "too few rows for a spectrum" if rows < 16 else "" if np.any(away) else "the tip does not deflect"


def _model_frequencies(result: Result, joints: JointsName, row: int = -1) -> Array:
    return result.model.frequencies(result.q[row], joints, p=result.parameters)


def _shown(f: Array, own: Mapping[str, Array]) -> slice:
    """Spectral lines up to 1.3 times the sixth of the arm's own frequencies (free and locked together)."""
    known = np.sort(np.concatenate([values[values > 0] for values in own.values()]))
    return slice(int(np.searchsorted(f, 1.3 * known[:6][-1])) + 1 if len(known) else len(f))
