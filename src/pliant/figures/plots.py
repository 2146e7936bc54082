"""`plot`: figures of a run by name, one or several on a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base.signatures import checked, shown
from pliant.base.stages import work
from pliant.drawing.figure_data import Panel, Quantity, together
from pliant.drawing.panel_drawing import draw_panel, draw_panels, panels_figure, panels_height
from pliant.drawing.style import WIDTH, Paths, figure
from pliant.errors import ModelError
from pliant.figures import run_panels, spectrum
from pliant.robot.files.error_messages import suggestion
from pliant.simulation.runs.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

FEW = 4
"""Up to this many joints get axes of their own."""


@dataclass(frozen=True)
class Drawing:
    """A figure of a run: a function that gives its panels, and a description."""

    panels: Callable[[Result], list[Panel]]
    text: str


def _apart(panels: list[Panel]) -> list[Panel]:
    """Split panels into one for each joint, in the order of the arm, if they are few."""
    if not panels:
        return [Panel("joints", Quantity("position", "deg"), note="no joint of this arm moves")]
    single = [one for panel in panels for one in panel.split()]
    return panels if len(single) > FEW else sorted(single, key=lambda one: int(one.curves[0].role))


FIGURES: dict[str, Drawing] = {
    "joints": Drawing(
        lambda r: _apart(run_panels.joints(r)) + run_panels.wind_up(r), "joint positions over time, wind-up of drives"
    ),
    "attitude": Drawing(
        lambda r: run_panels.attitude(r) or [Panel("attitude", Quantity("angle", "deg"), note="nothing turns freely")],
        "attitude and place of a free base, attitude of spherical joints",
    ),
    "deflections": Drawing(run_panels.deflections, "deflection of the middle and the end of each flexible link"),
    "path": Drawing(run_panels.path, "path of the tip in space"),
    "tip": Drawing(lambda r: run_panels.tip(r)[0].split(), "position of the tip over time"),
    "energy": Drawing(run_panels.energy, "energies, and the balance of the run"),
    "torques": Drawing(lambda r: _apart(run_panels.torques(r)), "joint torques over time"),
    "spectrum": Drawing(spectrum.spectrum, "spectrum of the tip's deflection, and the arm's frequencies"),
    "spectrogram": Drawing(spectrum.spectrogram, "that spectrum over time, and the frequencies on the way"),
    "error": Drawing(
        lambda r: run_panels.tip_error({"tip": r}), "distance of the tip from where the rigid arm's would be"
    ),
    "sensors": Drawing(run_panels.sensors, "what sensors have read, each held until its next reading"),
}
"""Figures of a run by name."""

OVERVIEW = ("joints", "path", "deflections", "energy")


@checked
@work("plot", "drawing a figure")
def plot(result: Result, *what: str, path: Paths = None, ax: Any = None) -> Figure:
    """Figure of a run.

    Parameters
    ----------
    result : Result
    *what : str
        Names of figures: "joints", "attitude", "deflections", "path", "tip", "energy", "torques", "spectrum",
        "spectrogram", "error", "sensors". Several names share one page; without a name an overview is drawn.
    path : str, path or list of them, optional
        Where to write it: .png (200 dpi), .svg or .pdf.
    ax : matplotlib Axes, or a list of them, optional
        Axes to draw one figure on: a pair of axes for each of its panels, or one for all panels if they share a unit.

    Returns
    -------
    matplotlib.figure.Figure
        Its `show()` opens a window. Where a script uses pyplot and gives no `path`, `plt.show()` does so too.

    Examples
    --------
    >>> result = pliant.simulate(pliant.load("two-link").model(), 0.1)
    >>> len(pliant.view.plot(result, "joints", "energy", path="run.png").axes) > 1
    True
    """
    for name in what:
        if name not in FIGURES:
            raise ModelError(f"figure: got {name!r}, expected one of {', '.join(FIGURES)}{_near(name)}")
    if len(result) < 1:
        raise ModelError("the result has no rows; nothing can be drawn")
    if ax is not None:
        return _drawn_on(ax, result, what, path)
    names = what or (OVERVIEW if result.model.layout.plain else (*OVERVIEW, "attitude", "tip"))
    panels = {name: FIGURES[name].panels(result) for name in names}
    if len(names) == 1:
        return panels_figure(panels[names[0]], path)
    rows = [names[k : k + 2] for k in range(0, len(names), 2)]
    heights = [max(panels_height(panels[name]) for name in row) for row in rows]

    def draw(page: Figure) -> None:
        for strip, row in zip(_split(page, len(rows), 1, heights), rows):
            for part, name in zip(_split(strip, 1, len(row)), row):
                draw_panels(part, panels[name])

    return figure(draw, 1.75 * WIDTH, sum(heights), path)


def _drawn_on(ax: Any, result: Result, what: tuple[str, ...], path: Paths) -> Figure:
    """Draw one figure on axes of the user."""
    if len(what) != 1 or path is not None:
        raise ModelError("ax: goes with one name of a figure and no `path`, such as plot('joints', ax=axes)")
    places, panels = list(np.atleast_1d(ax).flat), FIGURES[what[0]].panels(result)
    if len(places) == 1:
        panels = together(panels)
    if len(places) != len(panels) or not all(hasattr(one, "get_figure") for one in places):
        raise ModelError(
            f"ax: got {shown(ax)}, expected {len(panels)} pairs of axes, one for each panel of {what[0]!r}"
        )
    for axes, panel in zip(places, panels):
        draw_panel(axes, panel)
        axes.set_xlabel(str(panel.x))
    return places[0].get_figure()  # type: ignore[no-any-return]


def _split(page: Figure | SubFigure, rows: int, columns: int, heights: list[float] | None = None) -> list[SubFigure]:
    """Parts of a page in rows and columns."""
    return list(page.subfigures(rows, columns, squeeze=False, height_ratios=heights).flat)


def _near(name: str) -> str:
    """Suggestion of a figure that was meant, if there is one."""
    near = suggestion(name, FIGURES)
    return near if near.endswith("?") else ""
