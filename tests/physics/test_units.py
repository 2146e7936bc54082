"""An arm is the same in metres, millimetres and kilometres: accepted or refused alike, with the same frequencies.

And slow motions are found beside fast ones, however far their stiffnesses or masses lie apart.
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import MECHANISMS
from combinations.restatements import Restated, in_units
from pliant import ModelError, Robot
from pliant.mechanics.actuation import hydraulic_cylinder
from pliant.mechanics.actuation.hydraulic_cylinder import CAVITATES
from pliant.model.coordinate_units import commands, coordinate_units, speed_units
from pliant.robot import load
from units import in_unit

BUNDLED = [
    name for name in pliant.robot.arms() if name not in ("box-arm", *MECHANISMS)
]  # a file of a body is in SI units


def turning(model) -> list[int]:
    """Places of the joints that turn."""
    return [shaft.index for shaft in model.chain.shafts if shaft.turns]


def scales(model, metre: float) -> np.ndarray:
    """What the number of a coordinate is multiplied by in the other unit: lengths are, angles and slopes are not."""
    out = np.ones(model.n)
    for link in model.chain.links:
        for shaft in link.shafts:
            out[shaft.index] = out[shaft.actuated] = 1.0 if shaft.turns else metre
        names = [model.coordinates[index] for index in link.body_indices]
        powers = [0] * (len(names) - len(link.body.shapes.powers)) + list(link.body.shapes.powers) if names else []
        for index, name, power in zip(link.body_indices, names, powers):
            out[index] = 1.0 if ".torsion." in name else metre ** (1 - power)
    return out


@pytest.mark.slow_cases("lab-arm-1000.0")
@pytest.mark.parametrize("metre", [1e3, pytest.param(1e-3, marks=pytest.mark.full)])  # in millimetres, in kilometres
@pytest.mark.parametrize(
    "arm",
    [arm if arm in ("two-link", "lab-arm", "puma") else pytest.param(arm, marks=pytest.mark.full) for arm in BUNDLED],
)
def test_bundled_arms_in_other_units(arm, metre):
    model = load(arm).model(stiffening="off")
    q = model.chain.rest() + np.where(np.isin(np.arange(model.n), turning(model)), 0.4, 0.0)
    other, scale = in_unit(load(arm), metre).model(stiffening="off"), scales(model, metre)
    for joints in ("locked", "free"):
        np.testing.assert_allclose(
            other.modes(q * scale, joints).frequencies, model.modes(q, joints).frequencies, rtol=1e-9
        )
    ours, theirs = (m.equilibrium(x[: m.n_joints]) for m, x in ((model, q), (other, q * scale)))
    np.testing.assert_allclose(theirs / scale, ours, rtol=1e-9, atol=1e-12 * np.abs(ours).max())


def arm(**changes) -> Robot:
    """Two beams that are unlike in everything, under gravity, with a payload and an elastic drive."""
    beam = {"mass_per_length": 0.7, "EI_y": 90.0, "EI_z": 130.0, "GJ": 60.0, "polar_inertia": 3e-4}
    robot = Robot(
        name="unlike",
        gravity=(0.3, -9.0, -1.0),
        links=[
            {
                "name": "inner",
                "joint": {"hub": {"inertia": (0.1, 0.2, 0.3)}, "axis": (0, 1, 0),
                          "drive": {"stiffness": 900.0, "rotor_inertia": 2e-4, "gear_ratio": 50}},
                "beam": {**beam, "length": 1.3},
                "shapes": {"bending_y": 2, "bending_z": 1, "torsion": 1},
            },
            {
                "name": "outer",
                "joint": {"hub": {"mass": 0.4}},
                "beam": {**beam, "length": 0.8},
                "shapes": {"method": "elements", "count": 2, "bending_y": True, "bending_z": True},
            },
        ],
        payload={"mass": 0.9, "inertia": (0.01, 0.02, 0.03), "com": (0.05, 0.02, 0.0)},
    )  # fmt: skip
    return robot.replace(changes) if changes else robot


@pytest.mark.slow_cases("1000.0", "1000000.0")
@pytest.mark.parametrize("metre", [pytest.param(1e-3, marks=pytest.mark.full), 1e3, 1e6])
def test_elements_springs_and_torsion_in_other_units(metre):
    model, other = arm().model(stiffening="off"), in_unit(arm(), metre).model(stiffening="off")
    scale = scales(model, metre)
    q = model.equilibrium([0.4, -0.7])
    np.testing.assert_allclose(other.equilibrium([0.4, -0.7]) / scale, q, rtol=1e-9, atol=1e-14)
    for joints in ("locked", "free"):
        np.testing.assert_allclose(
            other.modes(q * scale, joints).frequencies, model.modes(q, joints).frequencies, rtol=1e-9
        )
    rate, force = 0.1 * np.cos(np.arange(model.n)), np.sin(1.0 + np.arange(model.n_joints))
    ours = model.forward_dynamics(q, rate, force)
    theirs = other.forward_dynamics(q * scale, rate * scale, force * metre**2 / scale[: model.n_joints])
    np.testing.assert_allclose(theirs / scale, ours, rtol=0, atol=1e-11 * np.abs(ours).max())


@pytest.mark.parametrize("metre", [1e-3, 1.0, 1e3])
def test_what_is_refused_is_refused_in_every_unit(metre):
    """A beam that turns about its own axis, without inertia about it."""
    beam = {"length": 1.3, "mass_per_length": 0.7, "EI_y": 90.0, "EI_z": 130.0}
    links = [
        {"name": "inner", "beam": beam, "shapes": {"bending_y": 2, "bending_z": 1}},
        {"name": "roll", "joint": {"axis": (1, 0, 0)}, "beam": {**beam, "length": 0.6}},
    ]
    with pytest.raises(ModelError, match=r"^roll: the inertia matrix is singular, 0e\+00 of this"):
        in_unit(Robot(name="roll", links=links), metre).model(stiffening="off")


def test_small_arms_are_accepted():
    """An arm a thousandth, a millionth the size, of the same material: frequencies rise as the size falls."""

    def rod(size: float) -> Robot:
        section = {"shape": "tube", "outer_diameter": 0.05 * size, "inner_diameter": 0.04 * size}
        joint = {"hub": {"mass": 0.1 * size**3, "inertia": (1e-4 * size**5, 2e-4 * size**5, 3e-4 * size**5)}}
        beam = {"length": size, "material": "steel", "section": section}
        link = {"name": "rod", "joint": joint, "beam": beam, "shapes": {"bending_y": 2, "bending_z": 2}}
        return Robot(name="rod", links=[link], payload={"mass": 0.5 * size**3}, gravity=(0, 0, 0))

    frequencies = rod(1.0).model(stiffening="off").frequencies()
    for size in (1e-3, 1e-6):
        np.testing.assert_allclose(rod(size).model(stiffening="off").frequencies() * size, frequencies, rtol=1e-9)


@pytest.mark.parametrize("ratio", [1e10, 1e16, 1e24])
def test_a_soft_plane_beside_a_stiff_one(ratio):
    """The two planes of one beam do not meet: each has the frequency of a clamped beam, whatever the other's."""
    beam = {"length": 1.3, "mass_per_length": 0.7, "EI_y": 2.0, "EI_z": 2.0 * ratio}
    shapes = {"bending_y": 1, "bending_z": 1}
    robot = Robot(name="blade", gravity=(0, 0, 0), links=[{"name": "blade", "beam": beam, "shapes": shapes}])
    found = robot.model(stiffening="off").modes(np.zeros(3), "locked").omega ** 2
    beta = 1.8751040687119611
    soft = beta**4 * 2.0 / (0.7 * 1.3**4)
    np.testing.assert_allclose(found, [soft, soft * ratio], rtol=1e-12)


