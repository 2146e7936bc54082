"""Wrenches, distributed loads: statics by hand, virtual work, buckling, and input that makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from arms import random_robot, random_state, unequal_arm
from beams import EI_Y, EI_Z, ELEMENTS, GJ, LENGTH, cantilever, modes
from pliant import Model, Robot, Shapes
from pliant.loads import Distributed, Wrench
from pliant.mechanics import build_chain
from pliant.mechanics.links.kinematics import placements
from pliant.model.equilibrium.force_functions import applied

F = 1.0
CASES = [(modes(3), 2e-3), (modes(4), 1e-3), (ELEMENTS, 1e-9)]  # series of modes end; elements are exact in statics


@pytest.mark.parametrize(("shapes", "tolerance"), CASES)
@pytest.mark.parametrize(("axis", "stiffness"), [(1, EI_Z), (2, EI_Y)])
def test_tip_force_bends_a_cantilever(shapes: Shapes, tolerance: float, axis: int, stiffness: float) -> None:
    model = cantilever(shapes).model(stiffening="off")
    force = [0.0, 0.0, 0.0]
    force[axis] = F
    load = Wrench(force=force)
    q = model.equilibrium([0.0], [load])
    assert model.tip_pose(q)[axis, 3] == pytest.approx(F * LENGTH**3 / (3 * stiffness), rel=tolerance)
    assert model.holding_torque(q, [load]) == pytest.approx([-F * LENGTH if axis == 1 else 0.0], abs=1e-12)


@pytest.mark.slow_cases("shapes1-1e-09")
@pytest.mark.parametrize(("shapes", "tolerance"), [CASES[0], CASES[2]])
def test_distributed_load_and_its_halves(shapes: Shapes, tolerance: float) -> None:
    model = cantilever(shapes).model(stiffening="off")
    whole = [Distributed(force=(0, F, 0))]
    halves = [Distributed(force=(0, F, 0), end=LENGTH / 2), Distributed(force=(0, F, 0), start="middle")]
    q = model.equilibrium([0.0], whole)
    assert model.tip_pose(q)[1, 3] == pytest.approx(F * LENGTH**4 / (8 * EI_Z), rel=tolerance)
    assert np.abs(model.equilibrium([0.0], halves) - q).max() < 1e-12 * np.abs(q).max()
    ramp = Distributed(force=(0, F, 0), profile=lambda x: x / LENGTH)
    assert model.holding_torque(0 * q, [ramp]) == pytest.approx([-F * LENGTH**2 / 3], rel=1e-12)


def test_moment_and_torque_at_the_tip() -> None:
    model = cantilever(ELEMENTS).model(stiffening="off")
    bent = model.equilibrium([0.0], [Wrench(moment=(0, 0, 0.2), axes="link")])
    assert model.tip_pose(bent)[1, 3] == pytest.approx(0.2 * LENGTH**2 / (2 * EI_Z), rel=1e-9)
    twisted = model.equilibrium([0.0], [Wrench(moment=(0.3, 0, 0), axes="link")])
    assert twisted[model.index("arm.torsion.3")] == pytest.approx(0.3 * LENGTH / GJ, rel=1e-9)


@pytest.mark.slow_cases("1-second-order", "5-second-order")
@pytest.mark.parametrize(("seed", "stiffening"), [(0, "off"), (1, "second-order"), (2, "off"), (5, "second-order")])
def test_generalised_forces_are_virtual_work(seed: int, stiffening: bool) -> None:
    """A dead force has the potential -F . p; a wrench at the tip works through the Jacobian of the tip."""
    robot = random_robot(seed, 3)
    chain = build_chain(robot, stiffening=stiffening)
    state, _, _ = random_state(robot, chain.n, chain.n_joints, seed)
    q, qd, t = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n), ca.SX.sym("t")
    f, m = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])
    place = list(placements(chain, q))[1]
    r, _ = place.link.body.point(chain.body(place.link, q), 0.5)
    potential = -ca.dot(ca.DM(f), place.p + place.R @ r)
    middle = Wrench(force=tuple(f), link=1, x="middle").expression(chain, t, q, qd)
    tip = Wrench(force=tuple(f), moment=tuple(m)).expression(chain, t, q, qd)
    check = ca.Function("check", [q], [middle + ca.gradient(potential, q), tip])
    difference, at_tip = (np.array(x).ravel() for x in check(state))
    assert np.abs(difference).max() < 1e-12
    J = robot.model(stiffening=stiffening).jacobian(state)
    assert np.abs(J.T @ np.concatenate([m, f]) - at_tip).max() < 1e-12


def section_motion(model: Model, link: int, eta: float) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Place and attitude of a section in base axes: shapes by hand, rotations by SciPy."""
    robot, shapes = model.robot, model.link_shapes[link]
    assert shapes is not None
    L = robot.links[link].beam.length
    value, slope = (shapes.evaluate([eta], order)[0] for order in (0, 1))
    amplitudes = list(model.chain.links[link].body_indices)
    q = ca.SX.sym("q", model.n)
    place = list(placements(model.chain, q))[link]
    frame = ca.Function("frame", [q], [ca.densify(place.R), ca.densify(place.p)])

    def at(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R, p = (np.array(x) for x in frame(state))
        r, theta = np.array([eta * L, 0.0, 0.0]), np.zeros(3)
        for j, (field, c) in enumerate(zip(shapes.fields, state[amplitudes])):
            assert shapes.powers[j] == 0
            if field == "torsion":
                theta[0] += value[j] * c
            else:
                along, about, sign = (1, 2, 1.0) if field == "bending_y" else (2, 1, -1.0)
                r[along] += value[j] * c
                theta[about] += sign * slope[j] / L * c
        return R @ Rotation.from_rotvec(theta).as_matrix(), p.ravel() + R @ r

    return at


def work(model: Model, q: np.ndarray, link: int, eta: float, load: Any, axes: str) -> np.ndarray:
    """Generalized forces of a wrench (force, moment) on a section, by differences of its place and attitude."""
    at, h = section_motion(model, link, eta), 1e-6
    R_link, R = section_motion(model, link, 0.0)(q)[0], at(q)[0]
    force, moment = ({"base": np.eye(3), "link": R_link, "section": R}[axes] @ part for part in load)
    out = np.zeros(model.n)
    for k, step in enumerate(h * np.eye(model.n)):
        (R1, p1), (R0, p0) = at(q + step), at(q - step)
        turn = Rotation.from_matrix(R1 @ R0.T).as_rotvec()
        out[k] = (force @ (p1 - p0) + moment @ turn) / (2 * h)
    return out


FORCE, MOMENT = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7, -0.4])


