"""Numbers of a run at the time of the clock, as text beside the plots."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.drawing.figure_data import energy_unit, length_unit, position_unit
from pliant.figures.run_panels import positions
from pliant.simulation.runs.results import Result

NOTHING = "no run yet: press **run**"


def length(metres: float) -> str:
    """Length as text, with a unit that suits it."""
    unit, scale = length_unit(np.array(metres))
    return f"{scale * metres:.3g} {unit}"


def at_time(run: Result | None, now: float, away: Array | None = None) -> str:
    """Positions of joints and tip at a time, distance of the tip from that of the rigid arm, and energies, as text."""
    if run is None or away is None:
        return NOTHING

    def at(values: Array) -> float:
        return float(np.interp(now, run.t, values))

    joints = []
    for name, values in positions(run).items():
        unit, scale = position_unit(run.robot, name)
        joints.append(f"{quoted(name, 'markdown')} {scale * at(values):.4g} {'°' if unit == 'deg' else unit}")
    tip, energy = ", ".join(f"{at(column):.4g}" for column in run.tip.T), run.energy
    unit, scale = energy_unit(energy.strain, energy.kinetic)
    return (
        f"**t = {now:.3f} s**  \n{', '.join(joints) or 'no joint has a position'}  \n"
        f"tip ({tip}) m, {length(at(away))} from the rigid arm's  \n"
        f"strain {scale * at(energy.strain):.3g} {unit}, kinetic {scale * at(energy.kinetic):.3g} {unit}"
    )
