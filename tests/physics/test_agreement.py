"""Formulations agree with the energy judge on robots that have each effect: drives, stiffening, a base that moves."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from arms import random_robot, random_state
from evaluation import evaluate, relative
from pliant.loads import Base, BasePath
from pliant.mechanics import FORMULATIONS, build_chain, features

ROUND_OFF = 1e-9  # the promise; measured values stand near 1e-13
NONLINEAR = [name for name in FORMULATIONS if name not in ("lagrange", "dual-screw")]
SHAKEN = Base(acceleration=lambda t: (3 * ca.sin(t), 1.0, t), angular_velocity=lambda t: (0.4, ca.cos(2 * t), 0.3 * t))
CARRIED = BasePath(position=lambda t: (ca.sin(t), t**2, 0), rpy=lambda t: (0.3 * t, 0.2 * ca.sin(t), t))


@pytest.mark.slow_cases("3-off-base1", "4-second-order-base2")
@pytest.mark.parametrize(
    ("seed", "stiffening", "base"), [(2, "off", None), (3, "off", SHAKEN), (4, "second-order", CARRIED)]
)
def test_formulations_agree(seed: int, stiffening: bool, base: Base | None) -> None:
    check(seed, stiffening, base)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(10, 40))
def test_formulations_agree_on_many(seed: int) -> None:
    check(seed, seed % 2 == 0, (None, SHAKEN, CARRIED)[seed % 3])


def check(seed: int, stiffening: bool, base: Base | None) -> None:
    robot = random_robot(seed, 2, drives=True)
    chain = build_chain(robot, stiffening=stiffening)
    if base is not None:
        t = ca.SX.sym("t")
        motion = base.expression(t, chain.gravity)
        at = [ca.substitute(x, t, 0.7) for x in (motion.omega, motion.alpha, motion.a)]
        chain = replace(chain, base=type(motion)(*at))
    q, qd, tau = random_state(robot, chain.n, chain.n_joints, seed)
    judge = evaluate(chain, "lagrange", q, qd, tau)
    for name in NONLINEAR:
        if features(chain) - FORMULATIONS[name].supports:
            continue
        ours = evaluate(chain, name, q, qd, tau)
        assert all(relative(ours[key], judge[key]) < ROUND_OFF for key in judge), name


def test_shaken_rigid_pendulum_by_hand() -> None:
    """J qdd = -m r (g + a_y) cos q + m r a_x sin q."""
    body = pliant.RigidBody(mass=2.0, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3), tip=(0.8, 0, 0))
    model = pliant.Robot(name="p", gravity=(0, -9.81, 0), links=[pliant.Link(name="p", rigid=body)]).model()
    base = Base(acceleration=lambda t: (2 * ca.sin(5 * t), ca.cos(3 * t), 0))
    run = pliant.simulate(model, 1.0, q0=[-1.2], base=base, method="dop853", rtol=1e-10, output_step=0.01)
    assert run.qdd is not None
    x, y = 2 * np.sin(5 * run.t), 9.81 + np.cos(3 * run.t)
    expected = 0.8 / (0.3 + 2.0 * 0.4**2) * (x * np.sin(run.q[:, 0]) - y * np.cos(run.q[:, 0]))
    assert run.qdd[:, 0] == pytest.approx(expected, abs=1e-10)
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()


def test_motion_of_a_carried_base() -> None:
    """Rates of a path in the axes of the base, by differences of SciPy's rotations; gravity turns with the base."""

    def place(t: float) -> np.ndarray:
        return np.array([np.sin(2 * t), t**2, np.exp(t)])

    def attitude(t: float) -> Rotation:
        return Rotation.from_euler("xyz", [0.3 + t, 0.7 * np.sin(t), 1.1 * t**2])

    path = BasePath(
        position=lambda t: (ca.sin(2 * t), t**2, ca.exp(t)), rpy=lambda t: (0.3 + t, 0.7 * ca.sin(t), 1.1 * t**2)
    )
    g, s, now, h = np.array([1.0, -2.0, -9.0]), ca.SX.sym("t"), 0.6, 1e-4
    motion = path.expression(s, ca.SX(ca.DM(g)))
    f = ca.Function("f", [s], [motion.omega, motion.alpha, motion.a])
    omega, alpha, a = (np.array(x).ravel() for x in f(now))

    def rate(t: float) -> np.ndarray:
        return np.asarray((attitude(t - h).inv() * attitude(t + h)).as_rotvec() / (2 * h))

    R = attitude(now).as_matrix()
    acceleration = (place(now + h) - 2 * place(now) + place(now - h)) / h**2
    assert omega == pytest.approx(rate(now), abs=1e-6)
    assert alpha == pytest.approx((rate(now + h) - rate(now - h)) / (2 * h), abs=1e-6)
    assert a - g == pytest.approx(R.T @ (acceleration - g), abs=1e-6)


def test_turning_base_equals_a_turning_joint() -> None:
    """An arm on a base that turns about z moves like the same arm on one more joint that is prescribed so."""
    link = random_robot(5, 1, prismatic=False, all_flexible=True, elements=False).links[0]
    turn = lambda t: 0.5 * ca.sin(2 * t)  # noqa: E731
    column = pliant.Link(name="column", rigid=pliant.RigidBody(mass=1.0, inertia=(1.0, 1.0, 1.0)))
    on_column = pliant.Robot(name="a", gravity=(1.0, -5.0, -9.0), links=[column, link]).model()
    alone = pliant.Robot(name="b", gravity=(1.0, -5.0, -9.0), links=[link]).model()
    options = {"method": "dop853", "rtol": 1e-10, "output_step": 0.05}
    one = pliant.simulate(on_column, 0.5, motion={"column": turn}, **options)  # type: ignore[arg-type]
    base = BasePath(rpy=lambda t: (0, 0, turn(t)))
    two = pliant.simulate(alone, 0.5, base=base, **options)  # type: ignore[arg-type]
    assert one.q[:, 1:] == pytest.approx(two.q, abs=1e-8)  # tolerance of the runs
    assert np.abs(two.power_residual).max() < 1e-9 * two.energy.kinetic.max()


def test_satellite_feels_no_orbit() -> None:
    """A base in free fall on a circle, gravity given where it is: the arm of a satellite hangs nowhere."""
    rate, radius = 0.7, 4.0
    path = BasePath(position=lambda t: (radius * ca.cos(rate * t), radius * ca.sin(rate * t), 0))
    body = pliant.RigidBody(mass=2.0, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3))
    model = pliant.Robot(name="s", gravity=(0, 0, 0), links=[pliant.Link(name="s", rigid=body)]).model()
    run = pliant.simulate(model, 2.0, q0=[0.3], base=path, method="dop853", rtol=1e-10, output_step=0.1)
    pull = 0.8 * radius * rate**2 / (0.3 + 0.32)  # centripetal acceleration acts like gravity outwards
    assert run.qdd is not None
    assert run.qdd[:, 0] == pytest.approx(-pull * np.sin(run.q[:, 0] - rate * run.t), abs=1e-9)


def test_bad_base() -> None:
    model = pliant.load("two-link").model()
    with pytest.raises(pliant.ModelError, match=r"acceleration.*three"):
        pliant.simulate(model, 0.1, base=Base(acceleration=(1, 2)))
