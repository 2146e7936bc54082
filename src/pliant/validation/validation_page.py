"""HTML page of a comparison of a model with a recording: tables, and figures of series, errors and spectra."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.drawing.report_page import page, picture, text_table
from pliant.drawing.style import COLORS, DPI, WIDTH, figure, time_axis, zero_line
from pliant.validation.channel_match import ChannelMatch
from pliant.validation.ring_downs import RingDown
from pliant.validation.validate import Validation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGHEST = 6.0
"""Factor on the frequency of the largest amplitude up to which spectra are shown."""
LEAST_SHOWN = 1e-4
"""Least amplitude that is shown of a spectrum, as a part of the largest."""
MOST_POINTS = 4000
"""Most points of a line in a figure."""


def validation_page(title: str, robot: str, before: Validation, after: Validation | None, notes: Sequence[str]) -> str:
    """HTML of a comparison; `after` is the comparison with identified numbers, if there is one."""
    best = after if after is not None else before
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="source">held against {escape(robot)}</p>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    parts += [f'<p class="bad">{escape(warning)}</p>' for warning in best.warnings]
    parts += ["<h2>How near</h2>", _nearness(before, after), "<h2>What the error is made of</h2>", _shares(best)]
    if best.decays:
        parts += ["<h2>Frequencies and damping where the arm rings</h2>", _ringing(best.decays)]
    parts.append("<h2>Channels</h2>")
    for k, name in enumerate(best.channels, 1):
        caption = (
            f"Figure {k}. {name}: measured and predicted, the error in the same unit, amplitude spectra, and the "
            "coherence of the two."
        )
        parts.append(picture(f"channel-{k}", caption, _drawn(best.channels[name], before, after)))
    return page(title, "\n".join(parts))


def _nearness(before: Validation, after: Validation | None) -> str:
    head = ["channel", "NRMSE", "fit, %", "correlation", "lag, ms", "NRMSE without lag"]
    rows = []
    for name, match in before.channels.items():
        rows.append([name if after is None else f"{name}, as given", *_numbers(match)])
        if after is not None:
            rows.append([f"{name}, identified", *_numbers(after.channels[name])])
    note = (
        '<p class="note">NRMSE is the root mean square of the error over the standard deviation of the measurement: 0 '
        "is perfect, 1 as good as the mean. Fit is 100 (1 − NRMSE). The lag is that of the measurement.</p>"
    )
    return text_table(head, rows) + note


def _numbers(match: ChannelMatch) -> list[str]:
    return [
        f"{match.nrmse:.3f}", f"{match.fit:.1f}", f"{match.correlation:.3f}", f"{1e3 * match.delay:.1f}",
        f"{match.nrmse_undelayed:.3f}",
    ]  # fmt: skip


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


def _shares(found: Validation) -> str:
    head = ["channel, % of the squared error", "rigid motion", "first mode", "above", "friction", "delay"]
    rows = [
        [name, *map(_percent, (s.rigid_motion, s.first_mode, s.higher, s.friction, s.delay))]
        for name, s in found.shares.items()
    ]
    note = (
        '<p class="note">Rigid motion, first mode and above are bands of frequency below, around and above the first '
        "frequency of the arm with its joints held: they add up. Friction is what other numbers of the friction of "
        "free joints would explain, to first order, delay what a shift in time would; these two overlap with the bands "
        "and with each other.</p>"
    )
    return text_table(head, rows) + note


def _ringing(decays: Sequence[RingDown]) -> str:
    count = len(decays[0].measured.frequencies)
    head = ["window, s"]
    for k in range(1, count + 1):
        head += [f"f{k} measured, Hz", "predicted", f"damping {k} measured, %", "predicted"]
    rows = []
    for decay in decays:
        row = [f"{decay.start:g} – {decay.end:g}"]
        for k in range(count):
            other = decay.predicted
            row += [f"{decay.measured.frequencies[k]:.3f}", "–" if other is None else f"{other.frequencies[k]:.3f}"]
            row += [f"{100 * decay.measured.damping[k]:.2f}", "–" if other is None else f"{100 * other.damping[k]:.2f}"]
        rows.append(row)
    return text_table(head, rows)


def _thin(t: Array, *series: Array) -> list[Array]:
    step = max(1, len(t) // MOST_POINTS)
    return [values[::step] for values in (t, *series)]


def _drawn(match: ChannelMatch, before: Validation, after: Validation | None) -> bytes:
    buffer = io.BytesIO()
    made = figure(lambda paper: _draw(paper, match, None if after is None else before.channels[match.name]),
                  WIDTH, 5.2)  # fmt: skip
    made.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def _draw(paper: Figure, match: ChannelMatch, given: ChannelMatch | None) -> None:
    grid = paper.add_gridspec(3, 2, height_ratios=(1.5, 1.0, 1.2))
    top, below = paper.add_subplot(grid[0, :]), paper.add_subplot(grid[1, :])
    below.sharex(top)
    name = quoted(match.name, "figure")
    t, measured, predicted = _thin(match.t, match.measured, match.predicted)
    last = "predicted" if given is None else "predicted, identified"
    top.plot(t, measured, color="black", linewidth=0.9, label="measured")
    if given is not None:
        first = (given.t >= match.t[0]) & (given.t <= match.t[-1])
        top.plot(
            *_thin(given.t[first], given.predicted[first]), color="0.6", linewidth=0.8, label="predicted, as given"
        )
    top.plot(t, predicted, color=COLORS[1], linewidth=0.9, label=last)
    top.set_ylabel(f"{name} (SI units)")
    top.tick_params(labelbottom=False)
    paper.legend(loc="outside upper left", ncols=3)
    zero_line(below)
    below.plot(t, measured - predicted, color=COLORS[0], linewidth=0.8)
    below.set_ylabel("error")
    time_axis(below)
    _draw_spectra(paper.add_subplot(grid[2, 0]), paper.add_subplot(grid[2, 1]), match, last)


def _draw_spectra(left: Axes, right: Axes, match: ChannelMatch, last: str) -> None:
    left.set(xlabel="frequency (Hz)", ylabel="amplitude")
    right.set(xlabel="frequency (Hz)", ylabel="coherence", ylim=(0.0, 1.02))
    if not len(match.frequencies):
        return
    f, own = match.frequencies[1:], match.measured_spectrum[1:]
    strong = np.flatnonzero(own >= 0.02 * own.max())
    end = min(float(f[-1]), max(HIGHEST * float(f[own.argmax()]), 1.5 * float(f[strong[-1]])))
    shown = f <= end
    left.semilogy(f[shown], own[shown], color="black", linewidth=0.9)
    left.semilogy(
        f[shown],
        np.maximum(match.predicted_spectrum[1:][shown], LEAST_SHOWN * own.max()),
        color=COLORS[1],
        linewidth=0.9,
    )
    left.set_ylim(bottom=LEAST_SHOWN * own.max())
    right.plot(f[shown], match.coherence[1:][shown], color=COLORS[0], linewidth=0.9)
