"""Parameters and runs of [MS07]: counts, and the PUMA driven by torques computed beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis import counts
from pliant.control import PD, MohanSaha
from pliant.dynamics import build_chain
from pliant.model import Model
from pliant.results import Result
from pliant.robot import Link, Robot, load
from pliant.simulation import simulate
from pliant.studies.study import Tell
from pliant.timing import TURNS, Samples, alternating

Array = NDArray[np.float64]

EVALUATIONS = 1000  # in one batch that is timed
ALGORITHMS = {"recursive": "denoc", "non-recursive": "gibbs-appell"}
"""O(n) by UDU^T, and an inertia matrix that is formed and then solved by its Cholesky (L D L^T) factors."""
HUBS = ("about z", "isotropic")
LEFT = 0.01
"""Rad: a joint this far from the desired motion has left it."""

GIVEN = {
    "DH table": "a = (0, .432, .02, 0, 0, 0), b = (.20, .149, 0, .432, 0, .056) m, "
    "alpha = (-90, 0, 90, -90, 90, 0) deg",
    "masses": "10.521, 15.7612, 8.767, 0, 0, 0 kg; links are bent slender rods",
    "hub inertia": "I_zz = (0, 0, 0, .181, .0735, .0141) kg m^2 'about the axis of joint'",
    "motion": "theta_i = (pi/T) t - 1/2 sin(2 pi t/T), T = 10 s, all joints from 0 to pi",
    "integration": "ode45, step 0.001 s, tolerance 1e-8",
}
CHOSEN = (
    ("hub inertia about the other axes", "none, as the table's note says; an isotropic hub is run beside it"),
    ("gravity", "9.81 m/s^2 along -Z of the base"),
    ("the non-recursive algorithm", "an inertia matrix formed by another recursion (Gibbs-Appell), factored as "
     "L D L^T, the root-free Cholesky factors; velocity terms by the same recursion"),
    ("integrator", "Dormand-Prince 5(4), the pair behind ode45, tolerance 1e-8; largest step 0.001 s in the step study "
     "only, since an adaptive integrator chooses its own"),
    ("when a joint has left the motion", f"beyond {LEFT} rad"),
    ("arm for the timing against n", "n bent rods with general twist angles"),
    ("stabilising controller", "PD with 10 rad/s and critical damping on the diagonal of the inertia matrix, added to "
     "the same torques"),
)  # fmt: skip


@dataclass
class Runs:
    """What was run."""

    settings: dict[str, Any]
    histories: dict[str, Any] = field(default_factory=dict)
    growth: dict[str, Array] = field(default_factory=dict)
    counts: dict[int, dict[str, counts.Count]] = field(default_factory=dict)
    times: dict[int, dict[str, Samples]] = field(default_factory=dict)
    steps: dict[float, dict[str, Result]] = field(default_factory=dict)

    def run(self, hub: str, algorithm: str) -> Result:
        """The forced run with that hub and algorithm."""
        found: Result = self.histories[f"{hub}, {algorithm}"]
        return found


class FeedForward:
    """Torques that carry the arm along the desired motion, in CasADi operations: inverse dynamics of the motion."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def expression(self, t: Any, q: Any, qd: Any) -> Any:
        """(6, 1) torques at time `t`, whatever the arm does."""
        return self.model.equations.inverse_dynamics(*desired().derivatives(t))


def desired() -> MohanSaha:
    """(38)."""
    return MohanSaha(6, 10.0)


