"""Covariances of fitted numbers from residuals that are straight lines."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pliant.identification.precision import covariance

J = np.array([[2.0, 0.3, -1.0], [0.5, 1.5, 0.2], [-0.7, 0.4, 0.9], [1.1, -2.0, 0.6], [0.2, 0.8, -0.4]])
R0 = np.array([0.9, -1.7, 0.2, 0.6, -0.3])
SOFT = np.array([[1.3, 0.0, 0.0], [0.4, 0.0, 0.7]])
"""Slopes of residuals, residuals, and slopes of what is known of the numbers beforehand."""


def covered(loss: str) -> np.ndarray:
    residuals: Any = SimpleNamespace(
        weighted=lambda u: (R0 + J @ u, J), prior=lambda u: (SOFT @ u, SOFT), loss=loss, loss_scale=0.8
    )
    fitted: Any = SimpleNamespace(prior=np.full((3, 2), np.nan), names=("a", "b", "c"))
    return covariance(residuals, np.zeros(3), (), fitted)


def test_a_prior_and_readings_one_by_one() -> None:
    """Covariances that each reading makes smaller, in the form that needs no information matrix."""
    wide = 1e6 * np.eye(3)
    for row in [*SOFT, *J]:
        gain = wide @ row / (1 + row @ wide @ row)
        wide = wide - np.outer(gain, row @ wide)
    assert covered("linear") == pytest.approx(wide, rel=1e-4)  # as wide as it began


def test_a_robust_loss_by_differences() -> None:
    """H^-1 B H^-1 from differences of the cost: H of its slope, B of what each residual adds to it."""

    def slopes(each: Callable[[np.ndarray], np.ndarray], u: np.ndarray) -> np.ndarray:
        h = 1e-4
        return np.array([(each(u + h * e) - each(u - h * e)) / (2 * h) for e in np.eye(3)]).T

    def cost(u: np.ndarray) -> np.ndarray:
        z = ((R0 + J @ u) / 0.8) ** 2
        return 0.8**2 * (np.sqrt(1 + z) - 1)

    def prior(u: np.ndarray) -> np.ndarray:
        return (SOFT @ u) ** 2 / 2

    zero = np.zeros(3)
    H = slopes(lambda u: slopes(cost, u).sum(axis=0) + slopes(prior, u).sum(axis=0), zero)
    scores = slopes(cost, zero)
    B = scores.T @ scores + SOFT.T @ SOFT
    inverse = np.linalg.inv(H)
    assert covered("soft_l1") == pytest.approx(inverse @ B @ inverse, rel=1e-5)
