"""Modes meet their boundary conditions and are orthogonal; the printed formulas give the same shapes."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.mechanics.shapes import CLAMPED, PINNED, LoadRatios, bending_modes, gram, rod_modes

FAMILIES = {
    "clamped-free": (CLAMPED, LoadRatios(), False),
    "clamped-mass": (CLAMPED, LoadRatios(1.5502), False),
    "clamped-mass-inertia": (CLAMPED, LoadRatios(1.0, 0.5, 0.3), False),
    "point mass beyond the tip": (CLAMPED, LoadRatios(2.0, 0.5, 1.0), False),
    "mass behind the tip": (CLAMPED, LoadRatios(2.0, 0.5, -0.9), False),
    "heavy": (CLAMPED, LoadRatios(1e3, 1e2, 1e2), False),
    "pinned-free": (PINNED, LoadRatios(), False),
    "pinned-mass": (PINNED, LoadRatios(1.0, 0.5, 0.3), False),
    "pinned-pinned": (PINNED, LoadRatios(), True),
}


@pytest.fixture(params=FAMILIES, name="modes")
def _modes(request):
    support, load, pinned_tip = FAMILIES[request.param]
    return bending_modes(20, support, load, pinned_tip=pinned_tip)


def test_orthogonal_with_the_tip_load_in_the_product(modes):
    G = modes.loaded_gram()
    norm = np.sqrt(np.diag(G))
    assert np.abs(G / np.outer(norm, norm) - np.eye(20)).max() < 1e-10


def test_stiffness_is_diagonal_with_beta_to_the_fourth(modes):
    G = modes.loaded_gram()
    scale = np.sqrt(np.diag(G)) * modes.roots**2
    assert np.abs(gram(modes, 2) / np.outer(scale, scale) - np.eye(20)).max() < 1e-10


def test_boundary_conditions(modes):
    """Once more by hand: y'' = b^4 (J y' + D y), y''' = -b^4 (M y + D y'), beside psi^(k)/b^k = O(1)."""
    y0, y1 = ([modes.evaluate(end, k)[0] / modes.roots**k for k in range(4)] for end in (0.0, 1.0))
    b, load = modes.roots, modes.load
    root = (y0[0], y0[1] if modes.support is CLAMPED else y0[2])
    moment = y1[2] - b**2 * (load.J * b * y1[1] + load.D * y1[0])
    shear = y1[3] + b * (load.M * y1[0] + load.D * b * y1[1])
    size = 1 + b**3 * load.J + b**2 * abs(load.D)
    tip = (y1[0], y1[2]) if modes.pinned_tip else (moment / size, shear / (1 + b * load.M + b**2 * abs(load.D)))
    assert np.abs(np.stack([*root, *tip])).max() < 1e-8


def test_equation_of_motion_holds_inside(modes):
    eta = np.linspace(0, 1, 11)
    assert np.abs(modes.evaluate(eta, 4) / modes.roots**4 - modes.evaluate(eta)).max() < 1e-12


def test_unit_norm_and_positive_tip(modes):
    np.testing.assert_allclose(np.diag(gram(modes)), 1, atol=1e-13)
    near_tip = modes.evaluate(1 - 1e-6 if modes.pinned_tip else 1.0)
    assert (near_tip > 0).all()


def test_mode_k_has_k_minus_1_nodes():
    psi = bending_modes(20).evaluate(np.linspace(0.001, 1, 5001))
    assert [int(np.count_nonzero(np.diff(np.sign(column)))) for column in psi.T] == list(range(20))


@pytest.mark.parametrize("load", [LoadRatios(), LoadRatios(0.8), LoadRatios(1.0, 0.5, 0.3)])
def test_printed_mode_shape(load):
    """[TG95] (9), (10); compared up to the constant C_i. Plain cosh loses about e^beta digits: four modes, 1e-9."""
    modes = bending_modes(4, CLAMPED, load)
    eta = np.linspace(0, 1, 21)
    for j, b in enumerate(modes.roots):
        s, c, S, C = np.sin(b), np.cos(b), np.sinh(b), np.cosh(b)
        nu = (s - S + load.M * b * (c - C) - load.D * b**2 * (s + S)) / (
            c + C - load.M * b * (s - S) - load.D * b**2 * (c - C)
        )
        y = b * eta
        printed = np.cos(y) - np.cosh(y) + nu * (np.sin(y) - np.sinh(y))
        psi = modes.evaluate(eta)[:, j]
        np.testing.assert_allclose(printed * psi[-1] / printed[-1], psi, atol=1e-9)


def test_values_at_large_beta_stay_exact():
    modes = bending_modes(60)  # beta up to 187; cosh would need 1e80
    psi = modes.evaluate([0.0, 1.0])
    assert modes.roots[-1] > 180
    np.testing.assert_allclose(psi[0], 0, atol=1e-12)
    np.testing.assert_allclose(psi[1], 2, atol=1e-12)  # tip value of every unit clamped-free mode


def test_scaled_to_one_at_the_tip():
    for modes in (bending_modes(5, load=LoadRatios(0.5), normalize="tip"), rod_modes(5, 0.5, normalize="tip")):
        np.testing.assert_allclose(modes.evaluate(1.0)[0], 1, atol=1e-13)


def test_no_scale_without_tip_motion():
    with pytest.raises(ModelError, match="tip"):
        bending_modes(2, PINNED, pinned_tip=True, normalize="tip")
    with pytest.raises(ModelError, match="pinned tip"):
        bending_modes(2, CLAMPED, pinned_tip=True)


def test_no_modes():
    assert bending_modes(0).evaluate([0.0, 1.0]).shape == (2, 0)
    assert rod_modes(0).evaluate([0.0, 1.0]).shape == (2, 0)


@pytest.mark.parametrize("inertia", [0.0, 0.7, 50.0])
def test_rods(inertia):
    modes = rod_modes(20, inertia)
    psi, slope = modes.evaluate(1.0)[0], modes.evaluate(1.0, 1)[0]
    assert (psi > 0).all()
    assert (modes.evaluate(0.0) == 0).all()
    np.testing.assert_allclose(
        (slope - inertia * modes.roots**2 * psi) / (modes.roots * (1 + inertia * modes.roots)), 0, atol=1e-12
    )
    G = gram(modes)
    np.testing.assert_allclose(np.diag(G), 1, atol=1e-13)
    G += inertia * np.outer(psi, psi)
    norm = np.sqrt(np.diag(G))
    assert np.abs(G / np.outer(norm, norm) - np.eye(20)).max() < 1e-10