@pytest.mark.parametrize("axes", ["base", "link", "section"])
def test_wrench_inside_a_link_is_virtual_work(axes: str) -> None:
    """Force and moment at a third of a beam that is bent in both planes and twisted, by differences."""
    model = unequal_arm().model(stiffening="off")
    q = np.linspace(0.25, 0.4, model.n)  # sections turn by some 0.5 rad: rotations do not commute
    load = Wrench(force=tuple(FORCE), moment=tuple(MOMENT), link="boom", x=1.3 / 3, axes=axes)
    found = applied(model, [load], None)(q)[0]
    expected = work(model, q, 0, 1 / 3, (FORCE, MOMENT), axes)
    assert found == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())  # differences of second order


@pytest.mark.slow_cases("section")
@pytest.mark.parametrize("axes", ["link", "section"])
def test_distributed_load_is_virtual_work(axes: str) -> None:
    """Force and moment per length between two stations, under a profile, against a rule of our own."""
    model = unequal_arm().model(stiffening="off")
    q = np.linspace(0.1, 0.2, model.n)
    start, end, L = 0.2, 1.1, 1.3
    load = Distributed(
        force=tuple(FORCE), moment=tuple(MOMENT), link=0, start=start, end=end, axes=axes, profile=lambda x: 1 + x**2
    )
    found = applied(model, [load], None)(q)[0]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x, dx = (start + end) / 2 + (end - start) / 2 * nodes, (end - start) / 2 * weights
    parts = [w * (1 + s**2) * work(model, q, 0, s / L, (FORCE, MOMENT), axes) for s, w in zip(x, dx)]
    expected = np.sum(parts, axis=0)
    assert found == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())


