"""Figures of the residuals of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.base.quoting import quoted
from pliant.drawing.style import COLORS, WIDTH, Paths, figure, time_axis, zero_line
from pliant.identification.estimate import Channel, Identification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CHANNELS = 12


def residuals(found: Identification, path: Paths = None) -> Figure:
    """Measured and fitted over time, residuals with a band of two standard deviations; the first 12 channels."""
    shown = found.channels[:MOST_CHANNELS]

    def draw(page: Figure) -> None:
        axes = page.subplots(len(shown), 2, squeeze=False, sharex="row")
        for (left, right), channel in zip(axes, shown):
            _draw(left, right, channel)
        for axis in axes[-1]:
            time_axis(axis)

    return figure(draw, 1.4 * WIDTH, 0.5 + 1.5 * len(shown), path)


def _draw(left: Axes, right: Axes, channel: Channel) -> None:
    left.plot(channel.t, channel.measured, ".", color="0.6", markersize=2)
    left.plot(channel.t, channel.fitted, color=COLORS[0])
    left.set_ylabel("reading (SI units)")
    right.set_ylabel("residual (SI units)")
    left.set_title(f"{quoted(f'{channel.recording}: {channel.name}', 'figure')} (dots measured, line fitted)")
    right.axhspan(-2 * channel.noise, 2 * channel.noise, color="0.92", zorder=0)
    zero_line(right)
    right.plot(channel.t, channel.residual, ".", color=COLORS[1], markersize=2)
    right.set_title("residual, band of two standard deviations")
