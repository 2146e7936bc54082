"""Dual numbers and the groups G1, G2 as [CE21] section III and appendix A state them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

from pliant.algebra.dual import Dual, axial, cross, expand, inertia_pattern, lower, project, skew, trace
from pliant.algebra.dual_groups import (
    G1,
    G2,
    algebra,
    barfoot,
    left_jacobian,
    left_jacobian_g2,
    rotation,
    rotation_vector,
    small_operator,
    twist_of,
)

SEEDS = range(6)
ROUND_OFF = 1e-13  # a few products of numbers of order one
SERIES = 1e-11  # sums of 30 matrix powers of norm up to pi


def number(x: object) -> np.ndarray:
    """A constant expression as an array."""
    return np.array(ca.evalf(ca.densify(ca.SX(x))))


def vector(rng: np.random.Generator, length: float = 1.0) -> ca.SX:
    v = rng.normal(size=3)
    return ca.SX(ca.DM(length * v / np.linalg.norm(v)))


def dual_vector(rng: np.random.Generator, length: float = 1.0) -> Dual:
    return Dual(vector(rng, length), vector(rng))


def group_one(rng: np.random.Generator) -> G1:
    return G1(rotation(Dual.of(vector(rng, 2.0))).real, vector(rng))


def group_two(rng: np.random.Generator) -> G2:
    return G2(group_one(rng), dual_vector(rng))


def series(X: np.ndarray) -> np.ndarray:
    """Sum of X^k / (k + 1)!."""
    term = total = np.eye(len(X))
    for k in range(2, 60):
        term = term @ X / k
        total = total + term
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_the_block_form_multiplies_as_the_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (Dual(ca.SX(ca.DM(rng.normal(size=(3, 3)))), ca.SX(ca.DM(rng.normal(size=(3, 3))))) for _ in range(2))
    np.testing.assert_allclose(number((a @ b).matrix), number(a.matrix) @ number(b.matrix), atol=ROUND_OFF)
    np.testing.assert_allclose(
        number((a @ b - b).matrix), number(a.matrix) @ number(b.matrix) - number(b.matrix), atol=ROUND_OFF
    )
    np.testing.assert_allclose(
        number(trace(a).stacked)[:, 0], [np.trace(number(a.real)), np.trace(number(a.dual))], atol=ROUND_OFF
    )


def test_the_dual_unit_squares_to_zero() -> None:
    unit = Dual(ca.SX(0), ca.SX(1))
    assert not number((unit * unit).stacked).any()


def test_a_product_of_positions_drops_the_product_of_deflections() -> None:
    """The example that ends [CE21] section II-A."""
    r1, e1, r2, e2 = 2.0, 0.3, -5.0, 0.7
    product = Dual(ca.SX(r1), ca.SX(e1)) * Dual(ca.SX(r2), ca.SX(e2))
    assert float(product.value) == pytest.approx(r1 * r2 + r1 * e2 + e1 * r2, rel=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_skew_and_lower_wedge_identities(seed: int) -> None:
    """(13), (100) and what I-hat is for: a^T I-hat b is the first-order part of (r + d).(r + d)."""
    rng = np.random.default_rng(seed)
    a, b = dual_vector(rng), dual_vector(rng)
    np.testing.assert_allclose(number(skew(a).matrix @ b.stacked), -number(skew(b).matrix @ a.stacked), atol=ROUND_OFF)
    np.testing.assert_allclose(number(cross(a, b).stacked), number(skew(a).matrix @ b.stacked), atol=ROUND_OFF)
    I_hat = number(inertia_pattern(ca.SX.eye(3)))
    np.testing.assert_allclose(I_hat @ number(skew(a).matrix), number(lower(a)) @ I_hat, atol=ROUND_OFF)
    np.testing.assert_allclose(number(project(a, b)), number(a.stacked).T @ I_hat @ number(b.stacked), atol=ROUND_OFF)
    np.testing.assert_allclose(number(axial(b @ a.T).stacked), number(cross(a, b).stacked), atol=ROUND_OFF)


@pytest.mark.parametrize("seed", SEEDS)
def test_g1_is_a_group_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = group_one(rng), group_one(rng)
    np.testing.assert_allclose(number((X @ Y).matrix), number(X.matrix) @ number(Y.matrix), atol=ROUND_OFF)
    np.testing.assert_allclose(number((X @ X.inverse).matrix), np.eye(6), atol=ROUND_OFF)
    np.testing.assert_allclose(number(X.inverse.matrix), np.linalg.inv(number(X.matrix)), atol=ROUND_OFF)
    v = dual_vector(rng)
    np.testing.assert_allclose(number(X.apply(v).stacked), number(X.matrix) @ number(v.stacked), atol=ROUND_OFF)
    np.testing.assert_allclose(number(X.unapply(X.apply(v)).stacked), number(v.stacked), atol=ROUND_OFF)


@pytest.mark.parametrize("seed", SEEDS)
def test_g2_is_a_group_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y, Z = group_two(rng), group_two(rng)
    np.testing.assert_allclose(number((Y @ Z).matrix), number(Y.matrix) @ number(Z.matrix), atol=ROUND_OFF)
    np.testing.assert_allclose(number((Y @ Y.inverse).matrix), np.eye(7), atol=ROUND_OFF)


@pytest.mark.parametrize("seed", SEEDS)
def test_adjoints_conjugate_the_algebra(seed: int) -> None:
    """(12) and (18), (19)."""
    rng = np.random.default_rng(seed)
    X, Y, omega, v = group_one(rng), group_two(rng), dual_vector(rng), dual_vector(rng)
    conjugate = number(X.matrix) @ number(skew(omega).matrix) @ number(X.inverse.matrix)
    np.testing.assert_allclose(
        number(skew(Dual.unstacked(X.adjoint @ omega.stacked)).matrix), conjugate, atol=ROUND_OFF
    )
    t = number(Y.adjoint @ ca.vertcat(omega.stacked, v.stacked))
    moved = algebra(Dual.unstacked(ca.SX(ca.DM(t[:6]))), Dual.unstacked(ca.SX(ca.DM(t[6:]))))
    conjugate = number(Y.matrix) @ number(algebra(omega, v)) @ number(Y.inverse.matrix)
    np.testing.assert_allclose(number(moved), conjugate, atol=ROUND_OFF)


@pytest.mark.parametrize("length", [0.0, 1e-9, 1e-5, 1e-3, 0.5, 2.0, 3.1])
def test_exp_is_the_matrix_exponential_and_log_undoes_it(length: float) -> None:
    """(136), (137), (141), (145), through the identity and close to half a turn."""
    rng = np.random.default_rng(7)
    Omega, v = dual_vector(rng, length), dual_vector(rng)
    X, Y = G1.exp(Omega), G2.exp(Omega, v)
    np.testing.assert_allclose(number(X.matrix), scipy.linalg.expm(number(skew(Omega).matrix)), atol=SERIES)
    np.testing.assert_allclose(number(Y.matrix), scipy.linalg.expm(number(algebra(Omega, v))), atol=SERIES)
    # asked: 1e-10; near half a turn log loses a factor 1/(pi - angle)
    np.testing.assert_allclose(number(X.log().stacked), number(Omega.stacked), atol=1e-10)
    found, v0 = Y.log()
    np.testing.assert_allclose(number(found.stacked), number(Omega.stacked), atol=1e-10)
    np.testing.assert_allclose(number(v0.stacked), number(v.stacked), atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_printed_141_leaves_the_group(seed: int) -> None:
    """With 0 in the corner, as printed, exp is singular and no matrix exponential; with 1 it is both."""
    rng = np.random.default_rng(seed)
    Omega, v = dual_vector(rng), dual_vector(rng)
    ours = number(G2.exp(Omega, v).matrix)
    printed = ours.copy()
    printed[6, 6] = 0.0
    truth = scipy.linalg.expm(number(algebra(Omega, v)))
    assert np.abs(ours - truth).max() < SERIES
    assert np.abs(printed - truth).max() > 0.5
    assert abs(np.linalg.det(printed)) < ROUND_OFF
    assert np.linalg.det(ours) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("length", [1e-6, 0.7, 3.0])
def test_left_jacobians_are_their_series(length: float) -> None:
    """(142)-(144), and the same over dual numbers for G2."""
    rng = np.random.default_rng(3)
    Omega, v = dual_vector(rng, length), dual_vector(rng)
    Psi = left_jacobian(Omega)
    np.testing.assert_allclose(number(Psi.matrix), series(number(skew(Omega).matrix)), atol=SERIES)
    Q = barfoot(Dual.of(Omega.real), Dual.of(Omega.dual)).real
    np.testing.assert_allclose(number(Psi.dual), number(Q), atol=SERIES)
    np.testing.assert_allclose(
        number(left_jacobian_g2(Omega, v)), series(number(small_operator(Omega, v))), atol=SERIES
    )


def test_left_jacobian_gives_the_left_velocity() -> None:
    """v_l = Psi_l(ad u) u-dot for G1: the derivative of exp, times its inverse."""
    rng = np.random.default_rng(5)
    Omega, rate, t = dual_vector(rng, 1.3), dual_vector(rng), ca.SX.sym("t")
    X = G1.exp(Omega + rate * t).matrix
    X_rate = ca.substitute(ca.reshape(ca.jacobian(ca.vec(X), t), 6, 6), t, 0)
    left = number(X_rate) @ np.linalg.inv(number(ca.substitute(X, t, 0)))
    expected = number(skew(Dual.unstacked(left_jacobian(Omega).matrix @ rate.stacked)).matrix)
    np.testing.assert_allclose(left, expected, atol=SERIES)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_dual_part_is_the_derivative_of_the_exact_transform(seed: int) -> None:
    """(42), (43): the dual part of T-hat is d/dh of exp(h delta^) T at h = 0, exactly and by differences."""
    rng = np.random.default_rng(seed)
    theta, d, phi, p = (vector(rng) for _ in range(4))
    h = ca.SX.sym("h")
    R = rotation(Dual.of(phi)).real
    bend = rotation(Dual.of(h * theta)).real
    shift = left_jacobian(Dual.of(h * theta)).real @ (h * d)
    exact = ca.vertcat(ca.horzcat(bend @ R, bend @ p + shift), ca.DM([[0, 0, 0, 1]]))
    pose = G2(G1(ca.SX.eye(3), theta), Dual.first_order(d)) @ G2(G1(R, ca.SX.zeros(3)), Dual.of(p))
    ours = ca.horzcat(pose.X.dual.dual, pose.v.dual)
    slope = number(ca.substitute(ca.reshape(ca.jacobian(ca.vec(exact[:3, :]), h), 3, 4), h, 0))
    np.testing.assert_allclose(number(ours), slope, atol=1e-12)
    f = ca.Function("f", [h], [exact[:3, :]])
    step = 1e-5  # central differences: error step^2 ~ 1e-10 and round-off 1e-11
    np.testing.assert_allclose(number(ours), np.array(f(step) - f(-step)) / (2 * step), atol=1e-6)


def test_twist_is_the_right_velocity() -> None:
    """(16), (17): Y-dot = Y [t]^."""
    rng = np.random.default_rng(11)
    x = ca.SX.sym("x", 2)
    rates = ca.SX(ca.DM(rng.normal(size=2)))
    Omega = Dual(vector(rng) * ca.sin(x[0]), vector(rng) * x[1])
    pose = G2.exp(Omega, Dual(vector(rng) * x[0] ** 2, vector(rng) * x[1]))
    Y_rate = ca.reshape(ca.jtimes(ca.vec(pose.matrix), x, rates), 7, 7)
    t = twist_of(pose, x, rates)
    at = ca.DM([0.7, -0.4])
    ours, truth = (ca.substitute(y, x, at) for y in (pose.matrix @ algebra(t[:3, :], t[3:, :]), Y_rate))
    np.testing.assert_allclose(number(ours), number(truth), atol=SERIES)


def test_rotation_vector_is_smooth_at_rest() -> None:
    phi = ca.SX.sym("phi", 3)
    slope = ca.jacobian(rotation_vector(rotation(Dual.of(phi)).real), phi)
    np.testing.assert_allclose(number(ca.substitute(slope, phi, ca.DM.zeros(3))), np.eye(3), atol=1e-12)


def test_expand_is_the_taylor_polynomial() -> None:
    z = ca.SX.sym("z", 2)
    expression = ca.vertcat(ca.cos(z[0]) + 3 * z[1], z[0] * z[1], 2 + z[0])
    found = expand(expression, z, ca.SX(ca.DM([0.2, -0.1])))
    np.testing.assert_allclose(number(found.real)[:, 0], [1, 0, 2], atol=0)
    np.testing.assert_allclose(number(found.dual)[:, 0], [-0.3, 0, 0.2], atol=1e-16)
