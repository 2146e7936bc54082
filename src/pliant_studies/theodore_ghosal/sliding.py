"""Frequency equation of link 3 as it slides out: its roots by four ways, and runs that solve for them or integrate
them."""

from __future__ import annotations

from functools import partial

import numpy as np

from pliant.arrays import Array
from pliant.control.controllers.joint_controllers import PD, natural_gains
from pliant.control.trajectories.trajectories import Cycloidal
from pliant.mechanics.shapes.moving import beta_length_derivatives, follow_beta, load_at_length
from pliant.mechanics.shapes.roots import clamped_mass_roots
from pliant.model.model import Model
from pliant.simulation.runs.composition import compose
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_bench.timing import TURNS, alternating
from pliant_studies.checks import Measured
from pliant_studies.theodore_ghosal.arms import PAYLOAD, RHO_A, with_modes

LENGTHS = np.round(np.linspace(0.3, 1.0, 8), 10)
START, GOAL, DURATION = (0.0, 0.0, 0.3), (np.pi, np.pi / 2, 1.0), 0.5
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9)
TIGHT = 1e-11
BANDWIDTH = 60.0
"""Bandwidth (rad/s) of the joint controller, which knows nothing of modes: only the arm's equations contain roots."""


def roots_of_link_3() -> dict[str, Array]:
    """Two roots over the free length: by the frequency equation, by the boundary conditions, and by integrating the
    differential form (45), with (47) corrected and as printed."""
    loads = PAYLOAD / (RHO_A * LENGTHS)
    roots = np.array([clamped_mass_roots(2, load) for load in loads])

    def rate(length: float, beta: float) -> float:
        return beta_length_derivatives(beta, load_at_length(length, RHO_A, PAYLOAD), length)[0]

    followed, printed = (
        np.column_stack([follow_beta(b, f, LENGTHS, substeps=40) for b in roots[0]]) for f in (rate, printed_rate)
    )
    boundary = np.array([roots_of_boundary_matrix(2, load) for load in loads])
    return {"length": LENGTHS, "roots": roots, "boundary": boundary, "followed": followed, "printed": printed}


def printed_rate(length: float, beta: float) -> float:
    """Rate (45) with (46) and (47) as printed: with m_p^2 in place of m_p."""
    s, c, sh, ch = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    load = PAYLOAD / (RHO_A * length)
    f_1 = load / length * beta * (sh * c - ch * s)
    f_2 = (1 + load * PAYLOAD) * (sh * c - ch * s) - 2 * load * beta * sh * s
    return float(f_1 / f_2)


def roots_of_boundary_matrix(count: int, M: float) -> Array:
    """Zeros of the determinant of the four boundary conditions on y = a cos + b sin + c cosh + d sinh.

    Independent of (11): clamped at 0; at 1 no moment, y'' = 0, and the shear force of the mass, y''' = -M beta^4 y.
    """
    from scipy.optimize import brentq

    def determinant(beta: float) -> float:
        c, s, ch, sh = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
        pull = M * beta
        rows = [
            [1, 0, 1, 0],
            [0, 1, 0, 1],
            [-c, -s, ch, sh],
            [s + pull * c, -c + pull * s, sh + pull * ch, ch + pull * sh],
        ]
        return float(np.linalg.det(np.array(rows)) / ch)

    grid = np.linspace(0.2, 3.5 * count, 60 * count)
    values = [determinant(beta) for beta in grid]
    brackets = [(a, b) for a, b, u, v in zip(grid, grid[1:], values, values[1:]) if u * v < 0]
    return np.array([brentq(determinant, a, b, xtol=1e-14, rtol=1e-14) for a, b in brackets[:count]])


# ----------------------------------------------------------------------------------------------- solved or carried


def joint_controller(model: Model) -> PD:
    """PD on the joints along the motion of the paper."""
    kp, kd = natural_gains(model, GOAL, BANDWIDTH)
    return PD(kp, kd, Cycloidal(START, GOAL, DURATION), gravity="none")


def moved(model: Model, law: PD, rtol: float) -> Result:
    """Run of the motion of the paper under the joint controller."""
    return simulate(model, DURATION, START, controller=law, method="dop853", rtol=rtol, atol=1e-2 * rtol,
                    output_step=1e-2, progress=False)  # fmt: skip


def solved_and_carried(quick: bool) -> tuple[Measured, dict[str, Result]]:
    """Numbers and two runs: roots that are solved for at every evaluation, and roots that the run integrates."""
    robot = with_modes()
    models = {kind: robot.model(roots=kind, stiffening=False) for kind in ("solved", "integrated")}
    law = joint_controller(models["solved"])
    truth = moved(models["solved"], law, TIGHT)
    table: dict[str, Measured] = {}
    for rtol in TOLERANCES:
        runs = {kind: moved(models[kind], law, rtol) for kind in models}
        table[f"{rtol:g}"] = {
            "beta off": off_the_roots(runs["integrated"]),
            "tip off (m)": {kind: float(np.abs(run.tip - truth.tip).max()) for kind, run in runs.items()},
            "evaluations": {kind: run.stats.evaluations for kind, run in runs.items()},
        }
    numbers = {
        "by tolerance": table,
        "operations": {kind: _operations(models[kind], law) for kind in models},
        "travel (m)": float(np.ptp(truth["slide"])),
    }
    if not quick:
        times = alternating({kind: partial(moved, models[kind], law, 1e-7) for kind in models}, TURNS)
        numbers["time, solved over integrated"] = times["solved"].over(times["integrated"]).median
    return numbers, runs


def off_the_roots(run: Result) -> float:
    """Largest distance of the integrated roots from the true roots at the current length, every 0.05 s."""
    assert run.roots is not None
    true = np.array([clamped_mass_roots(2, PAYLOAD / (RHO_A * length)) for length in run["slide"][::5]])
    return float(np.abs(run.roots[::5] - true).max())


def _operations(model: Model, law: PD) -> int:
    """Products, sums, divisions, roots and calls of functions in one evaluation of the right-hand side."""
    return sum(compose(model, None, law, {}, (), None, False).rhs.tape.count().values())
