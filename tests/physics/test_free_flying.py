"""Arms on a free base: what is conserved, and what they become where the base is heavy, or moves as it is told."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from flyers import BODY, satellite, states, world_momentum
from pliant import simulate
from pliant.errors import ModelError
from pliant.loads import Base
from pliant.robot import Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes


def drift(result, model, rows: int = 41) -> float:
    """Largest change of the momentum in world axes over its largest size, angular and linear apart."""
    at = np.linspace(0, len(result) - 1, rows).astype(int)
    found = np.array([world_momentum(model, result.q[k], result.qd[k]) for k in at])
    parts = (found[:, :3], found[:, 3:])
    return max(float(np.abs(part - part[0]).max() / np.linalg.norm(part[0])) for part in parts)


def tumbling() -> Robot:
    """A rigid body with three unequal moments; the link on it does not move."""
    body = RigidBody(mass=0.7, com=(0.1, 0.2, -0.1), inertia=(0.01, 0.02, 0.015))
    return Robot(
        name="tumbling", gravity=(0, 0, 0), links=[Link(name="stuck", joint=Joint(type="fixed"), rigid=body)],
        base={"type": "free", "mass": 3.0, "com": [0.1, -0.2, 0.05], "inertia": [0.5, 0.9, 0.7]},
    )  # fmt: skip


@pytest.mark.parametrize("seconds", [20.0, pytest.param(105.0, marks=pytest.mark.full)])
def test_a_tumbling_body_keeps_its_angular_momentum(seconds: float) -> None:
    model = tumbling().model()
    given = {
        "base": {"angular": [0.4, 6.1, 0.3], "linear": [0.2, -0.1, 0.3]}
    }  # about the middle axis, where it tumbles
    found = []
    for rtol in (1e-8, 1e-10, 1e-12):
        run = simulate(model, seconds, qd0=given, rtol=rtol, atol=rtol / 10)
        angular = model.momentum(run.q, run.qd)[:, :3]
        found.append(np.abs(angular - angular[0]).max() / np.linalg.norm(angular[0]))
    turned = np.linalg.norm(run.qd[:, :3], axis=1).mean() * seconds / (2 * np.pi)
    assert turned > (100 if seconds > 100 else 18)
    assert found[2] < 1e-10
    assert found[2] < 0.1 * found[1] < 0.01 * found[0]
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-15


@pytest.mark.slow_cases("1.5")
@pytest.mark.parametrize("seconds", [1.5, pytest.param(200.0, marks=pytest.mark.full)])
def test_a_flexible_arm_on_a_free_base_keeps_both_momenta(seconds: float, rng) -> None:
    model = satellite(ball=seconds < 100).model(stiffening="off")
    q, qd = states(model, rng)
    torque = np.array([0.5, -0.2, 0.02, -0.03, 0.01])[: model.n_joints]
    run = simulate(model, seconds, q0=q, qd0=qd, torque=lambda t, q, qd: torque * np.cos(t), rtol=1e-11, atol=1e-13)
    assert drift(run, model) < 1e-9
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.1


@pytest.mark.slow
def test_a_heavy_base_stands_still() -> None:
    """Gravity is carried by a force on the base, since a free one falls."""
    gravity = np.array([0.5, 0.2, -1.0])
    given = {"q0": {"upper": 0.3, "fore": 0.5}, "torque": [3.0, -1.0, 0.1, 0.05, -0.02], "rtol": 1e-11, "atol": 1e-13}
    held = simulate(satellite(base={"type": "fixed"}, gravity=tuple(gravity)).model(stiffening="off"), 0.6, **given)
    away = []
    for mass in (4e5, 4e9):  # 1e4 and 1e8 times that of the arm
        base = {**BODY, "mass": mass, "inertia": [mass, 1.4 * mass, 1.2 * mass]}
        free = satellite(base=base, gravity=tuple(gravity)).model(stiffening="off")
        run = simulate(free, 0.6, loads=[_Support(-mass * gravity, np.array(BODY["com"]))], **given)
        away.append(np.abs(run.tip[-1] - held.tip[-1]).max())
    assert away[1] < 1e-6
    assert 0.5e4 < away[0] / away[1] < 2e4


class _Support:
    """A force in world axes on the base at its center of mass, as a load of one's own."""

    breaks = ()

    def __init__(self, force, at) -> None:
        self.force, self.at = force, at

    def expression(self, chain, t, q, qd):
        from pliant.algebra.rotations import of_quaternion

        out = ca.SX.zeros(chain.n)
        local = of_quaternion(q[3:7]).unapply(ca.SX(ca.DM(self.force)))
        out[:3], out[3:6] = ca.cross(ca.SX(ca.DM(self.at)), local), local
        return out


