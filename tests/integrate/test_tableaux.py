"""Tableaux keep their promises, and notice when a coefficient is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pliant.integrate.rosenbrock import rodas5p
from pliant.integrate.runge_kutta import dop853, dopri5, rk4
from pliant.integrate.trees import density, order_defect, size, trees

EXPLICIT = [rk4, dopri5, dop853]


def test_numbers_of_rooted_trees():
    # Hairer, Norsett, Wanner I, table II.2.1
    assert [len(trees(k)) for k in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_size_and_density_of_bushy_and_tall_trees():
    bushy, tall = ((), (), ()), ((((),),),)
    assert (size(bushy), density(bushy)) == (4, 4)
    assert (size(tall), density(tall)) == (4, 24)


@pytest.mark.parametrize("make", EXPLICIT)
def test_order_is_not_higher_than_claimed(make):
    """The conditions of the next order fail visibly: the check can tell one order from another."""
    tableau = make()
    b = tableau.A[tableau.stages - 1]
    assert order_defect(b, tableau.A, tableau.A, tableau.order + 1) > 1e-5


@pytest.mark.parametrize("make", EXPLICIT)
@pytest.mark.parametrize("field", ["A", "dense"])
def test_wrong_digit_is_noticed(make, field):
    tableau = make()
    changed = np.array(getattr(tableau, field))
    place = np.unravel_index(np.argmax(np.abs(changed)), changed.shape)
    changed[place] *= 1 + 1e-9
    with pytest.raises(ValueError, match=tableau.name):
        replace(tableau, **{field: changed})


@pytest.mark.parametrize("field", ["A", "C", "c", "d", "b", "dense"])
def test_wrong_digit_of_rosenbrock_is_noticed(field):
    changed = np.array(getattr(rodas5p(), field))
    place = np.unravel_index(np.argmax(np.abs(changed)), changed.shape)
    changed[place] *= 1 + 1e-8
    with pytest.raises(ValueError, match="rodas5p"):
        replace(rodas5p(), **{field: changed})


def test_tableaux_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        dop853().A[3, 0] = 1.0


@pytest.mark.parametrize(("make", "real_axis"), [(rk4, 2.785), (dopri5, 3.307)])
def test_stability_radius_lies_within_the_known_interval_of_the_real_axis(make, real_axis):
    # The half disc touches the boundary of the stability region nowhere beyond the real interval.
    assert 0.9 < make().stability < real_axis
