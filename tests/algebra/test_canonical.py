"""Numbers that are zero, simple or equal but for round-off are made so, and no others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pliant.algebra.canonical import SNAP, canonical, canonical_products


def test_zeros_twelfths_and_equal_sizes():
    third = np.nextafter(1 / 3, 1)
    found = canonical([3e-17, -0.0, 1 - 3e-16, third, -third, 0.123, -0.123 * (1 + 4e-16), 0.123 * (1 + 1e-11)])
    assert found.tolist()[:5] == [0.0, 0.0, 1.0, 1 / 3, -1 / 3]
    assert found[5] == -found[6]
    assert found[7] != found[5]
    assert not np.signbit(found[:2]).any()


def test_the_scale_says_what_is_small():
    assert canonical([1e-15, 1e-15], [1.0, 1e-15]).tolist() == [0.0, 1e-15]
    stiffness = np.array([[1e6, 1e-9], [1e-9, 2e6]])  # round-off beside 1e6, though larger than other matrices' entries
    assert canonical_products(stiffness).tolist() == [[1e6, 0.0], [0.0, 2e6]]


def test_shapes_of_any_kind():
    assert canonical(np.zeros((0, 3))).shape == (0, 3)
    assert canonical(2.5).shape == ()
    assert canonical_products(np.zeros((3, 0, 0))).shape == (3, 0, 0)


@given(st.lists(st.floats(-10, 10), max_size=8))
def test_nothing_moves_by_more_than_round_off(values):
    found = canonical(values)
    assert np.all(np.abs(found - np.array(values)) <= (len(values) + 1) * SNAP)  # a run of neighbors becomes the first
    np.testing.assert_array_equal(canonical(found), found)
