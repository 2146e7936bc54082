"""Panels drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.drawing.figure_data import Panel
from pliant.drawing.style import WIDTH, Paths, figure, legend, line, zero_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    from pliant.drawing.figure_data import ColorMap

LINE_WIDTH = 1.0
PALE = 0.35
"""Opacity of a curve that swings too often to be followed: it shows the range of the swings."""


def panels_figure(panels: Sequence[Panel], path: Paths = None) -> Figure:
    """Figure of the width of a page."""
    return figure(lambda page: draw_panels(page, panels), WIDTH, panels_height(panels), path)


def panels_height(panels: Sequence[Panel]) -> float:
    """Inches that panels below each other need."""
    if panels[0].span == "equal":
        return 3.4
    return max(2.8, 0.5 + sum(map(_height, panels)))


def _height(panel: Panel) -> float:
    """Inches that a panel needs."""
    curves = len(panel.curves)
    return 1.35 if curves == 1 else 1.6 if curves <= 4 else 2.2


def draw_panels(page: FigureBase, panels: Sequence[Panel]) -> None:
    """Fill a figure: panels below each other with one x axis, or paths in space side by side."""
    if panels[0].span == "equal":
        for axes, panel in zip(page.subplots(1, len(panels), squeeze=False)[0], panels):
            draw_panel(axes, panel, named=panel is panels[0])
            axes.set_xlabel(str(panel.x))
        return
    ratios = [_height(panel) for panel in panels]
    rows = page.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    shown: list[str] = []
    for axes, panel in zip(rows, panels):
        labels = [curve.label for curve in panel.curves]
        draw_panel(axes, panel, named=labels != shown)  # a legend serves all that follow with the same lines
        shown = labels
    if panels[-1].curves:
        rows[-1].set_xlabel(str(panels[-1].x))
    page.align_ylabels(rows)


def draw_panel(axes: Axes, panel: Panel, named: bool = True) -> None:
    """Fill a pair of axes, without the label of the x axis; `named` asks for a legend."""
    if not panel.curves:
        axes.set_axis_off()
        axes.text(0.5, 0.5, panel.note, ha="center", va="center", color="0.4", transform=axes.transAxes)
        return
    alone = len(panel.curves) == 1
    for curve in panel.curves:
        style = line(0 if alone and isinstance(curve.role, int) else curve.role)
        look = {"linewidth": LINE_WIDTH, **style}
        label, middle = quoted(curve.label, "figure"), panel.midline(curve)
        if middle is None:
            axes.plot(curve.x, curve.y, label=label, **look)
        else:
            axes.plot(curve.x, curve.y, color=look["color"], linewidth=0.6, alpha=PALE, zorder=1.9)
            axes.plot(curve.x, middle, label=label, **look)
    for label, places in panel.marks.items():
        for k, place in enumerate(places):
            axes.axvline(place, label=label if k == 0 else None, zorder=0, **line(label))
    axes.set_ylabel(f"{panel.of}\n{panel.y}" if panel.of else str(panel.y))
    _range(axes, panel)
    if panel.map is not None:
        _color(axes, panel.map)
    elif named and (not alone or panel.marks or panel.of not in ("", panel.curves[0].label)):
        legend(axes)


def _range(axes: Axes, panel: Panel) -> None:
    """Choose scales and limits of the axes."""
    values = np.concatenate([curve.y for curve in panel.curves])
    if panel.span == "around zero":
        zero_line(axes)
    if panel.span == "equal":
        _equal(axes, panel.curves[0].x, panel.curves[0].y)
    elif panel.span == "log":
        axes.set_yscale("log")
        axes.set_xlim(0.0, panel.curves[0].x[-1])
        axes.set_ylim(max(values.max() * 1e-6, values.min() * 0.3), values.max() * 4)
    else:
        _widen(axes, values)
    if panel.span == "from zero":
        axes.set_ylim(bottom=min(0.0, float(values.min())))


def _widen(axes: Axes, values: Array) -> None:
    """Draw a constant as a line in the middle, instead of its rounding noise in full height."""
    low, high = float(values.min()), float(values.max())
    if np.isfinite([low, high]).all() and high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        middle, half = (low + high) / 2, max(abs(low) * 0.1, 0.1)
        axes.set_ylim(middle - half, middle + half)


def _equal(axes: Axes, x: Array, y: Array) -> None:
    """Choose equal scales, unless the path is so shallow that nothing could be seen; then a title says so."""
    from matplotlib.ticker import MaxNLocator

    spans = np.array([np.ptp(x), np.ptp(y)])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    shallow = 0 < spans.min() < spans.max() / 6
    if shallow:
        axes.margins(0.06, 0.12)
        axes.set_title("scales differ", fontsize=8.0, color="0.4", loc="right")
        return
    half = 0.55 * max(float(spans.max()), 1e-6)
    for values, low_high in ((x, axes.set_xlim), (y, axes.set_ylim)):
        middle = (float(values.min()) + float(values.max())) / 2
        low_high(middle - half, middle + half)
    axes.set_aspect("equal", adjustable="box")


def _color(axes: Axes, shown: ColorMap) -> None:
    """Draw a map behind the curves, which become white, and its scale."""
    from matplotlib.colors import LogNorm

    peak = float(shown.values.max())
    image = axes.pcolormesh(
        shown.x, shown.y, shown.values, norm=LogNorm(1e-4 * peak, peak), cmap="viridis", shading="nearest",
        rasterized=True, zorder=0,
    )  # fmt: skip
    axes.set_ylim(0.0, shown.y[-1])
    handles = dict(zip(*reversed(axes.get_legend_handles_labels())))
    for drawn in axes.lines:
        drawn.set_color("white")
    axes.legend(
        handles.values(), handles.keys(), ncols=len(handles), loc="lower left", bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.3, frameon=True, facecolor=image.cmap(0.0), edgecolor="none", labelcolor="white",
    )  # fmt: skip
    axes.figure.colorbar(image, ax=axes, label=str(shown.quantity), extend="min")
