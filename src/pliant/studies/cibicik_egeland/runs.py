"""Parameters and runs of [CE21]: the manoeuvre of 6 s by the linearised and the nonlinear model."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.control import PD, Trajectory, natural_gains
from pliant.dynamics import build_chain
from pliant.dynamics.dual_screw_kinematics import derivative, walk
from pliant.model import Model
from pliant.results import Result
from pliant.robot import Robot, Shapes, load
from pliant.simulation import Event, simulate
from pliant.studies.study import Tell
from pliant.timing import TURNS, Samples, alternating

Array = NDArray[np.float64]

START = (0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6)
SECOND = (0.0, np.pi / 3, np.pi / 3, np.pi / 3)
FINAL = (np.pi / 4, np.pi / 3, np.pi / 3, np.pi / 3)
FLEXIBLE = ("inner", "outer")
FREQUENCY = 6.0
MODELS = {"linear": "dual-screw", "nonlinear": "denoc"}

GIVEN = {
    "lengths": "0.26, 2.00, 1.80, 0.24 m",
    "masses": "m1 15.5, m4 3.56 kg; links 2 and 3 steel tubes, A 707 mm^2, I 181132 mm^4, rho 7850 kg/m^3",
    "elasticity": "E 210, G 80.8 GPa",
    "shapes": "two modes each of torsion, xy and xz bending; rotary inertia of sections",
    "start": "q = (0, pi/6, 2 pi/3, pi/6), undeformed, at rest",
    "manoeuvre": "at 0.5 s q2, q3, q4 -> pi/3; at 3 s q1 -> pi/4; end at 6 s",
    "CPU time": "nonlinear 3901 s, linearised 314 s, optimised 14 s; derivatives 11 s against 181 s",
}
CHOSEN = (
    ("controller", f"PD on the joints, K_p = M_jj w^2, K_d = 2 w M_jj with w = {FREQUENCY:g} rad/s and M_jj of the arm "
     "at the start, and the torque that carries the undeformed arm at the commanded pose"),
    ("boundary loads of the bending modes", "masses alone: link 3 the tool, link 2 link 3 and the tool"),
    ("scale of the modes", "1 at the tip"),
    ("structural damping", "1 % of critical in every mode: the paper mentions none, but says that values do not change "
     "afterwards, which needs some; an undamped run is judged as well"),
    ("offset between frames 1 and 2", "joint 2 stands 0.26 m above the base on the slewing axis"),
    ("integration", "DOP853, rtol 1e-8"),
)  # fmt: skip


class Commands(Trajectory):
    """Desired joint positions: steps at 0.5 and 3 s."""

    n = 4
    breaks = (0.5, 3.0)

    def expression(self, t: Any) -> Any:
        """(4, 1) positions."""
        first = ca.if_else(t >= 0.5, ca.DM(SECOND), ca.DM(START))
        return ca.if_else(t >= 3.0, ca.DM(FINAL), first)


@dataclass
class Runs:
    """What was run."""

    settings: dict[str, Any]
    histories: dict[str, Result] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    times: dict[str, Samples] = field(default_factory=dict)
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    derivatives: dict[str, tuple[int, float]] = field(default_factory=dict)
    spins: dict[float, Result] = field(default_factory=dict)


def arm(damping: float) -> Robot:
    """The arm with a modal damping ratio in both flexible links."""
    return load("crane-4dof").replace({f"links.{name}.shapes.damping": damping for name in FLEXIBLE})


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    runs = Runs({"damping": 0.01, "duration": 6.0, "rtol": 1e-8, "output_step": 1e-3, "undamped": not quick})
    robot = arm(runs.settings["damping"])
    laws: dict[str, PD] = {}
    for name, formulation in MODELS.items():
        tell(f"manoeuvre, {name}")
        model = runs.models[name] = robot.model(formulation)
        laws[name] = law_of_motion()
        runs.histories[name] = manoeuvre(model, laws[name], runs)
    if not quick:
        for name, formulation in MODELS.items():
            tell(f"manoeuvre without damping, {name}")
            runs.histories[f"{name}, undamped"] = manoeuvre(arm(0.0).model(formulation), law_of_motion(), runs)
    tell("times of both")
    runs.times = alternating(
        {name: partial(manoeuvre, model, laws[name], runs, 1.0) for name, model in runs.models.items()}, TURNS
    )
    tell("operations")
    for name in (*MODELS.values(), "gibbs-appell", *(() if quick else ("lagrange",))):
        runs.operations[name] = robot.model(name).operation_count("forward_dynamics")
    tell("derivatives")
    runs.derivatives = derivative_cost(robot)
    for speed in (2.90, 2.92):
        tell(f"dual screws on a spinning beam, {speed:g} rad/s")
        runs.spins[speed] = spin(speed)
    return runs


def law_of_motion() -> PD:
    """PD control along the commands."""
    kp, kd = natural_gains(load("crane-4dof").model(), START, FREQUENCY)
    return PD(kp, kd, Commands())


def manoeuvre(model: Model, law: PD, runs: Runs, duration: float | None = None) -> Result:
    """The manoeuvre, whole or its first seconds; with the same `law` a second time, everything is compiled."""
    q0 = np.concatenate([START, np.zeros(model.n - 4)])
    s = runs.settings
    options: dict[str, Any] = {"method": "dop853", "rtol": s["rtol"], "output_step": s["output_step"]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "dop853 is held back")  # by torsion at 1.3 kHz; both models shall step alike
        return simulate(model, duration or s["duration"], q0, controller=law, progress=False, **options)


def derivative_cost(robot: Robot) -> dict[str, tuple[int, float]]:
    """Instructions and seconds to form dP-hat/dt of every link frame: operators (76)-(79), and by differentiating."""
    chain = build_chain(robot)
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    placed = [frame for frames in walk(chain, q) for frame in (frames.root, frames.tip)]
    forms = [frame.jacobian_form() for frame in placed]
    found = {}
    for name in ("operators", "differentiation"):
        begin = time.process_time()
        if name == "operators":
            parts = [derivative(P, frame.rates(qd)).stacked for P, frame in zip(forms, placed)]
        else:
            parts = [ca.jtimes(ca.vec(ca.densify(P.stacked)), q, qd) for P in forms]
        function = ca.Function("dP", [q, qd], [ca.densify(part) for part in parts])
        found[name] = (int(function.n_instructions()), time.process_time() - begin)
    return found


def spin(speed: float) -> Result:
    """Beam of [ZZZ] spun up by dual screws, which have no stiffening."""
    model = load("spin-up").replace({"links.arm.shapes": Shapes(bending_y=2)}).model("dual-screw")
    T = 15.0

    def angle(t: Any) -> Any:
        during = speed / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / T) - 1))
        return ca.if_else(t < T, during, speed * (t - T / 2))

    far = Event("diverged", lambda t, q, qd: q[1] ** 2 - 1e6, direction=1)
    return simulate(model, 60.0, motion={"arm": angle}, events=[far], output_step=0.02, progress=False)
