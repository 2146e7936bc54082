"""Figures and tables of the rigs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.drawing.style import time_axis
from pliant_studies.drawing import FIRST, SECOND, grid, shared_legend
from pliant_studies.rigs import bar, two_link
from pliant_studies.rigs.checks import CHANNELS, TASKS
from pliant_studies.rigs.runs import FRICTION_MOVED, OTHER, RigRuns
from pliant_studies.study import Figure, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page

MICRO = 1e6
SPAN = {"lqr_square": (10.0, 20.0), "lqg_staircase": (20.0, 30.0)}
"""Beginning and end (s) of the part of each run that is shown."""
MODELS = ("rigid", "lumped", "data sheet", "published estimate", "predicted", "fitted")
EVIDENCE = ("predicted, frequency moved", FRICTION_MOVED)


def illustrate(runs: RigRuns) -> list[Figure]:
    """All figures."""
    spans = " and ".join(f"{a:g} to {b:g} s of {name}" for name, (a, b) in SPAN.items())
    return [
        Figure("fig01", f"Strains from the encoders, {spans}; the arm comes from the other run.",
               lambda page: _encoders(page, runs), 4.2),
        Figure("fig02", "Angles and strains from the currents, every window of both runs one after the other; the arm "
               "comes from the other run.", lambda page: _currents(page, runs), 5.6),
        Figure("fig03", f"Closed loop under the references alone, {spans}; the arm comes from the other run.",
               lambda page: _loops(page, runs), 5.6),
        Figure("fig04", "Hub and deflection of the bar from the voltage, each run by the bar that was fitted to the "
               "two others; dotted: with the rate before the start.", lambda page: _bars(page, runs), 4.6),
    ]  # fmt: skip


def _lines(axes: Axes, t: Array, measured: Array, said: Array) -> None:
    axes.plot(t, measured, label="measured", **FIRST)
    axes.plot(t, said, label="predicted", **SECOND)


def _encoders(page: Page, runs: RigRuns) -> None:
    axes = page.subplots(2, 2, sharex="col", squeeze=False)
    for column, name in enumerate(two_link.RUNS):
        found = runs.encoders[name]
        rows = (found["t"] >= SPAN[name][0]) & (found["t"] <= SPAN[name][1])
        for k in (0, 1):
            _lines(axes[k, column], found["t"][rows], MICRO * found["measured"][rows, k],
                   MICRO * found["predicted"][rows, k])  # fmt: skip
            axes[k, 0].set_ylabel(f"strain {k + 1} (µm/m)")
        axes[0, column].set_title(name)
        time_axis(axes[1, column])
    shared_legend(page, axes[0, 0])


def _four(axes: NDArray[np.object_], column: int, t: Array, measured: Array, said: Array) -> None:
    """Draw both angles in degrees, and both strains in millionths."""
    for k in range(4):
        scale = np.degrees(1.0) if k < 2 else MICRO
        _lines(axes[k, column], t, scale * measured[:, k], scale * said[:, k])
        axes[k, 0].set_ylabel(("angle 1 (°)", "angle 2 (°)", "strain 1 (µm/m)", "strain 2 (µm/m)")[k])


def _currents(page: Page, runs: RigRuns) -> None:
    axes = page.subplots(4, 2, sharex="col", squeeze=False)
    for column, name in enumerate(two_link.RUNS):
        found = runs.currents[name]
        gap = np.full((1, 4), np.nan)  # between two windows
        measured, said = (
            np.vstack([part for w in found[key] for part in (w, gap)]) for key in ("measured", "predicted")
        )
        _four(axes, column, np.concatenate([np.append(t, t[-1]) for t in found["t"]]), measured, said)
        axes[0, column].set_title(name)
        time_axis(axes[3, column])
    shared_legend(page, axes[0, 0])


def _loops(page: Page, runs: RigRuns) -> None:
    axes = page.subplots(4, 2, sharex="col", squeeze=False)
    for column, name in enumerate(two_link.RUNS):
        found = runs.loops[name]
        rows = (found["t"] >= SPAN[name][0]) & (found["t"] <= SPAN[name][1])
        _four(axes, column, found["t"][rows], found["measured"][rows], found["predicted"][rows])
        axes[0, column].set_title(name)
        time_axis(axes[3, column])
    shared_legend(page, axes[0, 0])


def _bars(page: Page, runs: RigRuns) -> None:
    axes = grid(page, 2, 3)
    for column, name in enumerate(bar.RUNS):
        found = runs.bars[name]
        rows = found["t"] <= 2.5
        for k, unit in enumerate(("hub (°)", "deflection (°)")):
            one, scale = axes[k, column], np.degrees(1.0)
            _lines(one, found["t"][rows], scale * found["measured"][rows, k], scale * found["predicted"][rows, k])
            one.plot(found["t"][rows], scale * found["rate before the start"][rows, k], color="#B04A00", linestyle=":",
                     linewidth=1.0, label="rate before the start")  # fmt: skip
            axes[k, 0].set_ylabel(unit)
        axes[0, column].set_title(name)
    shared_legend(page, axes[0, 0])


def tabulate(runs: RigRuns) -> list[Table]:
    """NRMSE of every model on every run; every recipe that was tried."""
    tables = []
    for task, words in TASKS.items():
        rows = [
            [run, title, *values]
            for run in OTHER
            for title, values in ((m, runs.numbers[task][run].get(m)) for m in (*MODELS, *EVIDENCE))
            if values is not None
        ]
        note = "Predicted: every number from the other run. Fitted: from this run."
        tables.append(Table(f"NRMSE {words}", ("run", "model", *CHANNELS[task]), rows, note))
    rows = [[run, title, *values] for run, by in runs.numbers["bar"].items() for title, values in by.items()]
    tables.append(Table("NRMSE of the bar", ("run", "model", "hub", "deflection"), rows,
                        "The bar of each run was fitted to the two other runs."))  # fmt: skip
    return tables
