"""The PUMA of Mohan and Saha: mass matrix and accelerations beside Robotics Toolbox and SymPy's mechanics."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.model.robot import load
from pliant.options import FunctionName
from pliant_bench.arms import rigid_chain, states
from pliant_bench.extended import evaluate, relative_error
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.puma_peers import sympy_functions, toolbox_arm
from pliant_bench.rigid_peers import RigidChain
from pliant_bench.timing import Effort, alternating

PART = "puma"
TASKS = {"mass_matrix": "mass matrix", "forward_dynamics": "accelerations"}


class Puma:
    """The arm at one state, and our answers."""

    def __init__(self) -> None:
        robot = load("puma")
        self.model, self.chain = robot.model(), rigid_chain(robot)
        self.q, self.qd, self.tau = (x[0] for x in states(6, 6))
        self.inputs: dict[str, tuple[Array, ...]] = {
            "mass_matrix": (self.q,),
            "forward_dynamics": (self.q, self.qd, self.tau),
        }

    def compare(
        self, report: Report, effort: Effort, engine: str, theirs: dict[FunctionName, Callable[[], Any]]
    ) -> None:
        """One checked call of ours against the peer's, for each function that it has."""
        for name, run in theirs.items():
            ours = partial(getattr(self.model, name), *self.inputs[name])
            exact = evaluate(self.model, name, *self.inputs[name])
            errors = [relative_error(np.ravel(f()), exact) for f in (ours, run)]
            times = alternating({"ours": ours, "theirs": run}, effort)
            report.comparisons.append(
                Comparison(
                    PART, "PUMA", TASKS[name], "evaluation", Side("pliant, checked call", times["ours"], errors[0]),
                    Side(engine, times["theirs"], errors[1]), "extended precision, relative",
                )
            )  # fmt: skip


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    puma = Puma()
    report.ask(PART, "Robotics Toolbox", "roboticstoolbox", partial(_toolbox, puma, report, effort))
    report.ask(PART, "SymPy mechanics", "sympy", partial(_sympy, puma, report, effort))


def _toolbox(puma: Puma, report: Report, effort: Effort) -> None:
    import roboticstoolbox as rtb

    arm = toolbox_arm(puma.chain)
    runs: dict[FunctionName, Callable[[], Any]] = {
        "mass_matrix": lambda: arm.inertia(puma.q),
        "forward_dynamics": lambda: arm.accel(puma.q, puma.qd, puma.tau),
    }
    puma.compare(report, effort, f"Robotics Toolbox {rtb.__version__}", runs)


def _sympy(puma: Puma, report: Report, effort: Effort) -> None:
    import sympy

    chain = puma.chain if not effort.quick else RigidChain(puma.chain.joints[:1], puma.chain.gravity)
    begin = time.perf_counter()
    f = sympy_functions(chain)
    seconds = time.perf_counter() - begin
    if effort.quick:  # the derivation of one joint proves that the peer works; six take ten seconds
        return

    def accelerations() -> Any:
        M, rhs = f(puma.q, puma.qd, puma.tau)
        return np.linalg.solve(M, rhs)

    runs: dict[FunctionName, Callable[[], Any]] = {
        "mass_matrix": lambda: f(puma.q, puma.qd, puma.tau)[0],
        "forward_dynamics": accelerations,
    }
    puma.compare(report, effort, f"SymPy {sympy.__version__}, KanesMethod, lambdify(cse=True)", runs)
    report.note(f"SymPy mechanics: {seconds:.1f} s to derive the PUMA and write its function, once")