@pytest.mark.parametrize("ratio", [1e-10, 1e-13, 1e-20])
def test_a_light_body_beside_a_heavy_one(ratio):
    """Two rotors on springs of their own: a motor of `ratio` times the arm's inertia."""
    drive = {"stiffness": 40.0, "rotor_inertia": 0.3 * ratio, "gear_ratio": 1.0}
    wheel = {"name": "wheel", "joint": {"drive": drive}, "rigid": {"mass": 2.0, "inertia": (0.1, 0.2, 0.3)}}
    beam = {"length": 1.3, "mass_per_length": 0.7, "EI_y": 2.0, "EI_z": 3.0}
    post = {"name": "post", "joint": {"type": "fixed"}, "beam": beam, "shapes": {"bending_z": 1}}
    model = Robot(name="wheel", gravity=(0, 0, 0), links=[wheel, post]).model(stiffening="off")
    found = model.modes(np.zeros(3), "free").omega ** 2
    whole = 0.3 + 0.7 * 1.3**3 / 3  # about the axis of the drive, across which the post bends
    across = 1.8751040687119611**4 * 2.0 / (0.7 * 1.3**4)
    assert found[0] == 0.0  # the wheel with its motor
    assert found[1] == pytest.approx(across, rel=1e-12)
    assert found[2] == pytest.approx(40.0 / (0.3 * ratio) + 40.0 / whole, rel=1e-12)


