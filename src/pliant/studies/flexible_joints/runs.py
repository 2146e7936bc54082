"""Parameters and runs of [ZZZ]: spin-up of a beam at three orders of coupling, Canadarm2 falling and on its brakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.model import Model
from pliant.options import FormulationName, StiffeningName
from pliant.robot import Beam, Drive, Joint, Link, RigidBody, Robot, Shapes, load
from pliant.runs.results import Result
from pliant.runs.simulation import Event, simulate
from pliant.studies.flexible_joints.beam import SpinningBeam
from pliant.studies.study import Tell

SPIN_UP, SPIN = 15.0, 25.0
"""End of the acceleration and of the run (s)."""
THRESHOLD = (2.90, 2.92)
DIVERGED = 1e3
MODES = 3
ORDERS: dict[str, tuple[bool | StiffeningName, FormulationName]] = {
    "zero": (False, "denoc"),
    "first": ("first-order", "lagrange"),
    "high": (True, "denoc"),
}
"""Coupling model: stiffening and formulation, with the same modes for all."""
INERTIAS, HEAVY = (5.0, 10.0, 15.0), (5e3, 1e4, 1.5e4)
STIFFNESSES = (0.60, 1.33, 2.66, 5.00)
READINGS = {"MN m": 1e6, "kN m": 1e3}
"""The printed '10^6 N/mm' of a torsional spring, read as 10^6 N m/rad and as 10^6 N mm/rad."""
BASE = 2.66
FALL, BRAKED, LONG = 1.75, 3.0, 2.1
"""Durations for Canadarm2 (s): falling with free motors, on its brakes, falling until it is straight."""
PRINTED_EA, PHYSICAL_EA = 2.84e7, 2.84e8
BOOMS = ("upper_boom", "lower_boom")
POSE = (0.4 * np.pi, -0.4 * np.pi, 0.0, 0.0, 0.0)

GIVEN = {
    "beam": "L 8 m, A 7.2968e-5 m^2, I 8.2189e-9 m^4, rho 2766.7 kg/m^3, E 6.8952e10 N/m^2; f1 = 0.464 Hz",
    "spin-up": "omega(t) = (omega0/T)(t - (T/2 pi) sin(2 pi t/T)), T = 15 s; omega0 = 0.6, 2, 3, 8, 10 rad/s",
    "Canadarm2": "five links, two flexible booms with three clamped-free shapes each of axial, two bendings and "
    "torsion; d = 0.475 m; EI_y = EI_z = 3.8e6 N m^2, EA = 2.84e7 N, G = 0.27e5 MPa, J_x = 15.41 kg m^2",
    "start": "q = (0.4 pi, -0.4 pi, ...)",
    "rotors": "J_r n^2 = 5, 10 or 15, no unit",
    "joint stiffness": "0.60, 1.33, 2.66, 5.00 x 10^6 'N/mm'",
    "integration": "Adams predictor-corrector",
}
CHOSEN = (
    ("link data (Table 1 is lost)", "Nguyen and Hughes 1994 as published with the URDF of Canadarm2, which holds the "
     "same d and J_x: booms 7.11 m, 314.88 and 279.20 kg, wrist 105.98, 105.98, 243.66 kg"),
    ("unit of the joint stiffness", "'N/mm' is no unit of a torsional spring. Read as N m/rad, and as N mm/rad beside "
     "it"),
    ("unit of the rotor inertia", "kg m^2; thousands of kg m^2 are run beside it"),
    ("J_x = 15.41 kg m^2", "total of a boom, 2.167 kg m per metre"),
    ("I_x", "G I_x = 2 EI G/E with E = 70 GPa: 2.93e6 N m^2"),
    ("EA", "as printed, 2.84e7 N; it belongs to a thin tube of radius 0.52 m. 2.84e8 N, which fits the real boom, is "
     "run beside it"),
    ("what the motors do", "two readings: free of torque, so that the whole arm falls; and held by their brakes, so "
     "that it hangs on its joint springs"),
    ("gravity", "9.81 m/s^2 along -Y, in the plane of the bent arm"),
    ("initial state", "at rest, links undeformed, springs unwound"),
    ("duration", f"{FALL:g} s of the fall with free motors: at about 2 s the arm snaps straight, and what is left then "
     f"depends on the last hundredth of a second. {BRAKED:g} s on the brakes. Verdicts are asked at several durations"),
    ("other joints during a sweep", "all five joints get the same rotor inertia and the same stiffness; 10 kg m^2 and "
     "2.66 times the unit of stiffness where they do not vary"),
    ("number of modes of the spinning beam", f"{MODES} for every order"),
    ("what 'divergent' means", f"a tip deflection beyond {DIVERGED:g} m"),
    ("method", "equations by O(n) recursion and an explicit Runge-Kutta method of order 8; the paper's recursion and "
     "its Adams method are run beside them"),
)  # fmt: skip


@dataclass
class Runs:
    """What was run."""

    settings: dict[str, Any]
    numbers: dict[str, Any] = field(default_factory=dict)
    spins: dict[tuple[str, float], Result] = field(default_factory=dict)
    references: dict[tuple[str, float], Array] = field(default_factory=dict)
    recursion: dict[str, Result] = field(default_factory=dict)
    falls: dict[str, Result] = field(default_factory=dict)
    braked: dict[str, Result] = field(default_factory=dict)
    extra: dict[str, Result] = field(default_factory=dict)

    @property
    def histories(self) -> dict[str, Any]:
        """All runs by name; of a quick study those that are drawn."""
        spins = {f"spin {order} {speed:g}": run for (order, speed), run in self.spins.items()}
        braked = {f"braked {name}": run for name, run in self.braked.items()}
        recursion = {f"recursive-lagrange, adams, {name}": run for name, run in self.recursion.items()}
        references = {f"{order} {speed:g}": tip for (order, speed), tip in self.references.items()}
        if self.settings["quick"]:
            drawn = {name: run for name, run in self.falls.items() if name.startswith(("rotor", "long"))}
            return {**spins, **drawn, **braked}
        return {**spins, **self.falls, **braked, **self.extra, **recursion, "independent model": references}


def perform(quick: bool, tell: Tell) -> Runs:
    """Every run of the study, and what is measured on them."""
    from pliant.studies.flexible_joints.measures import measure

    speeds = (0.6, 2.0, 3.0, 10.0) if quick else (0.6, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    runs = Runs({"quick": quick, "speeds": speeds, "shapes per field": 1 if quick else 3, "fall": FALL,
                 "braked": BRAKED, "spin": SPIN, "rtol": 1e-8})  # fmt: skip
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
    tell("measuring")
    runs.numbers = measure(runs)
    return runs


# ------------------------------------------------------------------------------------------------------- spin-up


def _spins(runs: Runs, quick: bool, tell: Tell) -> None:
    """Every speed by every order of coupling, by an independent model, and by the paper's recursion and integrator."""
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
    order: str,
    axis: tuple[float, float, float] = (0, 0, 1),
    tip: float = 0.0,
    formulation: FormulationName | None = None,
) -> Model:
    """The beam at one order of coupling, turning about `axis`, with a tip mass if wanted."""
    stiffening, usual = ORDERS[order]
    plane = "bending_z" if axis[1] else "bending_y"
    robot = load("spin-up").replace(
        {"links.arm.joint.axis": axis, "links.arm.shapes": Shapes(**{"boundary": "clamped-free", plane: MODES})}
    )
    robot = robot.replace({"links.arm.tip.mass": tip}) if tip else robot
    return robot.model(formulation or usual, stiffening=stiffening)


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
    """The same spin about y, a tip mass, and two beams that can stretch."""
    speed = 3.0
    runs.extra["spin about y"] = spin_up(spinning("high", (0, 1, 0)), speed, SPIN)
    runs.extra["spin with tip mass"] = spin_up(spinning("high", tip=0.2), speed, SPIN)
    if not quick:
        robot = load("spin-up").replace({"links.arm.shapes": Shapes(boundary="clamped-free", bending_y=2, axial=3)})
        runs.extra["stretching beam"] = spin_up(robot.model(stiffening=True), 8.0, 20.0)
        beam = Beam(length=10.0, mass_per_length=1.2, EI_y=1.4e4, EI_z=1.4e4, EA=2.8e7)
        link = Link(name="arm", beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=2, axial=3))
        literature = Robot(name="beam of Simo and Vu-Quoc", gravity=(0, 0, 0), links=[link])
        runs.extra["literature beam"] = spin_up(literature.model(stiffening=True), 6.0, 20.0)


