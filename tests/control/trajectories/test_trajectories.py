"""Trajectories: rest at both ends, rates that are derivatives, numbers that equal expressions, early errors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant import ModelError
from pliant.control import (
    TRAJECTORIES,
    Constant,
    Cycloidal,
    MohanSaha,
    Phases,
    Pulse,
    Quintic,
    Samples,
    Shaped,
    Sine,
    Step,
    Trapezoidal,
    Waypoints,
    zv,
)

START, GOAL = [0.1, -1.0], [0.6, 2.0]
SMOOTH = [Cycloidal(START, GOAL, 0.5, 0.2), Quintic(START, GOAL, 0.5, 0.2)]
POINTS = [[0.0, 1.0], [1.0, 2.0], [3.0, 0.0], [2.0, 2.0]]
ALL = [
    *SMOOTH,
    Trapezoidal(START, GOAL, 0.5, 0.2, ramp=0.3),
    MohanSaha(2, 1.0),
    Waypoints([0.0, 0.3, 0.8, 1.0], POINTS),
    Waypoints([0.0, 0.3, 0.8, 1.0], POINTS, order=5),
    Shaped(Cycloidal(START, GOAL, 0.4), zv(3.0)),
    Phases([Cycloidal(START, GOAL, 0.3), Cycloidal(GOAL, START, 0.3, 0.5)], [0.5]),
    Constant(START),
]


def name(trajectory: object) -> str:
    return type(trajectory).__name__


@pytest.mark.parametrize("trajectory", ALL, ids=name)
def test_rates_are_derivatives(trajectory) -> None:
    rng = np.random.default_rng(1)
    t, h = rng.uniform(-0.2, 1.4, 40), 1e-5
    t = t[np.min(np.abs(t[:, None] - np.array([*trajectory.breaks, -9.0])), axis=1) > 2 * h]
    q, qd, qdd = trajectory(t)
    ahead, behind = trajectory(t + h), trajectory(t - h)
    scale = 1 + np.abs(qdd).max()
    # central differences: h^2/6 of the third derivative (up to 1e4 here) and rounding 1e-16/h
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), qd, atol=1e-6 * scale)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), qdd, atol=1e-6 * scale)
    np.testing.assert_allclose(trajectory(t[0])[0], q[0], rtol=0, atol=0)


@pytest.mark.parametrize("trajectory", ALL, ids=name)
def test_expression_gives_the_same_numbers(trajectory) -> None:
    t = ca.SX.sym("t")
    f = ca.Function("f", [t], [ca.densify(ca.SX(trajectory.expression(t)))])
    for time in (0.0, 0.33, 0.47, 2.0):
        np.testing.assert_array_equal(np.array(f(time)).ravel(), trajectory(time)[0])


@pytest.mark.parametrize("trajectory", SMOOTH, ids=name)
def test_rest_at_both_ends(trajectory) -> None:
    q, qd, qdd = trajectory([0.2, 0.7])
    np.testing.assert_allclose(q, [START, GOAL], atol=1e-15)
    # the acceleration at the end is a sine of 2 pi times its amplitude 2 pi D / T^2: rounding only
    np.testing.assert_allclose(qd, 0, atol=1e-13)
    np.testing.assert_allclose(qdd, 0, atol=1e-12)
    np.testing.assert_array_equal(trajectory(-1.0)[0], START)
    np.testing.assert_allclose(trajectory(9.0)[0], GOAL, atol=1e-15)


def test_profile_38_of_mohan_and_saha() -> None:
    t, T = np.linspace(0, 10, 21), 10.0
    q, _, _ = MohanSaha()(t)
    assert q.shape == (21, 6)
    np.testing.assert_allclose(q[:, 3], np.pi / T * t - np.sin(2 * np.pi * t / T) / 2, atol=1e-14)


def test_trapezium_has_constant_pieces() -> None:
    trajectory = Trapezoidal([0.0], [1.0], 1.0, ramp=0.25)
    _, qd, qdd = trajectory([0.1, 0.2, 0.5, 0.6, 0.8, 0.9])
    np.testing.assert_allclose(qdd[:, 0], [16 / 3, 16 / 3, 0, 0, -16 / 3, -16 / 3], atol=1e-12)
    np.testing.assert_allclose(qd[2:4, 0], 4 / 3, atol=1e-14)
    assert trajectory.breaks == (0.0, 0.25, 0.75, 1.0)
    uneven = Trapezoidal([0.3], [1.7], 2.0, ramp=0.1)
    for at in uneven.breaks[1:-1]:  # position and rate go on through the corners
        before, after = (np.array(uneven(at + s * 1e-9)[:2]) for s in (-1, 1))
        np.testing.assert_allclose(before, after, atol=1e-7)


@pytest.mark.parametrize("order", [3, 5])
def test_waypoints_pass_through_and_rest(order: int) -> None:
    times = [0.0, 0.3, 0.8, 1.0]
    trajectory = Waypoints(times, POINTS, order)
    q, qd, qdd = trajectory(times)
    np.testing.assert_allclose(q, POINTS, atol=1e-13)
    np.testing.assert_allclose(qd[[0, -1]], 0, atol=1e-11)
    if order == 5:
        np.testing.assert_allclose(qdd[[0, -1]], 0, atol=1e-9)
    before, after = trajectory(np.array(times[1:3]) - 1e-9), trajectory(np.array(times[1:3]) + 1e-9)
    np.testing.assert_allclose(
        before[2], after[2], atol=1e-4
    )  # continuous acceleration: third derivative 1e4 times 2e-9


def test_step_and_parts() -> None:
    step = Step([0.0, 1.0], [2.0, 1.0], 0.3)
    np.testing.assert_array_equal(step([0.2999, 0.3])[0], [[0, 1], [2, 1]])
    assert step[-1](1.0)[0] == 1.0
    assert len(step) == 2


def test_motion_names_joints(two_link) -> None:
    motion = Cycloidal([0, 0], [1, 2], 1.0).motion(two_link)
    assert list(motion) == ["upper", "fore"]
    np.testing.assert_allclose(motion["fore"](1.0)[0], 2.0)
    with pytest.raises(ModelError, match="3 coordinates, expected 2"):
        Cycloidal([0] * 3, [1] * 3, 1.0).motion(two_link)


def test_registry_makes_trajectories_from_plain_data() -> None:
    made = TRAJECTORIES["cycloidal"](start=[0, 0], goal=[1, 1], duration=2)
    np.testing.assert_allclose(made(1.0)[0], 0.5)
    assert TRAJECTORIES["waypoints"](times=[0, 1], points=[[0], [1]]).n == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cycloidal([0, 1], [1], 1.0), "goal: got"),
        (lambda: Cycloidal([0], [1], 0.0), "duration: got 0.0"),
        (lambda: Cycloidal([0], [1], True), "duration: got True"),
        (lambda: Cycloidal(["a"], [1], 1.0), "start: got"),
        (lambda: Cycloidal([np.nan], [1], 1.0), "start: got"),
        (lambda: Cycloidal([0], [1], 1.0, np.inf), "begin: got inf"),
        (lambda: Trapezoidal([0], [1], 1.0, ramp=0.6), "ramp: got 0.6"),
        (lambda: Waypoints([0, 1, 1], [[0], [1], [2]]), "times: got"),
        (lambda: Waypoints([0, 1], [[0], [1], [2]]), "points: got shape"),
        (lambda: Waypoints([0, 1], [[0], [1]], order=4), "order: got 4"),
        (lambda: MohanSaha(0), "joints: got 0"),
        (lambda: Phases([Constant([1.0]), Constant([1.0])], [1.0, 2.0]), "times: got"),
        (lambda: Phases([Constant([1.0]), Constant([1.0, 2.0])], [1.0]), "parts: they move"),
        (lambda: Constant([1.0])([[1.0]]), "t: got shape"),
    ],
)
def test_bad_trajectories(make, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_signals_are_what_they_say() -> None:
    """Values at chosen times; nothing before the beginning, nothing after a pulse."""
    sine = Sine([2.0, 0.0], frequency=0.25, offset=[1.0, 3.0], begin=1.0)
    np.testing.assert_allclose(
        sine([0.5, 2.0, 4.0])[0], [[1, 3], [3, 3], [-1, 3]], atol=1e-15
    )  # a quarter, three quarters
    late = Sine([2.0], frequency=0.25, phase=np.pi / 6, begin=1.0)
    np.testing.assert_allclose(late([1.0, 2.0])[0][:, 0], [1.0, np.sqrt(3)], rtol=1e-14)  # 30 and 120 degrees
    blow = Pulse([10.0], duration=0.2, begin=1.0)
    np.testing.assert_allclose(blow([0.99, 1.1, 1.21])[0][:, 0], [0, 10, 0], atol=1e-14)
    assert Pulse([10.0], 0.2, 1.0, shape="rectangle")(1.01)[0] == [10]
    table = Samples([0.0, 1.0, 3.0], [[0, 1], [2, 1], [0, 5]])
    np.testing.assert_allclose(table([-1, 0.5, 2, 9])[0], [[0, 1], [1, 1], [1, 3], [0, 5]], atol=1e-15)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sine([1], frequency=0), "frequency"),
        (lambda: Sine([1, 2], 1.0, offset=[1]), "offset"),
        (lambda: Pulse([1], duration=-1), "duration"),
        (lambda: Pulse([1], 1.0, shape="triangle"), "half-sine"),
        (lambda: Samples([0, 0], [1, 2]), "rising"),
        (lambda: Samples([0, 1], [[1, 2]]), "one finite row"),
    ],
)
def test_signals_refuse(make, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        make()