def test_axes_of_a_load() -> None:
    model = cantilever(modes(2)).model(stiffening="off")
    state = np.concatenate([[0.7], [0.05, 0.0, 0.0, 0.0]])

    def forces(load: Wrench) -> np.ndarray:
        return model.bias(state, 0 * state) - applied(model, [load], None)(state)[0]

    turn, slope = 0.7, np.arcsin(model.tip_pose([0.0, *state[1:]])[1, 0])
    for axes, angle in (("base", 0.0), ("link", turn), ("section", turn + slope)):
        dead = (np.cos(angle), np.sin(angle), 0.0)
        assert np.abs(forces(Wrench(force=(1, 0, 0), axes=axes)) - forces(Wrench(force=dead))).max() < 1e-13


@pytest.mark.slow_cases("denoc", "gibbs-appell", "lagrange")
@pytest.mark.parametrize("formulation", [name for name in pliant.robot.FORMULATIONS if name != "dual-screw"])
def test_power_of_loads_is_the_energy_gained(formulation: str) -> None:
    model = cantilever(modes(2), gravity=(0, -9.81, 0)).model(formulation=formulation)
    loads = [
        Wrench(force=lambda t, q, qd: (ca.sin(3 * t), -qd[0], q[1]), moment=(0, 0.1, 0.2), x=1.3, axes="section"),
        Distributed(force=lambda t: (0, ca.cos(t), 1), axes="link"),
    ]
    run = pliant.simulate(model, 0.5, loads=loads, method="dop853", rtol=1e-10, output_step=0.05)
    scale = run.energy.kinetic.max()
    assert np.abs(run.power_residual).max() < 1e-11 * scale  # round-off of energies and accelerations
    assert np.abs(run.energy_balance).max() < 1e-7 * scale


@pytest.mark.slow_cases("2-0.01", "3-0.004")
@pytest.mark.parametrize(("count", "tolerance"), [(2, 1e-2), (3, 4e-3)])
def test_euler_load(count: int, tolerance: float) -> None:
    beam = cantilever(Shapes(bending_z=count))
    model = beam.model(stiffening="second-order")
    euler = np.pi**2 * EI_Y / (4 * LENGTH**2)

    def lowest(force: float) -> float:
        return float(model.frequencies(loads=[Wrench(force=(-force, 0, 0))])[0])

    free = lowest(0.0)
    squares = [np.sign(lowest(x * euler)) * lowest(x * euler) ** 2 for x in (0.97, 1.03)]
    critical = euler * (0.97 + 0.06 * squares[0] / (squares[0] - squares[1]))
    assert critical == pytest.approx(euler, rel=tolerance)  # Ritz: above by what the series of modes misses
    assert critical > euler
    assert lowest(-0.5 * euler) > free > lowest(0.5 * euler) > 0 > lowest(1.1 * euler)
    plain = beam.model(stiffening="off")
    assert plain.frequencies(loads=[Wrench(force=(-euler, 0, 0))])[0] == pytest.approx(free, rel=1e-12)


@cache
def crane() -> tuple[Robot, Model, Model]:
    """The arm of [CE21], its model, and one without gravity."""
    robot = pliant.load("crane-4dof")
    return robot, robot.model(stiffening="off"), robot.replace({"gravity": (0, 0, 0)}).model(stiffening="off")


