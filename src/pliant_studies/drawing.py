"""Lines and axes that all studies share, so that a reader tells two models apart in grey print as well.

The model under study is a broad solid line; what it is held against is thin, black and dashed, and lies on top.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.drawing.style import COLOURS, DASHES, time_axis
from pliant.viewer.scene import make_scene

FIRST: dict[str, Any] = {"color": "#56A5D8", "linestyle": "-", "linewidth": 2.2}
SECOND: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 0.9}
THIRD: dict[str, Any] = {"color": "#B04A00", "linestyle": (0, (1, 1.3)), "linewidth": 1.3}
MANY: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "linestyle": dash, "linewidth": width}
    for colour, dash, width in (
        ("#8FC1E3", "-", 2.2),
        (COLOURS[1], DASHES[1], 1.2),
        (COLOURS[2], DASHES[2], 1.1),
        ("black", DASHES[3], 1.1),
    )
)
"""Up to four lines in one axes: they differ in width, dashes and darkness."""


def legend(axes: Any, entries: int) -> None:
    """One legend for the page, on top and outside, if there is more than one line to tell apart."""
    if entries > 1:
        shared_legend(axes.get_figure(), axes)


def grid(page: Any, rows: int, columns: int, **options: Any) -> Any:
    """Axes over a common time, labelled at the bottom."""
    made = page.subplots(rows, columns, sharex=True, squeeze=False, **options)
    for one in made[-1]:
        time_axis(one)
    return made


def letter(axes: Any, text: str) -> None:
    """Name of a panel, inside its upper right corner."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    axes.text(0.99, 0.97, text, transform=axes.transAxes, va="top", ha="right", fontsize=8.5, bbox=box)


def shared_legend(page: Any, *panels: Any) -> None:
    """One legend for a page of panels, of the lines in these, on top and outside."""
    found = [axes.get_legend_handles_labels() for axes in panels]
    handles, labels = ([entry for lists in found for entry in lists[k]] for k in (0, 1))
    fitting = max(1, int(100 / (8 + max(map(len, labels)))))
    page.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), fitting), frameon=False)


def skeleton(model: Any, q: Any, p: Any = None) -> Any:
    """(N, points, 3) corners of the arm in the base: where each link begins and ends."""
    parts = make_scene(model, np.zeros(len(q)), q, p).lines()
    return np.stack([pose[:, :3, 3] for part in parts for pose in (part.joint, part.tip)], axis=1)


def plainly(draw: Any) -> Any:
    """The same drawing with tick labels as plain text, which is quick to set."""
    import matplotlib

    def quick(page: Any) -> None:
        with matplotlib.rc_context({"axes.formatter.use_mathtext": False}):
            draw(page)

    return quick
