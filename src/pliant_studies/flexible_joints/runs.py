"""Parameters and runs of [ZZZ]: spin-up of a beam at three orders of coupling, Canadarm2 falling and on its brakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from pliant.arrays import Array, Expression
from pliant.model.model import Model
from pliant.model.robot import Robot, load
from pliant.options import FormulationName, StiffeningName
from pliant.protocols import PrescribedMotion
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.bodies.rigid_body import RigidBody
from pliant.robot.parts.drives.gear import Drive
from pliant.robot.parts.joint import Joint
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import Shapes
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import Event, simulate
from pliant_studies.flexible_joints.beam import SpinningBeam
from pliant_studies.flexible_joints.first_order import first_order
from pliant_studies.study import StudyRuns, Tell

SPIN_UP, SPIN = 15.0, 25.0
"""End of the acceleration and of the run (s)."""
THRESHOLD = (2.90, 2.92)
DIVERGED = 1e3
MODES = 3
ORDERS = ("zero", "first", "high")
"""Coupling models, with the same modes for all."""
STIFFENING: dict[str, StiffeningName] = {"zero": "off", "high": "second-order"}
INERTIAS, HEAVY = (5.0, 10.0, 15.0), (5e3, 1e4, 1.5e4)
STIFFNESSES = (0.60, 1.33, 2.66, 5.00)
READINGS = {"MN m": 1e6, "kN m": 1e3}
"""The printed '10^6 N/mm' of a torsional spring, read as 10^6 N m/rad and as 10^6 N mm/rad."""
BASE = 2.66
FALL, BRAKED, LONG = 1.75, 3.0, 2.1
"""Durations for Canadarm2 (s): falling with free motors, on its brakes, falling until it is straight."""
PRINTED_EA, PHYSICAL_EA = EAS = 2.84e7, 2.84e8
BOOMS = ("upper_boom", "lower_boom")
POSE = (0.4 * np.pi, -0.4 * np.pi, 0.0, 0.0, 0.0)


@dataclass
class Runs(StudyRuns):
    """Runs of the study: spinning beams by order and speed, and falls of Canadarm2 by name."""

    spins: dict[tuple[str, float], Result] = field(default_factory=dict)
    references: dict[tuple[str, float], Array] = field(default_factory=dict)
    recursion: dict[str, Result] = field(default_factory=dict)
    falls: dict[str, Result] = field(default_factory=dict)
    braked: dict[str, Result] = field(default_factory=dict)
    extra: dict[str, Result] = field(default_factory=dict)

    @property
    def histories(self) -> dict[str, Result | Mapping[str, Array]]:
        """All runs by name; in a quick study only those that are drawn."""
        spins = {f"spin {order} {speed:g}": run for (order, speed), run in self.spins.items()}
        braked = {f"braked {name}": run for name, run in self.braked.items()}
        recursion = {f"recursive-lagrange, adams, {name}": run for name, run in self.recursion.items()}
        references = {f"{order} {speed:g}": tip for (order, speed), tip in self.references.items()}
        if self.settings["quick"]:
            drawn = {name: run for name, run in self.falls.items() if name.startswith(("rotor", "long"))}
            return {**spins, **drawn, **braked}
        return {**spins, **self.falls, **braked, **self.extra, **recursion, "independent model": references}


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study."""
    speeds = (0.6, 2.0, 3.0, 10.0) if quick else (0.6, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    runs = Runs({"quick": quick, "speeds": speeds, "shapes per field": 1 if quick else 3, "fall": FALL,
                 "braked": BRAKED, "spin": SPIN, "rtol": 1e-8,
                 "stiffening": "second-order, where a run does not say otherwise"})  # fmt: skip
    _spins(runs, quick, tell)
    tell("other beams")
    _other_beams(runs, quick)
    tell("Canadarm2: equations")
    model = canadarm(runs.settings["shapes per field"])
    _falls(runs, model, tell)
    _braked(runs, model, tell)
    if not quick:
        tell("free fall by the paper's recursion")
        _recursive_fall(runs)
        tell("free fall, rigid limit")
        _rigid_limit(runs, model)
    return runs


# ------------------------------------------------------------------------------------------------------- spin-up


def _spins(runs: Runs, quick: bool, tell: Tell) -> None:
    """Spin up at every speed by every order of coupling, by an independent model, and by the paper's recursion."""
    speeds = runs.settings["speeds"]
    models = {order: spinning(order) for order in ORDERS}
    for order, model in models.items():
        for speed in speeds:
            tell(f"spin-up, {order} order, {speed:g} rad/s")
            runs.spins[order, speed] = spin_up(model, speed, SPIN)
    for speed in THRESHOLD:
        tell(f"spin-up, zero order, {speed:g} rad/s")
        runs.spins["zero", speed] = spin_up(models["zero"], speed, 60.0)
    tell("spin-up, independent model")
    for order in ("first", "high"):
        beam = SpinningBeam(order, MODES)
        for speed in speeds[::2] if quick else speeds:
            runs.references[order, speed] = beam.spin_up(speed, SPIN_UP, runs.spins[order, speed].t)
    tell("spin-up, the paper's recursion")
    own = spinning("high", formulation="recursive-lagrange")
    for speed in speeds[::2] if quick else speeds:
        runs.recursion[f"spin {speed:g}"] = simulate(own, SPIN, motion={"arm": law(speed)}, method="adams",
                                                     output_step=0.01, rtol=1e-8, progress=False)  # fmt: skip


def spinning(
    order: str, axis: tuple[float, ...] = (0, 0, 1), tip: float = 0.0, formulation: FormulationName = "denoc"
) -> Model:
    """Model of the beam at one order of coupling, turning about `axis`, with a mass at the tip."""
    plane = "bending_z" if axis[1] else "bending_y"
    robot = load("spin-up").replace(
        {"links.arm.joint.axis": axis, "links.arm.shapes": Shapes(**{"boundary": "clamped-free", plane: MODES})}
    )
    robot = robot.replace({"links.arm.tip.mass": tip}) if tip else robot
    return first_order(robot) if order == "first" else robot.model(formulation, stiffening=STIFFENING[order])


def law(speed: float) -> Callable[[Expression], Expression]:
    """Angle of the paper's spin-up, in CasADi operations."""
    w, T = speed, SPIN_UP

    def angle(t: Expression) -> Expression:
        during = w / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / T) - 1))
        return ca.if_else(t < T, during, w * (t - T / 2))

    return angle


