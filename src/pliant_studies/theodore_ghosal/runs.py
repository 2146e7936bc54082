"""Parameters and runs of [TG95]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pliant.analysis import overestimation
from pliant.analysis.closed_loop import closed_loop_eigenvalues
from pliant.analysis.overestimation import Overestimation
from pliant.arrays import Array
from pliant.control.controllers.computed_torque import ComputedTorque
from pliant.control.controllers.lqr import LQR
from pliant.control.controllers.phases import Switch
from pliant.control.trajectories.trajectories import Cycloidal
from pliant.mechanics.shapes.roots import clamped_free_roots, clamped_mass_roots
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.robot.parts.shapes import Shapes, TipLoad
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_bench.timing import TURNS, Effort, Timings, alternating
from pliant_studies.checks import Measured, Numbers
from pliant_studies.evaluation import inverse_dynamics
from pliant_studies.study import StudyRuns, Tell
from pliant_studies.theodore_ghosal import elbow, loop, operations, sliding
from pliant_studies.theodore_ghosal.arms import ARMS, EI, REVOLUTE, RHO_A, readings, single, with_elements, with_modes
from pliant_studies.theodore_ghosal.sliding import DURATION, GOAL, START

GAINS: Measured = {"kp": 400.0, "kd": 40.0}
WEIGHTS = {"joints": 1e4, "flexible": 1e6, "rates": 1e2}
INPUT_WEIGHT = 1e-3
FEW = Effort(rounds=3, seconds=0.02, most=3.0)
ALPHAS = (-0.1, -0.01, 0.01, 0.1)
"""Relative errors of the stiffness at which (49), (50) are compared with the loop itself."""


@dataclass
class Runs(StudyRuns):
    """Runs and computations of the study."""

    histories: dict[str, Result | Numbers] = field(default_factory=dict)
    roots: dict[str, Array] = field(default_factory=dict)
    loops: dict[str, loop.Vibrations] = field(default_factory=dict)
    overestimated: dict[str, Overestimation] = field(default_factory=dict)
    times: dict[str, Timings] = field(default_factory=dict)
    elbows: dict[str, Result] = field(default_factory=dict)

    def run(self, name: str) -> Result:
        """History by name that is a run."""
        found = self.histories[name]
        assert isinstance(found, Result)
        return found


def reference() -> Cycloidal:
    """Desired joint motion."""
    return Cycloidal(START, GOAL, DURATION)


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study, and numbers that follow from them."""
    runs = Runs({"rtol": 1e-7, "atol": 1e-9, "output_step": 1e-3, "eigenvalue times": 11 if quick else 41,
                 "gains": GAINS, "LQR weights": WEIGHTS, "stiffening": "none, as in the paper",
                 "velocity terms in eigenvalues": not quick})  # fmt: skip
    tell("Table 1")
    runs.numbers |= {"table 1": table_1(), "loaded beams": loaded_beams()}
    tell("frequency equation")
    runs.roots = sliding.roots_of_link_3()
    runs.histories["frequency equation"] = runs.roots
    tell("roots solved and integrated")
    runs.numbers["integrated roots"], histories = sliding.solved_and_integrated()
    runs.histories |= histories
    models = {"modes": with_modes().model(stiffening="off"), "elements": with_elements().model(stiffening="off")}
    laws = {name: controller() for name in models}
    for name, model in models.items():
        tell(f"controlled motion, {name}")
        runs.histories[name] = controlled(model, laws[name], runs.settings)
    tell("times of both")
    tasks = {name: partial(controlled, model, laws[name], runs.settings) for name, model in models.items()}
    runs.times = alternating(tasks, FEW if quick else TURNS)
    tell("closed-loop eigenvalues")
    _loops(runs, {**models, "mass alone": with_modes(2, False).model(stiffening="off")}, quick)
    tell("free motion of the sliding arm")
    runs.histories["free"] = free_motion(models["modes"])
    tell("by Lagrange")
    runs.numbers["lagrange"] = by_lagrange(runs, quick)
    tell("over-estimated stiffness")
    _overestimate(runs)
    tell("counting operations")
    runs.numbers["counts"] = {name: operations.counted(ARMS[name]()) for name in ARMS if name in REVOLUTE or not quick}
    if not quick:
        tell("boundary load of link 2")
        runs.numbers["boundary load"] = loop.boundary_load_errors(reference())
        tell("motion prescribed in three geometries")
        _prescribed(runs)
        tell("planar arm with an elbow")
        runs.numbers["elbow"], followers = elbow.frequencies()
        tell("planar arm folding")
        runs.numbers["elbow"]["response"], runs.elbows = elbow.responses(followers)
    return runs


# ------------------------------------------------------------------------------------------------ frequencies


def table_1() -> dict[str, list[float]]:
    """Frequencies (rad/s) of the clamped-free link 2: by one, two and three elements, and exact."""
    found = {
        f"{count} el.": 2
        * np.pi
        * single(Shapes(method="elements", count=count, bending_y=True)).model(stiffening="off").frequencies()
        for count in (1, 2, 3)
    }
    return {**{k: v.tolist() for k, v in found.items()}, "exact": (_SCALE * clamped_free_roots(6) ** 2).tolist()}


_SCALE = float(np.sqrt(EI / RHO_A))


def loaded_beams() -> dict[str, float]:
    """Largest relative difference of two frequencies with a tip load: by elements, and by the frequency equation."""
    from pliant.analysis.closed_loop import link_frequencies

    model = single(Shapes(method="elements", count=8, bending_y=True), 1.0).model(stiffening="off")
    found = {}
    for text, (M, J, D) in {"M": (0.5, 0.0, 0.0), "M, J": (0.5, 0.05, 0.0), "M, J, D": (0.5, 0.05, 0.1)}.items():
        tip = TipLoad(mass=M * RHO_A, inertia=J * RHO_A, first_moment=D * RHO_A)
        exact = _SCALE * clamped_mass_roots(2, M, J, D) ** 2
        found[text] = float(np.abs(2 * np.pi * link_frequencies(model, "link", load=tip)[:2] / exact - 1).max())
    return found


