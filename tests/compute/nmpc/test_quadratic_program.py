"""The program solver against conditions that a solution alone fulfils, and against a solver of SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from compute.nmpc.programs import Given
from pliant.compute.nmpc.quadratic_program import BROKEN, FEASIBLE, INFEASIBLE, LIMIT, NEARLY, NOISE, SHARP, SOLVED


def drawn(rng: np.random.Generator, n: int, rows: int, soft: float = 0.0) -> Given:
    """A program with a feasible point, rows and units of very different sizes; a part of its rows soft."""
    G = rng.normal(size=(rows, n)) * 10 ** rng.uniform(-4, 4, (rows, 1))
    inside = G @ rng.normal(size=n)
    size = np.abs(G).sum(axis=1)
    given = Given(rng.normal(size=n) * 10 ** rng.uniform(-3, 3), G, inside - size * rng.uniform(0, 1, rows), inside)
    given.high = inside + size * rng.uniform(0, 1, rows)
    given.low[rng.random(rows) < 0.3] = -np.inf
    given.high[rng.random(rows) < 0.3] = np.inf
    given.weight = np.where(rng.random(rows) < soft, np.abs(given.g).max() / size * rng.uniform(0, 1, rows), np.inf)
    given.curve = 1 / size**2
    return given


def miss(given: Given, z: np.ndarray) -> float:
    """By how much a point and its multipliers miss the conditions of a solution, which has no other.

    z + g + G^T y = 0; a row with y > 0 is at its upper bound, and beyond it by (y - w) / W where y > w; with y < 0 at
    the lower one; with y = 0 within both.
    """
    G, y = given.G, given.y
    length, value = np.linalg.norm(G, axis=1), G @ z
    strength = max(float(np.abs(given.g).max()), 1e-3 * float(np.abs(y * length).max()))
    slack = np.maximum(np.abs(y) - given.weight, 0.0) / given.curve
    bound = np.where(y > 0, given.high + slack, given.low - slack)
    outside = np.maximum(np.maximum(value - given.high, given.low - value), 0.0)
    rows = np.where(y == 0, outside, np.abs(value - bound)) / length
    scale = strength + np.where(y == 0, np.abs(value), np.abs(bound)) / length
    return float(max((rows / scale).max(), np.abs(z + given.g + G.T @ y).max() / strength))


@pytest.mark.parametrize("soft", [0.0, 0.5, 1.0])
def test_random_programs_fulfil_their_conditions(soft: float, rng: np.random.Generator) -> None:
    for _ in range(60):
        given = drawn(rng, int(rng.integers(2, 30)), int(rng.integers(1, 60)), soft)
        z, status = given.solve()
        assert status == SOLVED
        assert miss(given, z) < 1e-11
        assert given.told[0] < 200


def nearly_twice(rng: np.random.Generator, given: Given) -> None:
    """Half of the rows are the other half, but for as little as rounding."""
    half, apart = len(given.G) // 2, 10.0 ** rng.uniform(-12, -2)
    given.G[half:] = given.G[: len(given.G) - half] * (1 + apart * rng.normal(size=given.G[half:].shape))
    given.low[half:], given.high[half:] = given.low[: len(given.G) - half], given.high[: len(given.G) - half]


def of_low_rank(rng: np.random.Generator, given: Given) -> None:
    """Far more rows than directions, all of which meet narrow bounds."""
    rows, n = given.G.shape
    rank = max(1, n // 4)
    given.G = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, n))
    within(rng, given, 0.1)


def through_a_point(rng: np.random.Generator, given: Given) -> None:
    """Degenerate: all upper bounds meet in one point."""
    given.G = rng.normal(size=given.G.shape)
    given.high = given.G @ rng.normal(size=given.G.shape[1])
    given.low = given.high - np.where(rng.random(len(given.G)) < 0.5, 1.0, np.inf)


def of_a_response(rng: np.random.Generator, given: Given) -> None:
    """Rows that follow each other closely, as those of a bounded output in time."""
    rows, n = given.G.shape
    later = np.linspace(0, 1, rows)[:, None] - np.linspace(0, 1, n)
    given.G = np.where(later >= 0, 1e-3 + np.exp(-3 * later) * np.cos(5 * later), 0.0)
    within(rng, given, 0.02)


def equations(rng: np.random.Generator, given: Given) -> None:
    """A third of the rows have equal bounds."""
    some = len(given.G) // 3
    value = given.G @ rng.normal(size=given.G.shape[1])
    given.low, given.high = np.minimum(given.low, value), np.maximum(given.high, value)
    given.low[:some] = given.high[:some] = value[:some]


def within(rng: np.random.Generator, given: Given, part: float) -> None:
    value, size = given.G @ rng.normal(size=given.G.shape[1]), np.abs(given.G).sum(axis=1)
    given.low, given.high = value - part * size * rng.random(len(size)), value + part * size * rng.random(len(size))


@pytest.mark.parametrize("made", [nearly_twice, of_low_rank, through_a_point, of_a_response, equations])
def test_programs_that_are_hard_to_solve(made: Callable[..., None], rng: np.random.Generator) -> None:
    """Rows that depend on each other or nearly so, and more bounds met than there are unknowns."""
    for k in range(60):
        given = drawn(rng, int(rng.integers(2, 50)), int(rng.integers(1, 120)))
        made(rng, given)
        if k % 3 or made is nearly_twice:  # which hard rows need not allow
            size = np.abs(given.G).sum(axis=1)
            given.weight, given.curve = np.abs(given.g).max() / size * rng.random(len(size)), 1 / size**2
        given.iterations = 2000
        z, status = given.solve()
        assert status == SOLVED
        assert miss(given, z) < 1e-10


def test_more_soft_rows_than_unknowns_are_violated(rng: np.random.Generator) -> None:
    """They share what pulls: each is beyond its bound by what its multiplier says."""
    G = rng.normal(size=(30, 3))
    given = Given(np.full(3, -1e3), G, np.full(30, -1.0), np.ones(30), np.full(30, 0.1), np.full(30, 0.01))
    z, status = given.solve()
    assert status == SOLVED
    assert (np.abs(given.y) > given.weight).sum() > 10
    assert miss(given, z) < 1e-11


def test_python_and_machine_code_agree(rng: np.random.Generator) -> None:
    given = drawn(rng, 6, 9, soft=0.3)
    z, status = given.solve()
    plain, same = given.solve(plain=True)
    assert status == same == SOLVED
    assert np.abs(z - plain).max() <= 1e-12 * np.abs(z).max()


def test_a_solution_inside_needs_no_iteration() -> None:
    given = Given(np.array([1.0, -2.0]), np.eye(2), np.full(2, -3.0), np.full(2, 3.0))
    given.y = np.array([0.5, -0.5])
    z, status = given.solve(cold=False)
    assert (status, given.told[0]) == (SOLVED, 0)
    assert z.tolist() == [-1.0, 2.0]
    assert not given.y.any()


def test_a_start_saves_steps_and_any_start_will_do(rng: np.random.Generator) -> None:
    """From the multipliers of the solution no row enters; from others, of wrong signs and sizes, it is the same."""
    for soft in (0.0, 0.5):
        given = drawn(rng, 20, 50, soft)
        z, _ = given.solve()
        steps = given.told[0]
        again, status = given.solve(cold=False)
        assert status == SOLVED
        assert given.told[0] <= 2 < steps
        assert np.abs(again - z).max() <= 1e-11 * np.abs(z).max()
        for size in (1e-3, 1.0, 1e3, np.inf):
            given.y = np.where(rng.random(50) < 0.7, rng.normal(size=50) * np.abs(given.g).max() * size, 0.0)
            other, status = given.solve(cold=False)
            assert status == SOLVED
            assert miss(given, other) < 1e-11
            assert np.abs(other - z).max() <= 1e-9 * np.abs(z).max()


def test_soft_rows_against_scipy(rng: np.random.Generator) -> None:
    """Slacks of weights w s + 1/2 W s^2 as variables of their own, by SLSQP."""
    n, rows, weight, curve = 3, 4, 0.7, 0.3
    G, g = rng.normal(size=(rows, n)), rng.normal(size=n)
    high = rng.normal(size=rows) - 1.0
    given = Given(g, G, np.full(rows, -np.inf), high, np.full(rows, weight), np.full(rows, curve))
    z, status = given.solve()

    def cost(x: np.ndarray) -> float:
        s = x[n:]
        return float(0.5 * x[:n] @ x[:n] + g @ x[:n] + weight * s.sum() + 0.5 * curve * s @ s)

    rule = LinearConstraint(np.hstack([G, -np.eye(rows)]), -np.inf, given.high)
    bounds = [(None, None)] * n + [(0, None)] * rows
    found = minimize(cost, np.zeros(n + rows), constraints=[rule], bounds=bounds, method="SLSQP", tol=1e-13)
    assert status == SOLVED
    assert np.abs(z - found.x[:n]).max() < 1e-5
    assert (G @ z - given.high).max() > 1e-3  # the weights are too small to keep all rows


@pytest.mark.parametrize("price", [1e3, 1e5, 1e9])
def test_the_price_of_a_violated_row_leaves_the_others_sharp(price: float, rng: np.random.Generator) -> None:
    """Against the solution on the rows that are met, the violated one a pull of its price."""
    n, rows = 12, 30
    G, g = rng.normal(size=(rows, n)), 3 * rng.normal(size=n)
    high = np.linalg.norm(G, axis=1) * rng.uniform(0.05, 0.5, rows)
    low, weight = -high, np.full(rows, np.inf)
    low[0], high[0], weight[0] = 10 * np.linalg.norm(G[0]), np.inf, price
    given = Given(g, G, low, high, weight, np.ones(rows))
    z, status = given.solve()
    above, below = given.y > 0, (given.y < 0) & (np.arange(rows) > 0)
    A, b, pull = G[above | below], np.where(above, high, low)[above | below], g - (price + low[0]) * G[0]
    H = np.eye(n) + np.outer(G[0], G[0])
    k = len(b)
    exact = np.linalg.solve(np.block([[H, A.T], [A, np.zeros((k, k))]]), np.concatenate([-pull, b]))[:n]
    assert status == SOLVED
    assert given.y[0] < -price
    assert k >= 3
    assert np.abs(z - exact).max() < 1e-10 + 1e-14 * price


def test_an_exact_penalty_keeps_what_can_be_kept() -> None:
    """A row is kept exactly, though soft, where its multiplier is below its weight."""
    given = Given(np.array([-2.0]), np.eye(1), np.array([-np.inf]), np.array([1.0]), np.array([1.5]), np.array([0.25]))
    z, _ = given.solve()
    assert abs(z[0] - 1.0) < 1e-13
    given.weight = np.array([0.5])
    assert abs(given.solve()[0][0] - (1.5 + 0.25) / (1 + 0.25)) < 1e-13
    given.weight = np.array([0.0])
    assert abs(given.solve()[0][0] - (2.0 + 0.25) / (1 + 0.25)) < 1e-13


def test_repeated_rows_do_no_harm() -> None:
    """Degenerate: the same bounds four times, some met at a point where they do not push; a row that is a sum."""
    G = np.vstack([np.eye(2)] * 4 + [np.ones((1, 2))])
    given = Given(np.array([-3.0, -1.0]), G, np.full(9, -np.inf), np.append(np.ones(8), 2.0))
    z, status = given.solve()
    assert status == SOLVED
    assert np.abs(z - 1.0).max() < 1e-13


def test_a_row_is_held_at_both_bounds_in_turn() -> None:
    """Equal bounds are an equation, from whichever side it is met."""
    for pull in (3.0, -3.0):
        given = Given(np.array([pull, 1.0]), np.array([[1.0, 2.0]]), np.array([0.5]), np.array([0.5]))
        z, status = given.solve()
        assert status == SOLVED
        assert miss(given, z) < 1e-13


def test_rows_that_contradict_are_infeasible() -> None:
    given = Given(np.zeros(1), np.ones((2, 1)), np.array([1.0, -np.inf]), np.array([np.inf, -1.0]))
    assert given.solve()[1] == INFEASIBLE
    given = Given(np.zeros(1), np.ones((1, 1)), np.array([1.0]), np.array([-1.0]))
    assert given.solve()[1] == INFEASIBLE


def test_rows_that_contradict_by_their_sum_are_infeasible(rng: np.random.Generator) -> None:
    G = rng.normal(size=(5, 8))
    G = np.vstack([G, -(rng.uniform(0.5, 1, 5) @ G)])
    given = Given(rng.normal(size=8), G, np.full(6, -np.inf), np.full(6, -1.0))
    assert given.solve()[1] == INFEASIBLE
    given.weight, given.curve = np.append(np.full(5, np.inf), 2.0), np.ones(6)
    z, status = given.solve()
    assert status == SOLVED  # the last one gives way
    assert miss(given, z) < 1e-11


def test_a_limit_of_iterations_is_told(rng: np.random.Generator) -> None:
    given = drawn(rng, 20, 40)
    given.iterations = 1
    assert given.solve()[1] == LIMIT


def test_how_near_a_solution_is_is_told(rng: np.random.Generator) -> None:
    """Stopped after every number of steps: by how much the other rows are beyond their bounds, in the measure of the
    gradient, the multipliers and the bound; a solution that is met by the last step counts as one."""
    beyond = 0
    for _ in range(20):
        given = drawn(rng, 6, 12)
        assert given.solve()[1] == SOLVED
        needed = int(given.told[0])
        for given.iterations in range(1, needed + 1):
            z, status = given.solve()
            length, value = np.linalg.norm(given.G, axis=1), given.G @ z
            over = np.maximum(value - given.high, given.low - value) / length
            bound = np.abs(np.where(value > given.high, given.high, given.low)) / length
            out = (given.y == 0) & (over > 0)
            strength = np.abs(given.g).max() + NOISE / SHARP * np.abs(given.y * length).max()
            worst = (over[out] / (strength + bound[out])).max(initial=0.0)
            assert given.told[2] == pytest.approx(worst, rel=1e-9, abs=2 * FEASIBLE)  # below it counts as none
            assert status == (SOLVED if max(given.told[1], worst) <= NEARLY else LIMIT)
            assert status == SOLVED or given.iterations < needed
            beyond += worst > 1e-3
    assert beyond > 20


def test_a_start_that_is_nearly_right_is_made_right() -> None:
    """Multipliers that are off by a part of 3e-12, at which rows miss less than they may: a step more, to rounding."""
    G = np.array([[2.0, 0.3, 0.0], [0.1, 1.5, -0.4], [0.0, 0.2, 0.8]])
    given = Given(np.array([-3.0, -4.0, -2.0]), G, np.full(3, -9.0), np.array([1.0, 0.7, 0.9]))
    assert given.solve()[1] == SOLVED
    assert np.count_nonzero(given.y) >= 2
    given.y *= 1 + 3e-12
    z, status = given.solve(cold=False)
    assert status == SOLVED
    assert given.told[0] >= 1
    assert miss(given, z) < 1e-13


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_told(bad: float) -> None:
    given = Given(np.array([bad, 1.0]), np.eye(2), -np.ones(2), np.ones(2))
    assert given.solve()[1] == BROKEN


def test_bounds_that_are_not_numbers_are_told() -> None:
    given = Given(np.array([3.0, 1.0]), np.eye(2), np.array([-1.0, np.nan]), np.ones(2))
    assert given.solve()[1] == BROKEN
