"""Tableaux keep their promises in exact arithmetic, and notice when a digit is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.integrate._ivp import dop853_coefficients as scipy_dop853

from pliant.algebra import tableau
from pliant.algebra.tableaux import dop853, dopri5, explicit, rk4
from pliant.integrators.rosenbrock import rodas5p
from rooted_trees import density, exact, inverse_of_lower, order_defects, size, stage_weights, trees

MAKE = {"rk4": rk4.tableau, "dopri5": dopri5.tableau, "dop853": dop853.tableau, "rodas5p": rodas5p.__wrapped__}
FIELDS = [
    *((name, field) for name in ("rk4", "dopri5", "dop853") for field in ("A", "c", "error", "error_low", "dense")),
    *(("rodas5p", field) for field in ("A", "C", "c", "d", "b", "error", "dense", "gamma")),
]
THETAS = [F(3, 10), F(3, 4), F(1)]
PRINTED = 2e-13
"""Largest defect of coefficients printed with 16 digits, in exact arithmetic: a property of the tables, not of a
machine. dop853 has 9.7e-14 with weights up to 500, rodas5p 1.7e-14."""


def test_numbers_of_rooted_trees():
    # Hairer, Norsett, Wanner I, table II.2.1
    assert [len(trees(k)) for k in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_size_and_density_of_bushy_and_tall_trees():
    bushy, tall = ((), (), ()), ((((),),),)
    assert (size(bushy), density(bushy)) == (4, 4)
    assert (size(tall), density(tall)) == (4, 24)


def at(dense: np.ndarray, theta: F) -> np.ndarray:
    """Weights of the dense output at theta, exactly."""
    return exact(dense) @ np.array([theta**k for k in range(1, dense.shape[1] + 1)])


def largest(b: np.ndarray, weights: Callable[..., np.ndarray], order: int, theta: F = F(1)) -> F:
    """Largest violation of the conditions up to `order`."""
    return max(map(abs, order_defects(b, weights, order, theta)))


def from_rows(table: list[list[F]], shape: tuple[int, int]) -> np.ndarray:
    """A matrix of Fractions from its rows."""
    matrix = exact(np.zeros(shape))
    for i, row in enumerate(table):
        matrix[i, : len(row)] = row
    return matrix


# Dormand and Prince (1980), Table 2, and the dense output of [HW] II.6, eq. (6.12): the published fractions.
DOPRI5_A = from_rows(
    [
        [],
        [F(1, 5)],
        [F(3, 40), F(9, 40)],
        [F(44, 45), F(-56, 15), F(32, 9)],
        [F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)],
        [F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)],
        [F(35, 384), F(0), F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)],
    ],
    (7, 7),
)
DOPRI5_LOW = np.array(
    [F(5179, 57600), F(0), F(7571, 16695), F(393, 640), F(-92097, 339200), F(187, 2100), F(1, 40)], dtype=object
)
DOPRI5_EXTRA = np.array(
    [
        F(-12715105075, 11282082432),
        F(0),
        F(87487479700, 32700410799),
        F(-10690763975, 1880347072),
        F(701980252875, 199316789632),
        F(-1453857185, 822651844),
        F(69997945, 29380423),
    ],
    dtype=object,
)
RK4_A = from_rows([[], [F(1, 2)], [F(0), F(1, 2)], [F(0), F(0), F(1)], [F(1, 6), F(1, 3), F(1, 3), F(1, 6)]], (5, 5))


def hermite(b: np.ndarray, extra: np.ndarray | None, theta: F) -> np.ndarray:
    """Weights at theta of y0 + theta (b + (1 - theta) (e_0 - b + theta (2 b - e_0 - e_last + (1 - theta) extra)))."""
    first, last = exact(np.eye(len(b))[[0, -1]])
    inner = 2 * b - first - last
    if extra is not None:
        inner = inner + (1 - theta) * extra
    return theta * (b + (1 - theta) * (first - b + theta * inner))


@pytest.mark.parametrize(
    ("name", "A", "extra", "low"),
    [("rk4", RK4_A, None, None), ("dopri5", DOPRI5_A, DOPRI5_EXTRA, DOPRI5_LOW)],
    ids=["rk4", "dopri5"],
)
def test_published_fractions_satisfy_every_condition_exactly(name, A, extra, low):
    promised, weights = explicit(name), stage_weights(A, A)
    assert set(order_defects(A[-1], weights, promised.order)) == {0}
    assert largest(A[-1], weights, promised.order + 1) > 1e-5  # and not one order more
    if low is not None:
        assert set(order_defects(low, weights, promised.error_order)) == {0}
    for theta in THETAS:
        assert set(order_defects(hermite(A[-1], extra, theta), weights, promised.dense_order, theta)) == {0}


@pytest.mark.parametrize(("name", "A"), [("rk4", RK4_A), ("dopri5", DOPRI5_A)], ids=["rk4", "dopri5"])
def test_coefficients_are_the_published_fractions_rounded_once(name, A):
    np.testing.assert_array_equal(explicit(name).A, A.astype(float))
    np.testing.assert_array_equal(explicit(name).c, A.sum(axis=1).astype(float))


def test_estimate_and_dense_output_of_dopri5_are_the_published_fractions():
    np.testing.assert_array_equal(explicit("dopri5").error, (DOPRI5_A[-1] - DOPRI5_LOW).astype(float))
    for theta in THETAS:
        wanted = hermite(DOPRI5_A[-1], DOPRI5_EXTRA, theta).astype(float)
        np.testing.assert_allclose(at(explicit("dopri5").dense, theta).astype(float), wanted, rtol=0, atol=1e-14)


def test_dop853_is_the_table_of_scipy_bit_by_bit():
    """The last digits, which no condition can hold: typed here and there from the same code of Hairer's."""
    ours, n = explicit("dop853"), scipy_dop853.N_STAGES
    np.testing.assert_array_equal(ours.A[:n, :n], scipy_dop853.A[:n, :n])
    np.testing.assert_array_equal(ours.A[n, :n], scipy_dop853.B)
    np.testing.assert_array_equal(ours.A[n + 1 :], scipy_dop853.A[n + 1 :])
    np.testing.assert_array_equal(ours.c, scipy_dop853.C)
    np.testing.assert_array_equal(ours.error[: n + 1], scipy_dop853.E5)
    np.testing.assert_array_equal(ours.error_low[: n + 1], scipy_dop853.E3)
    np.testing.assert_array_equal(tableau.rows(16, dop853.DENSE)[:4], scipy_dop853.D)


