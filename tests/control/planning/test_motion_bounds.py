"""Bounds of commanded motions, and the fastest straight motion within them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly, PPoly

from pliant import ModelError
from pliant.control import JerkLimited, rest_to_rest
from pliant.control.planning.perturbed_model import Bystander
from pliant.control.planning.search.motion_bounds import BoundRows, MotionBounds
from pliant.control.planning.search.motion_forces import ArmForces
from pliant.control.planning.search.motion_grid import MotionGrid
from pliant.control.planning.search.motion_response import Driven
from pliant.control.trajectories.jerk_limited import phases, shortest_time
from pliant.planning import residual_vibration

CASES = [
    (1.0, 1.0, 2.0, 8.0),
    (1.0, 10.0, 2.0, 8.0),
    (0.01, 1.0, 2.0, 8.0),
    (1.0, 0.1, 2.0, 8.0),
    (3.0, 0.4, 50.0, 2.0),
]
"""All phases; no even one; jerk alone; speed before acceleration; the same with a long even phase."""


@pytest.mark.parametrize(("way", "speed", "acceleration", "jerk"), CASES)
def test_seven_phases(way: float, speed: float, acceleration: float, jerk: float) -> None:
    move = JerkLimited([0.5], [0.5 - way], speed, acceleration, jerk, begin=0.3)
    t = np.linspace(0.3, move.end, 200_001)
    q, qd, qdd = move(t)
    np.testing.assert_allclose(q[[0, -1], 0], [0.5, 0.5 - way], atol=1e-12)
    np.testing.assert_allclose([qd[0], qd[-1], qdd[0], qdd[-1]], 0, atol=1e-9)
    rate = np.abs(np.diff(qdd[:, 0])) / np.diff(t)
    tops = np.abs(qd).max() / speed, np.abs(qdd).max() / acceleration, rate.max() / jerk
    assert max(tops) <= 1 + 1e-6
    assert tops[2] == pytest.approx(1, rel=1e-5)
    _, held, even = phases(way, speed, acceleration, jerk)
    assert even == pytest.approx(0, abs=1e-12) or tops[0] == pytest.approx(1)  # faster is not allowed
    assert held == pytest.approx(0, abs=1e-12) or tops[1] == pytest.approx(1)
    assert move.end == pytest.approx(0.3 + shortest_time(way, speed, acceleration, jerk))


def test_limits_that_are_none() -> None:
    inf = np.inf
    assert shortest_time(2.0, inf, inf, inf) == 0
    assert shortest_time(2.0, 4.0, inf, inf) == 0.5
    assert shortest_time(2.0, inf, 2.0, inf) == pytest.approx(2.0)
    assert shortest_time(2.0, inf, inf, 1.0) == pytest.approx(4.0)
    with pytest.raises(ModelError, match="jerk_limit: got inf"):
        JerkLimited([0.0], [1.0], 1.0, 1.0, inf)


def test_coordinates_move_in_step() -> None:
    move = JerkLimited([0.0, 1.0, 2.0], [1.0, -1.0, 2.0], [1.0, 1.0, 1e-9], 4.0, 20.0)
    q, qd, _ = move(np.linspace(0, move.end, 101))
    np.testing.assert_allclose(q[:, 1], 1 - 2 * q[:, 0], atol=1e-12)
    assert np.abs(qd[:, 1]).max() == pytest.approx(1)
    assert (q[:, 2] == 2.0).all()


def test_rows_are_bezier_points(rng: np.random.Generator) -> None:
    """Those of SciPy, of the cubic pieces with the positions and rates at the nodes, and of their rates."""
    N, T, start = 5, 1.7, 0.4
    a, nodes = rng.normal(size=N + 1), np.linspace(0, 1, N + 1)
    rate = PPoly(np.stack([np.diff(a) * N, a[:-1]]), nodes).antiderivative()
    place = rate.antiderivative()
    cubic, square = (BPoly.from_power_basis(each).c for each in (place, rate))
    bounds = MotionBounds(*(np.array([x]) for x in (-2.6, 9.0, 4.0, np.inf, np.inf)))
    rows = BoundRows.over(bounds, np.array([start]), N)
    g = rows.values(a, T)
    place_points = np.concatenate([piece[1:] for piece in cubic.T])[1:]  # behind the start, where rest has two in one
    assert g[rows.power == 0] * 3.0 == pytest.approx(place_points, abs=1e-13)
    assert g[rows.power == 1] * 4.0 * T == pytest.approx(np.concatenate([p[1:] for p in square.T]), abs=1e-13)


def test_rows_are_the_hull_of_the_motion(rng) -> None:
    """Rates and positions of the cubic spline lie within the rows' extremes, and reach them nearly on a fine grid."""
    N, m, T = 9, 2, 1.7
    start, a = rng.normal(size=m), rng.normal(size=(N + 1, m))
    bounds = MotionBounds(
        np.full(m, -30.0), np.full(m, 20.0), *(np.array(x) for x in ([2.0, 3.0], [4.0, 5.0], [6.0, 7.0]))
    )
    rows = BoundRows.over(bounds, start, N)
    g = rows.values(a.ravel(), T)
    s = np.linspace(0, 1, 20_001)
    qss = np.stack([np.interp(s, np.linspace(0, 1, N + 1), a[:, k]) for k in range(m)], axis=1)
    qs = np.concatenate([np.zeros((1, m)), np.cumsum((qss[1:] + qss[:-1]) / 2 * s[1], axis=0)])
    q = np.concatenate([np.zeros((1, m)), np.cumsum((qs[1:] + qs[:-1]) / 2 * s[1], axis=0)])
    for power, found, size in (
        (0, q, np.minimum(np.abs(bounds.lower - start), np.abs(bounds.upper - start))),
        (1, qs / T, bounds.speed), (2, qss / T**2, bounds.acceleration),
        (3, np.diff(a, axis=0) * N / T**3, bounds.jerk),
    ):  # fmt: skip
        per_joint = g[rows.power == power].reshape(m, -1)
        top = np.abs(found / size).max(axis=0)
        assert (np.abs(per_joint).max(axis=1) >= top * (1 - 1e-4)).all()
        assert (np.abs(per_joint).max(axis=1) <= top * (1 if power > 1 else 1.5) + 0.05).all()
    np.testing.assert_allclose(rows.low[rows.power == 0].reshape(m, -1)[:, 0] * np.minimum(
        np.abs(bounds.lower - start), np.abs(bounds.upper - start)) + start, bounds.lower)  # fmt: skip


