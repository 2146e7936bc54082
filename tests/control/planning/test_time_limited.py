"""A time limit holds from the call on: what cannot be ended between steps runs where it can be ended."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import rest_to_rest
from pliant.control.planning import plan_motion
from pliant.control.planning.search import motion_search, optimal, time_limited
from pliant.control.planning.search.time_limited import Watch, in_process
from pliant.errors import ModelError, PliantError, warn_user


def endless(_: Any, time_limit: float, progress: Any) -> None:
    """What a compiler may do for minutes."""
    time.sleep(3600)


def plain(value: Any, time_limit: float, progress: Any) -> tuple[Any, float]:
    """Tells all that can be told."""
    progress(0.5)
    print("what is printed is no result")
    warn_user("so it is")
    return value, time_limit


def wrong(_: Any, time_limit: float, progress: Any) -> None:
    raise ModelError("goal: got nothing")


def test_a_search_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes, and its process does not outlive it."""
    started: list[Any] = []
    real = subprocess.Popen

    def kept(*given: Any, **more: Any) -> Any:
        started.append(real(*given, **more))
        return started[-1]

    monkeypatch.setattr(time_limited.subprocess, "Popen", kept)
    with pytest.raises(PliantError, match=r"motion: nothing found within time_limit 0.1 s.* compiling"):
        in_process(endless, (1,), Watch(0.1), "motion")
    assert started[0].poll() is not None
    assert started[0].stdin.closed
    assert started[0].stdout.closed


@pytest.mark.full
def test_what_a_process_tells_comes_back() -> None:
    told: list[float] = []
    watch = Watch(600.0, told.append)
    with pytest.warns(UserWarning, match="so it is"):
        value, limit = in_process(plain, (np.arange(3),), watch, "motion")
    assert (value.tolist(), limit, told) == ([0, 1, 2], 600.0, [0.5])
    with pytest.raises(ModelError, match="goal: got nothing"):
        in_process(wrong, (1,), watch, "motion")


def test_unknown_arms_are_searched_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of an arm is traced before there is somebody to end it; a known one needs no process."""
    asked: list[str] = []

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("traced in the process of the caller")

    model = pliant.load("two-link").replace({"payload.mass": 0.731}).model()
    for module, door in ((optimal, "RestEnds"), (plan_motion, "off_by")):
        monkeypatch.setattr(module, "in_process", lambda *_, name, **__: asked.append(name))
        monkeypatch.setattr(module, "needs_process", lambda *_: True)
        monkeypatch.setattr(module, door, type("Door", (), {"at": never, "__call__": never})())
    rest_to_rest(model, [0, 0], [0.3, 0.2], duration=1.5, time_limit=20.0, progress=False)
    limits = {"speed_limit": 1.0, "acceleration_limit": 2.0, "jerk_limit": 9.0}
    pliant.plan(model, [0, 0], [0.3, 0.2], **limits, time_limit=20.0, progress=False)
    assert asked == ["rest_to_rest", "plan"]
    monkeypatch.undo()
    assert not time_limited.needs_process(model, "a search", Watch())
    for known in (False, True):
        monkeypatch.setattr(time_limited, "is_recalled", lambda recipe, known=known: known)
        assert time_limited.needs_process(model, "a search", Watch(20.0)) != known


def test_what_was_found_in_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over behind the first of three stages: its motion holds all conditions, and is no shortest one."""
    now, real = [0.0], motion_search.MotionSearch.solve

    def solve(self: Any, watch: Watch) -> Any:
        found = real(self, watch)
        now[0] += 100.0 if self.aim is motion_search.SMOOTH_EFFORT else 0.0
        return found

    monkeypatch.setattr(time_limited, "clock", lambda: now[0])
    monkeypatch.setattr(motion_search.MotionSearch, "solve", solve)
    monkeypatch.setattr(optimal, "needs_process", lambda *_: False)
    model = pliant.load("two-link").model()
    given = {"torque_limit": [200.0, 80.0], "objective": "time", "intervals": 6, "degree": 3, "progress": False}
    found = rest_to_rest(model, [0.0, 0.0], [0.3, 0.2], time_limit=50.0, **given)
    assert not found.converged
    assert found.violation < 1e-6
    assert (np.abs(found.tau) <= np.array([200.0, 80.0]) * (1 + 1e-6)).all()
    now[0] = 0.0
    monkeypatch.setattr(optimal, "stiff_shortest_time", lambda *_, **__: now.__setitem__(0, 100.0))
    with pytest.raises(PliantError, match="time_limit"):  # nothing at all, from the call on
        rest_to_rest(model, [0.0, 0.0], [0.3, 0.2], time_limit=50.0, **given)
