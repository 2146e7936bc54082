"""Rigid arms: forward dynamics and whole runs beside Pinocchio, MuJoCo and Exudyn's kinematic tree.

Pinocchio is timed as Python users meet it, `aba` called from Python, and in its own compiled loop over states,
`abaInParallel` on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.threads import set_threads
from pliant.model.model import Model
from pliant.model.robot import load
from pliant.simulation.runs.simulation import simulate
from pliant_bench.arms import arm, rigid_chain, states
from pliant_bench.compiled_call import CALLS, kernel_loop
from pliant_bench.extended import evaluate, relative_error
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.rigid_peers import RigidChain, exudyn_arm, exudyn_settings, mujoco_arm, pinocchio_arm
from pliant_bench.timing import Effort, alternating

PART = "rigid"
BATCH, LOOP = 4096, 1024  # states of ours and of Pinocchio's loop: where each is fastest
STEP, T_END, OUTPUT_STEP = 1e-3, 1.0, 0.01
ASKED = {"kernel": 5.0, "checked call": 1.5, "batch": 15.0}
ROUNDING = "accelerations in extended precision, relative"
CONVERGED = "dop853 at rtol 1e-12, joint angles, rad"


@dataclass(frozen=True)
class Way:
    """One way to evaluate: `run` does it `count` times and returns accelerations, the first row at the first state."""

    engine: str
    run: Callable[[], Any]
    count: int = 1


class RigidArm:
    """One rigid arm, its states, and our three ways to its accelerations."""

    def __init__(self, name: str, model: Model, chain: RigidChain, asked: bool) -> None:
        self.name, self.model, self.chain, self.asked = name, model, chain, asked
        self.many = states(model.n, model.n_joints, BATCH)
        self.one = tuple(x[0] for x in self.many)
        self.exact = evaluate(model, "forward_dynamics", *self.one)
        self.ways = {
            "kernel": Way("pliant, kernel", kernel_loop(model, *self.one), CALLS),
            "checked call": Way("pliant, checked call", lambda: model.forward_dynamics(*self.one)),
            "batch": Way("pliant, batch", lambda: model.forward_dynamics(*self.many), BATCH),
        }

    def compare(self, report: Report, effort: Effort, rivals: dict[str, Way], pairs: list[tuple[str, str]]) -> None:
        """Time all ways in turns, then set them side by side: `pairs` of one of ours and a rival."""
        ways = self.ways | rivals
        errors = {name: relative_error(np.atleast_2d(way.run())[0], self.exact) for name, way in ways.items()}
        times = alternating({name: way.run for name, way in ways.items()}, effort)

        def side(name: str) -> Side:
            return Side(ways[name].engine, times[name].scaled(1.0 / ways[name].count), errors[name])

        for ours, rival in pairs:
            unit = "state and core" if ours == "batch" else "evaluation"
            judged = self.asked and not effort.quick and "Pinocchio" in ways[rival].engine
            task = f"forward dynamics, {ours}"
            report.comparisons.append(
                Comparison(
                    PART, self.name, task, unit, side(ours), side(rival), ROUNDING, ASKED[ours] if judged else None
                )
            )


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    sizes = (6,) if effort.quick else (6, 30)
    arms = [RigidArm(f"rigid {n}R", (robot := arm(n)).model(), rigid_chain(robot), n == 6) for n in sizes]
    puma = load("puma")
    set_threads(1)
    try:
        others = [] if effort.quick else [RigidArm("PUMA", puma.model(), rigid_chain(puma), False)]
        for each in (*arms, *others):
            report.ask(PART, "Pinocchio", "pinocchio", partial(_pinocchio, each, report, effort))
        for each in arms:
            report.ask(PART, "MuJoCo", "mujoco", partial(_mujoco, each, report, effort))
        runs = Runs(arms[0])
        report.ask(PART, "Pinocchio", "pinocchio", partial(runs.pinocchio, report, effort))
        report.ask(PART, "MuJoCo", "mujoco", partial(runs.mujoco, report, effort))
        report.ask(PART, "Exudyn", "exudyn", partial(runs.exudyn, report, effort))
    finally:
        set_threads(None)


def _pinocchio(arm: RigidArm, report: Report, effort: Effort) -> None:
    import pinocchio as pin

    model, data = pinocchio_arm(arm.chain)
    version = f"Pinocchio {pin.__version__}"
    rivals = {"aba": Way(f"{version}, aba from Python", lambda: pin.aba(model, data, *arm.one))}
    pairs = [(ours, "aba") for ours in arm.ways]
    if hasattr(pin, "abaInParallel"):  # built with OpenMP
        pool = pin.ModelPool(model, 1)
        columns = tuple(np.asfortranarray(x[:LOOP].T) for x in arm.many)
        rivals["loop"] = Way(
            f"{version}, abaInParallel, one thread", lambda: pin.abaInParallel(1, pool, *columns).T, LOOP
        )
        pairs += [("kernel", "loop"), ("batch", "loop")]
    arm.compare(report, effort, rivals, pairs)


def _mujoco(arm: RigidArm, report: Report, effort: Effort) -> None:
    import mujoco

    model, data = mujoco_arm(arm.chain)
    q, qd, tau = arm.one

    def forward() -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return data.qacc

    engine = f"MuJoCo {mujoco.__version__}, mj_forward"
    arm.compare(report, effort, {"mj": Way(engine, forward)}, [(ours, "mj") for ours in arm.ways])


class Runs:
    """The arm let go in one state, without torques: RK4 at one step in every engine."""

    def __init__(self, arm: RigidArm) -> None:
        self.arm = arm
        self.q, self.qd = arm.one[0], arm.one[1]
        self.simulate = partial(simulate, arm.model, T_END, self.q, self.qd, output_step=OUTPUT_STEP)

    @cached_property
    def exact(self) -> Array:
        """The converged run, computed when the first peer is there to be judged."""
        return self.simulate(method="dop853", rtol=1e-12, atol=1e-14).q

    def ours(self) -> Array:
        """The run that is timed."""
        return self.simulate(method="rk4", step=STEP).q

    def compare(self, report: Report, effort: Effort, engine: str, theirs: Callable[[], Array]) -> None:
        """Two runs in turns."""
        tasks = {"ours": self.ours, "theirs": theirs}
        errors = {name: float(np.abs(run() - self.exact).max()) for name, run in tasks.items()}
        times = alternating(tasks, effort)
        ours = Side("pliant, simulate", times["ours"].scaled(1 / T_END), errors["ours"])
        peer = Side(engine, times["theirs"].scaled(1 / T_END), errors["theirs"])
        task = f"free fall of {T_END:g} s, RK4 at {STEP * 1e3:g} ms"
        report.comparisons.append(Comparison(PART, self.arm.name, task, "simulated second", ours, peer, CONVERGED))

    def pinocchio(self, report: Report, effort: Effort) -> None:
        """A Runge-Kutta loop in Python around aba: what a user of the Python package writes."""
        import pinocchio as pin

        model, data = pinocchio_arm(self.arm.chain)
        n, tau = self.arm.model.n, np.zeros(self.arm.model.n)
        every = round(OUTPUT_STEP / STEP)

        def slope(x: Array) -> Array:
            return np.concatenate([x[n:], pin.aba(model, data, x[:n], x[n:], tau)])

        def run() -> Array:
            x, found = np.concatenate([self.q, self.qd]), [self.q]
            for k in range(1, round(T_END / STEP) + 1):  # written out: a peer is timed at its best, without our code
                k1 = slope(x)
                k2 = slope(x + STEP / 2 * k1)
                k3 = slope(x + STEP / 2 * k2)
                x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + STEP * k3))
                if k % every == 0:
                    found.append(x[:n])
            return np.array(found)

        self.compare(report, effort, f"Pinocchio {pin.__version__}, RK4 loop in Python", run)

    def mujoco(self, report: Report, effort: Effort) -> None:
        """mj_step, many steps per call."""
        import mujoco

        model, data = mujoco_arm(self.arm.chain, STEP)
        every = round(OUTPUT_STEP / STEP)

        def run() -> Array:
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = self.q, self.qd
            found = [self.q]
            for _ in range(round(T_END / OUTPUT_STEP)):
                mujoco.mj_step(model, data, every)
                found.append(data.qpos.copy())
            return np.array(found)

        self.compare(report, effort, f"MuJoCo {mujoco.__version__}, mj_step", run)

    def exudyn(self, report: Report, effort: Effort) -> None:
        """The kinematic tree by Exudyn's explicit solver; it begins anew at every call."""
        import exudyn as exu

        container, mbs, sensor = exudyn_arm(self.arm.chain, self.q, self.qd)
        settings = exudyn_settings(T_END, STEP, OUTPUT_STEP)

        def run() -> Array:
            mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
            return np.asarray(mbs.GetSensorStoredData(sensor))[:, 1:]

        self.compare(report, effort, f"Exudyn {exu.__version__}, kinematic tree", run)
        del container  # keeps the system alive until here
