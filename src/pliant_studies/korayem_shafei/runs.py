"""Parameters and runs of [KS09]: the swing of the two-link arm with every kind of shape, and the counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pliant.analysis import counts
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.robot import load
from pliant.options import FormulationName, StiffeningName
from pliant.robot.parts.shapes import Shapes
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_studies.checks import Measured
from pliant_studies.korayem_shafei.arms import HANGING, LINKS, START, counted_arm
from pliant_studies.korayem_shafei.independent import Swing, swing
from pliant_studies.study import StudyRuns, Tell


@dataclass
class Runs(StudyRuns):
    """Runs of the study: histories by name, frequencies of the hanging arm, independent runs, and counts."""

    histories: dict[str, Result] = field(default_factory=dict)
    frequencies: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    independent: dict[str, Swing] = field(default_factory=dict)
    tapes: dict[tuple[int, int, int], dict[str, counts.Count]] = field(default_factory=dict)

    @property
    def modes(self) -> Result:
        """Run of the paper's model: one clamped-free mode per link, Gibbs-Appell."""
        return self.histories["1 mode"]

    @property
    def elements(self) -> Result:
        """Run with converged finite elements of the same arm, without stiffening as in the paper."""
        return self.histories["elements"]


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    settings: Measured = {
        "stiffening": "none, as in the paper, where a run does not say otherwise",
        "duration": 2.0 if quick else 5.0,
        "elements": 4 if quick else 8,
        "fields": 2 if quick else 3,
        "rtol": 1e-9,
        "output_step": 1e-3,
        "independent Lagrangian (s)": {"1 mode": 1.0, "2 modes": 0.5} if quick else {"1 mode": 5.0, "2 modes": 2.0},
        "counted arms (n, n_f, m)": [(2, 2, 1), (3, 2, 2)] if quick else [(2, 2, 1), (3, 2, 2), (6, 6, 2), (6, 6, 3)],
    }
    runs = Runs(settings)
    for name, shapes, stiffening, formulation in _cases(quick, settings["elements"]):
        tell(f"swing, {name}")
        long = "elements stiffened" not in name
        _swing(runs, name, shapes, stiffening, formulation, settings["duration"] if long else 2.0)
    for name, until in settings["independent Lagrangian (s)"].items():
        tell(f"independent Lagrangian, {name}")
        times = runs.histories[name].t
        runs.independent[name] = swing(int(name[0]), START, times[times <= until + 1e-9])
    for size in settings["counted arms (n, n_f, m)"]:
        tell(f"counting {size}")
        runs.tapes[size] = tapes(*size)
    return runs


def _cases(quick: bool, elements: int) -> list[tuple[str, Shapes, StiffeningName, FormulationName]]:
    """Name, shapes, stiffening and formulation of each swing."""
    loaded = {"boundary": "clamped-mass", "tip_load": "auto"}
    cases: list[tuple[str, Shapes, StiffeningName, FormulationName]] = [
        ("1 mode", Shapes(boundary="clamped-free", bending_y=1), "off", "gibbs-appell"),
        ("2 modes", Shapes(boundary="clamped-free", bending_y=2), "off", "gibbs-appell"),
        ("3 modes", Shapes(boundary="clamped-free", bending_y=3), "off", "gibbs-appell"),
        ("3 loaded modes", Shapes(bending_y=3, **loaded), "off", "gibbs-appell"),
        ("2 elements", Shapes(method="elements", count=2, bending_y=True), "off", "denoc"),
        ("elements", Shapes(method="elements", count=elements, bending_y=True), "off", "denoc"),
        ("3 modes stiffened", Shapes(boundary="clamped-free", bending_y=3), "second-order", "denoc"),
    ]
    if not quick:
        cases += [
            ("1 loaded mode", Shapes(bending_y=1, **loaded), "off", "gibbs-appell"),
            ("2 loaded modes", Shapes(bending_y=2, **loaded), "off", "gibbs-appell"),
            ("3 loaded modes stiffened", Shapes(bending_y=3, **loaded), "second-order", "denoc"),
            ("elements stiffened", Shapes(method="elements", count=4, bending_y=True), "second-order", "denoc"),
        ]
    return cases


def _swing(
    runs: Runs,
    name: str,
    shapes: Shapes,
    stiffening: StiffeningName,
    formulation: FormulationName,
    duration: float,
) -> None:
    robot = load("two-link")
    model = robot.replace({f"links.{link}.shapes": shapes for link in LINKS}).model(formulation, stiffening=stiffening)
    s = runs.settings
    runs.histories[name] = simulate(
        model, duration, START, rtol=s["rtol"], output_step=s["output_step"], progress=False
    )
    runs.frequencies[name] = model.frequencies(HANGING, "free")


def tapes(n: int, n_f: int, m: int) -> dict[str, counts.Count]:
    """Operations of our Gibbs-Appell (forming the equations) and of the O(n) recursion (solving them too)."""
    chain = build_chain(counted_arm(n, n_f, m))
    return {
        "gibbs-appell": counts.tape_count(chain, "gibbs-appell", "forming"),
        "denoc": counts.tape_count(chain, "denoc", "forward dynamics"),
    }
