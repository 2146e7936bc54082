"""Round-off taken out of numbers that are zero, simple or equal in exact arithmetic.

Quadrature, eigenvectors and library functions leave round-off that differs from machine to machine: an integral that
is zero by symmetry arrives as 1e-17, two that are equal differ in the last bits. A trace that folds zeros, ones and
equal numbers would then be longer here than there. So numbers are brought to one form where they are made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SNAP = 1e-13
"""Largest round-off of a number in units of its natural scale: some hundred roundings, far below any difference of
meaning.

Modal integrals err by 1e-16 to 4e-14 of theirs; integrals that differ in exact arithmetic were never seen nearer than
1e-11.
"""
PARTS = 12  # common denominator of 1/2, 1/3, 1/4 and 1/6, which integrals of powers and of normalized shapes come to


def canonical(values: ArrayLike, scale: ArrayLike = 1.0) -> NDArray[np.float64]:
    """The values with round-off taken out: zeros and twelfths exact, and equal sizes equal in every bit.

    Parameters
    ----------
    values : array
    scale : array that broadcasts to it
        The natural size of each entry, the root of the product of two norms for an inner product; a zero entry is the
        same as 1e-13 of it.
    """
    given = np.asarray(values, dtype=float)
    size = np.abs(given).ravel()
    room = SNAP * np.broadcast_to(np.asarray(scale, dtype=float), given.shape).ravel()
    order = np.argsort(size, kind="stable")
    size, room = size[order], room[order]
    first = np.append(True, np.diff(size) > np.minimum(room[1:], room[:-1]))[: len(size)]
    chosen = size[first][np.cumsum(first) - 1]
    simple = np.round(chosen * PARTS) / PARTS
    chosen = np.where(np.abs(chosen - simple) <= room, simple, chosen)
    out = np.empty_like(size)
    out[order] = chosen
    return np.asarray(np.copysign(out.reshape(given.shape), given) + 0.0)


def canonical_products(matrix: ArrayLike) -> NDArray[np.float64]:
    """`canonical` of a matrix of inner products, whose diagonal is the square of the natural scale."""
    given = np.asarray(matrix, dtype=float)
    norm = np.sqrt(np.abs(np.diagonal(given, axis1=-2, axis2=-1)))
    return canonical(given, norm[..., :, None] * norm[..., None, :])


__all__ = ["SNAP", "canonical", "canonical_products"]
