"""Rooted trees and the order conditions of one-step methods.

A method has order p when, for every rooted tree of at most p vertices, its elementary weight equals 1/density.
[HW] E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.2, and II, IV.7.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Tree = tuple["Tree", ...]  # a vertex is the tuple of its subtrees; () is a leaf


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


def stage_weights(tree: Tree, alpha: Floats, beta: Floats) -> Floats:
    """Elementary weights by stage: a vertex with one child passes through `beta`, others through `alpha`, [HW] IV.7.

    Runge-Kutta methods have alpha = beta = A; Rosenbrock methods with exact Jacobian have beta = alpha + Gamma.
    """
    if len(tree) == 1:
        return np.asarray(beta @ stage_weights(tree[0], alpha, beta))
    product = np.ones(len(alpha))
    for child in tree:
        product = product * (alpha @ stage_weights(child, alpha, beta))
    return product


def order_defect(b: Floats, alpha: Floats, beta: Floats, order: int, theta: float = 1.0) -> float:
    """Largest violation of the conditions up to `order`, for weights b that give the solution at t + theta h."""
    worst = 0.0
    for vertices in range(1, order + 1):
        for tree in trees(vertices):
            weight = float(b @ stage_weights(tree, alpha, beta))
            worst = max(worst, abs(weight - theta**vertices / density(tree)))
    return worst
