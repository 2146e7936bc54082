"""The work-precision plot: error against time per simulated second, one curve an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pliant.bench.report import Point
from pliant.bench.two_link import ANGLE, DEFLECTION


def draw(points: Sequence[Point], path: Path) -> None:
    """Two panels, angles and deflections; the allowed errors are dashed lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name, label, allowed in (
        (panels[0], "angle_error", "largest error of joint angles, rad", ANGLE),
        (panels[1], "deflection_error", "largest error of end deflections, m", DEFLECTION),
    ):
        for engine in dict.fromkeys(point.engine for point in points):
            own = sorted(
                (getattr(p, name), p.seconds.median, *p.seconds.quartiles) for p in points if p.engine == engine
            )
            errors, times, lower, upper = zip(*own)
            axes.plot(errors, times, "o-", label=engine, markersize=4)
            axes.vlines(errors, lower, upper, colors="0.6", linewidth=1)
        axes.axvline(allowed, color="k", linestyle="--", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel=label)
        axes.grid(alpha=0.3, which="both")
    panels[0].set_ylabel("seconds per simulated second")
    panels[0].legend()
    figure.savefig(path, dpi=150)


def undercut(points: Sequence[Point], ours: str, rival: str) -> list[Point]:
    """Points of a rival that no point of ours beats: at most the error in less time."""
    mine = [p for p in points if p.engine == ours]
    return [
        p
        for p in points
        if p.engine == rival and not any(o.error <= p.error and o.seconds.median < p.seconds.median for o in mine)
    ]
