"""Our sine and cosine: within one unit in the last place, far angles by the C library, equal bits in packs."""

from __future__ import annotations

from decimal import Decimal, getcontext

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel
from pliant.compute.llvm.sincos import COS, HALF_PI, LIMIT, SIN

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


@pytest.fixture(scope="module")
def sincos() -> Kernel:
    x = ca.SX.sym("x")
    return Kernel(ca.Function("sincos", [x], [ca.vertcat(ca.sin(x), ca.cos(x))]))


def exact_sin(x: Decimal) -> Decimal:
    """The series after reduction by pi, to 60 digits."""
    getcontext().prec = 80
    n = (x / PI).to_integral_value()
    r = x - n * PI
    term, total = r, Decimal(0)
    for k in range(1, 60):
        total += term
        term *= -r * r / ((2 * k) * (2 * k + 1))
    return -total if n % 2 else total


def error(found: np.ndarray, x: np.ndarray) -> float:
    """Largest error in units of the last place, of sines and cosines."""
    worst = 0.0
    for (s, c), angle in zip(found.tolist(), x.tolist()):
        exact = exact_sin(Decimal(angle)), exact_sin(Decimal(angle) + PI / 2)
        for value, true in zip((s, c), exact):
            worst = max(worst, float(abs(Decimal(value) - true) / Decimal(float(np.spacing(abs(float(true)))))))
    return worst


# Half a unit of rounding at the end, a quarter from the polynomial's own roundings and its error of 2^-55; one unit is
# what C libraries promise.
ONE_UNIT = 1.0


@pytest.mark.parametrize("scale", [1e-8, 0.1, 1.0, 10.0, 1e3, 1e5, 1e6])
def test_accuracy(sincos, scale):
    x = np.random.default_rng(0).uniform(-scale, scale, size=400)
    assert error(sincos(x[:, None]), x) < ONE_UNIT


def test_accuracy_next_to_multiples_of_half_pi(sincos):
    n = np.unique(np.geomspace(1, LIMIT * 2 / np.pi, 300).astype(int))
    x = np.array([float(PI / 2 * int(k)) for k in n])
    x = np.concatenate([x, -x, np.nextafter(x, np.inf), np.nextafter(x, 0)])
    assert error(sincos(x[:, None]), x) < ONE_UNIT


@pytest.mark.full
@pytest.mark.random
def test_accuracy_on_many_angles(sincos):
    x = np.random.default_rng(1).uniform(-100, 100, size=20_000)
    assert error(sincos(x[:, None]), x) < ONE_UNIT


def test_far_angles_are_the_c_librarys(sincos):
    x = np.concatenate([np.geomspace(LIMIT * 1.01, 1e20, 100), [0.5, -LIMIT, LIMIT]])
    found = sincos(x[:, None])
    assert error(found[:100], x[:100]) < ONE_UNIT
    # near lanes keep the polynomial even where a far lane shares their pack
    np.testing.assert_array_equal(found[100:], sincos(x[100:, None]))


def test_exact_values(sincos):
    np.testing.assert_array_equal(sincos(np.zeros(1)), [0.0, 1.0])
    np.testing.assert_array_equal(sincos(np.array([5e-324])), [5e-324, 1.0])


def test_bits_of_one_state_and_of_packs(sincos):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=2000) * 10.0 ** rng.uniform(-10, 8, size=2000)])
    single = np.array([sincos(np.array([a])) for a in x])
    np.testing.assert_array_equal(sincos(x[:, None]).view(np.int64), single.view(np.int64))


def test_constants():
    getcontext().prec = 80
    assert abs(sum(map(Decimal, HALF_PI)) - PI / 2) < Decimal(2) ** -160
    z = np.linspace(0, (np.pi / 4) ** 2, 50, dtype=np.longdouble)[1:]
    r = np.sqrt(z)
    powers = z[:, None] ** np.arange(6)
    assert np.abs(powers @ np.array(SIN, dtype=np.longdouble) * z - (np.sin(r) / r - 1)).max() < 2.0**-55
    assert np.abs(powers @ np.array(COS, dtype=np.longdouble) * z**2 - (np.cos(r) - 1 + z / 2)).max() < 2.0**-55
