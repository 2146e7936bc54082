"""Optimal rest-to-rest motion: no residual vibration, limits held, and better than a cycloid of the same duration."""

from __future__ import annotations

import os
import re
import signal

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import trapezoid

import pliant
from arms import unequal_two_link
from pliant.control import (
    PD,
    ComputedTorque,
    Cycloidal,
    Phases,
    Piecewise,
    Shaped,
    gravity_torque,
    natural_gains,
    rest_to_rest,
    zv,
)
from pliant.control.planning.search.motion_guess import stiff_shortest_time

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


@pytest.mark.slow
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
    fast = rest_to_rest(two_link, START, GOAL, torque_limit=LIMIT, objective="time")
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
    with pytest.raises(pliant.PliantError, match="expected at least"):
        rest_to_rest(beam, [0.0], [2.0], duration=0.05, torque_limit=0.1, intervals=10)


# ------------------------------------------------------------------------------------------- elastic drives


@pytest.fixture(scope="module")
def soft():
    """Elastic drives with gears on an arm with nothing equal; its springs wind up by a tenth of a radian and more."""
    drives = {
        "links.upper.joint.drive": {"stiffness": 1100.0, "rotor_inertia": 0.004, "gear_ratio": 7.0, "damping": 0.4},
        "links.fore.joint.drive": {"stiffness": 500.0, "rotor_inertia": 0.003, "gear_ratio": 5.0, "damping": 0.2},
    }
    return unequal_two_link().replace(drives).model()


SOFT_GOAL = [0.2, 0.7]


@pytest.fixture(scope="module")
def soft_move(soft):
    return rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9, intervals=30)


def end_error(model, **run) -> float:
    """Distance of the tip from its rest position half a second after the end, in mm, or farthest since the end."""
    rest = model.tip_pose(model.equilibrium(SOFT_GOAL))[:3, 3]
    result = pliant.simulate(model, 1.4, **run)
    return 1e3 * float(np.linalg.norm(result.tip[result.t >= 0.9] - rest, axis=1).max())


@pytest.mark.slow
def test_every_use_of_a_motion_through_elastic_drives_ends_at_the_goal(soft, soft_move) -> None:
    move, q0 = soft_move, soft_move.q0
    assert move.trajectory.coordinates == ("upper.motor", "fore.motor")
    kp, kd = natural_gains(soft, SOFT_GOAL, 20.0 / (2 * np.pi))
    tracked = PD(kp, kd, move.trajectory, gravity="none")
    assert end_error(soft, q0=q0, motion=move.trajectory.motion(soft)) < 0.1
    assert list(move.motion(soft)) == list(move.trajectory.motion(soft))
    assert end_error(soft, q0=q0, controller=tracked, torque=move.torque) < 0.1


@pytest.mark.full
def test_what_a_motion_through_elastic_drives_is_not(soft, soft_move) -> None:
    move, q0 = soft_move, soft_move.q0
    assert end_error(soft, q0=q0, controller=ComputedTorque(400, 40, move.trajectory)) < 0.1
    kp, kd = natural_gains(soft, SOFT_GOAL, 20.0 / (2 * np.pi))
    # what these were before: motors' positions for joints, and a wind-up counted twice
    joints = move.trajectory.motion(soft, joints=soft.joints)
    assert end_error(soft, q0=soft.equilibrium([float(joints[k](0.0)[0][0]) for k in soft.joints]), motion=joints) > 100
    twice = PD(kp, kd, Piecewise(move.trajectory.pieces, move.duration))
    rest = soft.tip_pose(soft.equilibrium(SOFT_GOAL))[:3, 3]
    left = pliant.simulate(soft, 4.0, q0=q0, controller=twice).tip[-1] - rest
    assert np.linalg.norm(left) > 0.1


def test_gravity_of_a_reference_of_motors_acts_at_the_joints(soft, soft_move) -> None:
    law = PD(300.0, 30.0, soft_move.trajectory).bind(soft)
    q = soft.equilibrium(SOFT_GOAL)
    weight = np.array(ca.evalf(gravity_torque(soft, SOFT_GOAL))).ravel()
    np.testing.assert_allclose(law(2.0, q, np.zeros(6)), weight, rtol=1e-6)  # no error of position: no wind-up added


