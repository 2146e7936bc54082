"""Figures of identification, sweeps and the bench: values read back from what was drawn."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crooked import crooked_robot
from pliant.identification.estimate import Channel
from pliant.identification.figures import residuals
from pliant.sweeps.outputs import SweepResult
from pliant_bench import figure as bench_figure
from pliant_bench.findings import Point
from pliant_bench.timing import Timings
from pliant_bench.two_link import ANGLE, DEFLECTION
from pliant_studies.drawing import skeleton


def test_residuals_by_channel() -> None:
    """Dots are measured, the line is fitted; beside them measured less fitted over a band of two deviations."""
    rng = np.random.default_rng(4)
    channels = [
        Channel("swing", name, np.sort(rng.uniform(1, 3, 40)), rng.normal(size=40), rng.normal(size=40), noise)
        for name, noise in (("upper", 0.3), ("tip.x", 0.07))
    ]
    figure = residuals(SimpleNamespace(channels=channels))  # type: ignore[arg-type]
    for (left, right), channel in zip(np.reshape(np.array(figure.axes, dtype=object), (2, 2)), channels):
        dots, line = left.lines
        assert dots.get_marker() == "."
        assert line.get_linestyle() == "-"
        np.testing.assert_array_equal(dots.get_xdata(), channel.t)
        np.testing.assert_array_equal(dots.get_ydata(), channel.measured)
        np.testing.assert_array_equal(line.get_ydata(), channel.fitted)
        assert left.get_title(loc="left").startswith(f"swing: {channel.name} (dots measured, line fitted)")
        np.testing.assert_array_equal(right.lines[-1].get_ydata(), channel.measured - channel.fitted)
        band = right.patches[0].get_extents().transformed(right.transData.inverted())
        np.testing.assert_allclose((band.y0, band.y1), (-2 * channel.noise, 2 * channel.noise))
        assert "(SI units)" in left.get_ylabel()
    assert [axes.get_xlabel() for axes in figure.axes[-2:]] == ["time (s)", "time (s)"]


def test_sweep_summary_by_path_and_metric() -> None:
    """A row for each metric, a column for each number that varied; failed points stand at the foot."""
    rng = np.random.default_rng(5)
    values = rng.uniform(1, 2, (12, 3)) * np.array([1.0, 10.0, 100.0])
    metrics = {"peak_deflection": rng.normal(size=12), "settling_time": rng.uniform(3, 4, 12)}
    status = tuple("failed" if k == 5 else "finished" for k in range(12))
    for column in metrics.values():
        column[5] = np.nan
    study: Any = SimpleNamespace(vary=dict.fromkeys(("payload.mass", "links.a.beam.length", "gravity.2")))
    figure = SweepResult(study, values, metrics, status, ("",) * 12).plot()
    axes = np.reshape(np.array(figure.axes, dtype=object), (2, 3))
    assert [one.get_xlabel() for one in axes[-1]] == list(study.vary)
    assert [one.get_ylabel() for one in axes[:, 0]] == ["peak deflection (m)", "settling time (s)"]
    for row, column in zip(axes, metrics.values()):
        for k, one in enumerate(row):
            dots, crosses = one.lines
            order = np.argsort(dots.get_xdata())
            kept = [i for i in np.argsort(values[:, k]) if i != 5]
            np.testing.assert_array_equal(np.asarray(dots.get_xdata())[order], values[kept, k])
            np.testing.assert_array_equal(np.asarray(dots.get_ydata())[order], column[kept])
            assert crosses.get_marker() == "x"
            np.testing.assert_array_equal(crosses.get_xdata(), values[[5], k])


def test_work_precision_by_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Angles on the left, deflections on the right; medians over errors, quartiles as bars, what is allowed dashed."""
    from matplotlib.figure import Figure

    made: list[Figure] = []

    def keep(draw: Any, width: float, height: float, path: Path) -> None:
        made.append(Figure(figsize=(width, height)))
        draw(made[0])

    monkeypatch.setattr(bench_figure, "figure", keep)
    rng = np.random.default_rng(6)
    points = [
        Point(engine, "", *rng.uniform(1e-6, 1e-3, 2), Timings(tuple(rng.uniform(1, 2, 5))), 1.0)
        for engine in ("pliant", "rival", "pliant", "rival", "pliant")
    ]
    bench_figure.draw(points, tmp_path / "plot.png")
    left, right = made[0].axes
    for axes, name, allowed in ((left, "angle_error", ANGLE), (right, "deflection_error", DEFLECTION)):
        for line in axes.lines[:2]:
            own = sorted((getattr(p, name), p.seconds.median) for p in points if p.engine == line.get_label())
            np.testing.assert_allclose(np.column_stack(line.get_data()), own)
        assert list(axes.lines[2].get_xdata()) == [allowed, allowed]
        bars = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
        pliant_points = sorted((p for p in points if p.engine == "pliant"), key=lambda p: getattr(p, name))
        np.testing.assert_allclose(bars, [p.seconds.quartiles for p in pliant_points])
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "joint angles (rad)" in left.get_xlabel()
    assert "end deflections (m)" in right.get_xlabel()
    assert left.get_ylabel() == "seconds per simulated second"


def test_corners_of_an_arm() -> None:
    """Where each link begins and ends: the last is the tip, and a link begins at its joint's origin in the last one."""
    model = crooked_robot().model()
    q = 0.003 * np.random.default_rng(7).normal(size=(3, model.n))
    corners = skeleton(model, q)
    assert corners.shape == (3, 10, 3)
    np.testing.assert_allclose(corners[:, -1], model.tip_pose(q)[:, :3, 3], atol=1e-12)
    upper = np.linalg.norm(corners[:, 5] - corners[:, 4], axis=1)
    np.testing.assert_allclose(upper, 0.73, atol=1e-3)  # its length, bent by some millimetres
    np.testing.assert_allclose(corners[:, 0], 0.0, atol=1e-15)
