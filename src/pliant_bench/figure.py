"""The work-precision plot: error against time per simulated second, one curve per engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.drawing.style import WIDTH, figure, line
from pliant_bench.findings import Point
from pliant_bench.two_link import ANGLE, DEFLECTION

MARKERS = "osD^v"


def draw(points: Sequence[Point], path: Path) -> None:
    """Two panels, angles and deflections; the allowed errors are dashed lines."""

    def fill(page: Any) -> None:
        panels = page.subplots(1, 2, sharey=True)
        for axes, name, label, allowed in (
            (panels[0], "angle_error", "largest error of joint angles (rad)", ANGLE),
            (panels[1], "deflection_error", "largest error of end deflections (m)", DEFLECTION),
        ):
            for k, engine in enumerate(dict.fromkeys(point.engine for point in points)):
                own = sorted(
                    (getattr(p, name), p.seconds.median, *p.seconds.quartiles) for p in points if p.engine == engine
                )
                errors, times, lower, upper = zip(*own)
                axes.plot(errors, times, MARKERS[k % len(MARKERS)], label=engine, markersize=3.5, **line(k))
                axes.vlines(errors, lower, upper, colors="0.6", linewidth=1)
            axes.axvline(allowed, color="k", linestyle=":", linewidth=0.8)
            axes.set(xscale="log", yscale="log", xlabel=label)
            axes.margins(0.05)
            axes.grid(alpha=0.25, linewidth=0.5)
        panels[1].annotate("allowed", (DEFLECTION, 1), (2, -9), ("data", "axes fraction"), "offset points", fontsize=7)
        panels[0].set_ylabel("seconds per simulated second")
        panels[0].legend(loc="upper right", borderaxespad=0.0)

    figure(fill, WIDTH, 3.1, path)


def undercut(points: Sequence[Point], ours: str, rival: str) -> list[Point]:
    """Points of a rival that no point of ours beats: at most the error in less time."""
    mine = [p for p in points if p.engine == ours]
    return [
        p
        for p in points
        if p.engine == rival and not any(o.error <= p.error and o.seconds.median < p.seconds.median for o in mine)
    ]
