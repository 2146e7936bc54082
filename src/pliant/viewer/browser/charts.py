"""Plots of the studio as numbers: curves of a run and of kept runs over one axis, with a line at the time of the clock.

A chart of the browser takes columns of equal length and has no gaps. So curves are interpolated to common abscissas,
and a vertical line is a column that lies above the picture and comes down at one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.drawing.figure_data import Curve, Panel
from pliant.drawing.style import COLORS, line
from pliant.figures import run_panels
from pliant.figures.spectrum import amplitudes, spectrum
from pliant.simulation.runs.results import Result
from pliant.viewer.colors import KEPT

POINTS = 600
"""Points of a curve."""
CLOCK, OWN = "#d6006c", "#8a949e"
"""Colors of the line at the time of the clock, and of those at the arm's own frequencies."""
ABOVE = 2.0
"""Value of the column of a vertical line beside the line, above its scale, which ends at 1."""
UNITS = {"µm": 1e-6, "mm": 1e-3, "m": 1.0, "mJ": 1e-3, "J": 1.0, "kJ": 1e3}
AROUND = 0.125
"""Part of a run before and after the clock whose spectrum is shown."""
PLOTS: dict[str, Callable[[Result], list[Panel]]] = {
    "joints": run_panels.joints,
    "torques": run_panels.torques,
    "deflection": run_panels.tip_deflection,
    "tip error": lambda result: run_panels.tip_error({"tip": result}),
    "energy": lambda result: run_panels.energy(result)[:1],
    "spectrum": spectrum,
}
"""Panels by the name of the plot."""


@dataclass(frozen=True)
class Line:
    """Style of a column; `scale` is "y", or "line" for vertical lines."""

    label: str
    color: str
    dash: tuple[float, ...] = ()
    scale: str = "y"


@dataclass(frozen=True)
class StudioChart:
    """One pair of axes, ready for the browser.

    Attributes
    ----------
    title, x, y : str
        Title, and labels of the axes with units.
    log : bool
        Whether y is logarithmic.
    lines : tuple of Line
        Styles of the columns, that of the clock among them.
    at : callable
        Gives the columns for a time of the clock, x first.
    """

    title: str
    x: str
    y: str
    log: bool
    lines: tuple[Line, ...]
    at: Callable[[float], tuple[Array, ...]]


def charts(name: str, run: Result, kept: Mapping[str, Result]) -> tuple[list[StudioChart], str]:
    """Charts of a plot, with kept runs by their labels; or none, and the reason why there is nothing to draw."""
    panels, others = PLOTS[name](run), {label: PLOTS[name](other) for label, other in kept.items()}
    drawn = [panel for panel in panels if panel.curves]
    if not drawn:
        return [], next((panel.note for panel in panels if panel.note), "nothing to draw")
    return [_chart(panel, _beside(panel, others), run) for panel in drawn], ""


def _beside(panel: Panel, others: Mapping[str, list[Panel]]) -> dict[str, Panel]:
    """Panels of kept runs, by label, that show the same quantity as `panel`."""
    same = (panel.title, panel.of, panel.y.label)
    found = {
        label: next((one for one in panels if (one.title, one.of, one.y.label) == same and one.curves), None)
        for label, panels in others.items()
    }
    return {label: one for label, one in found.items() if one is not None}


def _chart(panel: Panel, kept: Mapping[str, Panel], run: Result) -> StudioChart:
    """Chart of a panel and of the same panel of kept runs."""
    places = _places([panel, *kept.values()])
    lines = [Line(_named(panel, k), color_of(curve.role)) for k, curve in enumerate(panel.curves)]
    columns = [_column(places, curve, 1.0) for curve in panel.curves]
    for k, (label, other) in enumerate(kept.items()):
        scale = UNITS.get(other.y.unit, 1.0) / UNITS.get(panel.y.unit, 1.0)
        lines += [_kept_line(panel, other, label, k, j) for j in range(len(other.curves))]
        columns += [_column(places, curve, scale) for curve in other.curves]
    title = f"{panel.title}, {panel.of}" if panel.of else panel.title
    log, along = panel.span == "log", str(panel.x)
    if panel.x.unit == "s":
        clock = Line("t", CLOCK, scale="line")
        return StudioChart(
            title, along, str(panel.y), log, (*lines, clock), lambda now: with_lines(places, columns, [now])
        )
    marks = [float(f) for values in panel.marks.values() for f in values]
    lines += [Line("around t", CLOCK), Line("own frequencies", OWN, (4.0, 3.0), "line")]
    moving = around(run, places, 1 / UNITS.get(panel.y.unit, 1.0), columns[0])

    def at(now: float) -> tuple[Array, ...]:
        return with_lines(places, [*columns, moving(now)], marks)

    return StudioChart(title, along, str(panel.y), log, tuple(lines), at)


def _named(panel: Panel, k: int) -> str:
    return panel.curves[k].label if len(panel.curves) > 1 else "this run"


def _kept_line(panel: Panel, other: Panel, label: str, number: int, curve: int) -> Line:
    """Style of a kept curve: a single one has the color of the shadow of its run; of several, each is dashed and has
    the color of the same curve of this run."""
    if len(panel.curves) == 1:
        red, green, blue = KEPT[number % len(KEPT)]
        return Line(label, f"#{red:02x}{green:02x}{blue:02x}")
    return Line(f"{other.curves[curve].label}, {label}", color_of(other.curves[curve].role), (6.0 - 2 * number, 3.0))


def color_of(role: int | str) -> str:
    """Color of a curve, as in all figures."""
    color = str(line(role)["color"])
    return "#000000" if color == "black" else color if color.startswith("#") else COLORS[0]


def _places(panels: Sequence[Panel]) -> Array:
    """Abscissas over the range of all curves."""
    curves = [curve for panel in panels for curve in panel.curves]
    return np.linspace(min(c.x[0] for c in curves), max(c.x[-1] for c in curves), POINTS)


def _column(places: Array, curve: Curve, scale: float) -> Array:
    return np.asarray(scale * np.interp(places, curve.x, curve.y, left=np.nan, right=np.nan))


def around(run: Result, places: Array, scale: float, whole: Array) -> Callable[[float], Array]:
    """Function that gives the spectrum of the tip's deflection around a time; `whole`, that of the whole run, where too
    few rows are left."""
    away, half = run_panels.tip_shift(run), AROUND * (run.t[-1] - run.t[0])

    def at(now: float) -> Array:
        rows = np.abs(run.t - np.clip(now, run.t[0] + half, run.t[-1] - half)) <= half
        if rows.sum() < 16:
            return whole
        f, height = amplitudes(run.t[rows], away[rows])
        return np.maximum(scale * np.interp(places, f, height), 1e-6 * np.nanmax(whole))

    return at


def with_lines(places: Array, columns: Sequence[Array], marks: Sequence[float]) -> tuple[Array, ...]:
    """Places, columns, and one more column that is a vertical line at each mark."""
    inside = np.clip(np.sort(np.asarray(marks, dtype=float)), places[0], places[-1])
    where = np.repeat(inside, 3)
    after = np.searchsorted(places, where, side="right")
    x = np.insert(places, after, where)
    down = np.insert(np.full(len(places), ABOVE), after, np.tile([ABOVE, 0.0, ABOVE], len(inside)))
    return (x, *(np.insert(c, after, np.interp(where, places, c)) for c in columns), down)
