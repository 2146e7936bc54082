"""Steps of a caller beside whole runs: a call from Python, one arm and many, and an environment around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.control.controllers.joint_controllers import PD
from pliant.model.robot import load
from pliant.simulation.batch.batch_run import simulate_batch
from pliant.simulation.runs.simulation import simulate
from pliant.simulation.stepper.stepper import Stepper
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.timing import Effort, alternating

PART = "stepping"
MILLISECOND, STEPS, ARMS = 1e-3, 100, 256
LENGTHS = {"two-link": 1e-3, "lab-arm": 2.5e-4}
"""Length of a step of RK4, s. The highest frequency of the lab arm is 1.67 kHz."""
MANY_ASKED, ENVIRONMENT_ASKED = 0.7, 0.5
REFERENCE = "the same steps in one run"


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    for name, length in LENGTHS.items():
        report.tell(f"{PART}: {name} ...")
        _one(name, length, report, effort)
    report.tell(f"{PART}: many arms ...")
    _many("two-link" if effort.quick else "lab-arm", report, effort)
    report.ask(PART, "Gymnasium", "gymnasium", lambda: _environment(report, effort))


def _one(name: str, length: float, report: Report, effort: Effort) -> None:
    """A millisecond by `step`, beside a millisecond of a long run."""
    model = load(name).model()
    law, torque, span = PD(50.0, 5.0, np.zeros(model.n_joints)), np.zeros(model.n_joints), STEPS * MILLISECOND
    arm = Stepper(model, step=length, controller=law)

    def stepped() -> None:  # on from where it is: the controller holds it
        for _ in range(STEPS):
            arm.step(MILLISECOND, torque)

    def run(t_end: float) -> Any:
        return simulate(model, t_end, controller=law, method="rk4", step=length, output_step=t_end, progress=False)

    stepped()
    error = float(np.abs(arm.q - run(span).q[-1]).max())
    ways: dict[str, Callable[[], Any]] = {
        "steps": stepped,
        "run": lambda: run(10 * span),
        "short": lambda: run(MILLISECOND),
    }
    times = alternating(ways, effort)
    ours = Side("pliant, Stepper.step from Python", times["steps"].scaled(1 / STEPS), error)
    task = f"1 ms by RK4 with steps of {length:g} s, PD"
    for way, share, words in (("run", 10 * STEPS, "in a run of 1 s"), ("short", 1, "by simulate alone")):
        peer = Side(f"pliant, the same {words}", times[way].scaled(1 / share))
        report.comparisons.append(Comparison(PART, name, task, "millisecond", ours, peer, REFERENCE))


def _many(name: str, report: Report, effort: Effort) -> None:
    """Many arms step by step, beside a batch."""
    model, arms = load(name).model(), 16 if effort.quick else ARMS
    steps, length, torque = 20 if effort.quick else 100, LENGTHS[name], np.zeros((arms, model.n_joints))
    stepper = Stepper(model, step=length, count=arms)

    def stepped() -> None:
        stepper.reset()
        for _ in range(steps):
            stepper.step(MILLISECOND, torque)

    def batch() -> Any:
        span = steps * MILLISECOND
        return simulate_batch(model, span, torque=torque, method="rk4", step=length, output_step=span, progress=False)

    stepped()
    error = float(np.abs(stepper.q - batch().q[:, -1]).max())
    times = alternating({"steps": stepped, "batch": batch}, effort)
    ours, peer = (
        Side(f"pliant, {words}", times[way].scaled(1 / (steps * arms)), error if way == "steps" else None)
        for way, words in (("steps", "Stepper.step"), ("batch", "simulate_batch"))
    )
    asked = None if effort.quick else MANY_ASKED
    task = f"{arms} arms, RK4 with steps of {length:g} s"
    report.comparisons.append(Comparison(PART, name, task, "arm and millisecond", ours, peer, REFERENCE, asked))


def _environment(report: Report, effort: Effort) -> None:
    """A step of a learning environment, beside the stepper inside it."""
    from pliant.environments.environments import ArmEnv

    name = "two-link" if effort.quick else "lab-arm"
    env = ArmEnv(name, "rest-to-rest", period=0.02)
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape or (1,))
    model = load(name).model()
    arm = Stepper(model, step=env.step_length)

    def stepped() -> None:
        arm.reset()
        for _ in range(10):
            arm.step(0.02)

    def environment() -> None:
        env.reset(seed=0)
        for _ in range(10):
            env.step(action)

    times = alternating({"environment": environment, "steps": stepped}, effort)
    ours = Side("pliant, ArmEnv.step", times["environment"].scaled(0.1))
    peer = Side("pliant, Stepper.step", times["steps"].scaled(0.1))
    asked = None if effort.quick else ENVIRONMENT_ASKED
    report.comparisons.append(Comparison(PART, name, "a period of 20 ms", "period", ours, peer, REFERENCE, asked))
