"""A step of predictive control beside CasADi + IPOPT and do-mpc on the same problem, and the bounds of its closed loop.

All have the same intervals, collocation, cost and bounds, and the same plan to start from. Pliant takes one real-time
iteration, preparation and feedback together; the others solve the nonlinear program to 1e-8.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.control.controllers.mpc import MPC
from pliant.model.model import Model
from pliant.model.robot import Robot, load
from pliant.simulation.runs.simulation import simulate
from pliant_bench.arms import arm
from pliant_bench.findings import Comparison, Report, Side
from pliant_bench.mpc_peers import Begun, do_mpc_step, nonlinear_program
from pliant_bench.timing import Effort, Timings, alternating, best

PART = "mpc"
INTERVALS = 20
KEPT = 1e-6
"""Allowed violation of a bound, rad/s, m or N m."""
LONG = 5.0
"""Seconds of a peer's step above which it is taken once."""
REFERENCE = "first torques of the same step, iterated until nothing changes, relative"


class Maneuver(NamedTuple):
    """Move from rest: target for the time of a step, seconds; start and distance; bounds; stages and steps of an
    interval, and steps of a closed loop."""

    robot: Robot
    asked: float
    start: Array
    by: Array
    bounds: dict[str, Any]
    weights: tuple[dict[str, float], float]
    stages: int
    steps: int
    loop: int

    def posed(self) -> MPC:
        """The controller, over one period of the lowest frequency."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # links of the large arm bend further than the model is meant for
            model = self.robot.model(stiffening="off")
            rest = model.equilibrium(self.start)
            bounds = dict(self.bounds)
            if "torque" not in bounds:
                bounds["torque"] = 1.2 * np.abs(model.holding_torque(rest)) + 20.0
            return MPC(
                model, 1 / float(model.frequencies(rest)[0]), INTERVALS, self.start + self.by, *self.weights, **bounds,
                stages=self.stages, steps=self.steps,
            )  # fmt: skip


def two_link() -> Maneuver:
    """Torques, the deflection of the first link and both speeds meet their bounds on the way."""
    bounds: dict[str, Any] = {
        "torque": [140.0, 38.0], "positions": {"upper.bending_y.1": (-0.0195, 0.02)},
        "speeds": {"upper": 1.0, "fore": 1.2},
    }  # fmt: skip
    weights = {"joints": 100.0, "rates": 1.0}, 1e-5
    return Maneuver(
        robot=load("two-link"),
        asked=1e-3,
        start=np.zeros(2),
        by=np.array([0.4, -0.3]),
        bounds=bounds,
        weights=weights,
        stages=8,
        steps=2,
        loop=40,
    )


def six_links() -> Maneuver:
    """24 coordinates; torques and speeds meet their bounds."""
    bounds = {"speeds": {f"link{k}": 0.1 for k in range(6)}}
    weights = {"joints": 1000.0, "rates": 1.0}, 1e-3
    start = np.array([0.3, 0.5, 0.4, -0.5, 0.3, 0.2])
    return Maneuver(
        robot=arm(6, 3),
        asked=20e-3,
        start=start,
        by=np.full(6, 0.1),
        bounds=bounds,
        weights=weights,
        stages=3,
        steps=1,
        loop=25,
    )


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons of this part."""
    for given in [two_link()] if effort.quick else [two_link(), six_links()]:
        begun = Begun.of(given.posed(), given.start)
        if not effort.quick:
            _own_verdicts(given, begun, report, effort)
        for peer, module, posed in (
            ("CasADi + IPOPT, Gauss-Newton", "casadi", nonlinear_program),
            ("do-mpc, exact Hessians", "do_mpc", do_mpc_step),
        ):  # fmt: skip
            report.ask(PART, peer, module, partial(_compare, peer, posed, begun, report, effort))
    report.note("acados: left out; the package index has no wheel of it: it is built from source, with its C library")


def _named(model: Model) -> str:
    return f"{len(model.joints)} links, {model.n} coordinates"


