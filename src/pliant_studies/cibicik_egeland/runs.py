"""Parameters and runs of [CE21]: the maneuver of 6 s by the linearized and the nonlinear model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Expression
from pliant.compute.llvm.kernel import Kernel
from pliant.control.controllers.joint_controllers import PD, natural_gains
from pliant.control.trajectories.trajectories import Trajectory
from pliant.errors import SimulationError
from pliant.mechanics.formulations.dual_screw_kinematics import derivative, walk
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.model import Model
from pliant.model.robot import Robot, load
from pliant.options import FormulationName
from pliant.robot.parts.shapes import Shapes
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_bench.timing import TURNS, Effort, Timings, alternating
from pliant_studies.checks import Measured, Numbers
from pliant_studies.flexible_joints.runs import spin_up
from pliant_studies.study import StudyRuns, Tell

START = (0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6)
SECOND = (0.0, np.pi / 3, np.pi / 3, np.pi / 3)
FINAL = (np.pi / 4, np.pi / 3, np.pi / 3, np.pi / 3)
FLEXIBLE = ("inner", "outer")
MODELS: dict[str, FormulationName] = {"linear": "dual-screw", "nonlinear": "denoc"}
RATES: dict[str, tuple[float, ...]] = {
    "stiff wrist": (6.0, 6.0, 6.0, 30.0),
    "equal": (6.0, 6.0, 6.0, 6.0),
    "slow": (4.0, 4.0, 4.0, 4.0),
}
"""Controllers: rad/s of each joint on its own. The first is the study's; the paper does not state its gains."""
HASTY = (8.0, 8.0, 8.0, 8.0)
SPINS = (2.90, 2.92)
LONG_TURNS = Effort(rounds=7, seconds=0.2, most=20.0)


class Commands(Trajectory):
    """Desired joint positions: steps at 0.5 and 3 s."""

    n = 4
    breaks = (0.5, 3.0)

    def expression(self, t: Expression) -> Expression:
        """(4, 1) positions."""
        first = ca.if_else(t >= 0.5, ca.DM(SECOND), ca.DM(START))
        return ca.if_else(t >= 3.0, ca.DM(FINAL), first)


@dataclass
class Runs(StudyRuns):
    """Runs of the study: the maneuver, times, operations, derivatives, and spinning beams."""

    histories: dict[str, Result] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    times: dict[str, Timings] = field(default_factory=dict)
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    derivatives: dict[str, Derivative] = field(default_factory=dict)
    spins: dict[float, Result] = field(default_factory=dict)


@dataclass(frozen=True)
class Derivative:
    """Effort of one way to dP-hat/dt of every link frame: seconds to form it and to evaluate it, and its size."""

    forming: Timings
    evaluating: Timings
    instructions: int


def arm(damping: float) -> Robot:
    """Arm with a modal damping ratio in both flexible links."""
    return load("crane-4dof").replace({f"links.{name}.shapes.damping": damping for name in FLEXIBLE})


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    runs = Runs({"damping": 0.01, "duration": 6.0, "rtol": 1e-8, "output_step": 2e-3 if quick else 1e-3,
                 "stiffening": "none, as in the paper"})  # fmt: skip
    robot = arm(runs.settings["damping"])
    effort = TURNS if quick else LONG_TURNS
    laws: dict[str, PD] = {}
    for name, formulation in (*MODELS.items(), ("matrices", "gibbs-appell")):
        runs.models[name], laws[name] = robot.model(formulation, stiffening="off"), law(RATES["stiff wrist"])
    for name in MODELS:
        tell(f"maneuver, {name}")
        runs.histories[name] = maneuver(runs.models[name], laws[name], runs.settings)
    if not quick:
        _other_maneuvers(runs, tell)
    tell("times of both")
    tasks = {name: partial(maneuver, model, laws[name], runs.settings, 1.0) for name, model in runs.models.items()}
    runs.times = alternating(tasks, effort)
    tell("operations")
    for model in (*runs.models.values(), *(() if quick else (robot.model("lagrange", stiffening="off"),))):
        runs.operations[model.options.formulation] = model.operation_count("forward_dynamics")
    tell("derivatives")
    runs.derivatives = derivative_cost(robot, effort)
    for speed in SPINS:
        tell(f"dual screws on a spinning beam, {speed:g} rad/s")
        runs.spins[speed] = spin(speed)
    return runs


