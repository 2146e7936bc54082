"""Groups of columns of any size are solved as the whole function is, for one state and for many."""

import casadi as ca
import numpy as np
import pytest

from pliant.compute import ColumnFunction, Kernel


def grouped(sizes):
    """x = shared_0 * (row 0) + shared_1 * (row 1), and the first row alone, of columns that each differ."""
    q, shared, column = ca.SX.sym("q", 2), ca.SX.sym("shared", 2), ca.SX.sym("column", 2)
    blocks = [
        ca.horzcat(*(ca.vertcat(ca.sin(q[0] + k), q[1] * (k + g + 1)) for k in range(size)))
        for g, size in enumerate(sizes)
    ]
    first = ca.Function("first", [q], [q[0] * q[1], ca.vertcat(ca.exp(q[0]), q[1]), *blocks])
    x = ca.vertcat(shared[0] * column[0] + shared[1] * column[1], column[0])
    seconds = tuple(ca.Function(f"second{g}", [shared, column], [x * (g + 1)]) for g in range(len(sizes)))
    count = sum(sizes)
    return ColumnFunction("grouped", first, seconds, tuple(reversed(range(count))), (count,), ((0,), (1,)))


@pytest.mark.parametrize("sizes", [(1, 2), (3, 1), (4, 5), (6, 2, 6), (2, 7), (9,), (8, 3, 3), (2, 31)])
def test_columns_of_all_groups_are_those_of_the_whole_function(sizes, rng):
    f = grouped(sizes)
    kernel = Kernel(f)
    states = rng.normal(size=(21, 2))
    batch = kernel(states)
    for k, q in enumerate(states):
        expected = [np.array(y) for y in f.function(q)]
        alone = kernel(q)
        for found, many, exact in zip(alone, batch, expected, strict=True):
            np.testing.assert_allclose(np.ravel(found), np.ravel(exact), rtol=1e-14, atol=1e-15)
            assert np.array_equal(found, many[k])
