"""Figures 5-10 of [CE21], differences, and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.results import Result
from pliant.studies.cibicik_egeland.checks import tip, twist
from pliant.studies.cibicik_egeland.runs import FINAL, FLEXIBLE, SECOND, START, Runs
from pliant.studies.drawing import FIRST, MANY, grid, shared_legend, skeleton
from pliant.studies.drawing import SECOND as DASHED
from pliant.studies.study import Figure, Table

NUMBERS = {"inner": 2, "outer": 3}
Curve = tuple[str, Callable[[Result], Any]]


def illustrate(runs: Runs) -> list[Figure]:
    """One for each figure of the paper from 5 on, and the differences."""
    text = "Fig. {} of the paper: {}. Linearised model solid, nonlinear dashed."
    return [
        Figure("fig05", "Fig. 5 of the paper: the manoeuvre. Dashed grey the start, solid grey the intermediate, black "
               "the final configuration.", _poses(runs), 3.6),
        Figure("fig06", text.format(6, "joint angles and rates"), _pairs(runs, _joints(), 6.0), 5.6),
        Figure("fig07", text.format(7, "bending in the xy plane and its rate, the first 3 s"),
               _pairs(runs, _elastic("bending_y"), 3.0), 5.6),
        Figure("fig08", text.format(8, "torsion and its rate"), _pairs(runs, _elastic("torsion"), 6.0, 2.9), 5.6),
        Figure("fig09", text.format(9, "bending in the xz plane and its rate"),
               _pairs(runs, _elastic("bending_z"), 6.0, 2.9), 5.6),
        Figure("fig10", text.format(10, "input torques, the first 4 s"), _torques(runs), 4.2),
        Figure("differences", "Nonlinear less linear: joint angles, tip deflections and torsion.", _differences(runs),
               4.6),
    ]  # fmt: skip


def _poses(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        model = runs.models["nonlinear"]
        axes = page.add_subplot(projection="3d")
        styles = ((START, "0.6", "--"), (SECOND, "0.6", "-"), (FINAL, "black", "-"))
        for pose, colour, dash in styles:
            points = skeleton(model, [np.concatenate([pose, np.zeros(model.n - 4)])])[0]
            axes.plot(*points.T, color=colour, linestyle=dash, linewidth=1.6)
            axes.plot(*points[::2].T, "o", color=colour, markersize=3)
        axes.set_xlabel("X (m)")
        axes.set_ylabel("Y (m)")
        axes.set_zlabel("Z (m)")
        axes.set_aspect("equal")
        axes.set_box_aspect(None, zoom=1.3)
        axes.view_init(elev=18, azim=-60)

    return draw


def _joints() -> list[tuple[Curve, Curve]]:
    def angle(k: int) -> Callable[[Result], Any]:
        return lambda run: np.degrees(run.q[:, k])

    def rate(k: int) -> Callable[[Result], Any]:
        return lambda run: np.degrees(run.qd[:, k])

    return [((f"$q_{k + 1}$ (deg)", angle(k)), (f"$\\dot q_{k + 1}$ (deg/s)", rate(k))) for k in range(4)]


def _elastic(field: str) -> list[tuple[Curve, Curve]]:
    """Amplitudes (mm or mrad at the tip) and rates of both modes of both links."""
    unit, rate_unit = ("mrad", "rad/s") if field == "torsion" else ("mm", "m/s")
    rows = []
    for link in FLEXIBLE:
        for mode in (1, 2):
            name, text = f"{link}.{field}.{mode}", f"link {NUMBERS[link]}, mode {mode}"
            rows.append(((f"{text} ({unit})", _value(name)), (f"rate ({rate_unit})", _rate(name))))
    return rows


def _value(name: str) -> Callable[[Result], Any]:
    return lambda run: 1e3 * run[name]


def _rate(name: str) -> Callable[[Result], Any]:
    return lambda run: run.qd[:, run.model.index(name)]


def _pairs(runs: Runs, rows: list[tuple[Curve, Curve]], until: float, since: float = 0.0) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        made = grid(page, len(rows), 2)
        for line, pair in zip(made, rows):
            for axes, (label, curve) in zip(line, pair):
                for name, style in (("linear", FIRST), ("nonlinear", DASHED)):
                    run = runs.histories[name]
                    shown = (run.t <= until) & (run.t >= since)
                    axes.plot(run.t[shown], curve(run)[shown], label=name, **{**style, "linewidth": 0.7 *
                              style["linewidth"]})  # fmt: skip
                axes.set_ylabel(label, fontsize=7.5)
        page.align_ylabels(made[:, 0])
        page.align_ylabels(made[:, 1])
        shared_legend(page, made[0, 0])

    return draw


def _torques(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        made = grid(page, 2, 2)
        for k, axes in enumerate(made.flat):
            for name, style in (("linear", FIRST), ("nonlinear", DASHED)):
                run = runs.histories[name]
                shown = run.t <= 4.0
                axes.plot(run.t[shown], run.tau[shown, k], label=name, **style)
            axes.set_ylabel(f"$T_{k + 1}$ (N m)")
        shared_legend(page, made[0, 0])

    return draw


def _differences(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        linear, exact = runs.histories["linear"], runs.histories["nonlinear"]
        made = grid(page, 4, 1)[:, 0]
        for k, style in enumerate(MANY):
            made[0].plot(linear.t, np.degrees(exact.q[:, k] - linear.q[:, k]), label=f"$q_{k + 1}$", **style)
        made[0].legend(ncols=4, loc="lower left")
        made[0].set_ylabel("joints (deg)")
        parts: tuple[tuple[str, Callable[[Result, str], Any]], ...] = (
            ("xy (mm)", lambda r, link: tip(r, link, 1)),
            ("xz (mm)", lambda r, link: tip(r, link, 2)),
            ("torsion (mrad)", twist),
        )
        for axes, (label, quantity) in zip(made[1:], parts):
            for link, style in zip(FLEXIBLE, (FIRST, DASHED)):
                axes.plot(linear.t, quantity(exact, link) - quantity(linear, link), label=f"link {NUMBERS[link]}",
                          **style)  # fmt: skip
            axes.set_ylabel(label)
        made[1].legend(ncols=2, loc="upper left")
        page.align_ylabels(made)

    return draw


def tabulate(runs: Runs) -> list[Table]:
    """Operations, times, derivatives."""
    operations = Table(
        "Operations of one evaluation of the forward dynamics, from the tape",
        ("formulation", "products", "sums", "divisions", "sin, cos"),
        [[name, op["mul"], op["add"], op["div"], op["trig"]] for name, op in runs.operations.items()],
        "dual-screw is linear in the elastic states; the others are exact. All but denoc form a matrix and solve it.",
    )
    times = Table(
        "Time", ("model", "time of 1 s of the manoeuvre (s)", "steps for 6 s", "evaluations"),
        [[name, seconds.median, runs.histories[name].stats.steps, runs.histories[name].stats.evaluations]
         for name, seconds in runs.times.items()],
        "The paper: nonlinear 3901 s, linearised 314 s, linearised and optimised 14 s.",
    )  # fmt: skip
    derivatives = Table(
        "dP/dt of all link frames", ("by", "instructions", "seconds to form"),
        [[name, *values] for name, values in runs.derivatives.items()], "The paper: 11 s against 181 s.",
    )  # fmt: skip
    return [operations, times, derivatives]
