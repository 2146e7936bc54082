"""What the studio says: numbers of a run, and messages that markdown leaves alone."""

from __future__ import annotations

import numpy as np

from pliant.view.studio_run import Run, tip_error


def _measured(run: Run) -> tuple[str, str]:
    """From where the tip is measured, and the frequencies as text."""
    of = "from the goal" if run.choices.manoeuvre.startswith("move") else "from the rigid arm"
    return of, ", ".join(f"{f:.3g}" for f in run.frequencies[:4]) or "none: the arm is rigid"


def summary(run: Run) -> str:
    """The numbers that stay in sight while sliders move."""
    largest, last = tip_error(run)
    of, frequencies = _measured(run)
    return (
        f"tip {of}: **{1e3 * last:.3g} mm** at the end, {1e3 * largest:.3g} mm at most  \nfrequencies: "
        f"**{frequencies}** Hz  \nstrain energy at most: {float(run.result.energy.strain.max()):.3g} J"
    )


def readout(run: Run) -> str:
    """A table of what a run gave."""
    largest, last = tip_error(run)
    of, frequencies = _measured(run)
    energy, balance = run.result.energy, float(np.abs(run.result.energy_balance).max())
    return (
        f"| | |\n|---|---|\n| tip {of}, at the end | **{1e3 * last:.3g} mm** |\n"
        f"| largest on the way | {1e3 * largest:.3g} mm |\n| frequencies (Hz) | {frequencies} |\n"
        f"| largest strain energy | {float(energy.strain.max()):.3g} J |\n"
        f"| largest kinetic energy | {float(energy.kinetic.max()):.3g} J |\n| energy balance | {balance:.1g} J |\n"
    )


def quoted(text: str) -> str:
    """Text of a message with nothing that markdown would take for markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#|!" else c for c in text).replace("\n", "  \n")
