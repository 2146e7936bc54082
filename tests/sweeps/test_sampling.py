"""Points: where they lie, that they are the same every time, and ranges that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import ModelError
from pliant.sweeps import Axis, Sample
from pliant.sweeps.sampling import points

AXES = {"a": Axis(**{"from": 1.0, "to": 100.0, "scale": "log"}), "b": Axis(**{"from": -1.0, "to": 1.0})}


def test_a_grid_runs_its_last_axis_fastest() -> None:
    axes = {"a": Axis(values=(1.0, 2.0)), "b": Axis(**{"from": 0.0, "to": 1.0, "count": 3})}
    expected = [[1, 0], [1, 0.5], [1, 1], [2, 0], [2, 0.5], [2, 1]]
    assert np.array_equal(points(Sample(), axes), expected)


@pytest.mark.parametrize("method", ["random", "sobol", "latin-hypercube"])
def test_points_fill_their_range_and_stay(method: str) -> None:
    """Half of 256 points lie below the middle of each axis: exactly by Sobol and Latin hypercube, 5 deviations else."""
    sample = Sample(method=method, count=256, seed=3)
    found = points(sample, AXES)
    assert np.array_equal(found, points(sample, AXES))
    assert not np.array_equal(found, points(Sample(method=method, count=256, seed=4), AXES))
    assert ((found >= [1, -1]) & (found <= [100, 1])).all()
    below = (found < [10.0, 0.0]).sum(axis=0)
    assert np.abs(below - 128).max() <= (40 if method == "random" else 1)


def test_listed_values_are_drawn_alike() -> None:
    """Each of three values has a third of the range, the last one too."""
    axis = Axis(values=(5.0, -2.0, 7.0))
    np.testing.assert_array_equal(axis.at(np.array([0.0, 0.3, 0.4, 0.6, 0.7, 1.0])), [5, 5, -2, -2, 7, 7])


def test_a_normal_axis() -> None:
    """Mean and deviation of 4096 Latin hypercube points: errors of 1e-3 and 1 %."""
    found = points(Sample(method="latin-hypercube", count=4096), {"a": Axis(mean=2.0, deviation=0.5)})
    assert found.mean() == pytest.approx(2.0, abs=1e-3)
    assert found.std() == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ({}, "give `values`"),
        ({"values": []}, "is empty"),
        ({"from": 0.0}, "must both be there"),
        ({"from": 0.0, "to": 1.0, "scale": "log"}, "of one sign"),
        ({"mean": 0.0}, "needs a `deviation`"),
    ],
)
def test_ranges_that_cannot_be(axis: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Axis(**axis)


def test_too_many_points() -> None:
    line = Axis(**{"from": 0.0, "to": 1.0, "count": 10_000})
    with pytest.raises(ModelError, match="at most"):
        points(Sample(), {"a": line, "b": line})
    with pytest.raises(ModelError, match="needs a `count`"):
        points(Sample(method="sobol"), AXES)
