"""Motors behind springs: the two-inertia resonance, the limit of a stiff shaft, gear ratio and rotor inertia."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import Joint, Link, RigidBody, Robot
from pliant.robot import Drive

FULL = [name for name in pliant.robot.FORMULATIONS if "flexible joints" in pliant.robot.FORMULATIONS[name].supports]
J = 0.3 + 2.0 * 0.4**2  # of the link, about its joint


def arm(drive: Drive | None, gravity: float = 0.0) -> Robot:
    body = RigidBody(mass=2.0, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3), tip=(0.8, 0, 0))
    return Robot(name="arm", gravity=(0, -gravity, 0), links=[Link(name="link", joint=Joint(drive=drive), rigid=body)])


@pytest.mark.parametrize("formulation", FULL)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_two_inertia_resonance(formulation: str, kind: str) -> None:
    k, rotor, gear = 500.0, 2e-4, 50.0
    robot = arm(Drive(stiffness=k, rotor_inertia=rotor, gear_ratio=gear)).replace({"links.link.joint.type": kind})
    driven = J if kind == "revolute" else 2.0
    expected = np.sqrt(k * (1 / driven + 1 / (rotor * gear**2))) / (2 * np.pi)
    model = robot.model(formulation=formulation)
    still, found = model.frequencies(joints="free")
    assert found == pytest.approx(expected, rel=1e-6)
    assert still == 0.0
    rates = np.linalg.eigvals(model.linearize(np.zeros(2)).A)
    assert np.abs(rates.imag).max() / (2 * np.pi) == pytest.approx(expected, rel=1e-6)


def test_resonance_in_a_run() -> None:
    """Spring wound up and let go: the twist swings at the two-inertia frequency."""
    model = arm(Drive(stiffness=500.0, rotor_inertia=0.5)).model()
    omega = np.sqrt(500.0 * (1 / J + 1 / 0.5))
    run = pliant.simulate(model, 1.0, q0=[0.0, 0.01], method="dop853", rtol=1e-10)
    assert np.abs(run.q[:, 1] - run.q[:, 0] - 0.01 * np.cos(omega * run.t)).max() < 1e-8  # tolerance of the run


def test_stiff_shaft_tends_to_the_rigid_joint() -> None:
    class Push:
        def expression(self, t: ca.SX, q: ca.SX, qd: ca.SX) -> ca.SX:
            return 3 * (1 - ca.cos(6 * t))

    def end(drive: Drive) -> float:
        run = pliant.simulate(arm(drive, 9.81).model(), 1.0, torque=Push(), method="dop853", rtol=1e-11, atol=1e-13)
        return float(run.q[-1, 0])

    rigid = end(Drive(rotor_inertia=0.2))
    errors = [abs(end(Drive(stiffness=k, rotor_inertia=0.2, damping=k / 100)) - rigid) for k in (1e3, 1e4, 1e5)]
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize("stiffness", [None, 300.0])
def test_rotor_counts_with_the_square_of_the_gear(stiffness: float | None) -> None:
    geared = arm(Drive(stiffness=stiffness, rotor_inertia=3e-4, gear_ratio=40.0)).model()
    direct = arm(Drive(stiffness=stiffness, rotor_inertia=3e-4 * 40.0**2)).model()
    q = np.full(geared.n, 0.1) * np.arange(geared.n)
    ask = q, q + 1.0, [2.0]
    assert np.abs(geared.forward_dynamics(*ask) - direct.forward_dynamics(*ask)).max() < 1e-12
    place = 0 if stiffness is None else 1
    bare = 0.0 if stiffness is not None else J
    assert geared.mass_matrix(q)[place, place] == pytest.approx(bare + 3e-4 * 40.0**2, rel=1e-13)


def test_torque_acts_on_the_motor_and_equilibrium_places_it() -> None:
    model = arm(Drive(stiffness=200.0, rotor_inertia=0.1), 9.81).model()
    q = model.equilibrium([0.3])
    weight = 2.0 * 9.81 * 0.4 * np.cos(0.3)
    assert model.holding_torque(q) == pytest.approx([weight], rel=1e-12)
    assert q[1] - q[0] == pytest.approx(weight / 200.0, rel=1e-12)
    assert np.abs(model.forward_dynamics(q, np.zeros(2), [weight])).max() < 1e-11
