"""Modal integrals against independent adaptive quadrature and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from pliant.algebra.canonical import SNAP
from pliant.mechanics.shapes import (
    Field,
    LoadRatios,
    SectionProfile,
    bending_elements,
    bending_modes,
    gauss_rule,
    modal_integrals,
    rod_elements,
    rod_modes,
)
from pliant.mechanics.shapes.integrals import FIELDS, SPINS

LOAD = LoadRatios(0.7, 0.2, 0.1)


def kink(a, b, c):
    """Linear from a at the root over b at 0.4 to c at the tip, squared: smooth but for one station."""
    return lambda eta: np.interp(eta, [0, 0.4, 1], [a, b, c]) ** 2


TAPER = SectionProfile(
    {
        "mass_per_length": kink(3, 2, 1),
        "polar_inertia": kink(1, 2, 1),
        "rotary_y": kink(1, 0.5, 0.2),
        "rotary_z": kink(0.3, 0.5, 0.2),
        "EI_y": kink(5, 3, 1),
        "EI_z": kink(4, 3, 2),
        "GJ": kink(2, 3, 2),
        "EA": kink(3, 1, 1),
    },
    (0.0, 0.4, 1.0),
)
MODES = (
    Field("bending_y", bending_modes(3, load=LOAD), LOAD),
    Field("bending_z", bending_modes(2)),
    Field("torsion", rod_modes(2, 0.3), LoadRatios(M=0.3)),
    Field("axial", rod_modes(1)),
)
ELEMENTS = (
    Field("bending_y", bending_elements(2), LOAD),
    Field("bending_z", bending_elements(2)),
    Field("torsion", rod_elements(2), LoadRatios(M=0.3)),
    Field("axial", rod_elements(2)),
)
CASES = {
    (method, profile): (fields, p)
    for method, fields in (("modes", MODES), ("elements", ELEMENTS))
    for profile, p in (("uniform", SectionProfile()), ("tapered", TAPER))
}


@pytest.fixture(params=CASES, ids="-".join, name="case", scope="module")
def _case(request):
    fields, profile = CASES[request.param]
    return fields, profile, modal_integrals(fields, profile)


def coordinates(fields):
    return [(f, j) for f in fields for j in range(f.shapes.size)]


def integral(function):
    """Adaptive quadrature between the stations 0.4 (taper) and 0.5 (elements), where derivatives jump."""
    return sum(quad(function, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in ((0, 0.4), (0.4, 0.5), (0.5, 1)))


def value(f, j, x, derivative=0):
    return f.shapes.evaluate(x, derivative)[0, j]


def close(found, expected):
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_rigid_moments(case):
    _, profile, found = case
    g = lambda x: float(profile("mass_per_length", np.array(x)))  # noqa: E731
    close(found.mass, integral(g))
    close(found.first, integral(lambda x: g(x) * x))
    close(found.second, integral(lambda x: g(x) * x * x))
    for d, name in enumerate(SPINS):
        close(found.spin_mass[d], integral(lambda x: float(profile(name, np.array(x)))))  # noqa: B023


def test_linear_integrals(case):
    fields, profile, found = case
    g = lambda x: float(profile("mass_per_length", np.array(x)))  # noqa: E731
    for i, (f, j) in enumerate(coordinates(fields)):
        if f.name == "torsion":
            assert found.eps[i] == found.eta_eps[i] == 0
            continue
        close(found.eps[i], integral(lambda x: g(x) * value(f, j, x)))  # noqa: B023
        close(found.eta_eps[i], integral(lambda x: g(x) * x * value(f, j, x)))  # noqa: B023


def test_products(case):
    fields, profile, found = case
    g = lambda x: float(profile("mass_per_length", np.array(x)))  # noqa: E731
    own = coordinates(fields)
    for i, k in [(0, 0), (0, 2), (0, 3), (1, 4), (2, len(own) - 1), (4, len(own) - 1)]:
        (f, j), (h, l) = own[i], own[k]
        expected = 0.0 if "torsion" in (f.name, h.name) else integral(lambda x: g(x) * value(f, j, x) * value(h, l, x))  # noqa: B023
        close(found.gram[i, k], expected)
        close(found.gram[k, i], expected)
    torsion = [name == "torsion" for name in (f.name for f, _ in own)]
    assert not found.gram[torsion].any()


def test_spin(case):
    """Sections turn by v' about z, by -w' about y, by phi about x."""
    fields, profile, found = case
    rows = {"bending_y": (2, 1, 1), "bending_z": (1, -1, 1), "torsion": (0, 1, 0)}
    for i, (f, j) in enumerate(coordinates(fields)):
        expected, product = np.zeros(3), np.zeros(3)
        if f.name in rows:
            d, sign, derivative = rows[f.name]
            w = lambda x: float(profile(SPINS[d], np.array(x)))  # noqa: B023, E731
            expected[d] = sign * integral(lambda x: w(x) * value(f, j, x, derivative))  # noqa: B023
            product[d] = integral(lambda x: w(x) * value(f, j, x, derivative) ** 2)  # noqa: B023
        np.testing.assert_allclose(found.spin[i], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.spin_gram[:, i, i], product, rtol=1e-12, atol=1e-12)


def test_stiffness(case):
    fields, profile, found = case
    own = coordinates(fields)
    for i, (f, j) in enumerate(own):
        for k in (i, i + 1):
            if k == len(own):
                continue
            h, l = own[k]
            w = lambda x: float(profile(FIELDS[f.name].rigidity, np.array(x)))  # noqa: B023, E731
            o = f.shapes.order
            expected = integral(lambda x: w(x) * value(f, j, x, o) * value(f, l, x, o)) if h is f else 0.0  # noqa: B023
            assert found.stiffness[i, k] == pytest.approx(expected, rel=1e-12, abs=1e-10)  # entries up to 1e4


def test_tip(case):
    fields, _, found = case
    for order, (given, norm) in enumerate(zip((found.tip, found.tip_slope), found.norms)):
        expected = np.array([value(f, j, 1.0, order) for f, j in coordinates(fields)])
        assert (np.abs(given - expected) <= SNAP * norm).all()  # equal values of several shapes are made one


def test_numbers_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        modal_integrals(MODES).eps[0] = 1


def test_directions():
    found = modal_integrals(MODES)
    np.testing.assert_array_equal(found.axis[[0, 3, 5, 7]], [[0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(found.turn[[0, 3, 5, 7]], [[0, 0, 1], [0, -1, 0], [1, 0, 0], [0, 0, 0]])


def test_uniform_clamped_free_modes_in_closed_form():
    """int psi_j = 2 tanh-like closed form: from y'''' = b^4 y, int psi = -psi'''(0)/b^4, int eta psi = psi''(0)/b^4."""
    modes = bending_modes(20)
    found = modal_integrals([Field("bending_y", modes)])
    second, third = modes.evaluate(0.0, 2)[0], modes.evaluate(0.0, 3)[0]
    np.testing.assert_allclose(found.eps, -third / modes.roots**4, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.eta_eps, second / modes.roots**4, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.gram, np.eye(20), atol=1e-12)
    scale = np.outer(modes.roots**2, modes.roots**2)
    np.testing.assert_allclose(found.stiffness / scale, np.eye(20), atol=1e-12)


def test_convective_integral_of_a_sliding_beam():
    """int (1 - eta) psi_i psi_j' of clamped-free modes, digits of an independent experiment."""
    modes = bending_modes(2)
    rule = gauss_rule([0, 1], modes.wavenumber)
    found = modes.evaluate(rule.eta).T @ ((rule.weight * (1 - rule.eta))[:, None] * modes.evaluate(rule.eta, 1))
    np.testing.assert_allclose(found, [[0.5, 0.654951], [-0.654951, 0.5]], atol=5e-7)
