"""PD and PID: where they settle, what limits do, and that they close the loop on motors."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import LQR, PD, PID, Cycloidal, Limited, Sampled, natural_gains
from pliant.control.controllers.controller import MotionWanted, actuated


def test_pd_with_gravity_settles_near_the_target(two_link) -> None:
    goal = [0.3, -0.4]
    kp, kd = natural_gains(two_link, goal, 8.0 / (2 * np.pi))
    controller = PD(kp, kd, Cycloidal([0, 0], goal, 1.0))
    result = pliant.simulate(two_link, 4.0, q0=two_link.equilibrium([0, 0]), controller=controller)
    # gravity of the undeformed arm is fed forward, that of the sag is not: what is left is sag torque over gain
    rest = two_link.equilibrium(result.q[-1, :2])
    left = two_link.holding_torque(rest) - controller.bind(two_link)(9.0, [*goal, 0, 0], np.zeros(4))
    np.testing.assert_allclose(result.q[-1, :2] - goal, -left / kp, atol=2e-4)
    assert np.abs(result.qd[-1]).max() < 5e-3


def test_pid_removes_what_pd_leaves(two_link) -> None:
    goal = [0.2, -0.4]
    kp, kd = natural_gains(two_link, goal, 8.0 / (2 * np.pi))
    start = two_link.equilibrium(goal)
    errors = {}
    for name, controller in {"pd": PD(kp, kd, goal), "pid": PID(kp, 3 * kp, kd, goal)}.items():
        result = pliant.simulate(two_link, 6.0, q0=start, controller=controller)
        errors[name] = np.abs(result.q[-1, :2] - goal).max()
    assert errors["pid"] < 0.05 * errors["pd"]


def test_law_is_a_plain_function_and_equals_the_run(two_link) -> None:
    controller = PD(300, 60, Cycloidal([0, 0], [0.5, 0.2], 0.5))
    result = pliant.simulate(two_link, 0.3, controller=controller, output_step=0.1)
    law = controller.bind(two_link)
    for t, q, qd, tau in zip(result.t, result.q, result.qd, result.tau):
        np.testing.assert_allclose(law(t, q, qd), tau, rtol=1e-12, atol=1e-12)


def test_limits_hold_and_stop_the_integral(two_link) -> None:
    goal = [1.0, 0.5]
    inside = pliant.simulate(two_link, 1.0, controller=PID(400, 800, 80, goal, limit=[60, 30]))
    outside = pliant.simulate(two_link, 1.0, controller=Limited(PD(400, 80, goal), [60, 30]))
    for result in (inside, outside):
        assert (np.abs(result.tau).max(axis=0) <= [60, 30]).all()
        assert np.abs(result.tau[:, 0]).max() == 60
    law = PID(400, 800, 80, goal, limit=[60, 30]).bind(two_link)
    _, rate = law.step(0.0, np.zeros(4), np.zeros(4), np.zeros(2))
    np.testing.assert_array_equal(rate, 0)  # both errors push against their limits


def test_a_torque_that_stays_at_its_limit_takes_few_steps() -> None:
    """Where the integral alone carries the torque beyond the limit, and the motion takes it back, it neither grows nor
    rests: a law that switches between the two never got past that."""
    body = pliant.RigidBody(mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1), tip=(0.1, 0, 0))
    slide = pliant.Link(name="block", joint=pliant.Joint(type="prismatic", axis=(1, 0, 0)), rigid=body)
    model = pliant.Robot(name="block", gravity=(0, 0, 0), links=[slide]).model()
    run = pliant.simulate(model, 10.0, controller=PID(4.0, 6.0, 3.0, [5.0], limit=0.5))
    assert run.stats.steps < 1000


def test_the_loop_closes_on_motors() -> None:
    robot = pliant.load("two-link").to_dict()
    for link in robot["links"]:
        link["joint"] = {"drive": {"stiffness": 2e4, "rotor_inertia": 1e-3, "gear_ratio": 50, "damping": 20.0}}
    model = pliant.Robot.model_validate(robot).model()
    assert actuated(model) == [2, 3]
    goal = np.array([0.2, -0.3])
    kp, kd = natural_gains(model, goal, 8.0 / (2 * np.pi))
    result = pliant.simulate(
        model, 4.0, q0=model.equilibrium([0, 0]), controller=PD(kp, kd, Cycloidal([0, 0], goal, 1.0))
    )
    # the motor's reference leads by the wind-up of its spring, so the joint itself arrives (up to the sag's torque)
    assert np.abs(result.q[-1, :2] - goal).max() < 0.25 * np.abs(result.q[-1, 2:4] - result.q[-1, :2]).max()
    assert np.abs(result.q[-1, 2:4] - result.q[-1, :2]).max() > 2e-3


def test_sampling_approaches_the_continuous_loop(two_link) -> None:
    # gains gentle enough for 20 ms; a held torque acts late by half a sample, so the difference falls with the period
    controller = PD(60, 12, Cycloidal([-1.5, 0], [-1.2, 0.3], 0.5))
    start = two_link.equilibrium([-1.5, 0])
    exact = pliant.simulate(two_link, 0.6, q0=start, controller=controller).q[-1]
    periods = [8e-4, 4e-4, 2e-4]
    gaps = []
    for period in periods:
        held = pliant.simulate(two_link, 0.6, q0=start, controller=Sampled(controller, period))
        gaps.append(np.abs(held.q[-1] - exact).max())
    rates = np.log2(np.array(gaps[:-1]) / gaps[1:])
    assert (rates > 0.8).all(), gaps
    assert (rates < 1.2).all(), gaps
    assert gaps[-1] < 2e-3


def test_a_delay_acts_as_late_as_it_says(two_link) -> None:
    controller = PD(60, 12, [-1.2, 0.3])
    law = Sampled(controller, 0.01, delay=0.015).bind(two_link)
    assert law.sample_time == pytest.approx(0.005)
    q0 = two_link.equilibrium([-1.5, 0])
    result = pliant.simulate(
        two_link, 0.05, q0=q0, controller=Sampled(controller, 0.01, delay=0.015), output_step=0.001
    )
    np.testing.assert_array_equal(result.tau[result.t < 0.0149], 0)
    first = controller.bind(two_link)(0.0, q0, np.zeros(4))
    during = (result.t > 0.0151) & (result.t < 0.0249)
    np.testing.assert_allclose(result.tau[during], np.tile(first, (during.sum(), 1)), rtol=1e-12)


def test_a_second_run_starts_afresh(two_link) -> None:
    controller = Sampled(PID(60, 200, 12, [-1.2, 0.3]), 0.001)
    runs = [pliant.simulate(two_link, 0.05, q0={"upper": -1.5}, controller=controller).q[-1] for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_weights_of_a_regulator_grow_with_the_square_of_its_frequency() -> None:
    model = pliant.load("two-link").model()
    Q = [
        LQR.offered(model, MotionWanted(start=[0, 0], goal=[1, 1], moves=True, reference={}, frequency=f))["Q"]
        for f in (1.5, 3.0)
    ]
    assert [each["joints"] for each in Q] == pytest.approx([(2 * np.pi * f) ** 2 for f in (1.5, 3.0)])  # type: ignore[index]
