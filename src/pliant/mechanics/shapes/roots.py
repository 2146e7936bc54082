"""Frequency equations of a uniform beam and their roots, none skipped.

A bending root `beta` gives the frequency (beta/L)^2 sqrt(EI/mu), a rod root (torsion, axial) (beta/L) sqrt(GJ/j) or
(beta/L) sqrt(EA/mu).

The roots are counted before they are computed. Let `fixed(beta)` be the number of natural frequencies below beta when
the tip is held still (known from where the roots of cos*cosh = 1 and tan = tanh lie), and K(beta) the 2x2 dynamic
stiffness of the tip. Releasing the tip adds one frequency for every negative eigenvalue of K - beta^4 [[M, D], [D, J]]
(Wittrick & Williams 1971). Bisection on that count finds the n-th root with certainty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, cosh, nextafter, pi, sin, tanh
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios

Four = tuple[float, float, float, float]
Five = tuple[float, float, float, float, float]
SERIES_BELOW = 2.0  # where 1 - cos cosh and its kin would cancel; ten terms of the series are exact there


class Products(NamedTuple):
    """Products of circular and hyperbolic functions of beta, all divided by the same scale (1 or cosh beta).

    Derivatives of the unscaled products: a' = -b, b' = 2e, e' = d, d' = 2a.
    """

    above: float  # 1 + cos cosh
    below: float  # 1 - cos cosh
    a: float  # cos cosh
    b: float  # sin cosh - cos sinh
    d: float  # sin cosh + cos sinh
    e: float  # sin sinh


def products(beta: float) -> Products:
    """Evaluate the products without overflow (any beta) and without cancellation (small beta)."""
    if beta < SERIES_BELOW:
        return _products_by_series(beta)
    one, c, s, t = 1 / cosh(min(beta, 700.0)), cos(beta), sin(beta), tanh(beta)
    return Products(one + c, one - c, c, s - c * t, s + c * t, s * t)


def _products_by_series(beta: float) -> Products:
    z = beta**4
    below = b = d = e = 0.0
    term = 1.0  # (-4)^k beta^(4k) / (4k)!
    for k in range(0, 40, 4):
        d += 2 * term * beta / (k + 1)
        e += 2 * term * beta**2 / ((k + 1) * (k + 2))
        b += 4 * term * beta**3 / ((k + 1) * (k + 2) * (k + 3))
        term *= -4 * z / ((k + 1) * (k + 2) * (k + 3) * (k + 4))
        below -= term
    return Products(2 - below, below, 1 - below, b, d, e)


def _fixed_count_clamped(beta: float, p: Products) -> int:
    """Clamped-clamped frequencies below beta; the k-th root of cos cosh = 1 lies beside (k + 1/2) pi."""
    i = int(beta / pi)
    return i - (0 if (-1) ** i * p.below > 0 else 1) if i else 0


def _fixed_count_pinned(beta: float, p: Products) -> int:
    """Pinned-clamped frequencies below beta; the k-th root of tan = tanh lies in (k pi, (k + 1/2) pi)."""
    i = int(beta / pi)
    return i - (0 if (-1) ** i * p.b > 0 else 1) if i else 0


@dataclass(frozen=True)
class RootSupport:
    """How the root of a bending beam is held, as data.

    Attributes
    ----------
    name : str
    conditions : (2, 4) nested tuple
        Rows over (y, y', y'', y''') at eta = 0 that vanish.
    rigid : int
        Number of rigid-body motions left when the tip is free; their roots (beta = 0) are left out.
    stiffness : callable
        Products -> (k11, k12, k22, divisor) of the tip's dynamic stiffness
        K = [[k11 beta^3, k12 beta^2], [k12 beta^2, k22 beta]] / divisor.
    fixed_count : callable
        Number of frequencies below beta while the tip is held.
    terms : callable
        (beta, Products) -> the five terms of the frequency equation, to be weighted with (1, M J - D^2, M, J, D).
    """

    name: str
    conditions: tuple[tuple[float, ...], tuple[float, ...]]
    rigid: int
    stiffness: Callable[[Products], Four]
    fixed_count: Callable[[float, Products], int]
    terms: Callable[[float, Products], Five]

    def frequency_function(self, beta: float, load: LoadRatios = FREE) -> float:
        """Left side of the frequency equation, [TG95] (11) for a clamped root, scaled so that it never overflows."""
        terms = self.terms(beta, products(beta))
        return float(np.dot(terms, (1.0, load.E, load.M, load.J, load.D)))

    def count(self, beta: float, load: LoadRatios = FREE) -> int:
        """Number of natural frequencies below beta, rigid-body motions included."""
        p = products(beta)
        k11, _, k22, divisor = self.stiffness(p)
        if divisor == 0:  # beta is itself a frequency of the held tip: count just above it
            return self.count(nextafter(beta, 2 * beta), load)
        f = self.frequency_function(beta, load)
        # divisor * det(K - beta^4 T) = +-beta^4 f: the sign of f decides between one negative eigenvalue and 0 or 2.
        determinant = f * divisor * (-1) ** self.rigid
        trace = (k11 + k22) / divisor - beta * load.M - beta**3 * load.J
        negative = 1 if determinant < 0 else (2 if trace < 0 else 0)
        return self.fixed_count(beta, p) + negative


def _stiffness_clamped(p: Products) -> Four:
    return p.d, -p.e, p.b, p.below


def _stiffness_pinned(p: Products) -> Four:
    return 2 * p.a, -p.d, 2 * p.e, p.b


def _terms_clamped(x: float, p: Products) -> Five:
    return p.above, x**4 * p.below, -x * p.b, -(x**3) * p.d, -2 * x**2 * p.e


def _terms_pinned(x: float, p: Products) -> Five:
    return p.b, -(x**4) * p.b, 2 * x * p.e, 2 * x**3 * p.a, 2 * x**2 * p.d


CLAMPED = RootSupport(
    name="clamped",
    conditions=((1, 0, 0, 0), (0, 1, 0, 0)),
    rigid=0,
    stiffness=_stiffness_clamped,
    fixed_count=_fixed_count_clamped,
    terms=_terms_clamped,
)
PINNED = RootSupport(
    name="pinned",
    conditions=((1, 0, 0, 0), (0, 0, 1, 0)),
    rigid=1,
    stiffness=_stiffness_pinned,
    fixed_count=_fixed_count_pinned,
    terms=_terms_pinned,
)


def bending_roots(n: int, support: RootSupport = CLAMPED, load: LoadRatios = FREE) -> Array:
    """First n positive roots beta of the frequency equation, rising, each to the last digits of a double.

    The j-th frequency is at most the j-th one with the tip held, which lies below (j + 1) pi: there the search starts.
    """
    if n < 0:
        raise ModelError(f"number of modes {n}: expected 0 or more")

    def passed(j: int) -> Callable[[float], bool]:
        return lambda x: support.count(x, load) >= j

    first = 1 + support.rigid
    return np.array([_bisect(passed(j), (j + 1) * pi) for j in range(first, first + n)])


def rod_roots(n: int, inertia: float = 0.0) -> Array:
    """First n roots of cos(beta) = I beta sin(beta): a rod with fixed root and tip inertia I = J/(j L) or m/(mu L).

    tan(beta) rises and 1/(I beta) falls, so there is exactly one root in each ((k - 1) pi, (k - 1/2) pi].
    """
    if n < 0 or not 0 <= inertia < float("inf"):
        raise ModelError(f"rod with {n} modes and tip inertia ratio {inertia}: expected n >= 0 and a finite ratio >= 0")
    if inertia == 0:
        return np.asarray((np.arange(n) + 0.5) * pi, dtype=float)

    def passed(k: int) -> Callable[[float], bool]:
        return lambda x: (-1) ** k * (cos(x) - inertia * x * sin(x)) <= 0

    return np.array([_bisect(passed(k), (k + 0.5) * pi, k * pi) for k in range(n)])


def clamped_free_roots(n: int) -> Array:
    """Roots of 1 + cos cosh = 0."""
    return bending_roots(n, CLAMPED)


def clamped_mass_roots(n: int, M: float = 0.0, J: float = 0.0, D: float = 0.0) -> Array:
    """Roots of [TG95] eq. (11)."""
    return bending_roots(n, CLAMPED, LoadRatios(M, J, D))


def pinned_free_roots(n: int) -> Array:
    """Roots of tan = tanh without the rigid-body root 0."""
    return bending_roots(n, PINNED)


def pinned_pinned_roots(n: int) -> Array:
    """Roots of sin = 0."""
    return np.asarray(pi * np.arange(1, n + 1), dtype=float)


def _bisect(passed: Callable[[float], bool], high: float, low: float = 0.0) -> float:
    """Smallest number in (low, high] that is `passed`, by halving until neighboring doubles remain."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-16 * high:
            return high
        low, high = (low, middle) if passed(middle) else (middle, high)
