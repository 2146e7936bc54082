"""Coulomb friction that holds: a block on a plane with friction, in closed form. It sticks below the level, breaks away
at it, slides under the level, and stops where that has taken its energy; friction gives back what it has stored."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant import Joint, Link, RigidBody, Robot
from pliant.errors import UnsupportedModel
from pliant.robot import Drive, Friction

LEVEL, INERTIA = 0.7, 0.5 + 1.6 * 0.3**2
MINUTE = 60.0


def block(kind: str = "revolute", gravity: float = 0.0, **friction: Any) -> pliant.Model:
    """One joint; prismatic: a block of 1.6 kg that slides along x."""
    body = RigidBody(mass=1.6, com=(0.3, 0, 0), inertia=(0.3, 0.3, 0.5), tip=(0.6, 0, 0))
    joint = Joint(
        type=kind, axis=(0, 0, 1) if kind == "revolute" else (1, 0, 0), friction=Friction(coulomb=LEVEL, **friction)
    )
    return Robot(name="block", gravity=(0, -gravity, 0), links=[Link(name="block", joint=joint, rigid=body)]).model()


def mass(kind: str) -> float:
    return INERTIA if kind == "revolute" else 1.6


@pytest.mark.slow_cases("0.3-prismatic")
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("share", [0.3, -0.8, 0.99])
def test_a_stuck_joint_does_not_creep(kind: str, share: float) -> None:
    """A minute under less than the level moves it by less than 1e-6 rad: from the start, and where the load comes on
    later, from the time on at which the bristles have bent. The smooth law creeps by hundredths."""
    run = pliant.simulate(block(kind), MINUTE, torque=[share * LEVEL])
    assert np.abs(run.q[:, 0]).max() < 1e-7
    late = pliant.simulate(block(kind), MINUTE, torque=([0.0, 1.0], [[0.0], [share * LEVEL]]))
    settled = late.t > 3.0
    assert np.ptp(late.q[settled, 0]) < 1e-8
    assert 0 < np.sign(share) * late.q[-1, 0] < 3e-5  # the bristles have bent, and slipped a little at 0.99
    if share == 0.3:
        smooth = pliant.simulate(block(kind, bristle=0.0), MINUTE, torque=[share * LEVEL])
        assert smooth.q[-1, 0] == pytest.approx(MINUTE * 1e-3 * np.arctanh(share), rel=1e-3)


def test_vibration_does_not_let_it_creep() -> None:
    """A load that swings below 0.7 of the level bends the bristles to and fro, and nothing slips."""

    class Swinging:
        def expression(self, t: Any, q: Any, qd: Any) -> Any:
            return LEVEL * (0.35 + 0.3 * ca.sin(25 * t))

    run = pliant.simulate(block(), MINUTE, torque=Swinging(), output_step=2 * np.pi / 25)
    late = run.q[run.t > 1.0, 0][:-1]  # once a period
    assert abs(late[-1] - late[0]) < 1e-7


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_it_breaks_away_at_the_level(kind: str) -> None:
    """A torque that rises by 0.1 per second: at rest up to the level, then m x'' = 0.1 (t - t0)."""
    rise, t0 = 0.1, LEVEL / 0.1
    run = pliant.simulate(block(kind), t0 + 2.0, torque=([0.0, 10.0], [[0.0], [10.0 * rise]]), output_step=0.05)
    stuck = run.t < 0.99 * t0
    assert np.abs(run.q[stuck, 0]).max() < 3e-5
    after = np.clip(run.t - t0, 0.0, None)
    assert np.abs(run.q[:, 0] - rise * after**3 / (6 * mass(kind))).max() < 2e-3 * run.q[-1, 0]


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_sliding_friction_is_the_level(kind: str) -> None:
    """It slows evenly, stops after m v^2 / 2 F, stays there, and friction has taken all of its energy."""
    m, v = mass(kind), 1.3
    run = pliant.simulate(block(kind), 6.0, qd0=[v])
    slides = run.t < 0.9 * m * v / LEVEL
    assert np.abs(run.q[:, 0] - v * run.t + LEVEL / m * run.t**2 / 2)[slides].max() < 1e-6
    assert run.q[-1, 0] == pytest.approx(m * v**2 / (2 * LEVEL), abs=2e-5)
    assert np.abs(run.qd[run.t > 1.1 * m * v / LEVEL + 0.5, 0]).max() < 1e-9
    assert run.work[-1] == pytest.approx(-m * v**2 / 2, rel=1e-9)
    assert np.abs(run.energy_balance).max() < 1e-9
    assert np.abs(run.power_residual).max() < 1e-9


def test_friction_gives_back_what_it_has_stored_only() -> None:
    """Along a jerky torque, held between the rows, the energy that friction takes never falls by more than level x
    deflection / 2."""
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, 4.0, 801)
    held = 3 * LEVEL * np.repeat(rng.normal(size=(80, 1)), 10, axis=0)
    torque = (times, np.vstack([held, held[-1:]]), "hold")
    model = block(bristle=1e-3, coulomb_speed=1e-2)
    run = pliant.simulate(model, 4.0, torque=torque, output_step=0.005, rtol=1e-10, atol=1e-12)
    given = np.concatenate([[0.0], np.cumsum(held[:, 0] * np.diff(run.q[:, 0]))])
    taken = given - run.work
    fallen = (np.maximum.accumulate(taken) - taken).max()
    assert 1e-7 < fallen < LEVEL * 1e-3 / 2 + 1e-9
    assert taken[-1] > 0.1


@pytest.mark.slow
def test_a_hanging_arm_is_held_by_its_friction() -> None:
    """Gravity asks for less than the level in one joint, and more in the other: one holds, one falls. Amplitudes, an
    elastic drive and all formulations that carry it."""
    robot = unequal_two_link().replace({"gravity": (0.0, -1.0, 0.0)})
    robot = robot.replace(
        {"links.upper.joint.friction": Friction(coulomb=30.0), "links.fore.joint.friction": Friction(coulomb=0.5)}
    )
    robot = robot.replace({"links.fore.joint.drive": Drive(stiffness=900.0, rotor_inertia=0.1, damping=2.0)})
    model = robot.model(stiffening="off")
    assert model.holding_torque(model.equilibrium([0.2, 0.1]))[0] < 30.0
    runs = [
        pliant.simulate(
            robot.model(formulation=name, stiffening="off"),
            1.0,
            [0.2, 0.1],
            equilibrium=True,
            rtol=1e-9,
            output_step=0.01,
        )
        for name in ("denoc", "lagrange")
    ]
    for run in runs:
        assert np.abs(run["upper"] - 0.2).max() < 2e-5
        assert run["fore"][-1] < -0.1
        assert np.abs(run.energy_balance).max() < 1e-6
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-7
    batch = pliant.simulate_batch(model, 1.0, [[0.2, 0.1], [0.3, -0.2]], equilibrium=True, rtol=1e-9, output_step=0.01)
    assert np.abs(batch.q[0] - runs[0].q).max() < 1e-7


def test_a_batch_holds_and_slides_alike() -> None:
    """RK4 with a step of 1 ms is stable, in fast sliding too; arms of one batch stick and slip."""
    model = block()
    torque = np.array([[0.5 * LEVEL], [1.5 * LEVEL], [0.0]])
    rates = np.array([[0.0], [0.0], [8.0]])
    batch = pliant.simulate_batch(model, 3.0, qd0=rates, torque=torque, step=1e-3)
    t = batch.t
    assert np.abs(batch.q[0]).max() < 1e-12
    assert batch.q[1, :, 0] == pytest.approx(0.5 * LEVEL / INERTIA * t**2 / 2, abs=2e-5)
    assert batch.q[2, :, 0] == pytest.approx(8.0 * t - LEVEL / INERTIA * t**2 / 2, abs=2e-5)


def test_a_prescribed_joint_feels_its_friction() -> None:
    """The torque of the motion has the level in it, against the motion; a batch, which keeps no states, says so."""
    motion = {"block": lambda t: 0.4 * ca.sin(2 * t)}
    run = pliant.simulate(block(), 3.0, motion=motion)
    rate, acceleration = 0.8 * np.cos(2 * run.t), -1.6 * np.sin(2 * run.t)
    friction = run.tau[:, 0] - INERTIA * acceleration
    fast = np.abs(rate) > 0.3
    assert np.abs(friction - LEVEL * np.sign(rate))[fast].max() < 1e-4
    assert np.abs(friction).max() < 1.001 * LEVEL
    assert np.abs(run.energy_balance).max() < 1e-6
    batch = pliant.simulate_batch(block(), 0.1, motion=motion, step=1e-3)
    with pytest.raises(UnsupportedModel, match="drives are not kept in a batch"):
        _ = batch.tau


def test_bristles_are_a_state_of_runs_only() -> None:
    """Functions of a model have the smooth law, and no state more."""
    model, smooth = block(), block(bristle=0.0)
    q, qd = np.array([0.2]), np.array([3e-4])
    assert model.bias(q, qd) == pytest.approx(smooth.bias(q, qd), rel=1e-15)
    assert model.bias(q, qd)[0] == pytest.approx(LEVEL * np.tanh(0.3), rel=1e-12)
    assert model.n == smooth.n == 1


def test_friction_as_a_parameter() -> None:
    """Level and deflection may be inputs; a level of zero is no friction."""
    paths = ["links.block.joint.friction.coulomb", "links.block.joint.friction.bristle"]
    model = block().robot.model(parameters=paths)
    run = pliant.simulate(model, 1.0, qd0=[1.0], p=[0.3, 1e-5])
    assert run.q[-1, 0] == pytest.approx(1.0 - 0.3 / INERTIA / 2, abs=1e-6)
    batch = pliant.simulate_batch(model, 1.0, qd0=[1.0], p=[[0.3, 1e-5], [0.0, 1e-5]], step=1e-3)
    assert batch.q[:, -1, 0] == pytest.approx([1.0 - 0.3 / INERTIA / 2, 1.0], abs=1e-5)
    pushed = pliant.simulate_batch(model, 1.0, torque=[0.2], p=[[0.3, 1e-5], [0.0, 1e-5]], step=1e-3)
    assert pushed.q[:, -1, 0] == pytest.approx([0.0, 0.1 / INERTIA], abs=1e-9)


def test_an_environment_has_friction_too() -> None:
    from pliant.environments import ArmEnv

    robot = block(
        gravity=1.0, coulomb_speed=0.05, bristle=1e-3
    ).robot  # 0.5 N m, less than the level, and gentle enough for RK4
    env = ArmEnv(robot, "reach", period=0.02, torque_limit=1.0)
    first, _ = env.reset(seed=0)
    for _ in range(50):
        last, *_ = env.step(np.zeros(1))
    assert last[0] == pytest.approx(first[0], abs=1e-9)
    assert last.shape == (2 * 1 + 3 + 3,)
