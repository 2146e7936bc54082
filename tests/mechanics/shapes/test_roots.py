"""Roots of the frequency equations: none skipped, exact to rounding, at any load."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.mechanics.shapes import (
    CLAMPED,
    PINNED,
    LoadRatios,
    bending_modes,
    bending_roots,
    clamped_free_roots,
    clamped_mass_roots,
    pinned_free_roots,
    pinned_pinned_roots,
    rod_roots,
)
from pliant.mechanics.shapes.roots import products

RNG = np.random.default_rng(2)
RANDOM_LOADS = [
    LoadRatios(M, J, float(RNG.uniform(-0.99, 0.99)) * np.sqrt(M * J))
    for M, J in 10.0 ** RNG.uniform([-3, -4], [3, 2], size=(6, 2))
]
LOADS = [LoadRatios(), LoadRatios(M=1.55), LoadRatios(J=0.4), LoadRatios(2.0, 2.0, 2.0), LoadRatios(1e6), *RANDOM_LOADS]


def clamped(beta, load):
    """[TG95] eq. (11) as printed, in extended precision and without any scaling."""
    b = np.asarray(beta, dtype=np.longdouble)
    c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
    M, J, D = (np.longdouble(x) for x in (load.M, load.J, load.D))
    f = 1 + C * c - M * b * (C * s - S * c) - J * b**3 * (C * s + S * c)
    return f + (M * J - D**2) * b**4 * (1 - C * c) - 2 * D * b**2 * S * s


def pinned(beta, load):
    """Determinant of the two tip conditions over y = A sin + B sinh."""
    b = np.asarray(beta, dtype=np.longdouble)
    c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
    M, J, D = (np.longdouble(x) for x in (load.M, load.J, load.D))
    moment = (-s - b**2 * (J * b * c + D * s), S - b**2 * (J * b * C + D * S))
    shear = (-c + b * (M * s + D * b * c), C + b * (M * S + D * b * C))
    return moment[0] * shear[1] - moment[1] * shear[0]


CASES = [(CLAMPED, clamped, load) for load in LOADS] + [(PINNED, pinned, load) for load in LOADS]


@pytest.mark.parametrize(("support", "f", "load"), CASES)
def test_no_root_is_skipped(support, f, load):
    roots = bending_roots(24, support, load)
    grid = np.linspace(1e-2, roots[-1] + 1e-3, 12_001)  # steps far below the distance of neighbors in these cases
    signs = np.sign(f(grid, load))
    assert np.count_nonzero(signs[1:] != signs[:-1]) == 24


@pytest.mark.parametrize(("support", "f", "load"), CASES)
def test_roots_are_exact_to_1e_12(support, f, load):
    roots = bending_roots(24, support, load)
    assert (f(roots * (1 - 1e-12), load) * f(roots * (1 + 1e-12), load) < 0).all()


def test_first_roots_of_the_classical_beams():
    # Blevins, Formulas for Natural Frequency and Mode Shape, table 8-1
    np.testing.assert_allclose(clamped_free_roots(3), [1.87510407, 4.69409113, 7.85475744], rtol=0, atol=5e-9)
    np.testing.assert_allclose(pinned_free_roots(2), [3.92660231, 7.06858275], rtol=0, atol=5e-9)
    np.testing.assert_array_equal(pinned_pinned_roots(3), np.pi * np.array([1, 2, 3]))


def test_many_roots_do_not_overflow():
    roots = clamped_mass_roots(500, 0.5, 0.1, 0.05)
    assert np.isfinite(roots).all()
    assert (np.diff(roots) > 0).all()
    # far up the tip is held by its own inertia: clamped-clamped roots, up to the next order 1/(J beta^3) and 1/(M beta)
    assert abs(roots[-1] - (500 - 2 + 0.5) * np.pi) < 1e-2


def test_heavy_tip_is_a_massless_spring():
    M = 1e10
    # static stiffness 3 EI/L^3, the beam adds 33/140 of its mass: relative 1e-11 of beta, left out
    assert clamped_mass_roots(1, M)[0] == pytest.approx((3 / M) ** 0.25, rel=1e-10)


def test_coinciding_frequencies_are_both_counted_and_the_modes_refused():
    beta = 1.2
    p = products(beta)
    # the load that makes the tip's dynamic stiffness vanish altogether at this beta
    load = LoadRatios(p.d / p.below / beta, p.b / p.below / beta**3, -p.e / p.below / beta**2)
    assert bending_roots(2, CLAMPED, load) == pytest.approx([beta, beta], abs=1e-6)  # a double root: half the digits
    with pytest.raises(ModelError, match="coincide"):
        bending_modes(2, CLAMPED, load)


@pytest.mark.parametrize("inertia", [0.0, 1e-6, 0.3, 1.0, 40.0, 1e9])
def test_rod_roots(inertia):
    roots = rod_roots(30, inertia)
    k = np.arange(30)
    assert ((roots > k * np.pi) & (roots <= (k + 0.5) * np.pi)).all()
    g = lambda b: np.cos(b) - inertia * b * np.sin(b)  # noqa: E731
    wide = roots.astype(np.longdouble)
    assert (g(wide * (1 - np.longdouble(1e-12))) * g(wide * (1 + np.longdouble(1e-12))) < 0).all()


@pytest.mark.parametrize("ratios", [(-1, 0, 0), (1, -1, 0), (1, 1, 1.1), (np.nan, 0, 0), (np.inf, 0, 0), (0, 0, 0.1)])
def test_impossible_loads_are_refused(ratios):
    with pytest.raises(ModelError, match="tip load"):
        LoadRatios(*ratios)


@pytest.mark.parametrize(("n", "inertia"), [(-1, 0.0), (2, -1.0), (2, np.nan), (2, np.inf)])
def test_impossible_rods_are_refused(n, inertia):
    with pytest.raises(ModelError, match="rod"):
        rod_roots(n, inertia)
    with pytest.raises(ModelError, match="number of modes"):
        clamped_free_roots(-1)