# ----------------------------------------------------------------------------------------------------- Canadarm2


def arm(shapes: int) -> Robot:
    """Canadarm2 with some shapes of each kind in both booms."""
    chosen = Shapes(boundary="clamped-free", bending_y=shapes, bending_z=shapes, torsion=shapes, axial=shapes)
    return load("canadarm2").replace({f"links.{boom}.shapes": chosen for boom in BOOMS})


def canadarm(shapes: int) -> Model:
    """High-order model with joints, booms and rotors left as parameters: every sweep runs on one compiled model."""
    robot = arm(shapes)
    drives = [
        f"links.{link.name}.joint.drive.{what}" for link in robot.links for what in ("stiffness", "rotor_inertia")
    ]
    beams = [f"links.{boom}.beam.{what}" for boom in BOOMS for what in ("EI_y", "EI_z", "GJ", "EA")]
    return robot.model(stiffening=True, parameters=[*drives, *beams])


def rigid_joints(robot: Robot) -> Robot:
    """The same arm with stiff joints; the rotors turn with the links."""
    return robot.replace({f"links.{link.name}.joint.drive.stiffness": None for link in robot.links})


def _falls(runs: Runs, model: Model, tell: Tell) -> None:
    """Motors free: sweeps of rotor inertia and joint stiffness in both readings, rigid joints, no shortening."""
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
    runs.falls["rigid joints"] = _simulated(rigid_joints(robot).model(stiffening=True), FALL)
    tell("free fall, no shortening")
    runs.falls["no shortening"] = _simulated(robot.model(), FALL)


