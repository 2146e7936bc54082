"""Derivatives of forward dynamics beside Pinocchio's, and beside our own forward dynamics.

Pinocchio is timed as Python users meet it: `computeABADerivatives` called from Python, its four arrays read. Both give
accelerations and their derivatives by q, qd and tau.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.target import machine
from pliant.compute.llvm.threads import set_threads
from pliant.model.model import Model
from pliant.model.robot import Robot, load
from pliant_bench.arms import arm, rigid_chain, states
from pliant_bench.compiled_call import CALLS, kernel_loop
from pliant_bench.extended import evaluate, relative_error
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.rigid_peers import pinocchio_arm
from pliant_bench.timing import Effort, alternating

PART = "derivatives"
BATCH = 4096
CALL_ASKED = 3.0
BATCH_ASKED = {8: 15.0, 4: 8.0, 2: 4.0}
"""Targets by the number of doubles in a register: 512, 256 and 128 bits."""
FORWARD_ASKED = 1 / 8
ROUNDING = "derivatives in extended precision, relative"


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    set_threads(1)
    try:
        rigid = [("rigid 6R", arm(6))] if effort.quick else [("rigid 6R", arm(6)), ("PUMA", load("puma"))]
        for name, robot in rigid:
            report.ask(PART, "Pinocchio", "pinocchio", partial(_pinocchio, name, robot, report, effort))
        flexible = arm(2, 1) if effort.quick else arm(6, 3)
        _forward(flexible.model(stiffening="off"), report, effort)
    finally:
        set_threads(None)


def _pinocchio(name: str, robot: Robot, report: Report, effort: Effort) -> None:
    import pinocchio as pin

    model = robot.model()
    theirs, data = pinocchio_arm(rigid_chain(robot))
    many = states(model.n, model.n_joints, BATCH)
    one = tuple(x[0] for x in many)

    def peer() -> tuple[Any, ...]:
        pin.computeABADerivatives(theirs, data, *one)
        return data.ddq, data.ddq_dq, data.ddq_dv, data.Minv

    ways: dict[str, Callable[[], Any]] = {
        "call": partial(model.forward_dynamics_derivatives, *one),
        "batch": partial(model.forward_dynamics_derivatives, *many),
        "peer": peer,
    }
    exact = evaluate(model, "forward_dynamics_derivatives", *one)
    upper = np.triu(np.array(peer()[3]))  # Pinocchio fills one half of the inverse
    found = [*map(np.array, peer()[:3]), upper + np.triu(upper, 1).T]
    errors = {
        "call": relative_error(_flat(ways["call"]()), exact),
        "batch": relative_error(_flat([x[0] for x in ways["batch"]()]), exact),
        "peer": relative_error(_flat(found), exact),
    }
    times = alternating(ways, effort)
    version = f"Pinocchio {pin.__version__}, computeABADerivatives from Python"
    rival = Side(version, times["peer"], errors["peer"])
    asked = {"call": CALL_ASKED, "batch": BATCH_ASKED[machine().width]}
    for task, unit, count in (("call", "evaluation", 1), ("batch", "state and core", BATCH)):
        ours = Side(f"pliant, {task}", times[task].scaled(1.0 / count), errors[task])
        judged = asked[task] if name == "rigid 6R" and not effort.quick else None
        report.comparisons.append(
            Comparison(PART, name, f"derivatives of forward dynamics, {task}", unit, ours, rival, ROUNDING, judged)
        )


def _forward(model: Model, report: Report, effort: Effort) -> None:
    """Kernel against kernel: all derivatives beside the accelerations alone."""
    state = tuple(x[0] for x in states(model.n, model.n_joints, 1))
    loops = {
        "derivatives": kernel_loop(model, *state, function="forward_dynamics_derivatives"),
        "accelerations": kernel_loop(model, *state),
    }
    times = alternating(loops, effort)
    ours, peer = (Side(f"pliant, kernel, {name}", times[name].scaled(1.0 / CALLS)) for name in loops)
    name = f"{model.n}-dof flexible"
    report.comparisons.append(
        Comparison(
            PART, name, "derivatives beside accelerations", "evaluation", ours, peer, ROUNDING,
            None if effort.quick else FORWARD_ASKED,
        )
    )  # fmt: skip


def _flat(blocks: Any) -> Array:
    return np.concatenate([np.ravel(np.asarray(block)) for block in blocks])
