"""Shapes whose strains are polynomials between stations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import legendre

from pliant.mechanics.shapes.series import StrainSeries


@pytest.mark.parametrize("order", [1, 2])
def test_strains_are_polynomials_and_shapes_their_integrals(order: int) -> None:
    """Legendre's of each piece alone; what is below is found again by Gauss' rule from the root, which is clamped."""
    series = StrainSeries(3, order, (0.0, 0.3, 1.0))
    nodes, weights = legendre.leggauss(8)
    eta = np.array([0.1, 0.3, 0.35, 0.8, 1.0])
    for k, (low, high) in enumerate([(0.0, 0.3), (0.3, 1.0)]):
        inside = [i for i, x in enumerate(eta) if low < x <= high]
        strain = np.zeros((5, 3))
        strain[inside] = legendre.legvander((2 * eta[inside] - low - high) / (high - low), 2)
        assert series.evaluate(eta, order)[:, 3 * k : 3 * k + 3] == pytest.approx(strain, abs=1e-13)
    for derivative in range(order):
        for x in eta:
            ends = np.array([0.0, min(x, 0.3), x])
            points, spans = (ends[1:] + ends[:-1])[:, None] / 2 + np.outer(np.diff(ends), nodes) / 2, np.diff(ends) / 2
            slopes = series.evaluate(points.ravel(), derivative + 1).reshape(2, 8, 6)
            whole = np.einsum("p,w,pwk->k", spans, weights, slopes)
            assert series.evaluate(x, derivative)[0] == pytest.approx(whole, abs=1e-13)
        assert np.array_equal(series.evaluate(0.0, derivative), np.zeros((1, 6)))
