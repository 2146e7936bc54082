"""Bodies that know where they are to second order: one map for places, velocities and frames, whoever asks."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from bodies import lifted_points, random_arm
from evaluation import evaluate, relative
from pliant import Joint, Link, Robot
from pliant.algebra.quaternions import exponential, to_matrix
from pliant.errors import UnsupportedModel
from pliant.mechanics import FORMULATIONS, build_chain
from pliant.mechanics.links.kinematics import kinetic_energy
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from trees import tree_state

AGREE = 1e-9


def arm(body: ReducedBody, seed: int = 12) -> Robot:
    """The body behind another, linear one and before a rigid link on its further frame."""
    first = random_arm(seed, links=1).links[0]
    hand = Link(name="hand", rigid=pliant.RigidBody(mass=1.0, com=(0.1, 0.2, 0)), parent="bent", at={"frame": "elbow"})
    bent = Link(name="bent", joint=Joint(axis=(0, 1, 0)), body={"content": body, "damping": 0.02},
                tip={"mass": 0.7, "com": (0.1, 0.0, 0.05), "inertia": (0.01, 0.02, 0.02)})  # fmt: skip
    return Robot(name="beyond", links=[first, bent, hand])


def lifted(body: ReducedBody, c: np.ndarray, cd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    forms = body.beyond_forms
    return np.r_[c, c @ forms @ c / 2], np.r_[cd, c @ forms @ cd]


def test_kinetic_energy_is_that_of_the_points(rng: np.random.Generator) -> None:
    points, body = lifted_points(rng)
    link = Link(name="body", joint=Joint(type="free"), body=body)
    chain = build_chain(Robot(name="flying", links=[link], gravity=(0, 0, 0)), stiffening="second-order")
    q, speeds = tree_state(chain, 5, deflection=0.2)
    Q, V = ca.SX.sym("q", chain.n_q), ca.SX.sym("v", chain.n)
    ours = float(ca.Function("T", [Q, V], [kinetic_energy(chain, Q, V)])(q, speeds))
    truth = points.kinetic_energy(speeds[:3], speeds[3:6], *lifted(body, q[7:], speeds[6:]))
    assert ours == pytest.approx(truth, rel=1e-12)


def test_formulations_agree(rng: np.random.Generator) -> None:
    """All but dual screws, which are of first order and say so."""
    robot = arm(lifted_points(rng)[1])
    chain = build_chain(robot, stiffening="second-order")
    q, qd = tree_state(chain, 3, deflection=0.05)
    tau = np.cos(np.arange(chain.n_joints))
    judge = evaluate(chain, "lagrange", q, qd, tau)
    linear = evaluate(build_chain(robot), "lagrange", q, qd, tau)
    assert relative(judge["M"], linear["M"]) > 1e-3  # the second order is there
    for name in FORMULATIONS:
        if name not in ("lagrange", "dual-screw"):
            ours = evaluate(chain, name, q, qd, tau)
            for term in judge:
                assert relative(ours[term], judge[term]) < AGREE, (name, term)
    with pytest.raises(UnsupportedModel, match="'dual-screw' does not support stiffening"):
        robot.model("dual-screw", stiffening="second-order")
    assert robot.model("dual-screw").level.stiffening == "off"


def test_frames_are_where_the_shapes_put_them(rng: np.random.Generator) -> None:
    _, body = lifted_points(rng)
    model = Robot(name="x", links=[Link(name="arm", joint=Joint(type="fixed"), body=body)]).model()
    assert str(model.level) == "second-order (auto: the file of link arm has it)"
    c = rng.normal(size=3) * 0.2
    g = lifted(body, c, c)[0]
    for number, name in enumerate(body.frames):
        shift = np.concatenate([body.shift[number], body.beyond_shift[number]], axis=1)
        turn = np.concatenate([body.turn[number], body.beyond_turn[number]], axis=1)
        pose = model.pose(c, frame=f"arm.{name}")
        assert pose[:3, 3] == pytest.approx(body.places[number] + shift @ g, abs=1e-13)
        assert pose[:3, :3] == pytest.approx(to_matrix(exponential(turn @ g)) @ body.axes[number], abs=1e-13)


def test_all_modes_are_the_same_body_in_other_coordinates(rng: np.random.Generator) -> None:
    _, body = lifted_points(rng)
    one, other = (
        Robot(name="x", links=[Link(name="arm", joint=Joint(type="fixed"), body=each)]).model()
        for each in (body, body.lowest(3))
    )
    c = rng.normal(size=3) * 0.2
    V = body._modes[1]
    assert other.tip_pose(c) == pytest.approx(one.tip_pose(V @ c), abs=1e-12)
    assert other.mass_matrix(c) == pytest.approx(V.T @ one.mass_matrix(V @ c) @ V, abs=1e-10)


@pytest.mark.full
def test_energy_balance_of_a_run(rng: np.random.Generator) -> None:
    """Nothing is lost to the second order: kinetic, gravity and strain energy and what dampers took."""
    model = arm(lifted_points(rng)[1]).model(stiffening="second-order")
    q, qd = tree_state(model.chain, 3, deflection=1e-3)
    run = pliant.simulate(model, 0.3, q, qd, method="dop853", rtol=1e-10, atol=1e-12, limits=False)
    scale = run.energy.kinetic.max()
    assert np.abs(run.energy_balance).max() < 1e-7 * scale
    assert np.abs(run.power_residual).max() < 1e-8 * scale
