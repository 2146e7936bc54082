"""Parameters and runs of [ZZZ]: spin-up of a beam at three orders of coupling, Canadarm2 in free fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.model import Model
from pliant.results import Result
from pliant.robot import Beam, Drive, Joint, Link, RigidBody, Robot, Shapes, load
from pliant.simulation import Event, simulate
from pliant.studies.study import Tell

Array = NDArray[np.float64]

SPIN_UP = 15.0
DIVERGED = 1e3
ORDERS: dict[str, tuple[bool | str, int, str]] = {
    "zero": (False, 3, "denoc"),
    "first": ("first-order", 3, "lagrange"),
    "high": (True, 2, "denoc"),
}
"""Coupling model: stiffening, number of modes, formulation."""
INERTIAS = (5.0, 10.0, 15.0)
STIFFNESSES = (0.60e6, 1.33e6, 2.66e6, 5.00e6)
PRINTED_EA, PHYSICAL_EA = 2.84e7, 2.84e8
BOOMS = ("upper_boom", "lower_boom")
POSE = (0.4 * np.pi, -0.4 * np.pi, 0.0, 0.0, 0.0)

GIVEN = {
    "beam": "L 8 m, A 7.2968e-5 m^2, I 8.2189e-9 m^4, rho 2766.7 kg/m^3, E 6.8952e10 N/m^2; f1 = 0.464 Hz",
    "spin-up": "omega(t) = (omega0/T)(t - (T/2 pi) sin(2 pi t/T)), T = 15 s; omega0 = 0.6, 2, 3, 8, 10 rad/s",
    "Canadarm2": "five links, two flexible booms with three clamped-free shapes each of axial, two bendings and "
    "torsion; d = 0.475 m; EI_y = EI_z = 3.8e6 N m^2, EA = 2.84e7 N, G = 0.27e5 MPa, J_x = 15.41 kg m^2",
    "start": "q = (0.4 pi, -0.4 pi, ...)",
    "rotors": "J_r n^2 = 5, 10 or 15 (the digits before are unreadable)",
    "joint stiffness": "0.60, 1.33, 2.66, 5.00 x 10^6 'N/mm'",
}
CHOSEN = (
    ("link data (Table 1 is lost)", "Nguyen and Hughes 1994 as published with the URDF of Canadarm2, which holds the "
     "same d and J_x: booms 7.11 m, 314.88 and 279.20 kg, wrist 105.98, 105.98, 243.66 kg"),
    ("unit of the joint stiffness", "N m/rad: 'N/mm' is no unit of a torsional spring"),
    ("J_x = 15.41 kg m^2", "total of a boom, 2.167 kg m per metre"),
    ("I_x", "G I_x = 2 EI G/E with E = 70 GPa: 2.93e6 N m^2"),
    ("EA", "as printed, 2.84e7 N; it belongs to a thin tube of radius 0.52 m. 2.84e8 N, which fits the real boom, is "
     "run beside it"),
    ("gravity and torques", "9.81 m/s^2 along -Y, in the plane of the bent arm; no torques"),
    ("initial state", "at rest, links undeformed, springs unwound"),
    ("duration", "2 s (quick: 1 s)"),
    ("other joints during a sweep", "all five joints get the same rotor inertia and the same stiffness; 10 kg m^2 and "
     "2.66e6 N m/rad where they do not vary"),
    ("number of modes of the spinning beam", "three (zero and first order), two (high order)"),
    ("what 'divergent' means", f"a tip deflection beyond {DIVERGED:g} m"),
)  # fmt: skip


@dataclass
class Runs:
    """What was run."""

    settings: dict[str, Any]
    spins: dict[tuple[str, float], Result] = field(default_factory=dict)
    falls: dict[str, Result] = field(default_factory=dict)
    extra: dict[str, Result] = field(default_factory=dict)

    @property
    def histories(self) -> dict[str, Any]:
        """All runs by name."""
        spins = {f"spin {order} {speed:g}": run for (order, speed), run in self.spins.items()}
        return {**spins, **self.falls, **self.extra}


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    speeds = (0.6, 3.0, 10.0) if quick else (0.6, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    shapes = 1 if quick else 3
    runs = Runs({"speeds": speeds, "shapes per field": shapes, "fall": 1.0 if quick else 2.0, "spin": 25.0,
                 "rtol": 1e-8, "sweep shows": ["rotor inertia", "joint stiffness"]})  # fmt: skip
    models = {order: spinning(order) for order in ORDERS}
    for order, model in models.items():
        for speed in speeds:
            tell(f"spin-up, {order} order, {speed:g} rad/s")
            runs.spins[order, speed] = spin_up(model, speed, runs.settings["spin"])
    for speed in (2.90, 2.92):
        tell(f"spin-up, zero order, {speed:g} rad/s")
        runs.spins["zero", speed] = spin_up(models["zero"], speed, 60.0)
    tell("other beams")
    _other_beams(runs, quick)
    tell("Canadarm2: equations")
    model = canadarm(shapes)
    for inertia in INERTIAS:
        tell(f"free fall, rotors {inertia:g} kg m^2")
        runs.falls[f"rotor {inertia:g}"] = fall(model, runs.settings, inertia=inertia)
    for stiffness in STIFFNESSES:
        tell(f"free fall, joints {stiffness:.3g} N m/rad")
        runs.falls[f"stiffness {stiffness:.3g}"] = fall(model, runs.settings, stiffness=stiffness)
    tell("free fall, physical EA")
    runs.falls["physical EA"] = fall(model, runs.settings, axial=PHYSICAL_EA)
    if not quick:
        tell("free fall, rigid limit")
        _rigid_limit(runs, model)
    return runs


# ------------------------------------------------------------------------------------------------------- spin-up


def spinning(order: str, axis: tuple[float, float, float] = (0, 0, 1), tip: float = 0.0) -> Model:
    """The beam at one order of coupling, turning about `axis`, with a tip mass if wanted."""
    stiffening, modes, formulation = ORDERS[order]
    plane = "bending_z" if axis[1] else "bending_y"
    robot = load("spin-up").replace({"links.arm.joint.axis": axis, "links.arm.shapes": Shapes(**{plane: modes})})
    robot = robot.replace({"links.arm.tip.mass": tip}) if tip else robot
    return robot.model(formulation, stiffening=stiffening)


def law(speed: float) -> Callable[[Any], Any]:
    """Angle of the paper's spin-up, in CasADi operations."""
    w, T = speed, SPIN_UP

    def angle(t: Any) -> Any:
        during = w / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / T) - 1))
        return ca.if_else(t < T, during, w * (t - T / 2))

    return angle


