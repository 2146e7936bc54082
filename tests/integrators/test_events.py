"""Events: times to round-off of the dense output, order, direction, stops."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from odes import make, make_events, oscillator
from pliant.integrators import solve

METHODS = ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"]
G = 9.81


def options(method: str) -> dict[str, object]:
    return {"method": method, "rtol": 1e-10, "atol": 1e-12, "step": 0.003 if method in ("rk4", "midpoint") else None}


@pytest.mark.parametrize("method", METHODS)
def test_falling_ball_hits_the_floor(method):
    ball = make(lambda t, x, p: ca.vertcat(x[1], -G), 2, n_positions=1)
    floor = make_events(lambda t, x, p: x[0], 2, direction=-1)
    run = solve(ball, (0, 10), [1.0, 0.0], events=floor, **options(method))
    assert run.status == "event"
    # a parabola, on which every method and its dense output are exact
    assert run.t_end == pytest.approx(np.sqrt(2 / G), abs=1e-12)
    assert run.x_end == pytest.approx([0.0, -np.sqrt(2 * G)], abs=1e-11)
    assert run.t[-1] == run.t_end


def test_bounces_by_restart():
    """The far side of the crossing is returned, so a restart does not meet the same event again."""
    ball = make(lambda t, x, p: ca.vertcat(x[1], -G), 2, n_positions=1)
    floor = make_events(lambda t, x, p: x[0], 2, direction=-1)
    t, x, times = 0.0, np.array([1.0, 0.0]), []
    for _ in range(4):
        run = solve(ball, (t, 10), x, method="dopri5", events=floor)
        t, x = run.t_end, run.x_end * [1, -0.5]
        times.append(t)
    fall = np.sqrt(2 / G)
    assert times == pytest.approx(np.cumsum([fall, fall, fall / 2, fall / 4]), abs=1e-10)


@pytest.mark.parametrize(("direction", "expected"), [(1, [1.5, 3.5]), (-1, [0.5, 2.5]), (0, [0.5, 1.5, 2.5, 3.5])])
def test_direction(direction, expected):
    crossing = make_events(lambda t, x, p: x[0], 2, direction=direction, terminal=False)
    run = solve(oscillator(), (0, 4 * np.pi), [1.0, 0.0], method="dop853", rtol=1e-11, events=crossing)
    assert run.status == "finished"
    assert run.events.t == pytest.approx(np.pi * np.array(expected), abs=1e-9)
    assert np.abs(run.events.x[:, 0]).max() < 1e-9


def test_events_are_in_order_and_end_with_the_stop():
    """Three functions, the third stops; those after it in the same step are not recorded."""
    events = make_events(
        lambda t, x, p: ca.vertcat(t - 0.52, t - 0.51, t - 0.53, t - 0.54), 2, terminal=[False, False, True, False]
    )
    run = solve(oscillator(), (0, 10), [1.0, 0.0], method="dop853", rtol=1e-4, events=events)
    assert run.events.index.tolist() == [1, 0, 2]
    assert run.events.t == pytest.approx([0.51, 0.52, 0.53], abs=1e-12)
    assert run.t_end == pytest.approx(0.53, abs=1e-12)


def test_short_visit_within_one_step_is_noticed():
    """Two crossings in half a step: event functions are looked at inside the step."""
    events = make_events(lambda t, x, p: (t - 0.4) * (t - 0.6), 2, terminal=False)
    run = solve(oscillator(), (0, 1), [1.0, 0.0], method="dop853", rtol=1e-2, atol=1e2, events=events, breaks=[1e-9])
    assert run.stats.steps < 10
    assert run.events.t == pytest.approx([0.4, 0.6], abs=1e-12)


def test_rows_stop_at_the_event():
    crossing = make_events(lambda t, x, p: x[0], 2)
    rows = np.linspace(0, 4, 41)
    run = solve(oscillator(), (0, 4), [1.0, 0.0], method="dop853", events=crossing, outputs=rows)
    assert run.t.tolist() == rows[rows <= np.pi / 2].tolist()
    assert run.x[:, 0] == pytest.approx(np.cos(run.t), abs=1e-7)


def test_many_events_outgrow_the_first_buffer():
    crossing = make_events(lambda t, x, p: x[0], 2, terminal=False)
    run = solve(oscillator(), (0, 1000 * np.pi), [1.0, 0.0], method="dop853", events=crossing)
    assert len(run.events.t) == 1000
    assert (np.diff(run.events.t) > 3).all()


def test_multistep_methods_refuse_events():
    crossing = make_events(lambda t, x, p: x[0], 2)
    with pytest.raises(Exception, match="bdf"):
        solve(oscillator(), (0, 1), [1.0, 0.0], method="bdf", events=crossing)