def puma(hub: str) -> Robot:
    """The arm with hubs that have inertia about their joint's axis only, or about every axis."""
    robot = load("puma")
    if hub == "isotropic":
        for link in robot.links:
            inertia = link.joint.hub.inertia[2]
            robot = robot.replace({f"links.{link.name}.joint.hub.inertia": (inertia, inertia, inertia)})
    return robot


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    sizes = (2, 6, 8) if quick else (2, 4, 6, 8, 10, 12, 16, 20)
    counted = (5, 6, 10) if quick else (5, 6, 10, 20, 40, 80)
    runs = Runs({"duration": 10.0, "rtol": 1e-8, "atol": 1e-8, "method": "dopri5", "timed sizes": sizes,
                 "counted sizes": counted, "steps": (0.1, 0.001) if quick else (0.1, 0.01, 0.001, 0.0001)})  # fmt: skip
    for hub in HUBS:
        robot = puma(hub)
        for algorithm, formulation in ALGORITHMS.items():
            tell(f"forced PUMA, hub {hub}, {algorithm}")
            model = robot.model(formulation)
            forced = FeedForward(robot.model())
            runs.histories[f"{hub}, {algorithm}"] = _forced(runs, model, forced, 10.0)
            if hub == "about z":
                _step_study(runs, model, forced, algorithm, tell)
        runs.growth[hub] = growth(robot.model())
    tell("forced PUMA with a stabilising controller")
    runs.histories["stabilised"] = _stabilised(runs)
    for n in counted:
        tell(f"counting {n} links")
        chain = build_chain(rods(n))
        names = ALGORITHMS if n <= 20 else {"recursive": "denoc"}
        runs.counts[n] = {a: counts.tape_count(chain, f, "accelerations") for a, f in names.items()}
    for n in sizes:
        tell(f"timing {n} links")
        runs.times[n] = alternating({a: evaluations(rods(n).model(f)) for a, f in ALGORITHMS.items()}, TURNS)
    return runs


def _forced(runs: Runs, model: Model, torque: FeedForward, t_end: float, step: float | None = None) -> Result:
    s = runs.settings
    return simulate(model, t_end, torque=torque, method=s["method"], rtol=s["rtol"], atol=s["atol"], step=step,
                    output_step=0.01, progress=False)  # fmt: skip


def _step_study(runs: Runs, model: Model, forced: FeedForward, algorithm: str, tell: Tell) -> None:
    for step in runs.settings["steps"]:
        tell(f"step {step:g} s, {algorithm}")
        runs.steps.setdefault(step, {})[algorithm] = _forced(runs, model, forced, 6.0, step)


def _stabilised(runs: Runs) -> Result:
    model = puma("about z").model()
    inertia = np.diag(model.mass_matrix(np.zeros(6)))
    law = PD(100.0 * inertia, 20.0 * inertia, desired(), gravity="none")
    s = runs.settings
    return simulate(model, 10.0, torque=FeedForward(model), controller=law, rtol=s["rtol"], atol=s["atol"],
                    output_step=0.01, progress=False)  # fmt: skip


def growth(model: Model) -> Array:
    """(N, 2) time, and largest real part (1/s) of the eigenvalues of the error dynamics along the desired motion."""
    times = np.linspace(0.0, 10.0, 81)
    q, qd, qdd = desired()(times)
    tau = model.inverse_dynamics(q, qd, qdd)
    found = [np.linalg.eigvals(model.linearize(a, b, c).A).real.max() for a, b, c in zip(q, qd, tau)]
    return np.column_stack([times, found])


def rods(n: int) -> Robot:
    """`n` bent rods whose axes are twisted by angles without special values."""
    rng = np.random.default_rng(3)
    links = [
        Link.bent_rod(f"link{k}", 3.0, float(rng.uniform(0.2, 0.5)), float(rng.uniform(0.1, 0.4)),
                      float(rng.uniform(0.4, 1.2)), hub_inertia=0.05)
        for k in range(n)
    ]  # fmt: skip
    return Robot(name=f"{n} bent rods", links=links)


def evaluations(model: Model) -> Callable[[], object]:
    """A thousand evaluations of the forward dynamics, in one batch."""
    rng = np.random.default_rng(4)
    states = rng.normal(size=(3, EVALUATIONS, model.n))
    return lambda: model.forward_dynamics(*states)