# ----------------------------------------------------------------------------------------- every field that there is


def everything() -> Robot:
    """Contact, coupling, motor, gear, friction and beam: all in one arm."""
    beam = {"length": 0.8, "mass_per_length": 0.7, "EI_y": 90.0, "EI_z": 130.0}
    turning = {
        "axis": (0, 1, 0), "motor": {"command": "current", "torque_constant": 0.05, "efficiency": 0.8},
        "drive": {"stiffness": 900.0, "rotor_inertia": 2e-4, "gear_ratio": 50, "damping": 0.4, "hardening": 50.0},
        "friction": {"viscous": 0.3, "coulomb": 0.4, "stiction": 0.6, "law": "lugre", "stiffness": 500.0},
    }  # fmt: skip
    sliding = {"type": "prismatic", "axis": (0, 0, 1), "friction": {"viscous": 3.0, "coulomb": 1.0}}
    body = {"mass": 2.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.2, 0.3), "tip": (0.2, 0, 0)}
    links = [
        {"name": "rail", "joint": sliding, "rigid": body},
        {"name": "upper", "joint": turning, "beam": beam, "shapes": {"bending_y": 1, "bending_z": 1}},
    ]
    spring = {"name": "spring", "between": ("base", "tip"), "damping": 3.0,
              "spring": {"stiffness": 200.0, "length": 0.5, "preload": 2.0}}  # fmt: skip
    touch = {"name": "ground", "radius": 0.05, "stiffness": 5e4, "damping": 0.5, "friction": 0.3,
             "surface": {"frame": "floor"}}  # fmt: skip
    floor = {"name": "floor", "link": "base", "origin": {"xyz": (0, 0, -0.06)}}
    return Robot.from_dict({"name": "everything", "links": links, "couplings": [spring], "contacts": [touch],
                            "frames": [floor]})  # fmt: skip


def written_out(robot: Robot, metre: float) -> tuple[Robot, Restated]:
    """In the other unit, by the units in the descriptions of its fields."""
    other = Restated(None, units=(metre, 1.0, 1.0))  # type: ignore[arg-type]
    return Robot.from_dict(in_units(robot, other).to_dict()), other


@pytest.mark.full
@pytest.mark.parametrize("metre", [1e3, 1e-3])  # in millimetres, in kilometres
@pytest.mark.parametrize(
    "name", ["everything", "box-arm", "five-bar", "hydraulic-crane", "parallelogram", "slider-crank"]
)
def test_runs_in_other_units(name, metre, monkeypatch):
    """Contacts, couplings, loops, cylinders, bodies, motors and friction: the same motion under the same commands. The
    pressure at which oil lets air go is a number of nature, which has to be stated in the other unit too."""
    robot = everything() if name == "everything" else load(name)
    model = robot.model(stiffening="off")
    text, other = written_out(robot, metre)
    theirs = text.model(stiffening="off")
    push = np.sin(1.0 + np.arange(model.layout.n_inputs))
    more = push * [other.factor(unit.replace(".", " ")) for _, unit in commands(model)]
    runs = []
    for m, x, pressure in ((model, push, 1.0), (theirs, more, other.factor("Pa"))):
        monkeypatch.setattr(hydraulic_cylinder, "CAVITATES", CAVITATES * pressure)
        runs.append(pliant.simulate(m, 0.01, torque=x, method="rk4", step=2e-5, output_step=0.005, progress=False))
    for found, units in (("q", coordinate_units(model)), ("qd", speed_units(model))):
        ours, others = (getattr(run, found) for run in runs)
        ours = ours * [other.factor(unit) for unit in units]
        for k, unit in enumerate(units):
            alike = [j for j, one in enumerate(units) if one == unit]
            least = 1e-7 * (other.factor(unit) + np.abs(ours[:, alike]).max())  # oil and springs magnify rounding
            np.testing.assert_allclose(others[:, k], ours[:, k], rtol=1e-7, atol=least)
    np.testing.assert_allclose(theirs.frequencies(runs[1].q[0]), model.frequencies(runs[0].q[0]), rtol=1e-8)
