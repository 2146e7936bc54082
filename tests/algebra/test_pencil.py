"""Natural modes: against exact counts of eigenvalues, for stiffnesses and inertias far apart, in any units."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant.algebra.natural_modes import natural_modes
from pliant.errors import PliantError


def below(K, M, value: float) -> int:
    """How many squares lie below a value: negative pivots of K - value M (Sylvester), in exact fractions."""
    A = [[Fraction(k) - Fraction(value) * Fraction(m) for k, m in zip(*rows)] for rows in zip(K.tolist(), M.tolist())]
    negative = 0
    for i in range(len(A)):
        negative += A[i][i] < 0
        for j in range(i + 1, len(A)):
            factor = A[j][i] / A[i][i]
            A[j] = [x - factor * y for x, y in zip(A[j], A[i])]
    return negative


def assert_exact(K, M, squares, rel):
    """Exactly k squares lie below the k-th by the relative error, one more above it."""
    counts = [(below(K, M, x * (1 - rel)), below(K, M, x * (1 + rel))) for x in squares.tolist()]
    assert [tuple(sorted(pair)) for pair in counts] == [(k, k + 1) for k in range(len(squares))]


def definite(rng, n):
    X = rng.normal(size=(n, n))
    return X @ X.T + n * np.eye(n)


def check(K, M, squares, X, rel):
    np.testing.assert_allclose(X.T @ M @ X, np.eye(len(K)), atol=1e-9)
    residual = K @ X - M @ X * squares
    size = np.abs(K) @ np.abs(X) + np.abs(M) @ np.abs(X) * np.abs(squares)
    assert np.abs(residual).max() <= rel * size.max()


@pytest.mark.parametrize("seed", range(5))
def test_moderate_pairs_agree_with_the_usual_solver(seed):
    rng = np.random.default_rng(seed)
    K, M = definite(rng, 6), definite(rng, 6)
    squares, X = natural_modes(K, M)
    np.testing.assert_allclose(squares, eigh(K, M, eigvals_only=True), rtol=1e-12)
    check(K, M, squares, X, 1e-13)


@pytest.mark.parametrize("spread", [1e7, 1e10, 1e20])
@pytest.mark.parametrize("seed", range(3))
def test_every_frequency_has_its_digits(seed, spread):
    """Stiffnesses and inertias apart by the spread; the usual solver loses the slow ones beyond 1e16."""
    rng = np.random.default_rng(seed)
    d, e = spread ** rng.uniform(-0.5, 0.5, 4), spread ** rng.uniform(-0.5, 0.5, 4)
    K, M = definite(rng, 4) * np.outer(d, d), definite(rng, 4) * np.outer(e, e)
    assert_exact(K, M, natural_modes(K, M)[0], 1e-13)


def test_units_do_not_matter():
    rng = np.random.default_rng(3)
    K, M = definite(rng, 5), definite(rng, 5)
    squares, X = natural_modes(K, M)
    unit = 10.0 ** np.array([3, -3, 12, 0, -9])
    found, Y = natural_modes(K * np.outer(unit, unit), M * np.outer(unit, unit))
    np.testing.assert_allclose(found, squares, rtol=1e-13)
    np.testing.assert_allclose(np.abs(Y * unit[:, None]), np.abs(X), rtol=1e-10)


def test_coordinates_without_stiffness_rest():
    rng = np.random.default_rng(4)
    K, M = np.zeros((5, 5)), definite(rng, 5)
    K[np.ix_([1, 3, 4], [1, 3, 4])] = definite(rng, 3) * np.outer([1, 1e8, 1], [1, 1e8, 1])
    squares, X = natural_modes(K, M)
    assert squares[:2].tolist() == [0.0, 0.0]
    assert_exact(K[np.ix_([1, 3, 4], [1, 3, 4])], condensed(M, [1, 3, 4]), squares[2:], 1e-12)
    check(K, M, squares, X, 1e-12)


def condensed(M, held):
    free = [k for k in range(len(M)) if k not in held]
    return M[np.ix_(held, held)] - M[np.ix_(held, free)] @ np.linalg.solve(M[np.ix_(free, free)], M[np.ix_(free, held)])


def test_a_floating_chain_rests_once():
    """Three bodies and two springs, 1e12 apart: the whole moves freely, and both springs keep their frequency."""
    soft, stiff = 1.0, 1e12
    K = np.array([[stiff, -stiff, 0], [-stiff, stiff + soft, -soft], [0, -soft, soft]])
    M = np.diag([2.0, 3.0, 5.0])
    squares, X = natural_modes(K, M)
    assert squares[0] == 0.0
    combined = (1 / 5.0 + 1 / 5.0) * soft, (1 / 2.0 + 1 / 3.0) * stiff  # rigid pair against body; within the pair
    np.testing.assert_allclose(
        squares[1:], combined, rtol=1e-3
    )  # the entry that sums both springs has 1e-4 of the soft
    check(K, M, squares, X, 1e-12)


def test_unstable_motions_keep_their_sign():
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    K, M = Q @ np.diag([-2.0, 3.0, 4.0, 5.0]) @ Q.T, definite(rng, 4)
    squares, X = natural_modes(K, M)
    np.testing.assert_allclose(squares, eigh(K, M, eigvals_only=True), rtol=1e-10)
    check(K, M, squares, X, 1e-12)
    d = np.array([1.0, 1e6, 1.0, 1e6])
    K = np.diag([-1.0, 3.0, 2.0, 1.0]) + 0.1
    assert_exact(K * np.outer(d, d), np.eye(4), natural_modes(K * np.outer(d, d), np.eye(4))[0], 1e-11)


def test_noise_is_no_stiffness():
    K = np.diag([3e-17, 4.0])
    assert natural_modes(K, np.eye(2))[0].tolist() == pytest.approx([3e-17, 4.0])
    assert natural_modes(K, np.eye(2), noise=np.array([[1e-16, 0], [0, 0]]))[0].tolist() == pytest.approx([0.0, 4.0])


def test_singular_inertia_is_refused():
    with pytest.raises(PliantError, match="singular"):
        natural_modes(np.eye(2), np.ones((2, 2)))
