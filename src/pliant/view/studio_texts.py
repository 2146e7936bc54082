"""What the studio says: numbers of a run."""

from __future__ import annotations

import numpy as np

from pliant.view.figure_data import length_unit
from pliant.view.studio_run import StudioRun, tip_error


def _measured(run: StudioRun) -> tuple[str, str, str]:
    """From where the tip is measured; the frequencies, and where they hold; since when the largest is counted."""
    moves = run.choices.manoeuvre.startswith("move")
    of, at = ("from the goal", "at the goal") if moves else ("from the rigid arm", "at the start")
    after = f" after {run.choices.move_time:g} s" if moves else ""
    if not len(run.frequencies):
        return of, "none, the arm is rigid", after
    return of, f"**{', '.join(f'{f:.4g}' for f in run.frequencies[:4])} Hz** {at}", after


def _length(metres: float) -> str:
    unit, scale = length_unit(np.array(metres))
    return f"{scale * metres:.3g} {unit}"


def summary(run: StudioRun, count: int) -> str:
    """The numbers of run `count` that stay in sight while sliders move."""
    largest, last = tip_error(run)
    of, frequencies, after = _measured(run)
    return (
        f"run {count}: tip {of} **{_length(last)}** at the end, {_length(largest)} at most{after}  \n"
        f"frequencies: {frequencies}  \nstrain energy at most: {float(run.result.energy.strain.max()):.3g} J"
    )


def readout(run: StudioRun) -> str:
    """A table of what a run gave."""
    largest, last = tip_error(run)
    of, frequencies, after = _measured(run)
    energy, balance = run.result.energy, float(np.abs(run.result.energy_balance).max())
    return (
        f"| | |\n|---|---|\n| tip {of}, at the end | **{_length(last)}** |\n"
        f"| at most{after} | {_length(largest)} |\n| frequencies | {frequencies} |\n"
        f"| largest strain energy | {float(energy.strain.max()):.3g} J |\n"
        f"| largest kinetic energy | {float(energy.kinetic.max()):.3g} J |\n| energy balance | {balance:.1g} J |\n"
    )
