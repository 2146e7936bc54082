"""Eigenvalues of linear systems as vibrations: one of each pair, and the same vibration from system to system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arrays import Array, Complex
from pliant.errors import ModelError

REAL = 1e-6
"""Imaginary over absolute value below which an eigenvalue does not oscillate: rounding of a double root leaves 1e-8."""


def vibrations(A: Array) -> tuple[Complex, Complex]:
    """Eigenvalues (k,) of x' = A x, one of each of k pairs, by absolute value, and their eigenvectors (2k, k): the one
    with positive imaginary part, and of real pairs the one that grows faster or decays slower."""
    values, vectors = (np.asarray(a, dtype=complex) for a in np.linalg.eig(A))
    swings = np.abs(values.imag) > REAL * np.abs(values)
    still = np.flatnonzero(~swings)
    still = still[np.argsort(-values[still].real, kind="stable")][: (len(still) + 1) // 2]
    kept = np.concatenate([np.flatnonzero(swings & (values.imag > 0)), still])
    kept = kept[np.argsort(np.abs(values[kept]), kind="stable")]
    return values[kept], vectors[:, kept]


def require_vibrations(values: Complex) -> None:
    """Refuse an arm that has no vibrations."""
    if not len(values):
        raise ModelError("frequencies: the arm is rigid with its joints held, it has none; let a link or a drive bend")


def natural(values: Complex) -> Array:
    """Natural frequencies of damped vibrations, Hz: absolute values of eigenvalues."""
    return np.asarray(np.abs(values) / (2 * np.pi))


def damping(values: Complex) -> Array:
    """Damping ratios: negative for growing vibrations, 1 for decay without oscillation; NaN where nothing moves."""
    size = np.abs(values)
    return np.asarray(-values.real / np.where(size > 0, size, np.nan))


def followed(found: Sequence[tuple[Complex, Complex]]) -> Complex:
    """Eigenvalues (N, k) of N neighboring systems, given by values and vectors, with one vibration in each column.

    Vibrations of two systems are matched by their vectors (1 less the squared cosine of the angle between them) and
    their values (difference over the sum of their sizes). Where curves cross, vectors tell them apart.
    """
    from scipy.optimize import linear_sum_assignment

    (values, vectors), *others = found
    rows = [values]
    for new, shapes in others:
        alike = np.abs(vectors.conj().T @ shapes) ** 2
        apart = np.abs(values[:, None] - new) / np.maximum(np.abs(values)[:, None] + np.abs(new), 1e-300)
        order = linear_sum_assignment(1 - alike + apart)[1]
        values, vectors = new[order], shapes[:, order]
        rows.append(values)
    return np.array(rows)
