"""Energy: conserved for every conservative combination, and lost at the rate that dampers and friction take."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_robot, random_state
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.mechanics.formulations.generalized_forces import dissipation
from pliant.robot import Friction, Lump

CONSERVED = 1e-7  # of the peak kinetic energy, at rtol 1e-10: what the integrator leaves
NONLINEAR = [name for name in pliant.robot.FORMULATIONS if name != "dual-screw"]


def conservative(seed: int, links: int, **options: Any) -> Robot:
    robot = random_robot(seed, links, damping=False, **options)
    drives = [link.name for link in robot.links if link.joint.drive is not None]
    return robot.replace({f"links.{name}.joint.drive.damping": 0.0 for name in drives})


def pinned() -> Robot:
    beam = Beam(length=1.3, mass_per_length=2.0, EI_z=80.0)
    joint = Joint(hub=Lump(inertia=(0, 0, 0.1)))
    return Robot(
        name="pinned",
        gravity=(0, -9.81, 0),
        links=[
            Link(name="a", joint=joint, beam=beam, shapes=Shapes(boundary="pinned", bending_y=2)),
            Link(name="b", beam=beam, shapes=Shapes(boundary="clamped-mass", tip_load="auto", bending_y=2)),
        ],
        payload=Lump(mass=0.5),
    )


COMBINATIONS: dict[str, tuple[Robot, dict[str, Any]]] = {
    "rigid and flexible": (conservative(3, 2), {}),
    "flexible joints": (conservative(2, 2, drives=True), {}),
    "stiffening": (conservative(6, 2, bending_only=True), {"stiffening": "second-order"}),
    "flexible joints with stiffening": (
        conservative(8, 2, drives=True, bending_only=True),
        {"stiffening": "second-order"},
    ),
    "pinned and clamped-mass": (pinned(), {}),
}


def start(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Joints anywhere and moving, springs of drives nearly relaxed, small deflections."""
    q, qd, _ = random_state(model.robot, model.n, model.n_joints, seed, deflection=0.001)
    for shaft in model.chain.driven:
        q[shaft.actuated] += q[shaft.index]
        qd[shaft.actuated] += qd[shaft.index]
    return q, qd


def drift(robot: Robot, seconds: float = 0.4, **options: Any) -> tuple[float, float]:
    """Energy gained, and power residual per second of the run, over the peak kinetic energy."""
    model = robot.model(**options)
    q, qd = start(model, 1)
    run = pliant.simulate(model, seconds, q, qd, method="dop853", rtol=1e-10, atol=1e-12, limits=False)
    total = run.energy.total
    scale = run.energy.kinetic.max()
    return np.abs(total - total[0]).max() / scale, np.abs(run.power_residual).max() * seconds / scale


@pytest.mark.slow_cases("flexible joints with stiffening", "flexible joints", "pinned and clamped-mass", "stiffening")
@pytest.mark.parametrize("name", COMBINATIONS)
def test_energy_is_conserved(name: str) -> None:
    robot, options = COMBINATIONS[name]
    gained, residual = drift(robot, **options)
    assert gained < CONSERVED
    assert residual < 1e-9  # round-off: stiff amplitudes have accelerations of 1e5


@pytest.mark.full
@pytest.mark.parametrize("formulation", NONLINEAR)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_energy_is_conserved_by_every_formulation(name: str, formulation: str) -> None:
    robot, options = COMBINATIONS[name]
    assert drift(robot, **{"formulation": formulation, **options})[0] < CONSERVED


@pytest.mark.full
@pytest.mark.parametrize("stiffening", ["off", "second-order"])
@pytest.mark.parametrize("seed", range(12))
def test_energy_is_conserved_by_random_robots(seed: int, stiffening: bool) -> None:
    robot = conservative(seed, 1 + seed % 3, drives=seed % 2 == 0)
    assert drift(robot, seconds=0.2, stiffening=stiffening)[0] < CONSERVED


def damped(**shapes: Any) -> Robot:
    beam = Beam(length=1.3, mass_per_length=2.0, EI_y=60.0, EI_z=80.0, GJ=30.0, polar_inertia=0.02)
    joint = Joint(friction=Friction(viscous=0.4, coulomb=0.3, coulomb_speed=0.05))
    drive = pliant.robot.Drive(stiffness=300.0, rotor_inertia=0.05, damping=0.5)
    return Robot(
        name="damped",
        gravity=(0, -9.81, 0),
        links=[
            Link(name="a", joint=joint, beam=beam, shapes=Shapes(bending_y=2, bending_z=1, torsion=1, **shapes)),
            Link(name="b", joint=joint.model_copy(update={"drive": drive}), beam=beam, shapes=Shapes(bending_y=1)),
        ],
        payload=Lump(mass=0.5, inertia=(0.01, 0.01, 0.01)),
    )