def spin_up(model: Model, speed: float, t_end: float) -> Result:
    """Spin up, then hold the speed until `t_end` or divergence."""
    far = Event("diverged", lambda t, q, qd: q[1] ** 2 - DIVERGED**2, direction=1)
    return simulate(model, t_end, motion={"arm": law(speed)}, events=[far], output_step=0.01, rtol=1e-8, progress=False)


def _other_beams(runs: Runs, quick: bool) -> None:
    """Spin about y, spin with a mass at the tip, and two beams that can stretch."""
    speed = 3.0
    runs.extra["spin about y"] = spin_up(spinning("high", (0, 1, 0)), speed, SPIN)
    runs.extra["spin with tip mass"] = spin_up(spinning("high", tip=0.2), speed, SPIN)
    if not quick:
        robot = load("spin-up").replace({"links.arm.shapes": Shapes(boundary="clamped-free", bending_y=2, axial=3)})
        runs.extra["stretching beam"] = spin_up(robot.model(stiffening="second-order"), 8.0, 20.0)
        beam = Beam(length=10.0, mass_per_length=1.2, EI_y=1.4e4, EI_z=1.4e4, EA=2.8e7)
        link = Link(name="arm", beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=2, axial=3))
        literature = Robot(name="beam of Simo and Vu-Quoc", gravity=(0, 0, 0), links=[link])
        runs.extra["literature beam"] = spin_up(literature.model(stiffening="second-order"), 6.0, 20.0)


# ----------------------------------------------------------------------------------------------------- Canadarm2


def arm(shapes: int) -> Robot:
    """Canadarm2 with some shapes of each kind in both booms."""
    chosen = Shapes(boundary="clamped-free", bending_y=shapes, bending_z=shapes, torsion=shapes, axial=shapes)
    return load("canadarm2").replace({f"links.{boom}.shapes": chosen for boom in BOOMS})


def canadarm(shapes: int) -> Model:
    """High-order model with joints, booms and rotors as parameters, so that every sweep runs on one compiled model."""
    robot = arm(shapes)
    drives = [
        f"links.{link.name}.joint.drive.{what}" for link in robot.links for what in ("stiffness", "rotor_inertia")
    ]
    beams = [f"links.{boom}.beam.{what}" for boom in BOOMS for what in ("EI_y", "EI_z", "GJ", "EA")]
    return robot.model(stiffening="second-order", parameters=[*drives, *beams])


def rigid_joints(robot: Robot) -> Robot:
    """Arm with stiff joints; the rotors turn with the links."""
    return robot.replace({f"links.{link.name}.joint.drive.stiffness": None for link in robot.links})


