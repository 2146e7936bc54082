"""The program solver against conditions that a solution alone fulfils, and against a solver of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from horizon.programs import Given
from pliant.horizon.interior_point import BROKEN, INFEASIBLE, LIMIT, SOLVED


def drawn(rng: np.random.Generator, n: int, rows: int) -> Given:
    """A program with a feasible point, rows and units of very different sizes."""
    G = rng.normal(size=(rows, n)) * 10 ** rng.uniform(-4, 4, (rows, 1))
    inside = G @ rng.normal(size=n)
    size = np.abs(G).sum(axis=1)
    given = Given(rng.normal(size=n) * 10 ** rng.uniform(-3, 3), G, inside - size * rng.uniform(0, 1, rows), inside)
    given.high = inside + size * rng.uniform(0, 1, rows)
    given.low[rng.random(rows) < 0.3] = -np.inf
    given.high[rng.random(rows) < 0.3] = np.inf
    return given


def miss(given: Given, z: np.ndarray) -> float:
    """Largest part by which z violates a row, or by which no multipliers explain its slope, of the slope itself."""
    G, size = given.G, np.abs(given.G).sum(axis=1)
    value, strength = G @ z, np.abs(given.g).max()
    violated = np.maximum(given.low - value, value - given.high) / size / strength
    unit = G / size[:, None]
    near = 1e-5 * max(1.0, strength)
    above, below = (given.high - value) / size < near, (value - given.low) / size < near
    normals = np.vstack([unit[above], -unit[below]]).T
    from scipy.optimize import nnls

    slope = -(z + given.g)
    left = nnls(normals, slope)[1] if normals.size else np.linalg.norm(slope)
    return float(max(violated.max(initial=0.0), left / strength))


def test_random_programs_fulfil_their_conditions(rng: np.random.Generator) -> None:
    for _ in range(40):
        given = drawn(rng, int(rng.integers(2, 30)), int(rng.integers(1, 40)))
        z, status = given.solve()
        assert status == SOLVED
        assert miss(given, z) < 1e-5
        assert given.told[0] < 40


def test_python_and_machine_code_agree(rng: np.random.Generator) -> None:
    given = drawn(rng, 6, 9)
    z, status = given.solve()
    plain, same = given.solve(plain=True)
    assert status == same == SOLVED
    assert np.abs(z - plain).max() <= 1e-8 * np.abs(z).max()


def test_a_solution_inside_needs_no_iteration() -> None:
    given = Given(np.array([1.0, -2.0]), np.eye(2), np.full(2, -3.0), np.full(2, 3.0))
    z, status = given.solve()
    assert (status, given.told[0]) == (SOLVED, 0)
    assert z.tolist() == [-1.0, 2.0]


def test_soft_rows_against_scipy(rng: np.random.Generator) -> None:
    """Slacks of weights w s + 1/2 W s^2 as variables of their own, by SLSQP."""
    n, rows, weight, curve = 3, 4, 0.7, 0.3
    G, g = rng.normal(size=(rows, n)), rng.normal(size=n)
    given = Given(g, G, np.full(rows, -np.inf), rng.normal(size=rows) - 1.0, np.full(rows, weight), curve)
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


@pytest.mark.parametrize("price", [1e3, 1e5])
def test_the_price_of_a_violated_row_leaves_the_others_sharp(price: float, rng: np.random.Generator) -> None:
    """Against the solution on the rows that are met, the violated one a pull of its price."""
    n, rows = 12, 30
    G, g = rng.normal(size=(rows, n)), 3 * rng.normal(size=n)
    high = np.linalg.norm(G, axis=1) * rng.uniform(0.05, 0.5, rows)
    low, weight = -high, np.full(rows, np.inf)
    low[0], high[0], weight[0] = 10 * np.linalg.norm(G[0]), np.inf, price
    z, status = Given(g, G, low, high, weight).solve()
    above, below = np.abs(G @ z - high) < 1e-6, np.abs(G @ z - low) < 1e-6
    A, b, pull = G[above | below], np.where(above, high, low)[above | below], g - price * G[0]
    exact = -pull - A.T @ np.linalg.solve(A @ A.T, -A @ pull - b)
    assert status == SOLVED
    assert len(b) >= 3
    assert np.abs(z - exact).max() < 1e-9


def test_an_exact_penalty_keeps_what_can_be_kept() -> None:
    """A row is kept exactly, though soft, where its multiplier is below its weight."""
    given = Given(np.array([-2.0]), np.eye(1), np.array([-np.inf]), np.array([1.0]), np.array([1.5]))
    z, _ = given.solve()
    assert abs(z[0] - 1.0) < 1e-8
    given.weight = np.array([0.5])
    assert abs(given.solve()[0][0] - 1.5) < 1e-8


def test_repeated_rows_do_no_harm(rng: np.random.Generator) -> None:
    """Degenerate: the same bounds four times, some met at a point where they do not push."""
    G = np.vstack([np.eye(2)] * 4)
    given = Given(np.array([-3.0, -1.0]), G, np.full(8, -np.inf), np.ones(8))
    z, status = given.solve()
    assert status == SOLVED
    assert np.abs(z - 1.0).max() < 2e-4  # both slack and multiplier vanish: some roots of the gap, 1e-5


def test_rows_that_contradict_are_infeasible() -> None:
    given = Given(np.zeros(1), np.ones((2, 1)), np.array([1.0, -np.inf]), np.array([np.inf, -1.0]))
    assert given.solve()[1] == INFEASIBLE


def test_a_limit_of_iterations_is_told(rng: np.random.Generator) -> None:
    given = drawn(rng, 20, 40)
    given.iterations = 1
    assert given.solve()[1] in (LIMIT, INFEASIBLE)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_told(bad: float) -> None:
    given = Given(np.array([bad, 1.0]), np.eye(2), -np.ones(2), np.ones(2))
    assert given.solve()[1] == BROKEN
