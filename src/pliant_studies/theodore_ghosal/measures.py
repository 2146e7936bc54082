"""Numbers of [TG95] that follow from the runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Measured
from pliant_studies.theodore_ghosal.arms import readings
from pliant_studies.theodore_ghosal.runs import Runs, reference
from pliant_studies.theodore_ghosal.sliding import DURATION

MODELS = ("modes", "elements")
DEFLECTIONS = {"link 2, in plane": ("boom", 1), "link 2, out of plane": ("boom", 2),
               "link 3, in plane": ("slide", 2), "link 3, out of plane": ("slide", 1)}  # fmt: skip
SHIFTS = np.arange(-4e-3, 4e-3, 1e-5)
"""Shifts (s) of one response among which the one that fits another best is chosen."""


def measure(runs: Runs) -> Measured:
    """Numbers of roots, motion and stiffness; `perform` has computed the others."""
    free, roots = runs.run("free"), runs.roots
    ways = ("boundary", "followed", "printed")
    found: Measured = {
        "roots": {name: float(np.abs(roots[name] - roots["roots"]).max()) for name in ways},
        "free motion": {
            "drift": float(np.abs(free.energy_balance).max() / free.energy.kinetic[0]),
            "slides by (m)": float(np.ptp(free["slide"])),
        },
        "motion": _motion(runs),
    }
    if "boundary load" in runs.numbers:  # a full run
        found["tip error by geometry (mm)"] = {
            name: float(np.linalg.norm(tip_error(runs.run(f"prescribed, {name}")), axis=1).max()) for name in readings()
        }
        found["lag (ms)"] = {
            reading: _lags(runs.run(f"prescribed, {name}"), runs.run("prescribed, elements"))
            for reading, name in (("J_L", "square, alpha2 = +90 deg"), ("mass alone", "mass alone"))
        }
    found["cpu"] = {
        "rounds": list(runs.times["elements"].over(runs.times["modes"]).values),
        "evaluations": {name: runs.run(name).stats.evaluations for name in MODELS},
    }
    return {**found, "stiffness": _stiffness(runs)}


# ---------------------------------------------------------------------------------------------- controlled motion


def tip_error(run: Result) -> Array:
    """(N, 3) end-effector position less that of the undeformed arm on the desired path, mm."""
    desired = np.zeros_like(run.q)
    desired[:, :3] = reference()(run.t)[0]
    return np.asarray(1e3 * (run.tip - run.model.tip_pose(desired)[:, :3, 3]))


def joint_error(run: Result) -> Array:
    """(N, 3) joint positions less the desired ones."""
    return np.asarray(run.q[:, :3] - reference()(run.t)[0])


def _motion(runs: Runs) -> Measured:
    modes = runs.run("modes")
    tracking = modes.t <= DURATION
    error = {name: tip_error(runs.run(name)) for name in MODELS}
    size = {name: np.linalg.norm(e, axis=1) for name, e in error.items()}
    peaks = {name: float(e[tracking].max()) for name, e in size.items()}
    return {
        "joint error": {name: float(np.abs(joint_error(runs.run(name))[tracking]).max()) for name in MODELS},
        "tip error (mm)": peaks,
        "tip error by axis (mm)": np.abs(error["modes"][tracking]).max(axis=0),
        "tip error of rigid links (mm)": _rigid(modes, tracking),
        "at 1 s (mm)": {name: float(e[-1]) for name, e in size.items()},
        "last above 0.1 mm (s)": {name: float(modes.t[np.flatnonzero(e > 0.1)[-1]]) for name, e in size.items()},
        "apart, over the peak": float(np.abs(error["modes"] - error["elements"])[tracking].max() / peaks["modes"]),
    }


def _rigid(run: Result, rows: NDArray[np.bool_]) -> float:
    """Largest error of the tip (mm) that the joint errors alone would make, links undeformed."""
    actual, desired = (np.zeros((int(rows.sum()), run.q.shape[1])) for _ in range(2))
    actual[:, :3], desired[:, :3] = run.q[rows, :3], reference()(run.t[rows])[0]
    places = [run.model.tip_pose(q)[:, :3, 3] for q in (actual, desired)]
    return float(1e3 * np.linalg.norm(places[0] - places[1], axis=1).max())


def _lags(modes: Result, elements: Result) -> dict[str, float]:
    """Lag (ms) of each deflection by elements behind that by modes: the shift that fits best."""
    found = {}
    for text, (link, axis) in DEFLECTIONS.items():
        a, b, t = modes.deflection(link)[:, axis], elements.deflection(link)[:, axis], modes.t
        left_over = [float(((np.interp(t - shift, t, a) - b)[10:-10] ** 2).sum()) for shift in SHIFTS]
        found[text] = float(1e3 * SHIFTS[int(np.argmin(left_over))])
    return found


# ------------------------------------------------------------------------------------------ over-estimated stiffness


def _stiffness(runs: Runs) -> Measured:
    return {
        "bound": {name: loop.bound for name, loop in runs.overestimated.items()},
        "threshold": {name: loop.threshold for name, loop in runs.overestimated.items()},
        "growth beyond the bound": {name: loop.growth(1.05 * loop.bound) for name, loop in runs.overestimated.items()},
        "growth at half the bound": {name: loop.growth(0.5 * loop.bound) for name, loop in runs.overestimated.items()},
        "amplitude after 1 s over start": {name: _growth(runs.run(f"stiffness {name}")) for name in ("1.1", "0.9")},
    }


def _growth(run: Result) -> float:
    """Largest amplitude in the last tenth over that in the first tenth."""
    values = np.abs(run.q[:, 1])
    tenth = len(values) // 10
    return float(values[-tenth:].max() / values[:tenth].max())
