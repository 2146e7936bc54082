"""Finite elements against closed forms, the frequency equation and published tapered beams; reductions of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import iv, jv

from pliant.errors import ModelError
from pliant.mechanics.shapes import (
    LoadRatios,
    bending_elements,
    bending_modes,
    clamped_free_roots,
    clamped_mass_roots,
    eigenpairs,
    gram,
    mass_matrix,
    reduce_elements,
    rod_elements,
    rod_roots,
    stiffness_matrix,
)


def frequencies(elements, load=None, density=None, rigidity=None, rotary=None):
    K = stiffness_matrix(elements, rigidity)
    M = mass_matrix(elements, density, load or LoadRatios(), rotary)
    return np.sqrt(eigenpairs(K, M)[0])


def test_one_element_has_the_textbook_matrices():
    e = bending_elements(1)
    np.testing.assert_allclose(stiffness_matrix(e), [[12, -6], [-6, 4]], atol=1e-13)
    np.testing.assert_allclose(420 * mass_matrix(e), [[156, -22], [-22, 4]], atol=1e-12)
    np.testing.assert_allclose(30 * gram(e, 1), [[36, -3], [-3, 4]], atol=1e-13)  # rotary inertia
    np.testing.assert_allclose(6 * mass_matrix(rod_elements(1)), [[2]], atol=1e-14)
    np.testing.assert_allclose(stiffness_matrix(rod_elements(1)), [[1]], atol=1e-14)


def test_two_elements_assemble():
    h = 0.5
    K = np.array(
        [
            [24, 0, -12, 6 * h],
            [0, 8 * h**2, -6 * h, 2 * h**2],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h**2, -6 * h, 4 * h**2],
        ]
    )
    np.testing.assert_allclose(stiffness_matrix(bending_elements(2)), K / h**3, atol=1e-12)


def test_coordinates_are_nodal_values_and_slopes():
    e = bending_elements(4)
    nodes = np.array([0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(e.evaluate(nodes)[:, 0::2], np.eye(4), atol=1e-15)
    np.testing.assert_allclose(e.evaluate(nodes, 1)[:, 1::2], np.eye(4), atol=1e-14)
    np.testing.assert_allclose(e.evaluate(nodes)[:, 1::2], 0, atol=1e-15)
    assert e.powers == (0, 1, 0, 1, 0, 1, 0, 1)
    np.testing.assert_allclose(e.evaluate([0.0]), 0, atol=0)
    cubic = np.column_stack([nodes**3, 3 * nodes**2]).ravel()  # a cubic with clamped root lies in the span
    eta = np.linspace(0, 1, 23)
    np.testing.assert_allclose(e.evaluate(eta) @ cubic, eta**3, atol=1e-14)


@pytest.mark.parametrize(
    "load",
    [
        LoadRatios(),
        LoadRatios(1.55),
        LoadRatios(0.5, 0.2, 0.1),
        LoadRatios(1, 0.5, 0.3),
        LoadRatios(2, 0.5, 1),
        LoadRatios(1, 0.5, -0.3),
    ],
)
def test_eight_elements_meet_the_frequency_equation(load):
    exact = clamped_mass_roots(3, load.M, load.J, load.D) ** 2
    found = frequencies(bending_elements(8), load)[:3]
    np.testing.assert_allclose(found[:2], exact[:2], rtol=1e-4)
    excess = found / exact - 1
    assert (excess > -1e-12).all()  # Ritz: from above
    assert (excess < 1.05 * exact**2 / 8**4 / 1440).all()  # leading error (beta h)^4/1440 of a cubic element


def test_many_modes_converge_to_the_frequency_equation():
    np.testing.assert_allclose(frequencies(bending_elements(100))[:20], clamped_free_roots(20) ** 2, rtol=1e-4)


WEDGE = (lambda x: 1 - x, lambda x: (1 - x) ** 3, (5.3151, 15.2072, 30.0198))
HALF = (lambda x: 1 - x / 2, lambda x: (1 - x / 2) ** 3, (3.8238, 18.3173, 47.2648))


@pytest.mark.parametrize(("area", "inertia", "published"), [WEDGE, HALF], ids=["wedge", "depth to half"])
def test_tapered_cantilevers_with_order_four(area, inertia, published):
    runs = np.array([frequencies(bending_elements(n), density=area, rigidity=inertia)[:3] for n in (8, 16, 32, 64)])
    np.testing.assert_allclose(
        runs[-1], published, rtol=0, atol=5.1e-5
    )  # their last digit, half a unit and the error left
    order = np.log2(np.diff(runs, axis=0)[:-1] / np.diff(runs, axis=0)[1:])
    np.testing.assert_allclose(order[-1], 4, atol=0.1)


def test_wedge_in_closed_form():
    """Kirchhoff's solution (1879): J1(z) I2(z) + I1(z) J2(z) = 0 with frequency (z/2)^2."""
    equation = lambda z: jv(1, z) * iv(2, z) + iv(1, z) * jv(2, z)  # noqa: E731
    exact = [brentq(equation, a, b, xtol=1e-13) ** 2 / 4 for a, b in ((4, 6), (7, 9), (10, 12))]
    found = frequencies(bending_elements(64), density=WEDGE[0], rigidity=WEDGE[1])[:3]
    np.testing.assert_allclose(found, exact, rtol=1e-6)  # order 4: the error left by 64 elements is 3e-7


