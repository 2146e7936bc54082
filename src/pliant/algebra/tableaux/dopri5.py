"""The pair 5(4) of J. R. Dormand and P. J. Prince, J. Comp. Appl. Math. 6 (1980) 19-26; dense output from E. Hairer,
S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.6."""

from __future__ import annotations

import numpy as np

from pliant.algebra.tableau import NONE, ExplicitTableau, nested_dense, rows


def tableau() -> ExplicitTableau:
    """Dormand-Prince 5(4), seven stages, dense output of order 4."""
    A = rows(
        7,
        {
            1: {0: 1 / 5},
            2: {0: 3 / 40, 1: 9 / 40},
            3: {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
            4: {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
            5: {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
            6: {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
        },
    )
    c = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
    error = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
    extra = [
        -12715105075 / 11282082432,
        0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ]
    dense = nested_dense(A[6], 6, np.array([extra]))
    return ExplicitTableau(
        name="dopri5", A=A, c=c, error=error, error_low=NONE.copy(), dense=dense,
        stages=7, order=5, error_order=4, dense_order=4,
    )  # fmt: skip
