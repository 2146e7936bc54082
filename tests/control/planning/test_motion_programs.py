"""Fastest motions by linear programs: held against interior points, against closed forms, and against their limits."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.control import rest_to_rest
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_programs import MISSED, SETTLED, STEPS, WIGGLE, TimePrograms
from pliant.control.planning.search.motion_search import Unsolved
from pliant.control.planning.search.optimal import MotionTask, RestEnds
from pliant.control.planning.search.time_limited import Watch
from pliant.control.trajectories.jerk_limited import shortest_time
from pliant.planning import residual_vibration

WAY, LIMITS, N = 0.5, (1.2, 8.0, 120.0), 24


def asked(model, limit=np.inf, share=1e-4, others=()) -> MotionTask:
    bounds = MotionBounds(*(np.array([x]) for x in (-np.inf, np.inf, *LIMITS)))
    torque = np.array([limit])
    ends = RestEnds.at(model, [0.0], [WAY], torque)
    return MotionTask(model, ends, torque, True, bounds, (N, 4), tuple(others), (0.01, share))


def test_the_time_of_interior_points(beam) -> None:
    names = ("speed_limit", "acceleration_limit", "jerk_limit")
    other = rest_to_rest(beam, [0.0], [WAY], objective="time", intervals=N, **dict(zip(names, LIMITS)))
    found = asked(beam).fastest(0.8, Watch())
    assert found.converged
    assert found.duration == pytest.approx(other.duration, rel=2e-3)
    assert found.duration > shortest_time(WAY, *LIMITS)
    assert found.violation < 1e-6


def test_a_motion_keeps_its_limits_and_swings_by_its_share(beam) -> None:
    torque = 3.0  # free, it takes 4.7
    found = asked(beam, torque, share=0.05).fastest(0.8, Watch())
    t = np.linspace(0, found.duration, 20 * N * 10 + 1)
    _, qd, qdd = found.trajectory(t)
    jerk = np.diff(qdd, axis=0) / t[1]
    assert max(np.abs(x).max() / limit for x, limit in zip((qd, qdd, jerk), LIMITS)) <= 1 + 1e-6
    assert np.abs(found.tau).max() == pytest.approx(torque, rel=1e-6)
    swing = residual_vibration(beam, found.trajectory, found.duration).peak
    assert 0.8 * 0.05 * 0.01 < swing < 1.5 * 0.05 * 0.01  # place and rate of the one mode, each by the share


def test_another_arm_rings_by_its_share(beam) -> None:
    heavy = beam.robot.replace({"payload.mass": 0.05}).model()
    alone, both = (asked(beam, others=o).fastest(0.8, Watch()) for o in ((), ((heavy, 0.01, 0.1),)))
    left = [residual_vibration(heavy, each.trajectory, each.duration).peak for each in (alone, both)]
    most = 1e-3 * np.hypot(1, 0.8 / both.duration)  # rates count by the duration at which the search begins
    assert left[0] > 1.05 * most
    assert left[1] == pytest.approx(most, rel=0.02)
    assert both.duration > alone.duration


def test_what_is_not_found_is_told(beam) -> None:
    with pytest.raises(Unsolved, match="time_limit 1e-09 s, after 1 programs"):
        asked(beam).fastest(0.8, Watch(time_limit=1e-9))
    told: list[float] = []
    asked(beam).fastest(0.8, Watch(report=told.append))
    assert told == sorted(told)
    assert told[-1] < 1
    assert len(told) <= STEPS


class Hollows:
    """A search whose one free acceleration a and duration T must keep T >= `least(a)`: hollows, each lower by 0.025
    than the one on its left, and narrower than the first step."""

    commands = 1, 2
    row_bounds = np.array([[0.0], [np.inf]])
    wave = 2 * np.pi / 0.25

    def __init__(self, a: float) -> None:
        self.start, self.visited = np.array([0.0, a, 0.0, self.least(a)]), []

    def least(self, a: float) -> float:
        return 1 - 0.04 * np.cos(self.wave * a) - 0.1 * a

    def constraints(self, x) -> np.ndarray:
        return np.array([x[-1] - self.least(x[1])])

    def jacobian(self, x) -> np.ndarray:
        self.visited.append(x)
        return np.array([[0.0, 0.1 - 0.04 * self.wave * np.sin(self.wave * x[1]), 0.0, 1.0]])

    def response(self, x) -> np.ndarray:
        return x

    def sum(self, x) -> float:
        return x[-1] + WIGGLE * abs(2 * x[1]) + MISSED * max(0.0, -self.constraints(x)[0])


@pytest.mark.parametrize("a", [0.02, 0.03, 0.04, 0.05])
def test_a_step_to_a_worse_motion_is_not_taken(a: float) -> None:
    """Slopes promise more than the next hill lets a whole step have: the search stays in the hollow where it begins."""
    search = Hollows(a)
    found, _, settled = TimePrograms(search).solve(Watch())
    assert settled
    assert (np.diff([search.sum(x) for x in search.visited]) < 0).all()
    bottom = np.arcsin(0.1 / (0.04 * search.wave)) / search.wave
    assert found[-1] == pytest.approx(search.least(bottom), abs=SETTLED)