def test_uniform_cantilever_has_order_four():
    exact = clamped_free_roots(3)[1:] ** 2  # the error of mode 1 with 32 elements, 1e-8, is already noisy by rounding
    error = np.array([frequencies(bending_elements(n))[1:3] - exact for n in (8, 16, 32)])
    np.testing.assert_allclose(np.log2(error[:-1] / error[1:]), 4, atol=0.1)


@pytest.mark.parametrize("inertia", [0.0, 0.8])
def test_rod_elements_have_order_two(inertia):
    exact = rod_roots(2, inertia)
    error = np.array([frequencies(rod_elements(n), LoadRatios(M=inertia))[:2] - exact for n in (16, 32, 64)])
    np.testing.assert_allclose(np.log2(error[:-1] / error[1:]), 2, atol=0.05)


def test_rotary_inertia_of_sections_lowers_frequencies():
    """Rayleigh's first-order correction: lambda (1 - r int psi'^2), with the exact mode psi; r^2 terms are left."""
    r = 1e-6
    mode = bending_modes(1)
    expected = mode.roots[0] ** 2 * (1 - 0.5 * r * gram(mode, 1)[0, 0])
    e = bending_elements(64)
    slender = frequencies(e)[0] - mode.roots[0] ** 2  # what discretization alone does
    assert frequencies(e, rotary=lambda x: np.full_like(x, r))[0] - slender == pytest.approx(expected, rel=1e-10)


def reduced(k, method="craig-bampton", load=None, count=8, elements=bending_elements):
    e = elements(count)
    K, M = stiffness_matrix(e), mass_matrix(e, load=load or LoadRatios())
    return reduce_elements(e, k, K, M, method=method), K, M


@pytest.mark.parametrize("load", [LoadRatios(), LoadRatios(1.0, 0.5, 0.3)])
@pytest.mark.parametrize("method", ["craig-bampton", "clamped"])
def test_reduced_shapes_are_modes_of_their_span(method, load):
    r, K, M = reduced(5, method, load)
    Kr, Mr = r.basis.T @ K @ r.basis, r.basis.T @ M @ r.basis
    for matrix in (Kr, Mr):
        d = np.sqrt(np.diag(matrix))
        assert np.abs(matrix / np.outer(d, d) - np.eye(5)).max() < 1e-9
    assert (np.diff(np.diag(Kr) / np.diag(Mr)) > 0).all()
    np.testing.assert_allclose(np.diag(gram(r)), 1, atol=1e-12)
    assert (r.evaluate(1.0) > 0).all()


def test_craig_bampton_holds_every_static_tip_motion():
    """Any force and moment at the tip bends the beam into a cubic, which two shapes must contain exactly."""
    eta = np.linspace(0, 1, 31)
    for k in (2, 3, 6):
        psi = reduced(k)[0].evaluate(eta)
        for cubic in (3 * eta**2 - 2 * eta**3, eta**3 - eta**2):
            fit = psi @ np.linalg.lstsq(psi, cubic, rcond=None)[0]
            np.testing.assert_allclose(fit, cubic, atol=1e-11)


def test_clamped_modes_do_not_hold_static_tip_motions():
    eta = np.linspace(0, 1, 31)
    psi, cubic = reduced(2, "clamped")[0].evaluate(eta), eta**3 - eta**2
    assert np.abs(psi @ np.linalg.lstsq(psi, cubic, rcond=None)[0] - cubic).max() > 1e-2


def test_reduction_to_everything_changes_nothing():
    r, K, M = reduced(16)
    full, _ = eigenpairs(K, M)
    part, _ = eigenpairs(r.basis.T @ K @ r.basis, r.basis.T @ M @ r.basis)
    np.testing.assert_allclose(part, full, rtol=1e-8)


def test_reduced_frequencies_converge_from_above():
    """Rayleigh: a larger span has no higher first frequency, and none lies below that of all elements.

    One shape is the lower mode of the two static tip motions and therefore has the frequency of both. It is computed in
    another basis, so that the two agree up to the round-off of K: eps times the condition of K with unit diagonal. All
    other steps are at least 5e-6 of the frequency.
    """
    exact = frequencies(bending_elements(8))[0]
    found = [
        float(np.sqrt(eigenpairs(*(r.basis.T @ X @ r.basis for X in (K, M)))[0][0]))
        for r, K, M in map(reduced, (1, 2, 3, 4, 6))
    ]
    K = stiffness_matrix(bending_elements(8))
    scale = 1 / np.sqrt(np.diag(K))
    assert found[0] == pytest.approx(found[1], rel=np.finfo(float).eps * np.linalg.cond(K * np.outer(scale, scale)))
    assert (np.diff([*found[1:], exact]) < -1e-6 * exact).all()
    assert found[-1] == pytest.approx(exact, rel=1e-5)


def test_reduced_rods():
    r, _, _ = reduced(2, elements=rod_elements)
    eta = np.linspace(0, 1, 9)
    psi = r.evaluate(eta)
    np.testing.assert_allclose(psi @ np.linalg.lstsq(psi, eta, rcond=None)[0], eta, atol=1e-13)
    assert reduced(1, count=1, elements=rod_elements)[0].size == 1


@pytest.mark.parametrize("k", [0, 17])
def test_impossible_reductions_are_refused(k):
    with pytest.raises(ModelError, match="reduce"):
        reduced(k)


def test_impossible_elements_are_refused():
    with pytest.raises(ModelError, match="count"):
        bending_elements(0)
    with pytest.raises(ModelError, match="positive definite"):
        eigenpairs(np.eye(2), np.zeros((2, 2)))
