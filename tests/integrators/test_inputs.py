"""Inputs: samples, held functions, Python functions at every stage; what they raise."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from odes import held, make
from pliant.integrators import Hold, SampledInput, solve

METHODS = ["rk4", "midpoint", "dopri5", "dop853", "rodas5p", "adams", "bdf"]
TIMES = np.array([0.0, 0.31, 0.5, 1.7, 2.2])
VALUES = np.array([1.0, -2.0, 0.5, 3.0, -1.0])


def staircase(t_end: float, x: float) -> float:
    """Exact end of x' = -x + u with the staircase above."""
    edges = np.append(TIMES[t_end > TIMES], t_end)
    for u, length in zip(VALUES, np.diff(edges)):
        x = u + (x - u) * np.exp(-length)
    return x


def options(method: str) -> dict[str, object]:
    # adams and bdf control the local error only; the global one stays within ten times that here
    return {"method": method, "rtol": 1e-10, "atol": 1e-12, "step": 0.005 if method in ("rk4", "midpoint") else None}


ACCURACY = {"rk4": 1e-10, "midpoint": 1e-5, "dopri5": 1e-9, "dop853": 1e-9, "rodas5p": 1e-9, "adams": 1e-8, "bdf": 1e-8}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_end", [0.4, 3.0])
def test_samples_are_followed_exactly(method, t_end):
    run = solve(held(), (0, t_end), [0.3], samples=SampledInput(TIMES, VALUES[:, None]), **options(method))
    assert run.x_end[0] == pytest.approx(staircase(t_end, 0.3), abs=ACCURACY[method])


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"])
def test_steps_end_exactly_on_the_samples(method):
    run = solve(held(), (0, 3), [0.3], samples=SampledInput(TIMES, VALUES[:, None]), **options(method))
    assert set(TIMES) <= set(run.t)


@pytest.mark.parametrize("method", METHODS)
def test_held_function_equals_samples(method):
    called = []

    def law(t, x, p):
        called.append(t)
        p[0] = VALUES[np.searchsorted(TIMES, t, side="right") - 1]

    by_law = solve(held(), (0, 3), [0.3], hold=Hold(law, TIMES), **options(method))
    by_table = solve(held(), (0, 3), [0.3], samples=SampledInput(TIMES, VALUES[:, None]), **options(method))
    assert np.array_equal(by_law.x_end, by_table.x_end)
    assert called == list(TIMES)


def test_held_function_sees_the_state_of_its_time():
    seen = []
    times = np.linspace(0, 0.9, 10)
    run = solve(
        held(), (0, 1), [1.0], method="dop853", hold=Hold(lambda t, x, p: seen.append(x[0]), times), outputs=times
    )
    # rows and calls read the same state; a row at the end of a step is a copy of it
    assert np.array_equal(seen, run.x[:, 0])


def test_start_in_the_middle_of_the_samples():
    run = solve(held(), (1.0, 2.0), [0.3], method="dop853", samples=SampledInput(TIMES, VALUES[:, None]))
    expected = 3.0 + (0.5 + (0.3 - 0.5) * np.exp(-0.7) - 3.0) * np.exp(-0.3)
    assert run.x_end[0] == pytest.approx(expected, abs=1e-8)


def test_samples_fill_only_their_part_of_p():
    problem = make(lambda t, x, p: p, 3, 3)
    samples = SampledInput(np.array([0.0, 1.0]), np.array([[2.0], [4.0]]), first=1)
    run = solve(problem, (0, 2), np.zeros(3), p=[1.0, 0.0, 10.0], samples=samples, method="dopri5")
    assert run.x_end == pytest.approx([2.0, 6.0, 20.0], rel=1e-12)


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"])
def test_function_at_every_stage_equals_the_traced_expression(method):
    """Feedback through Python, Jacobian included: same run as the compiled law, to the accuracy of the method."""
    plant = make(lambda t, x, p: ca.vertcat(x[1], p[0]), 2, 1, 1)
    traced = make(lambda t, x, p: ca.vertcat(x[1], ca.cos(t) - 4 * x[0] - x[1]), 2, 0, 1)

    def law(t, x, p):
        p[0] = np.cos(t) - 4 * x[0] - x[1]

    a = solve(plant, (0, 3), [1.0, 0.0], callback=law, n_callback=1, **options(method))
    b = solve(traced, (0, 3), [1.0, 0.0], **options(method))
    assert a.x_end == pytest.approx(b.x_end, abs=1e-9)
    assert a.stats.rhs >= b.stats.rhs


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"])
def test_exception_in_a_stage_stops_the_run_and_comes_out(method):
    class Broken(Exception):
        pass

    calls = []

    def law(t, x, p):
        calls.append(t)
        if t > 0.5:
            raise Broken("sensor lost")

    with pytest.raises(Broken, match="sensor lost"):
        solve(held(), (0, 1e6), [1.0], callback=law, n_callback=1, **options(method))
    assert sum(t > 0.5 for t in calls) == 1


def test_exception_in_a_held_function_comes_out():
    def law(t, x, p):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(held(), (0, 1), [1.0], hold=Hold(law, np.array([0.5])))


def test_multistep_methods_refuse_a_function_at_every_stage():
    with pytest.raises(Exception, match="adams"):
        solve(held(), (0, 1), [1.0], method="adams", callback=lambda t, x, p: None, n_callback=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "rk5"}, "rk5"),
        ({"method": "rk4"}, "step"),
        ({"step": -1.0}, "step"),
        ({"rtol": -1e-6}, "rtol"),
        ({"atol": -1.0}, "atol"),
        ({"p": [1.0, 2.0]}, "p: got shape"),
        ({"outputs": [0.0, 2.0]}, "outputs"),
        ({"outputs": [0.5, 0.5]}, "outputs"),
        ({"samples": SampledInput(TIMES, np.zeros((5, 2)))}, "samples"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        solve(held(), (0, 1), [1.0], **wrong)


@pytest.mark.parametrize(
    ("span", "x0"), [((1, 0), [1.0]), ((0, np.inf), [1.0]), ((0, 1), [np.nan]), ((0, 1), [1.0, 2.0])]
)
def test_wrong_span_and_start_are_refused(span, x0):
    with pytest.raises(ValueError, match=r"t_span|x0"):
        solve(held(), span, x0)