def spin_up(model: Model, speed: float, t_end: float) -> Result:
    """Spin up, and on at constant speed until `t_end` or divergence."""
    far = Event("diverged", lambda t, q, qd: q[1] ** 2 - DIVERGED**2, direction=1)
    return simulate(model, t_end, motion={"arm": law(speed)}, events=[far], output_step=0.01, rtol=1e-8, progress=False)


def _other_beams(runs: Runs, quick: bool) -> None:
    """The same spin about y, a tip mass, and a beam that can stretch."""
    speed = 3.0
    runs.extra["spin about y"] = spin_up(spinning("high", (0, 1, 0)), speed, runs.settings["spin"])
    runs.extra["spin with tip mass"] = spin_up(spinning("high", tip=0.2), speed, runs.settings["spin"])
    if not quick:
        robot = load("spin-up").replace({"links.arm.shapes": Shapes(bending_y=2, axial=3)})
        runs.extra["stretching beam 8"] = spin_up(robot.model(stiffening=True), 8.0, 20.0)
        beam = Beam(length=10.0, mass_per_length=1.2, EI_y=1.4e4, EI_z=1.4e4, EA=2.8e7)
        link = Link(name="arm", beam=beam, shapes=Shapes(bending_y=2, axial=3))
        literature = Robot(name="beam of Simo and Vu-Quoc", gravity=(0, 0, 0), links=[link])
        runs.extra["literature beam"] = spin_up(literature.model(stiffening=True), 6.0, 20.0)


# ----------------------------------------------------------------------------------------------------- Canadarm2


def canadarm(shapes: int) -> Model:
    """High-order model with joints, booms and rotors left as parameters: every sweep runs on one compiled model."""
    chosen = Shapes(bending_y=shapes, bending_z=shapes, torsion=shapes, axial=shapes)
    robot = load("canadarm2").replace({f"links.{boom}.shapes": chosen for boom in BOOMS})
    drives = [
        f"links.{link.name}.joint.drive.{what}" for link in robot.links for what in ("stiffness", "rotor_inertia")
    ]
    beams = [f"links.{boom}.beam.{what}" for boom in BOOMS for what in ("EI_y", "EI_z", "GJ", "EA")]
    return robot.model(stiffening=True, parameters=[*drives, *beams])


def fall(
    model: Model,
    settings: dict[str, Any],
    inertia: float = 10.0,
    stiffness: float = 2.66e6,
    axial: float = PRINTED_EA,
    stiffer: float = 1.0,
    t_end: float | None = None,
) -> Result:
    """Drop the arm from rest; `stiffer` multiplies every stiffness."""
    values = {"rotor_inertia": inertia, "stiffness": stiffness * stiffer, "EA": axial * stiffer}
    p = model.nominal_parameters
    for k, path in enumerate(model.parameters):
        what = path.rsplit(".", 1)[-1]
        p[k] = values.get(what, stiffer * p[k])
    return simulate(model, t_end or settings["fall"], start(model), p=p, rtol=settings["rtol"], output_step=2e-3,
                    progress=False)  # fmt: skip


def start(model: Model) -> Array:
    """Bent arm at rest, springs unwound."""
    q = np.zeros(model.n)
    q[:5] = POSE
    for name, angle in zip(model.joints, POSE):
        if f"{name}.motor" in model.coordinates:
            q[model.index(f"{name}.motor")] = angle
    return q


def _rigid_limit(runs: Runs, model: Model) -> None:
    for factor in (30.0, 300.0):
        runs.extra[f"fall {factor:g} times stiffer"] = fall(model, runs.settings, stiffer=factor, t_end=0.25)
    robot = load("canadarm2").replace({f"links.{boom}.shapes": None for boom in BOOMS})
    rigid = robot.replace({f"links.{link.name}.joint.drive.stiffness": None for link in robot.links}).model()
    runs.extra["rigid fall"] = simulate(rigid, 0.25, start(rigid), rtol=1e-9, output_step=2e-3, progress=False)


def pendulum(stiffness: float | None, rotor: float = 0.5, inertia: float = 2.0, gravity: float = 0.0) -> Model:
    """A rigid link on one joint, elastic or not."""
    body = RigidBody(mass=1.0 if gravity else 0.0, com=(0.5, 0, 0), inertia=(inertia, inertia, inertia), tip=(1, 0, 0))
    joint = Joint(drive=Drive(stiffness=stiffness, rotor_inertia=rotor))
    return Robot(name="pendulum", gravity=(gravity, 0, 0), links=[Link(name="body", joint=joint, rigid=body)]).model()
