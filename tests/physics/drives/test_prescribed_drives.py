"""Prescribed motion of elastic drives: what prescribes a coordinate acts on that coordinate. A joint moves the link and
drags its motor behind the spring; a motor drags the joint. Torque, power and energy are those of that force."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm
from pliant import Joint, Link, RigidBody, Robot
from pliant.loads import Wrench
from pliant.robot import Drive

K, ROTOR, DAMPING = 500.0, 0.4, 0.0
MASS, COM, OWN = 2.0, 0.4, 0.3
J = OWN + MASS * COM**2
G = 9.81
AMPLITUDE, OMEGA = 0.6, 7.0


def arm(damping: float = DAMPING) -> pliant.Model:
    body = RigidBody(mass=MASS, com=(COM, 0, 0), inertia=(0.1, 0.2, OWN), tip=(0.8, 0, 0))
    drive = Drive(stiffness=K, rotor_inertia=ROTOR / 25, gear_ratio=5.0, damping=damping)
    return Robot(name="arm", gravity=(0, -G, 0), links=[Link(name="link", joint=Joint(drive=drive), rigid=body)]).model(
        stiffening="off"
    )


def swing(t: Any) -> Any:
    return AMPLITUDE * (1 - ca.cos(OMEGA * t))


def swung(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    w = OMEGA * t
    return AMPLITUDE * (1 - np.cos(w)), AMPLITUDE * OMEGA * np.sin(w), AMPLITUDE * OMEGA**2 * np.cos(w)


def weight(q: np.ndarray) -> np.ndarray:
    return np.asarray(MASS * G * COM * np.cos(q))


def test_a_prescribed_joint_drags_its_motor() -> None:
    """Closed form of a rotor that hangs on a spring whose other end swings."""
    run = pliant.simulate(arm(), 2.0, motion={"link": swing}, rtol=1e-11, atol=1e-13)
    q, _, qdd = swung(run.t)
    own = np.sqrt(K / ROTOR)
    # ROTOR m'' + K m = K A (1 - cos w t), m(0) = m'(0) = 0
    part = K * AMPLITUDE / (K - ROTOR * OMEGA**2)
    motor = AMPLITUDE * (1 - np.cos(own * run.t)) - part * (np.cos(OMEGA * run.t) - np.cos(own * run.t))
    assert np.abs(run["link.motor"] - motor).max() < 1e-8
    needed = J * qdd + weight(q) + K * (q - motor)
    assert np.abs(run.tau[:, 0] - needed).max() < 1e-5
    assert np.abs(run.tau[:, 0]).max() > 25.0
    assert np.abs(run.energy_balance).max() < 1e-7
    assert np.abs(run.power_residual).max() < 1e-9


def test_a_prescribed_motor_drags_its_joint() -> None:
    run = pliant.simulate(arm(), 2.0, motion={"link.motor": swing}, rtol=1e-11, atol=1e-13)
    motor, _, acceleration = swung(run.t)
    assert np.abs(run["link.motor"] - motor).max() < 1e-12
    needed = ROTOR * acceleration + K * (motor - run["link"])
    assert np.abs(run.tau[:, 0] - needed).max() < 1e-6
    assert np.abs(run.energy_balance).max() < 1e-7


def test_joint_and_motor_prescribed_together_need_the_sum() -> None:
    """The drive is not twisted: the torque is that of the whole inertia, as with a stiff drive."""
    run = pliant.simulate(arm(damping=3.0), 2.0, motion={"link": swing, "link.motor": swing})
    q, _, qdd = swung(run.t)
    assert np.abs(run.tau[:, 0] - (J + ROTOR) * qdd - weight(q)).max() < 1e-9
    assert np.abs(run.energy_balance).max() < 1e-7


def test_a_torque_on_the_motor_of_a_held_joint_acts() -> None:
    """The link is clamped, the motor driven: a single mass on a spring, and the clamp carries what the spring does."""
    run = pliant.simulate(arm(), 1.0, motion={"link": lambda t: 0.3 + 0 * t}, torque=[5.0], rtol=1e-11, atol=1e-13)
    own = np.sqrt(K / ROTOR)
    motor = 0.3 + 5.0 / K * (1 - np.cos(own * run.t))  # it starts at its joint
    assert np.abs(run["link.motor"] - motor).max() < 1e-9
    assert np.abs(run.tau[:, 0] - weight(np.array(0.3)) - K * (0.3 - motor)).max() < 1e-6
    assert np.abs(run.energy_balance).max() < 1e-9


def paths() -> dict[str, Any]:
    return {
        "boom": lambda t: 0.2 + 0.5 * ca.sin(3 * t) ** 2,
        "boom.motor": lambda t: 0.2 + 0.4 * ca.sin(3 * t) ** 2,
        "fore": lambda t: -0.3 + 0.4 * t**2,
    }


CHOSEN = [("boom.motor",), ("boom", "boom.motor"), ("boom", "fore")]


@pytest.mark.slow
@pytest.mark.parametrize("names", [("boom",), *(pytest.param(names, marks=pytest.mark.full) for names in CHOSEN)])
def test_energy_and_torque_of_an_unequal_arm(names: tuple[str, ...]) -> None:
    """By energies alone: inverse dynamics of `lagrange` on the accelerations of a run with `denoc`."""
    model = unequal_arm().model(stiffening="off")
    motion = {name: paths()[name] for name in names}
    push = Wrench(force=(1.0, 2.0, -1.5))
    run = pliant.simulate(
        model, 0.3, motion=motion, torque=[3.0, 1.0, 2.0], loads=push, rtol=1e-10, atol=1e-12, output_step=0.03
    )
    assert np.abs(run.energy_balance).max() < 1e-7 * np.abs(run.energy.total).max()
    assert np.abs(run.power_residual).max() < 1e-8
    reference = unequal_arm().model(formulation="lagrange", stiffening="off")
    q, qd = (ca.SX.sym(name, model.n) for name in ("q", "qd"))
    loads = ca.Function("loads", [q, qd], [push.expression(model.chain, ca.SX(0), q, qd)])
    for k in range(len(run)):
        forces = reference.inverse_dynamics(run.q[k], run.qd[k], run.qdd[k])
        forces = forces - np.array(loads(run.q[k], run.qd[k])).ravel()
        for joint, name in enumerate(model.joints):
            moved = [model.index(one) for one in (name, f"{name}.motor") if one in names]
            expected = forces[moved].sum() if moved else [3.0, 1.0, 2.0][joint]
            assert run.tau[k, joint] == pytest.approx(expected, abs=1e-7)
    batch = pliant.simulate_batch(
        model, 0.3, motion=motion, torque=[3.0, 1.0, 2.0], loads=push, work=True, rtol=1e-10, atol=1e-12,
        output_step=0.03,
    )  # fmt: skip
    assert np.abs(batch.tau[0] - run.tau).max() < 1e-5
    assert np.abs(batch.work[0] - run.work).max() < 1e-6


@pytest.mark.slow
def test_motors_start_where_a_path_puts_their_joint() -> None:
    """Unless they are given; also in a batch, and at static rest."""
    model = unequal_arm().model(stiffening="off")
    motion = {"boom": lambda t: 0.5 + 0.2 * t}
    motor, rate = model.index("boom.motor"), 0.2
    for run in (pliant.simulate(model, 0.01, motion=motion), pliant.simulate_batch(model, 0.01, motion=motion).arm(0)):
        assert (run.q[0, motor], run.qd[0, motor]) == (0.5, rate)
    given = pliant.simulate(model, 0.01, {"boom.motor": 0.4}, {"boom.motor": 0.1}, motion=motion)
    assert (given.q[0, motor], given.qd[0, motor]) == (0.4, 0.1)
    rest = pliant.simulate(model, 0.01, motion=motion, equilibrium=True)
    assert rest.q[0] == pytest.approx(model.equilibrium([0.5, 0.0, 0.0]), abs=1e-12)