def test_a_rate_between_nodes_is_bounded() -> None:
    """An acceleration that alternates: the rate is zero at every node, and a sixteenth between them."""
    bounds = MotionBounds(*(np.array([x]) for x in (-np.inf, np.inf, 1.0, np.inf, np.inf)))
    rows = BoundRows.over(bounds, np.zeros(1), 4)
    assert np.abs(rows.values(np.array([1.0, -1.0, 1.0, -1.0, 1.0]), 1.0)).max() >= 1 / 16


@pytest.mark.parametrize(("sign", "beyond"), [(1.0, 3.2 / 2.5 - 1), (-1.0, 3.2 / 1.6 - 1)])
def test_a_place_beyond_either_bound_is_a_violation(sign: float, beyond: float) -> None:
    """Constant acceleration: the place is half of it in the end; bounds are 1.6 below the start and 2.5 above."""
    bounds = MotionBounds(*(np.array([x]) for x in (-1.2, 2.9, np.inf, np.inf, np.inf)))
    rows, T = BoundRows.over(bounds, np.array([0.4]), 6), 1.7
    size = 1.6  # the smaller of both
    found = rows.violation(np.full(7, sign * 2 * 3.2), T)
    assert found * size == pytest.approx(beyond * (2.5 if sign > 0 else 1.6), rel=1e-12)
    assert rows.violation(np.full(7, sign * 2 * 1.5), T) == 0.0


def test_slopes_of_rows_by_differences(rng) -> None:
    N, m, T = 6, 2, 0.8
    bounds = MotionBounds(*(np.full(m, x) for x in (-3.0, 2.0, 1.5, 4.0, 9.0)))
    rows, a = BoundRows.over(bounds, np.zeros(m), N), rng.normal(size=(N + 1) * m)
    w = rng.normal(size=len(rows.L))
    x, h = np.append(a, T), 1e-6

    def slope(x):
        return rows.slopes(x[:-1], x[-1])

    for k in (3, len(x) - 1):
        step = h * np.eye(len(x))[k]
        by = (rows.values((x + step)[:-1], (x + step)[-1]) - rows.values((x - step)[:-1], (x - step)[-1])) / (2 * h)
        np.testing.assert_allclose(slope(x)[:, k], by, rtol=1e-6, atol=1e-7)
    last = h * np.eye(len(x))[-1]
    second = w @ (slope(x + last) - slope(x - last)) / (2 * h)
    cross, twice = rows.curvature(a, T, w)
    np.testing.assert_allclose(np.append(cross, twice), second, rtol=1e-6, atol=1e-6)


def test_limits_of_an_optimal_motion(beam) -> None:
    limits = {"speed_limit": 1.2, "acceleration_limit": 8.0, "jerk_limit": 120.0}
    fast = rest_to_rest(beam, [0.0], [0.5], objective="time", intervals=24, **limits)
    t = np.linspace(0, fast.duration, 24 * 500 + 1)
    _, qd, qdd = fast.trajectory(t)
    tops = np.abs(qd).max() / 1.2, np.abs(qdd).max() / 8.0, np.abs(np.diff(qdd[:, 0])).max() / t[1] / 120.0
    assert max(tops) <= 1 + 1e-6
    assert max(tops) > 0.99
    assert fast.duration > shortest_time(0.5, 1.2, 8.0, 120.0)
    with pytest.raises(Exception, match="which speed_limit, acceleration_limit"):
        rest_to_rest(beam, [0.0], [0.5], duration=0.3, **limits)


def test_a_bystander_rings_as_it_is_simulated(beam) -> None:
    """An arm with a load follows the command of the one without: rows in metres at the tip, and a run of it."""
    off, N, T = beam.robot.replace({"payload.mass": 0.12}).model(), 24, 0.5
    move = rest_to_rest(beam, [0.0], [0.4], duration=T, intervals=N)
    grid = MotionGrid(beam.n, (0,), N, 4)
    command = move.trajectory(np.linspace(0, T, N + 1))[2] * T**2
    guess = Driven(ArmForces(beam), grid, np.zeros(beam.n)).response(command, T, np.zeros((N, grid.width)))
    following = Bystander(off, grid, np.zeros(1), np.array([0.4]), 1e-3).following(guess, np.ones(N + 2))
    found = residual_vibration(off, move.trajectory, T)
    assert found.peak > 1e-3
    assert 1e-3 * np.hypot(*following.values()) == pytest.approx(found.peak, rel=0.02)
    x = np.append(command.ravel(), T)
    step = 1e-5 * np.eye(len(x))[9]
    ends = []
    for sign in (1, -1):
        following.follow((x + sign * step)[:-1, None], T)
        ends.append(following.values())
    np.testing.assert_allclose(following.slopes()[:, 9], (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-6)
