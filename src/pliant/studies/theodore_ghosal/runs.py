"""Parameters and runs of [TG95]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis import Overestimation, counts, eigenvalues_along, link_frequencies, overestimation
from pliant.control import LQR, ComputedTorque, Cycloidal, Switch
from pliant.dynamics import build_chain
from pliant.model import Model
from pliant.results import Result
from pliant.robot import Beam, Joint, Link, Lump, Robot, Shapes, TipLoad, load
from pliant.shapes import beta_length_derivatives, clamped_free_roots, clamped_mass_roots, follow_beta, load_at_length
from pliant.simulation import simulate
from pliant.studies.study import Tell
from pliant.studies.theodore_ghosal.arms import ARMS
from pliant.timing import TURNS, Samples, alternating

Array = NDArray[np.float64]

EI, RHO_A, LINK_3, PAYLOAD = 1165.4916, 0.331, 0.4303, 0.0828
START, GOAL, DURATION = (0.0, 0.0, 0.3), (np.pi, np.pi / 2, 1.0), 0.5
GAINS: dict[str, Any] = {"kp": 400.0, "kv": 40.0}
WEIGHTS = {"joints": 1e4, "flexible": 1e6, "rates": 1e2}
INPUT_WEIGHT = 1e-3
TWO_ELEMENTS = Shapes(method="elements", count=2, bending_y=True, bending_z=True)

GIVEN = {
    "masses m1, m2, m3, payload": "3.7051, 0.3310, 0.4303, 0.0828 kg",
    "lengths l1, l2, l3 in all": "0.1, 1.0, 1.3 m",
    "inertias I1, I2": "0.352, 3.2 kg m^2",
    "EI of links 2 and 3": "1165.4916 N m^2",
    "gravity": "none",
    "shapes": "two modes or two elements a direction",
    "motion": "joint 1 from 0 to 180 deg, joint 2 from 0 to 90 deg, l3 from 0.3 to 1.0 m in 0.5 s, smooth",
    "controller": "decoupling (31)-(33) during the motion, LQR (37) as second loop afterwards",
    "CPU time": "1533.34 s (modes), 2036.89 s (elements) on an IRIS-4D",
}
CHOSEN = (
    ("profile of the motion", "cycloid: zero rate and acceleration at both ends"),
    ("DH table", "d1 = 0.1, alpha1 = +90 deg; a2 = 1, alpha2 = +90 deg; d3 = l3: link 3 stands square to link 2. With "
     "link 3 in line with link 2 joint 1 would lose its hold at the goal"),
    ("gains", "G_p = 400 1/s^2, G_v = 40 1/s"),
    ("LQR weights", "1e4 joints, 1e6 amplitudes, 1e2 rates; input 1e-3"),
    ("boundary loads", "link 2: mass of link 3 and payload as a point; link 3: the payload (J and D neglected, as the "
     "paper does for link 3)"),
    ("inertias I1, I2", "about the joints' own axes; m1 on the first axis"),
    ("arms of Table 2", "RR and RRR planar with parallel outer axes, RP and RRP with a sliding outer link; numbers of "
     "this arm's links"),
    ("tolerances of the integration", "rtol 1e-7, DOP853"),
)  # fmt: skip


@dataclass
class Runs:
    """What was run and computed."""

    settings: dict[str, Any]
    histories: dict[str, Result | Mapping[str, Any]] = field(default_factory=dict)
    table_1: dict[str, Array] = field(default_factory=dict)
    loaded: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    betas: dict[str, Array] = field(default_factory=dict)
    eigenvalues: dict[str, Array] = field(default_factory=dict)
    alone: dict[str, Array] = field(default_factory=dict)
    times: dict[str, Samples] = field(default_factory=dict)
    counts: dict[str, dict[str, counts.Count]] = field(default_factory=dict)
    arm: Overestimation | None = None
    link: Overestimation | None = None
    damped: Overestimation | None = None

    def run(self, name: str) -> Result:
        """A history that is a run."""
        found = self.histories[name]
        assert isinstance(found, Result)
        return found


def reference() -> Cycloidal:
    """The desired joint motion."""
    return Cycloidal(START, GOAL, DURATION)


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    runs = Runs({"rtol": 1e-7, "atol": 1e-9, "output_step": 1e-3, "eigenvalue times": 6 if quick else 21,
                 "counted arms": ["RR", "RRR"] if quick else list(ARMS), "gains": GAINS, "LQR weights": WEIGHTS,
                 "exact eigenvalues": not quick})  # fmt: skip
    tell("Table 1")
    runs.table_1 = table_1()
    runs.loaded = loaded_beams()
    tell("frequency equation")
    runs.betas = betas()
    runs.histories["frequency equation"] = runs.betas
    robots = {"modes": load("rrp"), "elements": load("rrp").replace(dict.fromkeys(_SHAPES, TWO_ELEMENTS))}
    laws = {name: controller() for name in robots}
    for name, robot in robots.items():
        tell(f"controlled motion, {name}")
        model = robot.model()
        runs.histories[name] = controlled(model, laws[name], runs.settings)
        if not quick:
            tell(f"closed-loop eigenvalues, {name}")
        runs.eigenvalues[name] = eigenvalues(model, runs.settings)
        runs.alone[name] = links_alone(model, runs.eigenvalues[name][:, 0])
    tell("times of both")
    runs.times = alternating(
        {name: partial(controlled, runs.run(name).model, laws[name], runs.settings) for name in robots}, TURNS
    )
    tell("free motion of the sliding arm")
    runs.histories["free"] = free_motion(runs.run("modes").model)
    tell("over-estimated stiffness")
    _overestimate(runs)
    for name in runs.settings["counted arms"]:
        tell(f"counting {name}")
        runs.counts[name] = {
            kind: counts.tape_count(build_chain(robot), "lagrange", "inertia matrix")
            for kind, robot in ARMS[name]().items()
        }
    return runs


_SHAPES = ("links.boom.shapes", "links.slide.shapes")


# ------------------------------------------------------------------------------------------------ frequencies


def single(shapes: Shapes, hub: float = 0.0) -> Robot:
    """Link 2 alone on a revolute joint."""
    beam = Beam(length=1.0, mass_per_length=RHO_A, EI_y=EI, EI_z=EI)
    joint = Joint(hub=Lump(inertia=(0.0, 0.0, hub)))
    return Robot(name="one link", gravity=(0, 0, 0), links=[Link(name="link", joint=joint, beam=beam, shapes=shapes)])


def table_1() -> dict[str, Array]:
    """Frequencies (rad/s) of the clamped-free link 2 by one, two, three elements, and exact."""
    scale = np.sqrt(EI / RHO_A)
    found = {
        f"{count} el.": 2 * np.pi * single(Shapes(method="elements", count=count, bending_y=True)).model().frequencies()
        for count in (1, 2, 3)
    }
    return {**found, "exact": scale * clamped_free_roots(6) ** 2}


def loaded_beams() -> dict[str, tuple[Array, Array]]:
    """First two frequencies (rad/s) with a tip load: eight elements, and roots of the frequency equation."""
    model = single(Shapes(method="elements", count=8, bending_y=True), 1.0).model()
    found = {}
    for text, (M, J, D) in {"M": (0.5, 0.0, 0.0), "M, J": (0.5, 0.05, 0.0), "M, J, D": (0.5, 0.05, 0.1)}.items():
        tip = TipLoad(mass=M * RHO_A, inertia=J * RHO_A, first_moment=D * RHO_A)
        exact = np.sqrt(EI / RHO_A) * clamped_mass_roots(2, M, J, D) ** 2
        found[text] = (link_frequencies(model, "link", load=tip)[:2], exact)
    return found


def betas() -> dict[str, Array]:
    """Roots of link 3 over its free length: found afresh, by the differential form (45), and with (47) as printed."""
    lengths = np.round(np.linspace(0.3, 1.0, 8), 10)
    roots = np.array([clamped_mass_roots(2, PAYLOAD / (RHO_A * length)) for length in lengths])

    def rate(length: float, beta: float) -> float:
        return beta_length_derivatives(beta, load_at_length(length, RHO_A, PAYLOAD), length)[0]

    followed, printed = (
        np.column_stack([follow_beta(b, f, lengths, substeps=40) for b in roots[0]]) for f in (rate, printed_rate)
    )
    return {"length": lengths, "roots": roots, "followed": followed, "printed": printed}


def printed_rate(length: float, beta: float) -> float:
    """(45) with (46) and (47) as they stand in print: m_p^2 where m_p is meant."""
    s, c, sh, ch = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    load = PAYLOAD / (RHO_A * length)
    f_1 = load / length * beta * (sh * c - ch * s)
    f_2 = (1 + load * PAYLOAD) * (sh * c - ch * s) - 2 * load * beta * sh * s
    return float(f_1 / f_2)


# -------------------------------------------------------------------------------------------- controlled motion


def controlled(model: Model, law: Switch, settings: Mapping[str, Any]) -> Result:
    """The whole motion; with the same `law` a second time, everything is compiled."""
    q0 = np.concatenate([START, np.zeros(model.n - 3)])
    options = {key: settings[key] for key in ("rtol", "atol", "output_step")}
    return simulate(model, 2 * DURATION, q0, controller=law, progress=False, **options)


def controller() -> Switch:
    """(31)-(33), then (37)."""
    tracking = ComputedTorque(reference=reference(), **GAINS)
    regulator = LQR(GOAL, WEIGHTS, INPUT_WEIGHT, inner="decoupling")
    return Switch([tracking, regulator], [DURATION])


def eigenvalues(model: Model, settings: Mapping[str, Any]) -> Array:
    """(N, 8) the eight lowest vibrations (rad/s) of the loop along the motion, first column the time.

    Exact from the Jacobian of the closed loop, or (quick) with velocity terms left out: decoupled joints leave the
    links to vibrate as if the joints were held.
    """
    times = np.linspace(0.0, DURATION, settings["eigenvalue times"])
    path = reference()
    if settings["exact eigenvalues"]:
        loop = eigenvalues_along(model, ComputedTorque(reference=path, **GAINS), times, path)
        rows = [np.sort(values.imag[values.imag > 1e-3 * np.abs(values)])[:8] for values in loop.values]
    else:
        joints = path(times)[0]
        states = np.hstack([joints, np.zeros((len(times), model.n - 3))])
        rows = [2 * np.pi * model.frequencies(state)[:8] for state in states]
    return np.column_stack([times, np.array(rows)])


def links_alone(model: Model, times: Array) -> Array:
    """(N, 2, 4) frequencies (rad/s) of links 2 and 3, each alone with its boundary load, along the motion.

    Two lowest in each plane; both planes are alike, so they come in pairs.
    """
    joints = reference()(times)[0]
    states = np.hstack([joints, np.zeros((len(times), model.n - 3))])
    loads = {"boom": LINK_3 + PAYLOAD, "slide": PAYLOAD}
    return np.array([[link_frequencies(model, name, at, load)[:4] for name, load in loads.items()] for at in states])


def free_motion(model: Model) -> Result:
    """No torque at all: the arm turns and the link slides out by itself."""
    q0, qd0 = np.zeros(model.n), np.zeros(model.n)
    q0[:3], qd0[:3] = (0.3, 0.4, 0.5), (2.0, -1.5, 1.0)
    return simulate(model, 0.3, q0, qd0, rtol=1e-9, atol=1e-12, output_step=1e-3, progress=False)


def _overestimate(runs: Runs) -> None:
    runs.arm = overestimation(runs.run("modes").model, GOAL, GAINS["kp"], GAINS["kv"])
    link = single(Shapes(bending_y=2), 0.05)
    model = link.model()
    runs.link = overestimation(model, [0.0], GAINS["kp"], GAINS["kv"])
    runs.damped = overestimation(model, [0.0], GAINS["kp"], GAINS["kv"], damping=1e-5)
    q0 = np.zeros(model.n)
    q0[1] = 1e-3
    for name, factor in (("stiffness 1.1", 1.1), ("stiffness 0.9", 0.9)):
        believed = link.replace({"links.link.beam.EI_z": factor * EI}).model()
        law = ComputedTorque(reference=[0.0], estimate=believed, **GAINS)
        runs.histories[name] = simulate(model, 1.0, q0, controller=law, output_step=1e-3, progress=False)