def chebyshev(t, values, degree: int = 80):
    """Samples as a function of time in CasADi operations: a Chebyshev series for each column."""
    parts = [np.polynomial.Chebyshev.fit(t, column, degree, domain=[t[0], t[-1]]) for column in values.T]
    for part, column in zip(parts, values.T):
        assert np.abs(part(t) - column).max() < 1e-9 * np.abs(values).max()
    terms = np.array([part.coef for part in parts]).T.tolist()

    def at(time):
        x = 2 * (time - t[0]) / (t[-1] - t[0]) - 1
        before, now, total = 1.0, x, [a + b * x for a, b in zip(*terms[:2])]
        for row in terms[2:]:
            before, now = now, 2 * x * now - before
            total = [s + c * now for s, c in zip(total, row)]
        return total

    return at


@pytest.mark.slow
def test_a_free_base_moves_the_arm_as_the_same_motion_prescribed() -> None:
    free = satellite(ball=False).model(stiffening="off")
    fixed = satellite(ball=False, base={"type": "fixed"}).model(stiffening="off")
    start = {"upper": 0.4, "fore": -0.7}
    torque = {"q0": start, "torque": [6.0, -5.0], "rtol": 1e-11, "atol": 1e-13}
    spin = {"base": {"angular": [0.3, -0.2, 0.5], "linear": [0.4, 0.1, -0.2]}}
    run = simulate(free, 0.1, qd0=spin, output_step=2e-5, **torque)
    omega, v = run.qd[:, :3], run.qd[:, 3:6]
    a = run.qdd[:, 3:6] + np.cross(omega, v)  # of the origin, in the axes of the base
    base = Base(chebyshev(run.t, a), chebyshev(run.t, omega), chebyshev(run.t, run.qdd[:, :3]))
    told = simulate(fixed, 0.1, base=base, **torque)
    for name in fixed.coordinates:
        assert abs(told[name][-1] - run[name][-1]) < 1e-8
    still = simulate(fixed, 0.1, **torque)
    assert abs(still["upper"][-1] - run["upper"][-1]) > 1e-4


@pytest.mark.slow
def test_equal_panels_that_are_driven_alike_stay_alike() -> None:
    beam = Beam(length=2.3, mass_per_length=1.6, EI_y=300.0, EI_z=500.0)

    def panel(name: str, side: float) -> Link:
        joint = Joint(axis=(1, 0, 0), origin=Origin(xyz=(0, 0.4 * side, 0.1), rpy=(0, 0, side * np.pi / 2)))
        shapes = Shapes(bending_y=1, bending_z=2)
        return Link(name=name, parent="base", joint=joint, beam=beam, shapes=shapes, tip=Lump(inertia=(0.3, 0.2, 0.2)))

    base = {"type": "free", "mass": 30.0, "com": [0.05, 0.0, 0.02], "inertia": [3.0, 5.0, 4.0]}
    robot = Robot(name="two panels", gravity=(0, 0, 0), base=base, links=[panel("left", 1.0), panel("right", -1.0)])
    run = simulate(robot.model(), 20.0, torque=lambda t, q, qd: 0.2 * np.array([1.0, -1.0]) * np.sin(t), rtol=1e-9)
    left, right = run["left.bending_z.1"], run["right.bending_z.1"]
    assert np.abs(left).max() > 5e-5
    assert np.abs(left - right).max() < 1e-11
    assert np.abs(run["left"] + run["right"]).max() < 1e-11


def test_a_moving_base_is_not_given_to_a_free_one() -> None:
    with pytest.raises(ModelError, match="the base of this arm is free"):
        simulate(satellite().model(), 0.1, base=Base(acceleration=(0, 0, 1.0)))
