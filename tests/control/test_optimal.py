"""Optimal rest-to-rest motion: no residual vibration, limits held, and better than a cycloid of the same duration."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.integrate import trapezoid

import pliant
from pliant.control import ComputedTorque, Cycloidal, rest_to_rest

START, GOAL, LIMIT = [-np.pi / 2, 0.0], [-np.pi / 4, np.pi / 4], [120.0, 40.0]


def residual(model, trajectory, duration: float) -> float:
    """Largest distance of the tip from its rest position after the end, joints prescribed."""
    rest = model.tip_pose(model.equilibrium(GOAL))[:3, 3]
    motion = trajectory.motion(model)
    result = pliant.simulate(model, duration + 0.5, q0=model.equilibrium(START), motion=motion)
    return float(np.linalg.norm(result.tip[result.t >= duration] - rest, axis=1).max())


@pytest.fixture(scope="module")
def least_effort(two_link):
    return rest_to_rest(two_link, START, GOAL, duration=0.8, torque_limit=LIMIT)


def test_residual_vibration_vanishes(two_link, least_effort) -> None:
    plain = residual(two_link, Cycloidal(START, GOAL, 0.8), 0.8)
    left = residual(two_link, least_effort.trajectory, 0.8)
    assert plain > 0.05
    assert left < 1e-4 * plain  # asked: 1 %; what stays is the error of collocation


def test_constraints_hold(two_link, least_effort) -> None:
    motion = least_effort
    assert motion.violation < 1e-6
    assert (np.abs(motion.tau) <= np.array(LIMIT) * (1 + 1e-6)).all()
    for row, joints in ((0, START), (-1, GOAL)):
        np.testing.assert_allclose(motion.q[row], two_link.equilibrium(joints), atol=1e-9)
        np.testing.assert_allclose(motion.qd[row], 0, atol=1e-9)
    # states and torques along the motion satisfy the equations of the model, at every point
    _, _, qdd = motion.trajectory(motion.t)
    accelerations = two_link.forward_dynamics(motion.q, motion.qd, motion.tau)[:, :2]
    np.testing.assert_allclose(accelerations, qdd, atol=1e-6 * np.abs(qdd).max())


def test_torque_and_reference_are_what_simulate_accepts(two_link, least_effort) -> None:
    rest = two_link.equilibrium(GOAL)
    open_loop = pliant.simulate(two_link, 0.8, q0=least_effort.q0, torque=least_effort.torque)
    # cubic interpolation of torques at 200 points, through a joint whose inertia is small: 1e-4 rad
    np.testing.assert_allclose(open_loop.q[-1], rest, atol=5e-4)
    tracked = pliant.simulate(
        two_link, 1.0, q0=least_effort.q0, controller=ComputedTorque(400, 40, least_effort.trajectory)
    )
    np.testing.assert_allclose(tracked.q[-1], rest, atol=1e-6)
    assert np.abs(tracked.qd[-1]).max() < 1e-4


def test_least_effort_is_less_than_a_cycloid(two_link, least_effort) -> None:
    free = rest_to_rest(two_link, START, GOAL, duration=0.8)
    cycloid = pliant.simulate(
        two_link, 0.8, q0=free.q0, motion=Cycloidal(START, GOAL, 0.8).motion(two_link), output_step=1e-3
    )
    assert free.cost < trapezoid((cycloid.tau**2).sum(axis=1), cycloid.t)
    assert free.cost < least_effort.cost  # a limit cannot help


@pytest.mark.full
def test_least_time(two_link, least_effort) -> None:
    begin = time.process_time()
    fast = rest_to_rest(two_link, START, GOAL, torque_limit=LIMIT, objective="time")
    assert time.process_time() - begin < 30
    assert fast.duration < 0.7 < least_effort.duration
    # some torque is at its limit but for the ends and switches, where accelerations are continuous
    assert (np.abs(fast.tau) > 0.98 * np.array(LIMIT)).any(axis=1).mean() > 0.7
    assert (np.abs(fast.tau) <= np.array(LIMIT) * (1 + 1e-6)).all()
    plain = residual(two_link, Cycloidal(START, GOAL, fast.duration), fast.duration)
    assert residual(two_link, fast.trajectory, fast.duration) < 1e-4 * plain


def test_single_link_and_impossible(beam) -> None:
    motion = rest_to_rest(beam, [0.0], [0.5], duration=0.4, intervals=30)
    result = pliant.simulate(beam, 0.8, motion=motion.trajectory.motion(beam))
    assert np.abs(result.q[result.t >= 0.4, 1]).max() < 1e-5 * np.abs(result.q[:, 1]).max()
    with pytest.raises(pliant.PliantError, match="no motion found"):
        rest_to_rest(beam, [0.0], [2.0], duration=0.05, torque_limit=0.1, intervals=10)