def _braked(runs: Runs, model: Model, tell: Tell) -> None:
    """Motors held where they start: joint stiffness, rigid joints, no shortening."""
    robot = arm(runs.settings["shapes per field"])
    held = {f"{link.name}.motor": _constant(angle) for link, angle in zip(robot.links, POSE)}
    tell("on the brakes, stiffness in MN m/rad")
    for stiffness in STIFFNESSES:
        p = parameters(model, stiffness=stiffness * READINGS["MN m"])
        runs.braked[f"stiffness {stiffness:.2f} MN m"] = _simulated(model, BRAKED, held, p)
    tell("on the brakes, rigid joints and no shortening")
    locked = {link.name: _constant(angle) for link, angle in zip(robot.links, POSE)}
    runs.braked["rigid joints"] = _simulated(rigid_joints(robot).model(stiffening=True), BRAKED, locked)
    runs.braked["no shortening"] = _simulated(robot.model(), BRAKED, held)


def _constant(value: float) -> Callable[[Any], Any]:
    return lambda t: value + 0 * t


def _simulated(model: Model, t_end: float, motion: Any = None, p: Any = None, step: float = 2.5e-3) -> Result:
    return simulate(model, t_end, start(model), motion=motion, p=p, rtol=1e-8, output_step=step, progress=False)


def fall(model: Model, t_end: float = FALL, step: float = 2.5e-3, **given: float) -> Result:
    """Drop the arm from rest with these `parameters`; `step` is that of the output."""
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


def start(model: Model) -> Array:
    """Bent arm at rest, springs unwound."""
    q = np.zeros(model.n)
    q[:5] = POSE
    for name, angle in zip(model.joints, POSE):
        if f"{name}.motor" in model.coordinates:
            q[model.index(f"{name}.motor")] = angle
    return q


def _recursive_fall(runs: Runs) -> None:
    """The fall by the paper's recursion and its Adams method."""
    own = arm(runs.settings["shapes per field"]).model("recursive-lagrange", stiffening=True)
    runs.recursion["fall"] = simulate(own, FALL, start(own), method="adams", rtol=1e-8, output_step=2.5e-3,
                                      progress=False)  # fmt: skip


def _rigid_limit(runs: Runs, model: Model) -> None:
    for factor in (30.0, 300.0):
        runs.extra[f"fall {factor:g} times stiffer"] = fall(model, stiffer=factor, t_end=0.25)
    robot = load("canadarm2").replace({f"links.{boom}.shapes": None for boom in BOOMS})
    runs.extra["rigid fall"] = _simulated(rigid_joints(robot).model(), 0.25)


def pendulum(stiffness: float | None, rotor: float = 0.5, inertia: float = 2.0, gravity: float = 0.0) -> Model:
    """A rigid link on one joint, elastic or not."""
    body = RigidBody(mass=1.0 if gravity else 0.0, com=(0.5, 0, 0), inertia=(inertia, inertia, inertia), tip=(1, 0, 0))
    joint = Joint(drive=Drive(stiffness=stiffness, rotor_inertia=rotor))
    return Robot(name="pendulum", gravity=(gravity, 0, 0), links=[Link(name="body", joint=joint, rigid=body)]).model()