def _falls(runs: Runs, model: Model, tell: Tell) -> None:
    """Falls with free motors: sweeps of rotor inertia and joint stiffness in both readings, rigid joints, no
    shortening."""
    robot = arm(runs.settings["shapes per field"])
    for reading, unit in READINGS.items():
        tell(f"free fall, rotors, stiffness in {reading}/rad")
        for inertia in INERTIAS:
            runs.falls[f"rotor {inertia:g}, {reading}"] = fall(model, step=1e-3, inertia=inertia, stiffness=BASE * unit)
        tell(f"free fall, stiffness in {reading}/rad")
        for stiffness in STIFFNESSES:
            runs.falls[f"stiffness {stiffness:.2f} {reading}"] = fall(model, stiffness=stiffness * unit)
    tell("free fall, heavy rotors and physical EA")
    for inertia in HEAVY:
        runs.falls[f"rotor {inertia:g}, MN m"] = fall(model, inertia=inertia)
    runs.falls["physical EA"] = fall(model, axial=PHYSICAL_EA)
    runs.falls["long"] = fall(model, t_end=LONG)
    tell("free fall, rigid joints")
    runs.falls["rigid joints"] = _simulated(rigid_joints(robot).model(stiffening="second-order"), FALL)
    tell("free fall, no shortening")
    runs.falls["no shortening"] = _simulated(robot.model(stiffening="off"), FALL)


def _braked(runs: Runs, model: Model, tell: Tell) -> None:
    """Runs with held motors: sweep of joint stiffness, rigid joints, no shortening."""
    robot = arm(runs.settings["shapes per field"])
    held = {f"{link.name}.motor": _constant(angle) for link, angle in zip(robot.links, POSE)}
    tell("on the brakes, stiffness in MN m/rad")
    for stiffness in STIFFNESSES:
        p = parameters(model, stiffness=stiffness * READINGS["MN m"])
        runs.braked[f"stiffness {stiffness:.2f} MN m"] = _simulated(model, BRAKED, held, p)
    tell("on the brakes, rigid joints and no shortening")
    locked = {link.name: _constant(angle) for link, angle in zip(robot.links, POSE)}
    runs.braked["rigid joints"] = _simulated(rigid_joints(robot).model(stiffening="second-order"), BRAKED, locked)
    runs.braked["no shortening"] = _simulated(robot.model(stiffening="off"), BRAKED, held)


def _constant(value: float) -> Callable[[Expression], Expression]:
    return lambda t: value + 0 * t


def _simulated(
    model: Model,
    t_end: float,
    motion: Mapping[str, PrescribedMotion] | None = None,
    p: Array | None = None,
    step: float = 2.5e-3,
) -> Result:
    return simulate(model, t_end, POSE, motion=motion, p=p, rtol=1e-8, output_step=step, progress=False)


def fall(model: Model, t_end: float = FALL, step: float = 2.5e-3, **given: float) -> Result:
    """Drop the arm from rest with these `parameters`; `step` is the step of the output."""
    return _simulated(model, t_end, p=parameters(model, **given), step=step)


def parameters(
    model: Model,
    inertia: float = 10.0,
    stiffness: float = BASE * READINGS["MN m"],
    axial: float = PRINTED_EA,
    stiffer: float = 1.0,
) -> Array:
    """Parameters of `canadarm` with the same drive in every joint; `stiffer` multiplies every stiffness."""
    values = {"rotor_inertia": inertia, "stiffness": stiffness * stiffer, "EA": axial * stiffer}
    p = model.nominal_parameters
    for k, path in enumerate(model.parameters):
        p[k] = values.get(path.rsplit(".", 1)[-1], stiffer * p[k])
    return p


def _recursive_fall(runs: Runs) -> None:
    """Run the fall by the paper's recursion and its Adams method."""
    own = arm(runs.settings["shapes per field"]).model("recursive-lagrange", stiffening="second-order")
    runs.recursion["fall"] = simulate(own, FALL, POSE, method="adams", rtol=1e-8, output_step=2.5e-3,
                                      progress=False)  # fmt: skip


def _rigid_limit(runs: Runs, model: Model) -> None:
    for factor in (30.0, 300.0):
        runs.extra[f"fall {factor:g} times stiffer"] = fall(model, stiffer=factor, t_end=0.25)
    robot = load("canadarm2").replace({f"links.{boom}.shapes": None for boom in BOOMS})
    runs.extra["rigid fall"] = _simulated(rigid_joints(robot).model(stiffening="off"), 0.25)


def pendulum(stiffness: float | None, rotor: float = 0.5, inertia: float = 2.0, gravity: float = 0.0) -> Model:
    """Model of a rigid link on one joint, elastic or not."""
    body = RigidBody(mass=1.0 if gravity else 0.0, com=(0.5, 0, 0), inertia=(inertia, inertia, inertia), tip=(1, 0, 0))
    joint = Joint(drive=Drive(stiffness=stiffness, rotor_inertia=rotor))
    return Robot(name="pendulum", gravity=(gravity, 0, 0), links=[Link(name="body", joint=joint, rigid=body)]).model()