@pytest.mark.parametrize(
    ("pose", "inner", "outer"),
    [
        ((np.pi / 6, 2 * np.pi / 3, np.pi / 6), 10.1e-3, 1.83e-3),
        pytest.param((np.pi / 3,) * 3, 17.4e-3, 3.17e-3, marks=pytest.mark.full),
    ],
)
def test_droop_of_the_crane(pose: tuple[float, ...], inner: float, outer: float) -> None:
    """Audited tip deflections of [CE21]; with gravity of the robot, and with the same weight given as loads."""
    robot, model, loaded = crane()
    joints, g = [0.0, *pose], 9.81
    q = model.equilibrium(joints)
    for name, droop in (("inner", inner), ("outer", outer)):
        link = next(link for link in model.chain.links if link.name == name)
        c = q[list(link.body_indices)]
        fields = model.link_shapes[robot.index(name)]
        tip = np.where([f == "bending_y" for f in fields.fields], fields.evaluate(1.0)[0], 0.0) @ c
        assert abs(tip) == pytest.approx(droop, rel=0.03)  # audited to three digits, with one beam's own statics
    mu = 7850 * np.pi / 4 * (0.05**2 - 0.04**2)
    weight = [Distributed(force=(0, 0, -mu * g), link=name) for name in ("inner", "outer")]
    weight.append(Wrench(force=(0, 0, -3.56 * g), link="tool", x=0.124))
    assert np.abs(loaded.equilibrium(joints, weight) - q).max() < 1e-10
    assert loaded.holding_torque(q, weight) == pytest.approx(model.holding_torque(q), abs=1e-9)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (Wrench(link="elbow"), ("elbow", "arm")),
        (Wrench(link=3), ("3", "arm")),
        (Wrench(x=2.5), ("2.5", "between 0 and 2")),
        (Wrench(x=-0.1), ("-0.1",)),
        (Wrench(force=(1, 2)), ("force", "three")),
        (Wrench(force=(1, 2, np.nan)), ("force", "finite")),
        (Wrench(moment=lambda t: ca.sin(t)), ("moment", "three")),
        (Wrench(force=lambda t, q, qd: (q[99], 0, 0)), ("force", "(t, q, qd)")),
        (Distributed(force=(0, 1, 0), start=1.5, end=0.5), ("start", "end")),
        (Distributed(profile=lambda x: 1.0), ("profile",)),
    ],
)
def test_bad_loads(load: object, words: tuple[str, ...]) -> None:
    model = cantilever(modes(1)).model(stiffening="off")
    for ask in (lambda: pliant.simulate(model, 0.1, loads=[load]), lambda: model.equilibrium([0.0], [load])):
        with pytest.raises(pliant.ModelError) as caught:
            ask()
        assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(("option", "given"), [("x", "root"), ("axes", "world")])
def test_names_of_places_are_refused_at_once(option: str, given: str) -> None:
    with pytest.raises(pliant.ModelError, match=f"{option}: got '{given}', expected .*(tip|section)"):
        Wrench(**{option: given})


def test_what_is_not_a_load() -> None:
    model = cantilever(modes(1)).model(stiffening="off")
    with pytest.raises(pliant.ModelError, match="Wrench"):
        pliant.simulate(model, 0.1, loads=[(0, 0, 1)])
    with pytest.raises(pliant.ModelError, match="Base"):
        pliant.simulate(model, 0.1, base=(0, 0, 1))
    with pytest.raises(pliant.ModelError, match="follows"):
        model.modes([0, 0.1, 0], loads=[Wrench(force=(1, 1, 0), axes="section")])


def test_stations_and_lengths_that_vary() -> None:
    model = cantilever(modes(1)).model(parameters=["links.arm.beam.length"])
    assert model.equilibrium([0.0], [Wrench(force=(0, 1, 0))])[1] > 0
    with pytest.raises(pliant.ModelError, match="tip"):
        model.equilibrium([0.0], [Wrench(force=(0, 1, 0), x=1.0)])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: pliant.robot.Drive(stiffness=-1.0, rotor_inertia=1.0), ("stiffness", "above 0")),
        (lambda: pliant.Joint(type="fixed", drive=pliant.robot.Drive(rotor_inertia=1.0)), ("fixed", "drive")),
        (lambda: pliant.Beam(length=1.0, mass_per_length=1.0, EI_y=-2.0), ("EI_y", "above 0")),
        (lambda: Shapes(bending_y=1, rayleigh=(0.1, -0.1)), ("rayleigh", "0 or more")),
        (lambda: Shapes(bending_y=1, kelvin_voigt=-1.0), ("kelvin_voigt", "0 or more")),
    ],
)
def test_bad_drives_and_stiffness(build: object, words: tuple[str, ...]) -> None:
    with pytest.raises(pliant.ModelError) as caught:
        build()  # type: ignore[operator]
    assert all(word in str(caught.value) for word in words)
