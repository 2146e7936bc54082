"""Spectrum and spectrogram of the tip's deflection, with the arm's own frequencies marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.options import JointsName
from pliant.runs.results import Result
from pliant.view.style import length_unit, line, time_axis

STYLES: dict[JointsName, tuple[int, tuple[float, float]]] = {"free": (0, (5, 2)), "locked": (0, (1, 1.5))}
"""How the arm's own frequencies are marked."""


def tip_deflection(result: Result) -> Array:
    """(N, 3) tip less the tip of the rigid arm whose joints stand where the motors (or joints) do, in base axes."""
    names = result.coordinates
    rigid = np.array(result.q)
    rigid[:, len(result.joints) :] = 0.0
    for k, name in enumerate(result.joints):
        if f"{name}.motor" in names:
            rigid[:, k] = rigid[:, names.index(f"{name}.motor")] = result[f"{name}.motor"]
    parameters = result.parameters if len(result.parameters) else None
    return np.asarray(result.tip - result.model.tip_pose(rigid, parameters)[:, :3, 3])


def amplitudes(t: Array, values: Array) -> tuple[Array, Array]:
    """Frequencies in Hz and amplitudes of the columns together, by a Hann window on evenly spaced times.

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


def spectrum(page: Any, result: Result) -> None:
    """Amplitude against frequency; marked are the arm's own at the last state, joints free and joints locked."""
    axes = page.subplots()
    if len(result) < 16:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "too few rows for a spectrum", ha="center", color="0.4", transform=axes.transAxes)
        return
    f, height = amplitudes(result.t, tip_deflection(result))
    unit, scale = length_unit(float(height.max()))
    marks: dict[JointsName, Array] = {name: _model_frequencies(result, name) for name in ("free", "locked")}
    top = _upper_end(f, marks)
    shown = f <= top
    axes.semilogy(f[shown], np.maximum(scale * height[shown], 1e-300), **line(0), label="tip deflection")
    peak = scale * float(height[shown].max())
    if peak > 0:
        axes.set_ylim(max(peak * 1e-6, scale * float(height[shown].min()) * 0.3), peak * 4)
    for name, values in marks.items():
        inside = values[(values > 0) & (values <= top)]
        for k, value in enumerate(inside):
            label = f"arm, joints {name}" if k == 0 else None
            axes.axvline(value, color="0.35", linewidth=0.9, linestyle=STYLES[name], label=label, zorder=0)
    axes.set_xlim(0.0, top)
    axes.set_xlabel("frequency (Hz)")
    axes.set_ylabel(f"amplitude ({unit})")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=3)


def tip_error(page: Any, result: Result) -> None:
    """Distance of the tip from that of the rigid arm with the same motors (or joints): what bending costs."""
    axes = page.subplots()
    distance = np.linalg.norm(tip_deflection(result), axis=1)
    unit, scale = length_unit(float(distance.max()))
    axes.plot(result.t, scale * distance, **line(0))
    axes.set_ylabel(f"tip error ({unit})")
    axes.set_ylim(bottom=0.0)
    time_axis(axes)


WINDOWS = 8
"""Stretches of the run that a spectrogram resolves, each half covered by the next."""


def spectrogram(page: Any, result: Result) -> None:
    """Amplitude of the tip's deflection over time and frequency, and the arm's own frequencies on the way.

    Dashed with joints free, dotted with joints locked.
    """
    axes = page.subplots()
    count, deflection = 2 * (len(result) // (WINDOWS + 1)), tip_deflection(result)
    if count < 16 or not np.abs(deflection).max() > 0:
        axes.set_axis_off()
        reason = "too few rows for a spectrogram" if count < 16 else "the tip does not deflect"
        axes.text(0.5, 0.5, reason, ha="center", color="0.4", transform=axes.transAxes)
        return
    starts = np.arange(0, len(result) - count + 1, max(count // 8, 1))
    found = [amplitudes(result.t[k : k + count], deflection[k : k + count]) for k in starts]
    middle = np.array([result.t[k + count // 2] for k in starts])
    f = found[0][0]
    rows = [int(k) + count // 2 for k in starts]
    own = {name: np.array([_model_frequencies(result, name, row) for row in rows]) for name in STYLES}
    top = _upper_end(f, {name: values[0] for name, values in own.items()})
    heights = np.column_stack([height[f <= top] for _, height in found])
    unit, scale = length_unit(float(heights.max()))
    peak = scale * float(heights.max())
    level = np.log10(np.maximum(scale * heights, peak * 1e-4))
    image = axes.pcolormesh(middle, f[f <= top], level, cmap="viridis", shading="nearest", rasterized=True)
    for name, values in own.items():
        for curve in values.T:
            if 0 < curve[0] <= top:
                axes.plot(middle, curve, color="w", linewidth=1.0, linestyle=STYLES[name])
    axes.set_xlabel("time (s)")
    axes.set_ylabel("frequency (Hz)")
    axes.set_ylim(0.0, top)
    page.colorbar(image, ax=axes, label=f"log10 of amplitude ({unit})")


def _model_frequencies(result: Result, joints: JointsName, row: int = -1) -> Array:
    return result.model.frequencies(result.q[row], joints, p=result.parameters)


def _upper_end(f: Array, marks: dict[JointsName, Array]) -> float:
    """Up to 1.3 times the third frequency of the arm, as far as the rows of the result reach."""
    known = np.sort(np.concatenate([values[values > 0] for values in marks.values()]))
    return float(min(f[-1], 1.3 * known[: max(6, 1)][-1])) if len(known) else float(f[-1])
