"""Figures 5-10 of [CE21], differences, and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import time_axis
from pliant.simulation.runs.results import Result
from pliant_studies.cibicik_egeland.measures import tip, twist
from pliant_studies.cibicik_egeland.runs import FINAL, FLEXIBLE, SECOND, START, Runs
from pliant_studies.drawing import FIRST, MANY, grid, shared_legend, skeleton
from pliant_studies.drawing import SECOND as DASHED
from pliant_studies.study import Figure, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page

NUMBERS = {"inner": 2, "outer": 3}
Curve = tuple[str, Callable[[Result], Array]]


def illustrate(runs: Runs) -> list[Figure]:
    """Figures of the paper from 5 on, and the differences."""
    text = "Fig. {} of the paper: {}. Linearized model solid, nonlinear dashed."
    slewing, moving = (2.98, 3.28), (0.48, 0.98)
    figures = [
        Figure("fig05", "Fig. 5 of the paper: the maneuver. Dashed grey the start, solid grey the intermediate, black "
               "the final configuration.", partial(_poses, runs), 3.6),
        Figure("fig06", text.format(6, "joint angles and rates"), partial(_rows, runs, _joints(), None), 5.6),
    ]  # fmt: skip
    for number, what, field, zoom in (
        (7, "bending in the xy plane", "bending_y", moving),
        (8, "torsion", "torsion", slewing),
        (9, "bending in the xz plane", "bending_z", slewing),
    ):
        how = f"{what}, its rate, and the amplitude from {zoom[0]:g} to {zoom[1]:g} s"
        draw = partial(_rows, runs, _elastic(field), zoom)
        figures.append(Figure(f"fig{number:02d}", text.format(number, how), draw, 5.8))
    return [
        *figures,
        Figure("fig10", text.format(10, "input torques, and magnified where the slewing starts"),
               partial(_torques, runs), 5.6),
        Figure("differences", "Nonlinear less linear: joint angles, tip deflections and torsion, from 2.9 to 4.5 s.",
               partial(_differences, runs), 4.8),
    ]  # fmt: skip


def _poses(runs: Runs, page: Page) -> None:
    model = runs.models["nonlinear"]
    axes = page.add_subplot(projection="3d")
    styles = ((START, "0.6", "--"), (SECOND, "0.6", "-"), (FINAL, "black", "-"))
    for pose, color, dash in styles:
        points = skeleton(model, [np.concatenate([pose, np.zeros(model.n - 4)])])[0]
        axes.plot(*points.T, color=color, linestyle=dash, linewidth=1.6)
        axes.plot(*points[::2].T, "o", color=color, markersize=3)
    axes.set(xlabel="X (m)", ylabel="Y (m)", zlabel="Z (m)", aspect="equal")
    axes.set_box_aspect(None, zoom=1.3)
    axes.view_init(elev=18, azim=-60)


def _history(what: str, column: int | str, scale: float, run: Result) -> Array:
    """Column of q, qd or tau."""
    values: Array = scale * getattr(run, what)[:, run.model.index(column) if isinstance(column, str) else column]
    return values


def _joints() -> list[tuple[Curve, Curve]]:
    degrees = 180 / np.pi
    return [((f"$q_{k + 1}$ (deg)", partial(_history, "q", k, degrees)),
             (f"$\\dot q_{k + 1}$ (deg/s)", partial(_history, "qd", k, degrees))) for k in range(4)]  # fmt: skip


def _elastic(field: str) -> list[tuple[Curve, Curve]]:
    """Amplitudes (mm or mrad at the tip) and rates of both modes of both links."""
    unit, rate_unit = ("mrad", "rad/s") if field == "torsion" else ("mm", "m/s")
    rows: list[tuple[Curve, Curve]] = []
    for link in FLEXIBLE:
        for mode in (1, 2):
            name, text = f"{link}.{field}.{mode}", f"link {NUMBERS[link]}, mode {mode}"
            value, rate = partial(_history, "q", name, 1e3), partial(_history, "qd", name, 1.0)
            rows.append(((f"{text} ({unit})", value), (f"rate ({rate_unit})", rate)))
    return rows


def _rows(runs: Runs, rows: list[tuple[Curve, Curve]], zoom: tuple[float, float] | None, page: Page) -> None:
    """Draw a row for each pair of curves over the whole time, with the first magnified where `zoom` is given."""
    made = page.subplots(len(rows), 3 if zoom else 2, squeeze=False, sharex="col")
    for line, (value, rate) in zip(made, rows):
        for axes, (label, curve), span in zip(line, (value, rate, value), (None, None, zoom)):
            _both(axes, runs, curve, span)
            axes.set_ylabel("" if span else label, fontsize=7.5)
    for axes in made[-1]:
        time_axis(axes)
    page.align_ylabels(made[:, 0])
    page.align_ylabels(made[:, 1])
    shared_legend(page, made[0, 0])


def _both(axes: Axes, runs: Runs, curve: Callable[[Result], Array], span: tuple[float, float] | None) -> None:
    """Draw a curve of both models, whole or between two times."""
    for name, style in (("linear", FIRST), ("nonlinear", DASHED)):
        run = runs.histories[name]
        shown = (run.t >= span[0]) & (run.t <= span[1]) if span else np.full(len(run), True)
        thin = {**style, "linewidth": 0.7 * style["linewidth"]}
        axes.plot(run.t[shown], curve(run)[shown], label=name, **thin)


def _torques(runs: Runs, page: Page) -> None:
    made = page.subplots(4, 2, sharex="col", width_ratios=(2, 1))
    for k, line in enumerate(made):
        for axes, span in zip(line, (None, (2.95, 3.45))):
            _both(axes, runs, partial(_history, "tau", k, 1.0), span)
        line[0].set_ylabel(f"$T_{k + 1}$ (N m)")
    for axes in made[-1]:
        time_axis(axes)
    page.align_ylabels(made[:, 0])
    shared_legend(page, made[0, 0])


def _differences(runs: Runs, page: Page) -> None:
    linear, exact = runs.histories["linear"], runs.histories["nonlinear"]
    shown = (linear.t >= 2.9) & (linear.t <= 4.5)
    made = grid(page, 4, 1)[:, 0]
    for k, style in enumerate(MANY):
        made[0].plot(linear.t[shown], np.degrees(exact.q[:, k] - linear.q[:, k])[shown], label=f"$q_{k + 1}$", **style)
    made[0].set_ylabel("joints (deg)")
    parts: tuple[tuple[str, Callable[[Result, str], Array]], ...] = (
        ("xy (mm)", lambda r, link: tip(r, link, 1)),
        ("xz (mm)", lambda r, link: tip(r, link, 2)),
        ("torsion (mrad)", twist),
    )
    for axes, (label, quantity) in zip(made[1:], parts):
        for link, style in zip(FLEXIBLE, (FIRST, DASHED)):
            values = quantity(exact, link) - quantity(linear, link)
            axes.plot(linear.t[shown], values[shown], label=f"link {NUMBERS[link]}", **style)
        axes.set_ylabel(label)
    shared_legend(page, made[0], made[1])
    page.align_ylabels(made)


def tabulate(runs: Runs) -> list[Table]:
    """Tables of operations, times and derivatives."""
    operations = Table(
        "Operations of one evaluation of the forward dynamics, from the tape",
        ("formulation", "products", "sums", "divisions", "sin, cos"),
        [[name, op["mul"], op["add"], op["div"], op["trig"]] for name, op in runs.operations.items()],
        "dual-screw is linear in the elastic states; the others are exact. All but denoc form a matrix and solve it.",
    )
    seconds = runs.numbers["times"]
    times = Table(
        "Time", ("model", "time of 1 s of the maneuver (s)", "steps for 6 s", "evaluations"),
        [[name, seconds["seconds"][name], run.stats.steps, run.stats.evaluations]
         for name, run in runs.histories.items() if name in seconds["seconds"]]
        + [["nonlinear, matrices", seconds["seconds"]["matrices"], "", ""]],
        "The paper: nonlinear 3901 s, linearized 314 s, linearized and optimized 14 s.",
    )  # fmt: skip
    derivatives = Table(
        "dP/dt of all link frames", ("by", "instructions", "seconds to form", "seconds to evaluate"),
        [[name, size, seconds["seconds to form"][name], seconds["seconds to evaluate"][name]]
         for name, size in seconds["instructions"].items()], "The paper: 11 s against 181 s to form.",
    )  # fmt: skip
    return [operations, times, derivatives]
