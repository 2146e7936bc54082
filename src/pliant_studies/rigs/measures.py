"""Numbers of the rigs that verdicts depend on: errors of every model on every run."""

from __future__ import annotations

import numpy as np

from pliant.validation.closeness import nrmse, pooled_nrmse
from pliant_studies.checks import Measured
from pliant_studies.measured.measured_runs import load_rig
from pliant_studies.rigs import bar, simple, two_link
from pliant_studies.rigs.runs import BARS, FRICTION, IDENTIFIED, RigRuns, recorded_locked

ELBOW = (0.0, np.deg2rad(10.0))
"""Angles (rad) of the elbow at which frequencies are compared."""


def measure(runs: RigRuns) -> Measured:
    """Every number that a verdict depends on."""
    return {
        "ring-downs": {name: recorded_locked(name) for name in two_link.RUNS},
        "frequencies": _frequencies(),
        "encoders": {name: _columns(found) for name, found in runs.encoders.items()},
        "currents": {name: _pooled(found) for name, found in runs.currents.items()},
        "elbow held, mrad rms": _held(runs),
        "loops": {name: _columns(found) for name, found in runs.loops.items()},
        "bar": {name: _columns(found) for name, found in runs.bars.items()},
        "bar frequency": {name: float(load_rig(BARS[name]).model(stiffening="off").frequencies()[0])
                          for name in bar.RUNS},
        "friction": {name: {path: load_rig(IDENTIFIED[name]).paths()[path] for path in FRICTION}
                     for name in two_link.RUNS},
    }  # fmt: skip


def _frequencies() -> Measured:
    """Frequencies (Hz) with the joints held, at two angles of the elbow, by the run that the arm comes from; and of
    simple models."""
    found: Measured = {"lumped": simple.held_frequencies()}
    for title, rig in (("data sheet", "2dsfl-nominal"), *((f"from {n}", r) for n, r in IDENTIFIED.items())):
        model = two_link.built(load_rig(rig))
        found[title] = [model.frequencies({"elbow": angle})[:4].tolist() for angle in ELBOW]
    return found


def _columns(found: Measured) -> dict[str, list[float]]:
    """NRMSE of each column by model."""
    measured = found["measured"]
    return {
        title: [nrmse(said[:, k], measured[:, k]) for k in range(measured.shape[1])]
        for title, said in found.items()
        if title not in ("t", "measured")
    }


def _pooled(found: Measured) -> dict[str, list[float]]:
    """NRMSE of each channel by model, over all windows together."""
    measured = found["measured"]
    return {
        title: [pooled_nrmse([w[:, k] for w in said], [w[:, k] for w in measured]) for k in range(4)]
        for title, said in found.items()
        if title not in ("t", "measured")
    }


def _held(runs: RigRuns) -> dict[str, float]:
    """Errors (mrad, RMS) of the elbow in the staircase, where it is to stay at zero."""
    found = runs.currents["lqg_staircase"]
    return {
        title: 1e3
        * float(np.sqrt(np.mean(np.concatenate([a[:, 1] - b[:, 1] for a, b in zip(said, found["measured"])]) ** 2)))
        for title, said in found.items()
        if title not in ("t", "measured")
    }