def _other_maneuvers(runs: Runs, tell: Tell) -> None:
    """Run the maneuver without damping, with other gains, and so fast that the linear model breaks down."""
    for name, formulation in MODELS.items():
        tell(f"maneuver without damping, {name}")
        undamped = arm(0.0).model(formulation, stiffening="off")
        runs.histories[f"{name}, undamped"] = maneuver(undamped, law(RATES["stiff wrist"]), runs.settings)
        tell(f"maneuver with other gains, {name}")
        for gains in ("equal", "slow"):
            runs.histories[f"{name}, {gains}"] = maneuver(runs.models[name], law(RATES[gains]), runs.settings)
        tell(f"maneuver in haste, {name}")
        try:
            runs.histories[f"{name}, hasty"] = maneuver(runs.models[name], law(HASTY), runs.settings)
        except SimulationError as error:
            runs.histories[f"{name}, hasty"] = error.result


def law(rates: tuple[float, ...]) -> PD:
    """PD control along the commands: every joint on its own at its rate (rad/s), critically damped."""
    kp, kd = natural_gains(load("crane-4dof").model(stiffening="off"), START, 1.0 / (2 * np.pi))
    w = np.asarray(rates)
    return PD(w**2 * kp, w * kd, Commands())


def maneuver(model: Model, controller: PD, settings: Numbers, duration: float | None = None) -> Result:
    """Run the maneuver, or its first seconds; a second run with the same controller compiles nothing."""
    t_end = duration or settings["duration"]
    options: Measured = {"method": "dop853", "rtol": settings["rtol"], "output_step": settings["output_step"]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "dop853 is held back")  # by torsion at 1.3 kHz; both models shall step alike
        return simulate(model, t_end, START, controller=controller, progress=False, **options)


def derivative_cost(robot: Robot, effort: Effort) -> dict[str, Derivative]:
    """Effort of dP-hat/dt of every link frame by the operators (76)-(79), by the chain rule, and by one sweep.

    The chain rule is what the paper timed: the derivative by each coordinate times its rate, summed. One sweep of
    automatic differentiation gives the same without the sum.
    """
    chain = build_chain(robot)
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    placed = [frame for frames in walk(chain, q) for frame in (frames.root, frames.tip)]
    forms = [frame.jacobian_form() for frame in placed]
    entries = [ca.vec(ca.densify(P.stacked)) for P in forms]

    def by_operators() -> list[SX]:
        return [ca.vec(derivative(P, frame.rates(qd)).stacked) for P, frame in zip(forms, placed)]

    def by_chain_rule() -> list[SX]:
        found: list[SX] = [ca.SX(*x.shape) for x in entries]
        for k in range(chain.n):
            found = [sum_ + ca.jacobian(x, q[k]) * qd[k] for sum_, x in zip(found, entries)]
        return found

    def by_sweep() -> list[SX]:
        return [ca.jtimes(x, q, qd) for x in entries]

    ways = {"operators": by_operators, "chain rule": by_chain_rule, "one sweep": by_sweep}
    functions = {name: ca.Function("dP", [q, qd], [ca.densify(ca.vertcat(*way()))]) for name, way in ways.items()}
    at, rate = np.random.default_rng(4).normal(size=(2, chain.n))
    kernels = {name: partial(Kernel(function), at, rate) for name, function in functions.items()}
    forming, evaluating = alternating(ways, effort), alternating(kernels, effort)
    return {name: Derivative(forming[name], evaluating[name], int(functions[name].n_instructions())) for name in ways}


def spin(speed: float) -> Result:
    """Spin up the beam of [ZZZ] by dual screws, which have no stiffening."""
    shapes = Shapes(boundary="clamped-free", bending_y=2)
    model = load("spin-up").replace({"links.arm.shapes": shapes}).model("dual-screw", stiffening="off")
    return spin_up(model, speed, 60.0)