DAMPERS = [{}, {"damping": 0.05}, {"rayleigh": (0.8, 2e-3)}, {"kelvin_voigt": 3e-3}]


@pytest.mark.slow_cases("off-shapes0", "off-shapes1", "off-shapes3")
@pytest.mark.parametrize("shapes", DAMPERS)
@pytest.mark.parametrize("stiffening", ["off", pytest.param("third-order", marks=pytest.mark.full)])
def test_energy_is_lost_at_the_rate_of_the_dampers(shapes: dict[str, Any], stiffening: bool) -> None:
    robot = damped(**shapes)
    model = robot.model(stiffening=stiffening)
    q, qd = start(model, 5)
    run = pliant.simulate(model, 0.5, q, qd, method="dop853", rtol=1e-10, atol=1e-12, output_step=1e-3)
    scale = run.energy.kinetic.max()
    assert np.abs(run.power_residual).max() < 1e-9 * scale
    assert np.abs(run.energy_balance).max() < CONSERVED * scale
    assert (np.diff(run.energy.total) < 0).all()
    Q, V = ca.SX.sym("q", model.n), ca.SX.sym("qd", model.n)
    rate = ca.Function("rate", [Q, V], [ca.dot(dissipation(model.chain, Q, V), V)])
    power = np.array([float(rate(a, b)) for a, b in zip(run.q, run.qd)])
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.t))])
    assert run.work == pytest.approx(-lost, abs=2e-3 * lost[-1])  # trapezoids on samples of 1 ms


def eigenvalues(shapes: Shapes) -> np.ndarray:
    """Of a built-in beam, by rising frequency, upper half plane."""
    beam = Beam(length=1.3, mass_per_length=2.0, EI_z=80.0)
    model = Robot(name="b", links=[Link(name="b", joint=Joint(type="fixed"), beam=beam, shapes=shapes)]).model()
    found = np.linalg.eigvals(model.linearize(np.zeros(model.n)).A)
    return np.asarray(sorted((x for x in found if x.imag > 0), key=abs))


@pytest.mark.slow_cases("method0", "method1")
@pytest.mark.parametrize("method", [{"bending_y": 3}, {"method": "elements", "count": 2, "bending_y": True}])
def test_damping_ratios(method: dict[str, Any]) -> None:
    """Every mode decays as its kind of damping says: zeta, alpha/2w + beta w/2, time w/2."""
    omega = np.abs(eigenvalues(Shapes(**method)))
    first, second = slice(0, 2), omega[:2]
    for given, ratio in (
        ({"damping": 0.03}, 0.03 + 0 * second),
        ({"rayleigh": (2.0, 1e-4)}, 1.0 / second + 0.5e-4 * second),
        ({"kelvin_voigt": 1e-4}, 0.5e-4 * second),
        ({"damping": 0.01, "rayleigh": (2.0, 0.0)}, 0.01 + 1.0 / second),
    ):
        found = eigenvalues(Shapes(**method, **given))[first]
        assert -found.real / np.abs(found) == pytest.approx(ratio, rel=1e-9)
        assert np.abs(found) == pytest.approx(second, rel=1e-9)


def test_friction_stops_a_disc() -> None:
    """Coulomb friction slows a disc evenly, viscous friction exponentially."""
    inertia = 0.4

    def disc(**friction: float) -> Any:
        body = pliant.RigidBody(mass=1.0, inertia=(1.0, 1.0, inertia))
        return Robot(
            name="disc", links=[Link(name="disc", joint=Joint(friction=Friction(**friction)), rigid=body)]
        ).model()

    run = pliant.simulate(disc(coulomb=0.2, coulomb_speed=1e-3), 1.0, qd0=[1.0], method="dop853")
    assert run.qd[:, 0] == pytest.approx(1.0 - 0.2 / inertia * run.t, abs=1e-7)
    run = pliant.simulate(disc(viscous=0.2), 1.0, qd0=[1.0], method="dop853")
    assert run.qd[:, 0] == pytest.approx(np.exp(-0.2 / inertia * run.t), abs=1e-7)
    run = pliant.simulate(disc(coulomb=0.2, coulomb_speed=1e-3), 3.0, qd0=[1.0], method="auto")
    assert abs(run.qd[-1, 0]) < 1e-6  # it has come to rest after 2 s, within the width of the smooth friction
