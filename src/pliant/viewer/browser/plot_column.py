"""Plots of the studio and of the viewer, which follow the clock, and the numbers at its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.figures.run_panels import tip_shift
from pliant.simulation.runs.results import Result
from pliant.viewer.browser.charts import PLOTS, StudioChart, charts
from pliant.viewer.browser.readout import at_time

if TYPE_CHECKING:
    from viser import GuiUplotHandle

    from pliant.viewer.browser.viewer_meshes import Control, Page

SHOWN = ("joints", "deflection", "energy")
"""Plots of a new page."""
EVERY = 0.2
"""Seconds between two places of the clock's line while the arm moves."""
HEIGHT, WIDTH = 190, 400
"""Pixels: height of a chart, width of the column of charts."""


class PlotColumn:
    """Charts beside the arm, one below the other."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.lock = threading.RLock()  # the clock runs in a thread of its own
        self.run: Result | None = None
        self.away: Array | None = None  # of the tip from the rigid arm's, m
        self.kept: Mapping[str, Result] = {}
        self.charts: dict[str, list[tuple[StudioChart, GuiUplotHandle]]] = {name: [] for name in PLOTS}
        self._now, self._moved = 0.0, 0.0
        panel = page.gui.add_panel()
        with panel.add_tab("plots"):
            self.now = page.gui.add_markdown(at_time(None, 0.0))
            self.folders = {name: page.gui.add_folder(name, visible=name in SHOWN) for name in PLOTS}
            self.notes = {}
            for name, folder in self.folders.items():
                with folder:
                    self.notes[name] = page.gui.add_markdown("no run yet")
        panel.dock_left()
        panel.set_width(WIDTH)

    def choices(self) -> dict[str, Control]:
        """Add check boxes that choose the plots, where the page is being built."""
        boxes: dict[str, Control] = {name: self.page.gui.add_checkbox(name, name in SHOWN) for name in PLOTS}
        for name, box in boxes.items():
            box.on_update(lambda _, name=name, box=box: self._choose(name, bool(box.value)))
        return boxes

    def _choose(self, name: str, wanted: bool) -> None:
        with self.lock:
            self.folders[name].visible = wanted
            self._fill(name)

    def show(self, run: Result, kept: Mapping[str, Result]) -> None:
        """Show the plots of a run, and of kept runs by their labels."""
        with self.lock:
            self.run, self.kept, self.away = run, kept, np.linalg.norm(tip_shift(run), axis=1)
            for name in PLOTS:
                self._fill(name)
            self._tell()

    def move(self, now: float, playing: bool) -> None:
        """Follow the clock to `now`; while it runs, the line moves a few times per second."""
        with self.lock:
            self._now = now
            if playing and time.monotonic() - self._moved < EVERY:
                return
            self._moved = time.monotonic()
            for name, drawn in self.charts.items():
                if self.folders[name].visible:
                    for chart, handle in drawn:
                        handle.data = chart.at(now)
            self._tell()

    def _tell(self) -> None:
        self.now.content = at_time(self.run, self._now, self.away)

    def _fill(self, name: str) -> None:
        """Update the charts of a plot if it is shown: hidden charts cost nothing."""
        if self.run is None or not self.folders[name].visible:
            return
        wanted, note = charts(name, self.run, self.kept)
        drawn = self.charts[name]
        if [_form(chart) for chart in wanted] == [_form(chart) for chart, _ in drawn]:
            self.charts[name] = [(chart, handle) for chart, (_, handle) in zip(wanted, drawn)]
            for chart, handle in self.charts[name]:
                handle.data = chart.at(self._now)
        else:
            for _, handle in drawn:
                handle.remove()
            with self.folders[name]:
                self.charts[name] = [(chart, self._draw(chart)) for chart in wanted]
        self.notes[name].content, self.notes[name].visible = note, bool(note)

    def _draw(self, chart: StudioChart) -> GuiUplotHandle:
        from viser import uplot as plot

        series = [
            plot.Series(label=line.label, stroke=line.color, width=1.5, dash=line.dash, scale=line.scale)
            for line in chart.lines
        ]
        scales = {
            "x": plot.Scale(time=False, auto=True),
            "y": plot.Scale(auto=True, distr=3) if chart.log else plot.Scale(auto=True),
            "line": plot.Scale(auto=False, range=(0.0, 1.0)),
        }
        look = plot.Axis(labelSize=18, labelFont="11px sans-serif", font="11px sans-serif")
        axes = (plot.Axis(label=chart.x, size=30, **look), plot.Axis(label=chart.y, size=48, **look))
        return self.page.gui.add_uplot(
            chart.at(self._now), (plot.Series(label=chart.x), *series), scales=scales, axes=axes, height=HEIGHT,
            legend=plot.Legend(show=True, live=False),
        )  # fmt: skip


def _form(chart: StudioChart) -> tuple[object, ...]:
    """The parts of a chart that its numbers do not change."""
    return chart.title, chart.x, chart.y, chart.log, chart.lines
