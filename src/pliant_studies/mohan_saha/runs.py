"""Parameters and runs of [MS07]: counts, and the PUMA driven by torques computed beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pliant.analysis import counts
from pliant.arrays import Array, Expression
from pliant.control.controllers.joint_controllers import PD
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.model import Model
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_bench.timing import TURNS, Timings, alternating
from pliant_studies.checks import Measured
from pliant_studies.mohan_saha.arms import ALGORITHMS, HUBS, RECURSIVE, desired, puma, rods
from pliant_studies.study import StudyRuns, Tell

EVALUATIONS = 1000  # in one batch that is timed
STATED = 1e-8
"""Tolerance of the integration that the paper states."""
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
DEFAULT_RELATIVE = 1e-3
"""Relative tolerance of ode45 where only an absolute one is given."""


@dataclass
class Runs(StudyRuns):
    """Runs of the study; inner mappings are by algorithm.

    Attributes
    ----------
    histories : forced runs by hub and algorithm, and the stabilized one
    growth : by hub, (N, 2) time and largest real part of the eigenvalues of the error dynamics
    tolerances : runs by tolerance
    steps : runs over 10 s by largest step
    evaluations : evaluations over 6 s, by "largest step" or "output spacing" and by step
    cpu : seconds of the forced run over 6 s
    counts, times : operations and seconds by number of links
    """

    histories: dict[str, Result] = field(default_factory=dict)
    growth: dict[str, Array] = field(default_factory=dict)
    tolerances: dict[str, dict[str, Result]] = field(default_factory=dict)
    steps: dict[float, dict[str, Result]] = field(default_factory=dict)
    evaluations: dict[str, dict[float, dict[str, int]]] = field(default_factory=dict)
    cpu: dict[str, Timings] = field(default_factory=dict)
    counts: dict[int, dict[str, counts.Count]] = field(default_factory=dict)
    times: dict[int, dict[str, Timings]] = field(default_factory=dict)

    def run(self, hub: str, algorithm: str) -> Result:
        """Forced run with a hub and an algorithm."""
        return self.histories[f"{hub}, {algorithm}"]


class FeedForward:
    """Torques of the desired motion, by inverse dynamics in CasADi operations."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def expression(self, t: Expression, q: Expression, qd: Expression) -> Expression:
        """(6, 1) torques at time `t`, whatever the arm does."""
        found: Expression = self.model.equations.inverse_dynamics(*desired().derivatives(t))
        return found


@dataclass(frozen=True)
class Forced:
    """PUMA with a hub, by either algorithm, driven by the torques of the desired motion."""

    models: dict[str, Model]
    torque: FeedForward

    @classmethod
    def with_hub(cls, hub: str) -> Forced:
        """Arm with a hub, whose models are traced and compiled once for all runs."""
        models = {name: puma(hub).model(formulation) for name, formulation in ALGORITHMS.items()}
        return cls(models, FeedForward(models["recursive"]))

    def run(self, algorithm: str, t_end: float, rtol: float = STATED, atol: float = STATED, step: float | None = None,
            output_step: float = 0.01) -> Result:  # fmt: skip
        """Run from rest at theta = 0; `step` is the largest step allowed."""
        return simulate(self.models[algorithm], t_end, torque=self.torque, method="dopri5", rtol=rtol, atol=atol,
                        step=step, output_step=output_step, progress=False)  # fmt: skip


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    runs = Runs(_settings(quick))
    for hub in HUBS:
        forced = Forced.with_hub(hub)
        for algorithm in ALGORITHMS:
            tell(f"forced PUMA, hub {hub}, {algorithm}")
            runs.histories[f"{hub}, {algorithm}"] = forced.run(algorithm, 10.0)
        runs.growth[hub] = growth(forced.models["recursive"])
        if hub == "about z":
            _vary(runs, forced, tell)
    tell("forced PUMA with a stabilizing controller")
    runs.histories["stabilized"] = _stabilized()
    _cost(runs, tell)
    return runs


def _settings(quick: bool) -> Measured:
    return {
        "method": "dopri5",
        "duration": 10.0,
        "rtol": STATED,
        "atol": STATED,
        "tolerances": TOLERANCES,
        "steps": (0.1, 0.001) if quick else (0.1, 0.01, 0.001, 0.0001),
        "timed sizes": (2, 6, 8) if quick else (2, 4, 6, 8, 10, 12, 16, 20),
        "counted sizes": (5, 6, 10) if quick else (5, 6, 10, 20, 40, 80),
    }


def _vary(runs: Runs, forced: Forced, tell: Tell) -> None:
    """Vary tolerance and step of the integration, and time a run."""
    tell("tolerances of the integration")
    for tolerance in TOLERANCES:  # to 7 s: every joint has left
        runs.tolerances[f"{tolerance:g}"] = {
            a: forced.run(a, 7.0, tolerance, tolerance, output_step=1e-3) for a in ALGORITHMS
        }
    runs.tolerances["default"] = {a: forced.run(a, 7.0, DEFAULT_RELATIVE, output_step=1e-3) for a in ALGORITHMS}
    for step in runs.settings["steps"]:
        tell(f"step {step:g} s")
        runs.steps[step] = {a: forced.run(a, 10.0, step=step) for a in ALGORITHMS}
        for what, options in (("largest step", {"step": step}), ("output spacing", {"output_step": step})):
            counted = {a: forced.run(a, 6.0, **options).stats.evaluations for a in ALGORITHMS}
            runs.evaluations.setdefault(what, {})[step] = counted
    tell("time of the forced run")
    runs.cpu = alternating({a: partial(forced.run, a, 6.0, step=1e-3) for a in ALGORITHMS}, TURNS)


def _stabilized() -> Result:
    model = puma("about z").model()
    inertia = np.diag(model.mass_matrix(np.zeros(6)))
    law = PD(100.0 * inertia, 20.0 * inertia, desired(), gravity="none")
    return simulate(model, 10.0, torque=FeedForward(model), controller=law, rtol=STATED, atol=STATED,
                    output_step=0.01, progress=False)  # fmt: skip


def _cost(runs: Runs, tell: Tell) -> None:
    """Count and time one evaluation for several numbers of links."""
    for n in runs.settings["counted sizes"]:
        tell(f"counting {n} links")
        chain = build_chain(rods(n))
        names = ALGORITHMS if n <= 20 else {"recursive": RECURSIVE}
        runs.counts[n] = {a: counts.tape_count(chain, f, "accelerations") for a, f in names.items()}
    for n in runs.settings["timed sizes"]:
        tell(f"timing {n} links")
        runs.times[n] = alternating({a: evaluations(rods(n).model(f)) for a, f in ALGORITHMS.items()}, TURNS)


def growth(model: Model) -> Array:
    """(N, 2) times, and largest real parts (1/s) of the eigenvalues of the error dynamics along the desired motion."""
    times = np.linspace(0.0, 10.0, 81)
    q, qd, qdd = desired()(times)
    tau = model.inverse_dynamics(q, qd, qdd)
    found = [np.linalg.eigvals(model.linearize(a, b, c).A).real.max() for a, b, c in zip(q, qd, tau)]
    return np.column_stack([times, found])


def evaluations(model: Model) -> Callable[[], object]:
    """Function that evaluates the forward dynamics a thousand times, in one batch."""
    rng = np.random.default_rng(4)
    states = rng.normal(size=(3, EVALUATIONS, model.n))
    return lambda: model.forward_dynamics(*states)
