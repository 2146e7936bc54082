"""`plot`: figures of a run by name, one or several on a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.robot.faults import suggestion
from pliant.runs.results import Result
from pliant.signatures import checked
from pliant.view import histories, spectrum
from pliant.view.style import WIDTH, Paths, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure of a run: what fills it, how high it is in inches, and what it shows."""

    draw: Callable[[Any, Result], None]
    height: Callable[[Result], float]
    text: str


FIGURES: dict[str, Drawing] = {
    "joints": Drawing(histories.joints, histories.joints_height, "joint positions over time"),
    "deflections": Drawing(
        histories.deflections,
        lambda r: 0.4 + 1.6 * max(1, len(histories.bending_links(r))),
        "deflection of the middle and the end of each flexible link",
    ),
    "path": Drawing(histories.path, lambda r: 3.4, "path of the tip in space"),
    "tip": Drawing(histories.tip, lambda r: 4.6, "position of the tip over time"),
    "energy": Drawing(histories.energy, lambda r: 3.8, "energies, and the balance of the run"),
    "torques": Drawing(histories.torques, histories.torques_height, "joint torques over time"),
    "spectrum": Drawing(
        spectrum.spectrum, lambda r: 2.8, "spectrum of the tip's deflection, and the arm's frequencies"
    ),
    "spectrogram": Drawing(
        spectrum.spectrogram, lambda r: 3.0, "that spectrum over time, and the frequencies on the way"
    ),
    "error": Drawing(spectrum.tip_error, lambda r: 2.8, "distance of the tip from where the rigid arm's would be"),
}
"""Figures of a run by name."""

OVERVIEW = ("joints", "path", "deflections", "energy")


@checked
def plot(result: Result, *what: str, path: Paths = None) -> Figure:
    """Figure of a run.

    Parameters
    ----------
    result : Result
    *what : str
        Names from `FIGURES`: joints, deflections, path, tip, error, energy, torques, spectrum, spectrogram. Several
        stand on one page;
        none gives an overview.
    path : str, path or list of them, optional
        Where to write it: .png (200 dpi), .svg or .pdf.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot, so nothing pops up and nothing has to be closed.

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
    names = what or OVERVIEW
    if len(names) == 1:
        only = FIGURES[names[0]]
        return figure(lambda page: only.draw(page, result), WIDTH, only.height(result), path)
    rows = [names[k : k + 2] for k in range(0, len(names), 2)]
    heights = [max(FIGURES[name].height(result) for name in row) for row in rows]

    def draw(page: Any) -> None:
        for strip, row in zip(_split(page, len(rows), 1, height_ratios=heights), rows):
            for part, name in zip(_split(strip, 1, len(row)), row):
                FIGURES[name].draw(part, result)

    return figure(draw, 1.75 * WIDTH, sum(heights), path)


def _split(page: Any, rows: int, columns: int, **ratios: Any) -> list[Any]:
    return list(page.subfigures(rows, columns, squeeze=False, **ratios).flat)


def _near(name: str) -> str:
    near = suggestion(name, FIGURES)
    return near if near.endswith("?") else ""