def test_a_path_of_the_wrong_side_is_refused(soft, soft_move, two_link) -> None:
    move = soft_move
    with pytest.raises(pliant.ModelError, match=r"moves upper.motor, fore.motor.*`.trajectory`"):
        ComputedTorque(400, 40, move.joints).bind(soft)
    with pytest.raises(pliant.ModelError, match="expected a path of the joints"):
        PD(300.0, 30.0, move.trajectory).bind(two_link)
    with pytest.raises(pliant.ModelError, match="where the joints are"):
        PD(300.0, 30.0, Piecewise(move.trajectory.pieces, 0.9, move.trajectory.coordinates)).bind(soft)
    with pytest.raises(pliant.ModelError, match=r"upper.motor"):
        move.trajectory.motion(two_link)
    with pytest.raises(pliant.ModelError, match="same coordinates"):
        Phases([move.trajectory, move.joints], [1.0])
    with pytest.raises(pliant.ModelError, match="1 names, expected 2"):
        Piecewise(move.trajectory.pieces, 0.9, ["upper"])


def test_what_is_made_of_a_path_keeps_its_side(soft, soft_move) -> None:
    twice = Phases([soft_move.trajectory, soft_move.trajectory], [1.0])
    for path in (twice, Shaped(soft_move.trajectory, zv(2.0))):
        assert list(path.motion(soft)) == ["upper.motor", "fore.motor"]
        np.testing.assert_allclose(path.joints(3.0)[0], SOFT_GOAL, atol=1e-6)


def test_a_motion_is_shown_in_a_line(soft_move) -> None:
    assert re.fullmatch(
        r"RestToRest\(upper.motor, fore.motor in 0.9 s, cost .*, 151 samples, \d+ iterations\)", repr(soft_move)
    )


def test_an_impossible_duration_is_refused_before_the_search(soft) -> None:
    told: list[float] = []
    with pytest.raises(pliant.PliantError, match=r"expected at least 0\.\d+ s.*objective=\"time\" finds the shortest"):
        rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.2, torque_limit=[150.0, 60.0], progress=told.append)
    assert told == []


def test_the_shortest_time_of_the_stiff_arm_is_not_one_of_its_neighbors(soft) -> None:
    a, b = soft.equilibrium([-0.6, 0.1]), soft.equilibrium(SOFT_GOAL)
    assert stiff_shortest_time(soft, a, b, np.array([150.0, 60.0])) == pytest.approx(0.637, abs=2e-3)


@pytest.mark.full
def test_a_duration_above_the_shortest_of_the_stiff_arm_is_searched(soft) -> None:
    limit = np.array([150.0, 60.0])
    move = rest_to_rest(
        soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9, torque_limit=limit, intervals=16, degree=3, progress=False
    )
    assert (np.abs(move.tau) <= limit * (1 + 1e-6)).all()


def test_a_search_tells_how_far_it_came(soft) -> None:
    told: list[float] = []
    rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9, intervals=8, degree=2, progress=told.append)
    assert told == sorted(told) or max(told) == pytest.approx(1.0, abs=0.3)
    assert 0 <= min(told) < max(told) <= 1
    with pytest.raises(pliant.PliantError, match=r"within time_limit 1e-09 s, after 0 iterations: .* missed by"):
        rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9, time_limit=1e-9)


def test_ctrl_c_ends_a_search(soft) -> None:
    def press(_: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have made it deaf
    try:
        with pytest.raises(pliant.Interrupted, match="rest_to_rest: interrupted after"):
            rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9, progress=press)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.full
def test_least_time_through_elastic_drives(soft) -> None:
    limit = np.array([150.0, 60.0])
    fast = rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, torque_limit=limit, objective="time")
    assert (np.abs(fast.tau) <= limit * (1 + 1e-6)).all()
    assert (np.abs(fast.tau) > 0.98 * limit).any(axis=1).mean() > 0.4
    rest = soft.tip_pose(soft.equilibrium(SOFT_GOAL))[:3, 3]
    run = pliant.simulate(soft, fast.duration + 0.5, q0=fast.q0, motion=fast.motion(soft))
    assert np.linalg.norm(run.tip[run.t >= fast.duration] - rest, axis=1).max() < 1e-4
    with pytest.raises(pliant.PliantError, match=r"no motion found|expected at least"):
        rest_to_rest(soft, [-0.6, 0.1], SOFT_GOAL, duration=0.9 * fast.duration, torque_limit=limit)
