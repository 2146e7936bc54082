"""Lines and axes that all studies share, so that two models can be told apart in gray print as well.

The model under study is a broad solid line; the one that it is compared with is thin, black and dashed, and on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import COLORS, DASHES, Look, time_axis
from pliant.model.model import Model
from pliant.viewer.scenes.scene import make_scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page
    from matplotlib.figure import FigureBase

FIRST: Look = {"color": "#56A5D8", "linestyle": "-", "linewidth": 2.2}
SECOND: Look = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 0.9}
THIRD: Look = {"color": "#B04A00", "linestyle": (0, (1, 1.3)), "linewidth": 1.3}
MANY: tuple[Look, ...] = tuple(
    {"color": color, "linestyle": dash, "linewidth": width}
    for color, dash, width in (
        ("#8FC1E3", "-", 2.2),
        (COLORS[1], DASHES[1], 1.2),
        (COLORS[2], DASHES[2], 1.1),
        ("black", DASHES[3], 1.1),
    )
)
"""Up to four lines in one axes: they differ in width, dashes and darkness."""


def legend(axes: Axes, entries: int) -> None:
    """Put one legend on top of the page, outside of the axes, if there is more than one line."""
    if entries > 1:
        shared_legend(axes.figure, axes)


def grid(page: Page, rows: int, columns: int, **options: Any) -> Any:
    """Array of axes over a common time, labeled at the bottom."""
    made = page.subplots(rows, columns, sharex=True, squeeze=False, **options)
    for one in made[-1]:
        time_axis(one)
    return made


def letter(axes: Axes, text: str) -> None:
    """Write the name of a panel in its upper right corner."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    axes.text(0.99, 0.97, text, transform=axes.transAxes, va="top", ha="right", fontsize=8.5, bbox=box)


def shared_legend(page: FigureBase, *panels: Axes) -> None:
    """Put one legend on top of a page, outside of the axes, for the lines in some panels."""
    found = [axes.get_legend_handles_labels() for axes in panels]
    handles = [handle for lists in found for handle in lists[0]]
    labels: list[str] = [label for lists in found for label in lists[1]]
    fitting = max(1, int(100 / (8 + max(map(len, labels)))))
    page.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), fitting), frameon=False)


def skeleton(model: Model, q: Array | Sequence[Array], p: Array | None = None) -> Array:
    """(N, points, 3) corners of the arm in the base: beginning and end of each link."""
    parts = make_scene(model, np.zeros(len(q)), np.asarray(q), p).lines()
    return np.stack([pose[:, :3, 3] for part in parts for pose in (part.joint, part.tip)], axis=1)


def plainly(draw: Callable[[Page], None]) -> Callable[[Page], None]:
    """Drawing with tick labels as plain text, which is quicker."""
    import matplotlib

    def quick(page: Page) -> None:
        with matplotlib.rc_context({"axes.formatter.use_mathtext": False}):
            draw(page)

    return quick