# -------------------------------------------------------------------------------------------- controlled motion


def controlled(model: Model, law: Switch, settings: Numbers) -> Result:
    """Run the whole motion; a second run with the same `law` compiles nothing."""
    options = {key: settings[key] for key in ("rtol", "atol", "output_step")}
    return simulate(model, 2 * DURATION, START, controller=law, progress=False, **options)


def controller() -> Switch:
    """Controller (31)-(33), then (37)."""
    return Switch([tracking(), LQR(GOAL, WEIGHTS, INPUT_WEIGHT, inner="decoupling")], [DURATION])


def tracking() -> ComputedTorque:
    """Controller (31)-(33)."""
    return ComputedTorque(reference=reference(), **GAINS)


def _loops(runs: Runs, models: Mapping[str, Model], quick: bool) -> None:
    times, path = np.linspace(0.0, DURATION, runs.settings["eigenvalue times"]), reference()
    wanted = [name for name in models if name != "mass alone" or not quick]
    runs.loops = {name: loop.vibrations(models[name], None if quick else tracking(), path, times) for name in wanted}
    modes, elements = runs.loops["modes"], runs.loops["elements"]
    runs.numbers["loop"] = {
        "velocity terms": not quick,
        "elements over modes": loop.compared_loops(modes, elements),
        "lowest, elements over modes": {
            "J_L" if name == "modes" else name: loop.compared_loops(found, elements)["link 2, mode 1, in plane"]
            for name, found in runs.loops.items()
            if name != "elements"
        },
        "greatest over least": {link: loop.variations(modes, link) for link in loop.LINKS},
        "links alone": loop.links_alone(models["mass alone"], models["elements"], path, times[:: len(times) // 5]),
    }


def free_motion(model: Model) -> Result:
    """Run without torque: the arm turns, and the link slides out."""
    q0, qd0 = (0.3, 0.4, 0.5), (2.0, -1.5, 1.0)
    return simulate(model, 0.3, q0, qd0, rtol=1e-9, atol=1e-12, output_step=1e-3, progress=False)


def by_lagrange(runs: Runs, quick: bool) -> dict[str, float]:
    """Relative differences of `lagrange` from the recursion: forces at a state, and runs (joints over their range,
    amplitudes over the largest)."""
    model = with_modes().model("lagrange", stiffening="off")
    run = runs.run("modes")
    q, qd = run.q[300], run.qd[300]  # in the middle of the motion
    forces = [inverse_dynamics(m, q, qd, np.ones(model.n)) for m in (model, run.model)]
    found = {"forces at a state": float(np.abs(forces[0] - forces[1]).max() / np.abs(forces[1]).max())}
    if quick:
        return found
    joint = sliding.moved(model, sliding.joint_controller(model), 1e-9)
    found["joint controller"] = _apart(joint, runs.run("roots solved"))
    found["decoupling and regulator"] = _apart(controlled(model, controller(), runs.settings), run)
    return found


def _apart(run: Result, other: Result) -> float:
    parts = (slice(0, 3), slice(3, None))
    return float(max(np.abs(run.q - other.q)[:, k].max() / np.abs(other.q[:, k]).max() for k in parts))


def _prescribed(runs: Runs) -> None:
    """Run the tracking phase with joints on their path: three geometries by modes, modes that know the mass alone, and
    elements."""
    robots = {**readings(), "mass alone": with_modes(2, False), "elements": with_elements()}
    for name, robot in robots.items():
        runs.histories[f"prescribed, {name}"] = prescribed(robot)


def prescribed(robot: Robot) -> Result:
    """Run with joints on the desired path and links that bend."""
    path = {joint: Cycloidal([a], [b], DURATION) for joint, a, b in zip(("waist", "boom", "slide"), START, GOAL)}
    q0 = {"slide": START[2]}
    return simulate(
        robot.model(stiffening="off"), DURATION, q0, motion=path, rtol=1e-7, atol=1e-9, output_step=1e-3, progress=False
    )


# ------------------------------------------------------------------------------------------ over-estimated stiffness


def _overestimate(runs: Runs) -> None:
    link = single(Shapes(boundary="clamped-free", bending_y=2), 0.05)
    model = link.model(stiffening="off")
    runs.overestimated = {
        "arm": overestimation(runs.run("modes").model, GOAL, **GAINS),
        "link": overestimation(model, [0.0], **GAINS),
        "damped link": overestimation(model, [0.0], **GAINS, damping=1e-5),
    }
    believed = {
        f: link.replace({"links.link.beam.EI_z": f * EI}).model(stiffening="off") for f in (0.9, 0.99, 1.01, 1.1)
    }
    laws = {f: ComputedTorque(reference=[0.0], estimate=estimate, **GAINS) for f, estimate in believed.items()}
    for factor in (1.1, 0.9):
        runs.histories[f"stiffness {factor}"] = simulate(
            model, 1.0, {model.coordinates[1]: 1e-3}, controller=laws[factor], output_step=1e-3, progress=False
        )
    runs.numbers["loop with a wrong stiffness"] = {
        f"{alpha:+g}": [runs.overestimated["link"].growth(alpha),
                        float(closed_loop_eigenvalues(model, laws[1 + alpha], 0.0, np.zeros(model.n)).real.max())]
        for alpha in ALPHAS
    }  # fmt: skip
