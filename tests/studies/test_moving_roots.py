"""beta while the load or the length changes: root finding, differential form, derivatives, and the misprint of (47)."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.mechanics.shapes import LoadRatios, clamped_mass_roots
from pliant_studies.theodore_ghosal.moving_roots import (
    beta_length_derivatives,
    beta_rate,
    follow_beta,
    frequency_terms,
    load_at_length,
    roots_along,
)

RHO_A, PAYLOAD = 0.331, 0.0828  # kg/m, kg: link 3 of [TG95] table 3
LENGTHS = np.linspace(0.3, 1.0, 8)
BETA_OF_LENGTH = np.array(  # audit of [TG95], verified independently
    [
        [1.293678, 4.048742],
        [1.365465, 4.081439],
        [1.419820, 4.111048],
        [1.462847, 4.137980],
        [1.497964, 4.162575],
        [1.527278, 4.185122],
        [1.552179, 4.205862],
        [1.573631, 4.225002],
    ]
)


def load_at(length):
    return load_at_length(length, RHO_A, PAYLOAD)


def test_roots_of_the_sliding_link():
    roots = roots_along(2, [load_at(length) for length in LENGTHS])
    np.testing.assert_allclose(roots, BETA_OF_LENGTH, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", [0, 1])
def test_differential_form_follows_the_roots(mode):
    def rate(length, beta):
        return beta_rate(beta, load_at(length), M_d=-load_at(length).M / length)

    start = clamped_mass_roots(2, load_at(0.3).M)[mode]
    exact = roots_along(2, [load_at(length) for length in LENGTHS])[:, mode]
    np.testing.assert_allclose(follow_beta(start, rate, LENGTHS), exact, rtol=0, atol=1e-6)


def reduced_rate(length, beta, numerator):
    """[TG95] (45)-(47); `numerator` is m_p (right) or m_p^2 (as printed) over rho A l in the first term of (47)."""
    M = PAYLOAD / (RHO_A * length)
    p = np.sinh(beta) * np.cos(beta) - np.cosh(beta) * np.sin(beta)
    f1 = M / length * beta * p
    return f1 / ((1 + numerator / (RHO_A * length)) * p - 2 * M * beta * np.sinh(beta) * np.sin(beta))


def test_reduced_form_is_right_with_the_mass_to_the_first_power():
    for length in LENGTHS:
        beta = clamped_mass_roots(1, load_at(length).M)[0]
        right = beta_rate(beta, load_at(length), M_d=-load_at(length).M / length)
        assert reduced_rate(length, beta, PAYLOAD) == pytest.approx(right, rel=1e-12)


def test_equation_47_as_printed_fails():
    start = clamped_mass_roots(1, load_at(0.3).M)[0]
    exact = clamped_mass_roots(1, load_at(1.0).M)[0]
    printed = follow_beta(start, lambda l, b: reduced_rate(l, b, PAYLOAD**2), LENGTHS)[-1]
    mended = follow_beta(start, lambda l, b: reduced_rate(l, b, PAYLOAD), LENGTHS)[-1]
    assert abs(printed - exact) > 1e-2
    assert abs(mended - exact) < 1e-6
    ratio = reduced_rate(0.3, start, PAYLOAD**2) / reduced_rate(0.3, start, PAYLOAD)
    assert ratio == pytest.approx(1.22, abs=0.01)  # "off 22 %" in the audit


def test_derivative_of_the_frequency_function_as_printed():
    """[TG95] (41)-(44), over cosh(beta) as our terms are for beta > 2."""
    b, load = 3.7, LoadRatios(0.9, 0.4, 0.2)
    M, J, D = load.M, load.J, load.D
    s, c, S, C = np.sin(b), np.cos(b), np.sinh(b), np.cosh(b)
    q = D**2 - M * J
    f_b = (
        S * c * (1 + M - b**2 * (2 * D + 3 * J) + b**4 * q)
        - C * s * (1 + M + b**2 * (2 * D + 3 * J) + b**4 * q)
        - 2 * b**3 * C * c * (J - 2 * q)
        - 2 * b * S * s * (M + 2 * D)
        - 4 * b**3 * q
    )
    weights = np.array([1, -q, M, J, D])
    assert weights @ frequency_terms(b, 1) == pytest.approx(f_b / C, rel=1e-12)
    f_M = b * (S * c - C * s + b**3 * J * (1 - C * c))
    f_J = -(b**3) * (S * c + C * s - b * M * (1 - C * c))
    f_D = -2 * b**2 * (S * s + b**2 * D * (1 - C * c))
    rates = np.array([0.3, -0.2, 0.5])
    assert beta_rate(b, load, *rates) == pytest.approx(-(rates @ [f_M, f_J, f_D]) / f_b, rel=1e-12)


@pytest.mark.parametrize("beta", [0.05, 0.8, 1.9])
def test_derivatives_of_the_terms_below_the_switch_to_series(beta):
    h = 1e-4 * beta
    for k in (0, 1):
        difference = (frequency_terms(beta + h, k) - frequency_terms(beta - h, k)) / (2 * h)
        np.testing.assert_allclose(frequency_terms(beta, k + 1), difference, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mode", [0, 1, 4, 12])
@pytest.mark.parametrize(("inertia", "moment"), [(0.0, 0.0), (0.01, 0.0), (0.02, 0.03), (0.02, -0.03)])
def test_rate_with_all_three_ratios_against_roots(mode, inertia, moment):
    def load(l):
        return load_at_length(l, RHO_A, PAYLOAD, inertia, moment)

    def root(l):
        ratios = load(l)
        return clamped_mass_roots(mode + 1, ratios.M, ratios.J, ratios.D)[mode]

    l, h = 0.6, 1e-4
    first, second = beta_length_derivatives(root(l), load(l), l)
    now = load(l)
    assert beta_rate(root(l), now, -now.M / l, -3 * now.J / l, -2 * now.D / l) == pytest.approx(first, rel=1e-12)
    # central differences of roots: truncation h^2 and rounding 1e-15/h, 1e-15/h^2
    assert (root(l + h) - root(l - h)) / (2 * h) == pytest.approx(first, rel=1e-5, abs=1e-7)
    assert (root(l + h) - 2 * root(l) + root(l - h)) / h**2 == pytest.approx(second, rel=1e-4, abs=2e-5)


def test_slopes_of_the_sliding_link():
    roots = clamped_mass_roots(2, load_at(0.6).M)
    slopes = [beta_length_derivatives(b, load_at(0.6), 0.6)[0] for b in roots]
    assert slopes == pytest.approx([0.3863956685, 0.2571149812], abs=5e-10)  # digits of an independent experiment
