"""Runs of the two-link arm beside SciPy's `solve_ivp`, which calls the same compiled accelerations at every stage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.model.robot import load
from pliant.simulation.runs.simulation import simulate
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.timing import Effort, alternating

PART = "loops"
T_END, T_QUICK, OUTPUT_STEP, RTOL, ATOL = 2.0, 0.02, 0.01, 1e-9, 1e-12
START = (-np.pi / 2, np.radians(5), 0.0, 0.0)
PAIRS = {"dopri5": "RK45", "dop853": "DOP853"}
REFERENCE = "dop853 at rtol 1e-13, joint angles, rad"


def scipy_run(model: Model, method: str, t_end: float) -> Callable[[], Array]:
    """A run by solve_ivp; returns the joint angles."""
    from scipy.integrate import solve_ivp

    n, tau, f = model.n, np.zeros(model.n_joints), model.forward_dynamics
    times = np.linspace(0.0, t_end, round(t_end / OUTPUT_STEP) + 1)

    def slope(t: float, x: Array) -> Array:
        return np.concatenate([x[n:], f(x[:n], x[n:], tau)])

    def run() -> Array:
        x0 = np.concatenate([START, np.zeros(n)])
        found = solve_ivp(slope, (0.0, t_end), x0, method=method, rtol=RTOL, atol=ATOL, t_eval=times)
        return np.asarray(found.y.T[:, : model.n_joints])

    return run


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    model = load("two-link").model(stiffening="off")
    t_end = T_QUICK if effort.quick else T_END
    run = partial(simulate, model, t_end, START, output_step=OUTPUT_STEP)
    exact = run(method="dop853", rtol=1e-13, atol=1e-15).q[:, : model.n_joints]
    for ours, theirs in PAIRS.items():
        report.tell(f"{PART}: SciPy {theirs} ...")
        tasks = {
            "ours": lambda ours=ours: run(method=ours, rtol=RTOL, atol=ATOL).q[:, : model.n_joints],  # type: ignore[misc]
            "theirs": scipy_run(model, theirs, t_end),
        }
        errors = {name: float(np.abs(task() - exact).max()) for name, task in tasks.items()}
        times = alternating(tasks, effort)
        report.comparisons.append(
            Comparison(
                PART, "two-link, one mode per link", f"free fall of {t_end:g} s at rtol {RTOL:g}", "simulated second",
                Side(f"pliant, {ours}", times["ours"].scaled(1 / t_end), errors["ours"]),
                Side(f"SciPy, {theirs} on the same kernel", times["theirs"].scaled(1 / t_end), errors["theirs"]),
                REFERENCE,
            )
        )  # fmt: skip
