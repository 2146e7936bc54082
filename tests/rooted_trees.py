"""Rooted trees and the order conditions of one-step methods, in whatever arithmetic the coefficients have.

A method has order p when, for every rooted tree of at most p vertices, its elementary weight equals 1/density.
[HW] E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.2, and II, IV.7.

Coefficients are arrays of Fractions (``exact`` turns doubles into them): then a defect is a number of the table alone,
the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

Tree = tuple["Tree", ...]  # a vertex is the tuple of its subtrees; () is a leaf


def exact(array: np.ndarray) -> np.ndarray:
    """The same numbers as Fractions."""
    return np.vectorize(Fraction, otypes=[object])(array)


def inverse_of_lower(L: np.ndarray) -> np.ndarray:
    """Inverse of a lower triangular matrix of Fractions, by substitution."""
    n = len(L)
    X = exact(np.zeros((n, n)))
    for i in range(n):
        unit = exact(np.eye(n)[i])
        X[i] = (unit - L[i, :i] @ X[:i]) / L[i, i] if i else unit / L[0, 0]
    return X


@cache
def trees(order: int) -> tuple[Tree, ...]:
    """All rooted trees with `order` vertices (1, 1, 2, 4, 9, 20, 48, 115, ...)."""
    return tuple(sorted(_forests(order - 1, order - 1)))


@cache
def _forests(vertices: int, largest: int) -> tuple[Tree, ...]:
    """Multisets of trees with `vertices` vertices in all, no tree having more than `largest`."""
    if vertices == 0:
        return ((),)
    if largest == 0:
        return ()
    found: list[Tree] = []
    for count in range(vertices // largest + 1):
        heads = combinations_with_replacement(trees(largest), count)
        tails = _forests(vertices - count * largest, largest - 1)
        found += [head + tail for head in heads for tail in tails]
    return tuple(found)


@cache
def size(tree: Tree) -> int:
    """Number of vertices."""
    return 1 + sum(size(child) for child in tree)


@cache
def density(tree: Tree) -> int:
    """Product of the sizes of all subtrees, gamma(t) of [HW]."""
    product = size(tree)
    for child in tree:
        product *= density(child)
    return product


def stage_weights(alpha: np.ndarray, beta: np.ndarray) -> Callable[[Tree], np.ndarray]:
    """Elementary weights by stage: a vertex with one child passes through `beta`, others through `alpha`, [HW] IV.7.

    Runge-Kutta methods have alpha = beta = A; Rosenbrock methods with exact Jacobian have beta = alpha + Gamma.
    """

    @cache
    def weights(tree: Tree) -> np.ndarray:
        if len(tree) == 1:
            return beta @ weights(tree[0])
        product = exact(np.ones(len(alpha)))
        for child in tree:
            product = product * through(child)
        return product

    @cache
    def through(tree: Tree) -> np.ndarray:
        return alpha @ weights(tree)

    return weights


def order_defects(
    b: np.ndarray, weights: Callable[[Tree], np.ndarray], order: int, theta: Fraction = Fraction(1)
) -> list[Fraction]:
    """Violation of each condition up to `order`, for weights b that give the solution at t + theta h."""
    return [
        b @ weights(tree) - theta**vertices / density(tree)
        for vertices in range(1, order + 1)
        for tree in trees(vertices)
    ]