def test_dop853_in_exact_arithmetic():
    table = explicit("dop853")
    A, b = exact(table.A), exact(table.A[table.stages - 1])
    weights = stage_weights(A, A)
    assert largest(b, weights, table.order) < PRINTED
    assert largest(b, weights, table.order + 1) > 1e-5
    assert largest(b - exact(table.error), weights, table.error_order) < PRINTED
    assert largest(b - exact(table.error_low), weights, 3) < PRINTED
    for theta in THETAS:
        assert largest(at(table.dense, theta), weights, table.dense_order, theta) < PRINTED


def test_rodas5p_in_exact_arithmetic():
    table = rodas5p()
    Gamma = inverse_of_lower(exact(np.eye(8)) / F(table.gamma) - exact(table.C))
    alpha = exact(table.A) @ Gamma
    beta = alpha + Gamma
    b, weights = exact(table.b) @ Gamma, stage_weights(alpha, beta)
    assert max(map(abs, alpha.sum(axis=1) - exact(table.c))) < PRINTED
    assert max(map(abs, Gamma.sum(axis=1) - exact(table.d))) < PRINTED
    assert largest(b, weights, table.order) < PRINTED
    assert largest(b, weights, table.order + 1) > 1e-5
    assert largest(exact(table.b - table.error) @ Gamma, weights, table.error_order) < PRINTED
    for theta in THETAS:
        assert largest(at(table.dense, theta) @ Gamma, weights, table.dense_order, theta) < PRINTED
    # L-stability: R(infinity) = 1 - b beta^-1 1 = 0
    assert abs(1 - b @ inverse_of_lower(beta) @ exact(np.ones(8))) < PRINTED


def neighbors(value: float) -> list[float]:
    """The number with each of its first eight digits raised by one, and with the eighth lowered by one."""
    top = Decimal(float(value)).adjusted()
    steps = [10.0 ** (top - k) for k in range(8)]
    return [value + step for step in steps] + [value - steps[-1]]


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_wrong_digit_among_the_first_eight_is_refused(name, field):
    made = MAKE[name]()
    whole = np.atleast_1d(np.array(getattr(made, field)))
    for place in np.argwhere(whole):
        for wrong in neighbors(whole[tuple(place)]):
            changed = whole.copy()
            changed[tuple(place)] = wrong
            with pytest.raises(ValueError, match=name):
                replace(made, **{field: float(changed[0]) if field == "gamma" else changed})


@pytest.mark.parametrize("table", ["WEIGHTS", "DENSE"])
def test_a_wrong_digit_as_typed_is_refused(monkeypatch, table):
    rows = getattr(dop853, table)
    for i, row in rows.items():
        for j, value in row.items():
            for wrong in neighbors(value):
                monkeypatch.setitem(row, j, wrong)
                with pytest.raises(ValueError, match="dop853"):
                    dop853.tableau()
            monkeypatch.setitem(rows[i], j, value)


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_no_order_of_addition_comes_near_a_limit(monkeypatch, make):
    """With the largest rounding error that any machine could add on top, less than half of each limit is used."""
    used = []

    def record(name, what, terms):
        half = (len(terms) + 2) * tableau.EPS * np.abs(terms).sum(axis=0)
        used.extend(zip(map(math.fsum, np.atleast_2d(terms.T)), np.atleast_1d(half)))

    monkeypatch.setattr(tableau, "_check", record)
    make()
    assert len(used) > 10
    for defect, half in used:
        assert abs(defect) <= half / 2


def test_tableaux_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        explicit("dop853").A[3, 0] = 1.0


def test_an_implicit_matrix_is_refused_as_explicit_method():
    with pytest.raises(ValueError, match="above its diagonal"):
        replace(explicit("rk4"), A=explicit("rk4").A + np.diag([0.0, 0.1, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(("name", "real_axis"), [("rk4", 2.785), ("dopri5", 3.307)])
def test_stability_radius_lies_within_the_known_interval_of_the_real_axis(name, real_axis):
    # The half disc touches the boundary of the stability region nowhere beyond the real interval.
    assert 0.9 < explicit(name).stability < real_axis
