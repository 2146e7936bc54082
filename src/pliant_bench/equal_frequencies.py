"""Accelerations of the two-link arm at equal error of its frequencies: shapes beside chains of rigid segments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant_bench import lumped_chain, two_link
from pliant_bench.arms import states
from pliant_bench.compiled_call import CALLS, kernel_loop
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.rigid_peers import mujoco_arm, pinocchio_arm
from pliant_bench.timing import Effort, alternating

PART = "flexible"
SHAPES, FINE = (5, 6), (9, 9)
QUICK_SHAPES, QUICK_FINE = (2, 2), (3, 3)
COUNT = 4
REFERENCE = f"largest relative error of the first {COUNT} frequencies, joints free, no gravity, against 18 shapes"


def measure(report: Report, effort: Effort) -> None:
    """Fill in forward dynamics beside lumped chains."""
    shapes, fine = (QUICK_SHAPES, QUICK_FINE) if effort.quick else (SHAPES, FINE)
    exact = _frequencies(*fine)
    own = float(np.abs(_frequencies(*shapes) / exact - 1).max())
    chain = lumped_chain.segments(two_link.planar(), lumped_chain.segments_for(two_link.planar(), exact, own))
    found = chain.frequencies(np.zeros(chain.n))[2 : 2 + COUNT]
    errors = own, float(np.abs(found / exact - 1).max())
    compare = partial(_compare, report, effort, shapes, chain.n, errors)
    report.ask(PART, "Pinocchio lumped chain", "pinocchio", partial(_pinocchio, chain, compare))
    report.ask(PART, "MuJoCo lumped chain", "mujoco", partial(_mujoco, chain, compare))


def _frequencies(upper: int, fore: int) -> Array:
    model = two_link.robot(upper, fore).replace({"gravity": (0.0, 0.0, 0.0)}).model(stiffening="off")
    return model.frequencies(joints="free")[2 : 2 + COUNT]


def _compare(
    report: Report, effort: Effort, shapes: tuple[int, int], hinges: int, errors: tuple[float, float], engine: str,
    theirs: Callable[[], object],
) -> None:  # fmt: skip
    model = two_link.robot(*shapes).model(stiffening="second-order")
    state = [x[0] for x in states(model.n, model.n_joints)]
    tasks: dict[str, Callable[[], object]] = {
        "kernel": kernel_loop(model, *state),
        "checked call": lambda: model.forward_dynamics(*state),
        "theirs": theirs,
    }
    times = alternating(tasks, effort)
    for name, count in (("kernel", CALLS), ("checked call", 1)):
        ours = Side(f"pliant, {name}, {model.n} coordinates", times[name].scaled(1 / count), errors[0])
        peer = Side(f"{engine}, {hinges} hinges", times["theirs"], errors[1])
        task = f"forward dynamics, {name}, equal frequency error"
        report.comparisons.append(Comparison(PART, "two-link", task, "evaluation", ours, peer, REFERENCE))


def _pinocchio(chain: lumped_chain.Segments, compare: Callable[..., None]) -> None:
    import pinocchio as pin

    model, data = pinocchio_arm(chain.rigid())
    q, qd, tau = (x[0] for x in states(chain.n, chain.n))
    run = lambda: pin.aba(model, data, q, qd, tau - chain.stiffness * q)  # noqa: E731
    compare(f"Pinocchio {pin.__version__}, aba from Python", run)


def _mujoco(chain: lumped_chain.Segments, compare: Callable[..., None]) -> None:
    import mujoco

    model, data = mujoco_arm(chain.rigid())
    model.jnt_stiffness[:] = chain.stiffness
    q, qd, tau = (x[0] for x in states(chain.n, chain.n))

    def run() -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return data.qacc

    compare(f"MuJoCo {mujoco.__version__}, mj_forward", run)
