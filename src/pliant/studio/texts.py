"""Texts of the studio: tables of the numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.figures.comparison import tips_apart
from pliant.simulation.runs.results import Result
from pliant.studio.run import StudioRun, tip_error
from pliant.viewer.browser.readout import NOTHING, length


def _measured(run: StudioRun) -> tuple[str, str, str]:
    """Words on the numbers of a run: where the tip is measured from; the frequencies, and their pose; the time after
    which the largest distance counts."""
    moves = run.choices.maneuver.startswith("move")
    of, at = ("from the goal", "at the goal") if moves else ("from the rigid arm", "at the start")
    after = f" after {run.choices.move_time:g} s" if moves else ""
    bending = vibrations(run)
    if not len(bending):
        return of, "none, the arm is rigid", after
    return of, f"**{', '.join(f'{f:.4g}' for f in bending[:4])} Hz** {at}", after


def vibrations(run: StudioRun) -> Array:
    """Frequencies of vibrations, Hz, without the zeros of an arm that floats."""
    return np.asarray(run.frequencies[run.frequencies > 1e-6 * run.frequencies.max(initial=0.0)])


def summary(run: StudioRun | None, count: int) -> str:
    """Short text on run number `count`, which stays in sight while sliders move."""
    if run is None:
        return NOTHING
    largest, last = tip_error(run)
    of, frequencies, after = _measured(run)
    return (
        f"run {count}: tip {of} **{length(last)}** at the end, {length(largest)} at most{after}  \n"
        f"frequencies: {frequencies}  \nstrain energy at most: {float(run.result.energy.strain.max()):.3g} J"
    )


def readout(run: StudioRun | None) -> str:
    """Table of the results of a run."""
    if run is None:
        return NOTHING
    largest, last = tip_error(run)
    of, frequencies, after = _measured(run)
    energy, balance = run.result.energy, float(np.abs(run.result.energy_balance).max())
    return (
        f"| | |\n|---|---|\n| tip {of}, at the end | **{length(last)}** |\n"
        f"| at most{after} | {length(largest)} |\n| frequencies | {frequencies} |\n"
        f"| largest strain energy | {float(energy.strain.max()):.3g} J |\n"
        f"| largest kinetic energy | {float(energy.kinetic.max()):.3g} J |\n| energy balance | {balance:.1g} J |\n"
    )


def comparison(run: StudioRun | None, kept: Mapping[str, StudioRun]) -> str:
    """Table of this run beside kept ones, with the largest distance of their tips."""
    if run is None:
        return NOTHING
    if not kept:
        return "Keep a run, change something, run again: both stand here, on the stage and in the plots."
    runs = {"this run": run, **kept}
    rows = {
        "arm": [quoted(one.result.robot.name, "markdown") for one in runs.values()],
        "driven by": [f"{one.choices.controller}, {one.choices.maneuver}" for one in runs.values()],
        "tip at the end": [length(tip_error(one)[1]) for one in runs.values()],
        "tip at most": [length(tip_error(one)[0]) for one in runs.values()],
        "first frequency": [_first(one) for one in runs.values()],
        "strain energy": [f"{float(one.result.energy.strain.max()):.3g} J" for one in runs.values()],
        "tips apart": ["", *(_apart(run.result, other.result) for other in kept.values())],
    }
    head = f"| | {' | '.join(runs)} |\n|---|{'---|' * len(runs)}\n"
    return head + "".join(f"| {name} | {' | '.join(cells)} |\n" for name, cells in rows.items())


def frequencies(before: StudioRun | None, now: StudioRun | None) -> str:
    """Table of the arm's frequencies, before the last change of its numbers and now."""
    if now is None:
        return NOTHING
    old, found = [] if before is None else vibrations(before).tolist(), vibrations(now).tolist()
    if not found:
        return "The arm is rigid: it has no frequencies."
    rows = ""
    for k, f in enumerate(found[:6]):
        change = f"{100 * (f / old[k] - 1):+.3g} %" if k < len(old) else "–"
        rows += f"| {k + 1} | {f'{old[k]:.4g}' if k < len(old) else '–'} | **{f:.4g}** | {change} |\n"
    return f"| mode | before (Hz) | now (Hz) | change |\n|---|---|---|---|\n{rows}"


def _first(run: StudioRun) -> str:
    found = vibrations(run)
    return f"{found[0]:.4g} Hz" if len(found) else "none"


def _apart(run: Result, other: Result) -> str:
    panel = tips_apart(run, other)
    return f"{float(panel.curves[0].y.max()):.3g} {panel.y.unit}"