def _compare(peer: str, posed: Callable[[Begun], Any], begun: Begun, report: Report, effort: Effort) -> None:
    """One line of the table: the same step by both, from the same plan."""
    ours, theirs, exact, mpc = one_step(begun), posed(begun), converged(begun), begun.mpc
    began = time.perf_counter()
    errors = [float(np.abs(task() - exact).max() / np.abs(exact).max()) for task in (theirs, ours)]
    once = time.perf_counter() - began
    if once > LONG:
        times = {"ours": Timings((best(ours, effort.seconds),)), "peer": Timings((once,))}
    else:
        times = alternating({"ours": ours, "peer": theirs}, effort)
    report.comparisons.append(
        Comparison(
            PART, _named(mpc.model), f"a step of MPC, {INTERVALS} intervals, {mpc.stages} x {mpc.steps} stages", "step",
            Side("pliant, one iteration", times["ours"], errors[1]),
            Side(f"{peer}, warm, {theirs.told()}", times["peer"], errors[0]), REFERENCE,
        )
    )  # fmt: skip


def converged(begun: Begun) -> Array:
    """First torques of the same step, iterated until nothing changes."""
    pilot = replace(begun.mpc, iterations=40).pilot()
    pilot.solver.plan[:] = begun.plan
    return pilot.step(begun.later, begun.mpc.interval).tau


def one_step(begun: Begun) -> Callable[[], Array]:
    """The second step, again and again: its torques."""
    pilot = begun.mpc.pilot()

    def run() -> Array:
        pilot.solver.plan[:] = begun.plan
        return pilot.step(begun.later, begun.mpc.interval).tau

    return run


def _own_verdicts(given: Maneuver, begun: Begun, report: Report, effort: Effort) -> None:
    """Time of a step and bounds of a closed loop, by one setting."""
    name = f"{PART}: {_named(begun.mpc.model)}, {given.stages} stages x {given.steps}"
    second = alternating({"ours": one_step(begun)}, effort)["ours"]
    longest = max(steps_of_loop(begun, given.loop), key=lambda each: each.least)
    text = (
        f"{name}: {1e3 * second.least:.2f} ms the second step ({1e3 * second.median:.2f} median), "
        f"{1e3 * longest.least:.2f} the longest of {given.loop}, asked {1e3 * given.asked:g}"
    )
    report.verdicts.append((text, second.median < given.asked))
    foretold, simulated = predicted_violation(begun, given.loop), simulated_violation(begun, given.loop)
    told = f"{name}: bounds of a loop of {given.loop} steps left by {simulated:.1e}, the arm simulated at rtol 1e-11"
    if given.steps > 1:
        report.verdicts.append((f"{told}; asked {KEPT:g}", simulated < KEPT))
    else:
        text = f"{name}: bounds of a loop of {given.loop} steps left by {foretold:.1e}, the arm doing as predicted"
        report.verdicts.append((f"{text}; asked {KEPT:g}", foretold < KEPT))
        report.note(f"{told}: one step of {given.stages} stages does not follow its fast modes, which nothing damps")


def steps_of_loop(begun: Begun, count: int, repeats: int = 15) -> list[Timings]:
    """Seconds of each step of a loop in which the arm does what is predicted, preparation and feedback."""
    pilot, x, found = begun.mpc.pilot(), begun.later, []
    plan = begun.plan.copy()
    for k in range(1, count + 1):
        spent = []
        for _ in range(repeats):
            pilot.solver.plan[:] = plan
            step = pilot.step(x, k * begun.mpc.interval)
            spent.append(step.preparation + step.feedback)
        x, plan = np.concatenate([step.q[1], step.qd[1]]), pilot.solver.plan.copy()
        found.append(Timings(tuple(spent)))
    return found


def predicted_violation(begun: Begun, count: int) -> float:
    """Largest violation of bounds at the nodes of a loop in which the arm does what is predicted."""
    pilot, x = begun.mpc.pilot(), begun.start
    states, torques = [x], []
    for k in range(count):
        step = pilot.step(states[-1], k * begun.mpc.interval)
        states.append(np.concatenate([step.q[1], step.qd[1]]))
        torques.append(step.tau)
    return violation(begun, np.array(states), np.array(torques))


def simulated_violation(begun: Begun, count: int) -> float:
    """The same at the sample times of the arm itself."""
    mpc, n = begun.mpc, begun.mpc.model.n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = simulate(
            mpc.model, count * mpc.interval, q0=begun.start[:n], controller=mpc, output_step=mpc.interval, rtol=1e-11,
            atol=1e-13,
        )  # fmt: skip
    return violation(begun, np.hstack([run.q, run.qd]), run.tau[:-1])


def violation(begun: Begun, states: Array, torques: Array) -> float:
    """Largest violation of all bounds, each in its unit; negative where all are kept."""
    low, high = begun.state_bounds
    over = np.maximum(states[1:] - high, low - states[1:]).max()
    return float(max(over, (np.abs(torques) - begun.torque).max()))
