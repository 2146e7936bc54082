"""Style of figures, and writing them to files: no global state, no window, the same on every machine."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base.signatures import shown
from pliant.base.writing import atomic_write
from pliant.errors import ModelError, warn_user

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
DPI = 200
WIDTH = 6.3
"""Inches: the text width of an A4 page."""

# Colors of Okabe and Ito, which color-blind readers tell apart, ordered so that neighbors differ in gray as well;
# the dashes tell lines apart in print without color.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1.2)))

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "lines.dash_capstyle": "butt",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 6),
    "axes.xmargin": 0.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "figure.facecolor": "white",
    "savefig.dpi": DPI,
    "svg.fonttype": "path",
    "svg.hashsalt": "pliant",
    "path.simplify_threshold": 0.2,
}

Look = dict[str, Any]
"""Keyword arguments of a line, as Matplotlib takes them."""
Margins = tuple[float, float, float, float]
"""Inches at the left, bottom, right and top of a grid of panels."""
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


@cache
def _chart() -> type[Figure]:
    """Class of the figures; made late, since Matplotlib is imported for it."""
    from matplotlib.backend_bases import FigureManagerBase
    from matplotlib.figure import Figure

    class Chart(Figure):
        """A figure that shows itself in a notebook, whether pyplot is in use there or not."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=110)
            return buffer.getvalue()

        def show(self, warn: bool = True) -> None:
            """Open a window, and wait in a script until it is closed; warn if there is no display."""
            from matplotlib import pyplot

            if self.canvas.manager is None:  # made before pyplot was in use: it takes the window of a new one
                window = pyplot.figure(figsize=self.get_size_inches(), dpi=self.dpi).canvas
                self.set_canvas(window)
                window.figure = self
            manager: type[Any] = type(self.canvas.manager)
            if manager.show is not FigureManagerBase.show:
                pyplot.show()
            elif warn:
                warn_user("no display here: write the figure to a file, plot(..., path='run.png')")

    return Chart


def _new(known: bool, **options: Any) -> Figure:
    """Empty figure, `known` to pyplot where that is in use, so that `plt.show()` shows it.

    In notebooks pyplot does not know it: they show the value of a cell, and would show it twice.
    """
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not known or "inline" in pyplot.get_backend():
        return _chart()(**options)
    return pyplot.figure(FigureClass=_chart(), **options)  # type: ignore[no-any-return]


def figure(
    draw: Callable[[Figure], None], width: float, height: float, path: Paths = None, margins: Margins | None = None
) -> Figure:
    """New figure that `draw` fills, written to `path` (or to several) if given; global settings stay as they are.

    Where a script uses pyplot and no `path` is given, pyplot knows the figure: `plt.show()` opens it.

    Without `margins`, Matplotlib measures every label to place the axes, which takes half of the time.
    """
    import matplotlib

    with matplotlib.rc_context(STYLE):
        layout = None if margins else "constrained"
        made = _new(path is None, figsize=(width, height), dpi=110, layout=layout)
        spacing: Any = made.get_layout_engine()
        if spacing is not None:
            spacing.set(w_pad=0.06, h_pad=0.06)
        draw(made)
        if margins is not None:
            left, bottom, right, top = margins
            made.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height, 0.08, 0.12)
        targets = [] if path is None else list(path) if isinstance(path, list | tuple) else [path]
        for target in targets:
            if not isinstance(target, str | os.PathLike):
                raise ModelError(f"path: got {shown(target)}, expected a file name or several")
            _save(made, Path(target))
            made.set_layout_engine("none")  # the next format keeps the places found for the first
        if targets and spacing is not None:
            made.set_layout_engine(spacing)
    return made


def _save(made: Figure, target: Path) -> None:
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ModelError(
            f"path: got {str(target)!r}, expected a file name that ends in {', '.join('.' + f for f in FORMATS)}"
        )
    metadata = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else None
    with atomic_write(target) as partial:
        made.savefig(partial, format=kind, dpi=DPI, metadata=metadata)


ROLES: dict[str, Look] = {
    "total": {"color": "black", "linestyle": "-"},
    "kinetic": {"color": COLORS[0], "linestyle": DASHES[1]},
    "gravity": {"color": COLORS[1], "linestyle": DASHES[2]},
    "strain": {"color": COLORS[2], "linestyle": DASHES[3], "linewidth": 1.5},
    "work done": {"color": COLORS[3], "linestyle": (0, (10, 3))},
    "balance": {"color": "black", "linestyle": "-", "linewidth": 0.9},
    "first": {"color": COLORS[0], "linestyle": "-", "linewidth": 1.6},
    "second": {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.0},
    "path": {"color": COLORS[0], "linestyle": "-"},
    "start": {"linestyle": "", "marker": "o", "markersize": 5, "color": "black", "markerfacecolor": "white"},
    "end": {"linestyle": "", "marker": "s", "markersize": 4.5, "color": "black"},
    "order": {"color": "0.55", "linestyle": "-", "linewidth": 0.7},
    "arm, joints free": {"color": "0.35", "linestyle": (0, (5, 2)), "linewidth": 0.9},
    "arm, joints locked": {"color": "0.35", "linestyle": (0, (1, 1.5)), "linewidth": 0.9},
}
"""Styles of lines that look the same in all figures."""


def line(role: int | str) -> Look:
    """Style of a line: one of `ROLES`, or that of a number, of which 28 differ in color or dashes."""
    if isinstance(role, str):
        return ROLES[role]
    return {"color": COLORS[role % len(COLORS)], "linestyle": DASHES[role % len(DASHES)]}


def time_axis(axes: Axes) -> None:
    """Label the time; the range is that of the lines."""
    axes.set_xlabel("time (s)")


def zero_line(axes: Axes) -> None:
    """Draw a faint line at zero, behind everything."""
    axes.axhline(0.0, color="0.75", linewidth=0.6, zorder=0)


def legend(axes: Axes) -> None:
    """Put a legend above the axes, in as many columns as fit the width, so that it never hides a line."""
    texts = axes.get_legend_handles_labels()[1]
    page: Any = axes.get_figure()
    room = page.bbox.width / page.figure.dpi - 0.8
    columns = max(1, min(len(texts), int(room / (0.55 + 0.068 * max(map(len, texts))))))
    columns = -(-len(texts) // -(-len(texts) // columns))  # rows of equal length
    axes.legend(ncols=columns, columnspacing=1.4, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
