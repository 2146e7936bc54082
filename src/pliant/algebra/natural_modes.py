"""Natural modes of a stiffness and an inertia matrix, in any units and with stiffnesses of any ratio.

Rows of both matrices carry different units (radians, meters), so every coordinate is first measured by its own inertia,
or its own stiffness. A usual eigen-solver then finds each squared frequency to 1e-16 of the
*largest*, and the slow motion of an arm with one very stiff part is lost in its rounding. Here each is found to 1e-16
of *itself*, times the condition that is left when all diagonal entries are one: motions without stiffness are split
off, the matrices are factored, K = G G^T and M = R R^T, and the one-sided Jacobi method takes the singular values of
R^-1 G, which it finds to high relative accuracy where rows and columns differ in scale only (Demmel and Veselic 1992;
Drmac and Veselic 2008, LAPACK's `gejsv`).
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.errors import PliantError

PRECISION = 2.0**-52
ROOM = 16
"""Roundings per coordinate that may stand in a matrix of unit diagonal: a smaller eigenvalue of it is none."""


def natural_modes(K: Array, M: Array, noise: Array | float = 0.0) -> tuple[Array, Array]:
    """Squared frequencies, rising, and mode shapes X with X^T M X = 1 of K x = lambda M x.

    Parameters
    ----------
    K : (n, n) symmetric
        Motions that it does not hold have squares that are exactly zero.
    M : (n, n) symmetric, positive definite
    noise : (n, n), optional
        Largest rounding error of each entry of K; an entry that is no larger counts as zero.

    Notes
    -----
    A stiffness that stands in K(i, i) beside one that is 1e13 times as large *in the same entry* drowns in its
    rounding, and counts as none: the weight of an arm behind a drive spring that stiff, say. Entries of different
    coordinates may lie apart by any number.
    """
    scale = 1 / np.sqrt(np.diag(M))
    K, M = (0.5 * (X + X.T) * np.outer(scale, scale) for X in (np.where(np.abs(K) <= noise, 0.0, K), M))
    loose = _loose_motions(K)
    r = loose.shape[1]
    place = _places(loose)
    held = np.setdiff1d(np.arange(len(K)), place)
    T = np.hstack([loose, np.eye(len(K))[:, held]])  # loose motions, and the coordinates that say the rest
    turned = T.T @ M @ T
    R = _factor(turned[:r, :r])
    carried = np.linalg.solve(R, turned[:r, r:])
    squares, Y = _held_modes(K[np.ix_(held, held)], turned[r:, r:] - carried.T @ carried)
    with_rest = np.vstack([-np.linalg.solve(R.T, carried @ Y), Y])
    rest = np.vstack([np.linalg.inv(R).T, np.zeros((len(held), r))])
    squares = np.append(np.zeros(r), squares)
    order = np.argsort(squares, kind="stable")
    return squares[order], (T @ np.hstack([rest, with_rest]))[:, order] * scale[:, None]


def _loose_motions(K: Array) -> Array:
    """(n, r) motions against which K has no stiffness, to rounding."""
    weight = np.sqrt(np.abs(np.diag(K)))
    behind = np.abs(K) / np.where(weight > 0, weight, np.inf)
    weight = np.where(weight > 0, weight, behind.max(axis=1, initial=0.0))  # no stiffness of its own: what it meets
    weight = np.where(weight > 0, weight, 1.0)
    values, vectors = np.linalg.eigh(K / np.outer(weight, weight))
    return np.asarray(vectors[:, np.abs(values) <= ROOM * len(K) * PRECISION] / weight[:, None])


def _places(motions: Array) -> Array:
    """Choose one coordinate for each motion that says how far the motion went."""
    from scipy.linalg import qr

    size = np.abs(motions).max(axis=0, initial=0.0)
    return np.asarray(qr((motions / size).T, mode="r", pivoting=True)[1][: motions.shape[1]])


def _factor(M: Array) -> Array:
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        raise PliantError(
            "frequencies: the inertia matrix is singular to rounding; give every coordinate inertia of its own"
        ) from None


def _held_modes(K: Array, M: Array) -> tuple[Array, Array]:
    """Squared frequencies and modes where every motion has stiffness, positive or negative."""
    if not len(K):
        return np.zeros(0), np.zeros((0, 0))
    R, size = _factor(M), np.sqrt(np.abs(np.diag(K)))
    if (size > 0).all() and np.linalg.eigvalsh(K / np.outer(size, size))[0] > ROOM * len(K) * PRECISION:
        return _definite_modes(K, R, size)
    return _unstable_modes(K, R)


def _definite_modes(K: Array, R: Array, size: Array) -> tuple[Array, Array]:
    """Modes of a positive stiffness, from the singular values of R^-1 G = (R^-1 D) L with D = diag(size).

    The factors on either side of D are well conditioned, and must not be multiplied before a QR step with pivoting has
    brought D to the rows, largest first.
    """
    from scipy.linalg import qr, solve_triangular
    from scipy.linalg.lapack import dgejsv

    L = np.linalg.cholesky(K / np.outer(size, size))
    Q, T, order = qr(np.linalg.inv(R) * size, pivoting=True)
    values, _, V, work, _, _ = dgejsv((T @ L[order]).T, joba=2, jobt=1)
    return ((values * work[0] / work[1]) ** 2)[::-1], solve_triangular(R.T, Q @ V[:, ::-1])


def _unstable_modes(K: Array, R: Array) -> tuple[Array, Array]:
    """Modes of a stiffness that is not positive: fast motions by the problem as it stands, slow ones by its reciprocal.

    Each errs by 1e-16 of its largest value, which is the same relative error at the geometric mean of the fastest and
    the slowest.
    """
    inverse = np.linalg.inv(R)
    squares, Y = np.linalg.eigh(inverse @ K @ inverse.T)
    weight = np.sqrt(np.abs(K).max(axis=1))
    compliance = R.T @ (np.linalg.inv(K / np.outer(weight, weight)) / np.outer(weight, weight)) @ R
    values, vectors = np.linalg.eigh(0.5 * (compliance + compliance.T))
    slow = np.abs(values) > np.sqrt(np.abs(values).max() / np.abs(squares).max())
    fast = np.argsort(-np.abs(squares), kind="stable")[: len(K) - int(slow.sum())]
    squares, Y = np.append(1 / values[slow], squares[fast]), np.hstack([vectors[:, slow], Y[:, fast]])
    order = np.argsort(squares, kind="stable")
    return squares[order], inverse.T @ Y[:, order]


__all__ = ["natural_modes"]
