"""Algebraic Riccati equations of regulators and observers: by SciPy, and by doubling if SciPy fails.

SciPy orders the eigenvalues of a pencil. With a vibration that hardly decays they lie close to both sides of the unit
circle, and rounding decides whether the order is found. Structure-preserving doubling [CFL05] needs no order: each step
squares the closed loop.
"""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array

MOST_DOUBLINGS = 60
CLOSE = 1e-8
"""Largest residual of a solution, over the largest term: half of the digits. Doubling leaves up to 1e-12 with
frequencies spread over five decades. If it does not converge, the residual is of order one or NaN."""


def continuous(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """P of A^T P + P A - P B R^-1 B^T P + Q = 0 that stabilizes A - B R^-1 B^T P; else `LinAlgError`."""
    from scipy.linalg import solve_continuous_are

    try:
        return np.asarray(solve_continuous_are(A, B, Q, R))
    except (np.linalg.LinAlgError, ValueError) as error:
        G = B @ np.linalg.solve(R, B.T)
        P = doubled(*_cayley(A, G, Q))
        terms = (A.T @ P, P @ A, -P @ G @ P, Q)
        if not _solves(terms) or np.linalg.eigvals(A - G @ P).real.max() >= 0.0:
            raise np.linalg.LinAlgError(str(error)) from error
        return P


def discrete(A: Array, B: Array, Q: Array, R: Array, S: Array | None = None) -> Array:
    """P of A^T P A - P - (A^T P B + S) K + Q = 0, K = (R + B^T P B)^-1 (B^T P A + S^T), that stabilizes A - B K."""
    from scipy.linalg import solve_discrete_are

    try:
        return np.asarray(solve_discrete_are(A, B, Q, R, s=S))
    except (np.linalg.LinAlgError, ValueError) as error:
        cross = np.zeros_like(B) if S is None else S
        inner = np.linalg.solve(R, cross.T)
        P = doubled(A - B @ inner, B @ np.linalg.solve(R, B.T), Q - cross @ inner)
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + cross.T)
        terms = (A.T @ P @ A, -P, -(A.T @ P @ B + cross) @ K, Q)
        if not _solves(terms) or np.abs(np.linalg.eigvals(A - B @ K)).max() >= 1.0:
            raise np.linalg.LinAlgError(str(error)) from error
        return P


def doubled(A: Array, G: Array, H: Array) -> Array:
    """P = H + A^T P (1 + G P)^-1 A by doubling; NaN if it does not converge."""
    one = np.eye(len(A))
    with np.errstate(all="ignore"):
        for _ in range(MOST_DOUBLINGS):
            try:
                by_A, by_G = np.hsplit(np.linalg.solve(one + G @ H, np.hstack([A, G])), 2)
            except np.linalg.LinAlgError:
                break
            more = by_A.T @ H @ A
            A, G, H = A @ by_A, G + A @ by_G @ A.T, H + (more + more.T) / 2
            G = (G + G.T) / 2
            if not (np.isfinite(A).all() and np.isfinite(G).all() and np.isfinite(H).all()):
                break
            if np.abs(more).max() <= 1e-15 * np.abs(H).max():
                return H
    return np.full_like(H, np.nan)


def _cayley(A: Array, G: Array, H: Array) -> tuple[Array, Array, Array]:
    """The discrete equation with the same solution; the shift lies beyond the spectrum."""
    shift = 1.1 * float(np.linalg.norm(A, 2)) + 1e-300
    shifted = A - shift * np.eye(len(A))
    forth = np.linalg.solve(shifted, G)
    inverse = np.linalg.inv(shifted.T + H @ forth)
    back = np.linalg.solve(shifted.T, H).T
    return np.eye(len(A)) + 2 * shift * inverse.T, 2 * shift * forth @ inverse, 2 * shift * inverse @ back


def _solves(terms: tuple[Array, ...]) -> bool:
    total = sum(terms[1:], terms[0])
    return bool(np.isfinite(total).all() and np.abs(total).max() <= CLOSE * max(np.abs(t).max() for t in terms))
