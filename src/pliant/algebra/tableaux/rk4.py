"""The classical method of order 4 with fixed steps: W. Kutta (1901)."""

from __future__ import annotations

import numpy as np

from pliant.algebra.tableau import NONE, ExplicitTableau, nested_dense, rows


def tableau() -> ExplicitTableau:
    """The classical method; the fifth stage is the first of the next step and carries the cubic dense output."""
    A = rows(5, {1: {0: 1 / 2}, 2: {1: 1 / 2}, 3: {2: 1.0}, 4: {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}})
    c = np.array([0, 1 / 2, 1 / 2, 1, 1])
    dense = nested_dense(A[4], 4, np.empty((0, 5)))
    return ExplicitTableau(
        name="rk4", A=A, c=c, error=NONE.copy(), error_low=NONE.copy(), dense=dense,
        stages=5, order=4, error_order=0, dense_order=3,
    )  # fmt: skip
