"""The Lie groups G1 of dual rotations and G2 of dual poses [CE21] sections III-A, III-B and appendix A.

A dual rotation is `A + eps theta^ A`: an exact rotation `A`, then a first-order one by `theta`. A dual pose adds a dual
translation. Both are written over the dual numbers, so that every formula is the one of SO(3) and SE(3), and G1, G2 are
what the paper obtains as 6x6 and 7x7 real matrices (`matrix`).

Notes
-----
Printed (141) has 0 in the lower right corner of exp; a member of G2 has 1 there. The left Jacobian of G2, which the
paper does not give, is Barfoot's matrix (143), (144) with dual numbers in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.dual import Dual, rows, skew
from pliant.algebra.rotations import SX

TERMS = 16
"""Terms of the series in phi.phi: exact to round-off for |phi| up to pi."""


@dataclass(frozen=True)
class G1:
    """Dual rotation `X = (A, theta^ A)` of (8)."""

    A: SX
    theta: SX

    @property
    def dual(self) -> Dual:
        """A + eps theta^ A."""
        return Dual(self.A, ca.mtimes(ca.skew(self.theta), self.A))

    @property
    def matrix(self) -> SX:
        """The 6x6 form (8)."""
        return self.dual.matrix

    @property
    def adjoint(self) -> SX:
        """Ad_G1(X) = X, (12)."""
        return self.matrix

    def __matmul__(self, other: G1) -> G1:
        return G1(ca.mtimes(self.A, other.A), self.theta + ca.mtimes(self.A, other.theta))

    @property
    def inverse(self) -> G1:
        """(A^T, -(A^T theta)^ A^T), (32)."""
        return G1(self.A.T, -ca.mtimes(self.A.T, self.theta))

    def apply(self, v: Dual) -> Dual:
        """Coordinates of a dual vector in the outer frame, (39)."""
        turned = ca.mtimes(self.A, v.real)
        return Dual(turned, ca.mtimes(self.A, v.dual) + ca.mtimes(ca.skew(self.theta), turned))

    def unapply(self, v: Dual) -> Dual:
        """Coordinates of a dual vector in the inner frame, (40)."""
        return self.inverse.apply(v)

    def log(self) -> Dual:
        """Omega-hat (3,) with exp(Omega-hat) = X, (137); the angle must stay below pi."""
        phi = rotation_vector(self.A)
        return Dual(phi, ca.solve(left_jacobian(Dual.of(phi)).real, self.theta))

    @staticmethod
    def exp(Omega: Dual) -> G1:
        """(exp(U), Psi_l(u) w) of Omega-hat = u + eps w, (136)."""
        u = Dual.of(Omega.real)
        return G1(rotation(u).real, ca.mtimes(left_jacobian(u).real, Omega.dual))


@dataclass(frozen=True)
class G2:
    """Dual pose `Y = (X, v-hat)` of (14)."""

    X: G1
    v: Dual

    @property
    def matrix(self) -> SX:
        """The 7x7 form (14)."""
        return ca.blockcat([[self.X.matrix, self.v.stacked], [ca.SX(1, 6), ca.SX(1)]])

    @property
    def adjoint(self) -> SX:
        """The 12x12 matrix (19), for twists stacked as [w_r; w_d; v_r; v_d]."""
        X = self.X.matrix
        return ca.blockcat([[X, ca.SX(6, 6)], [ca.mtimes(skew(self.v).matrix, X), X]])

    def __matmul__(self, other: G2) -> G2:
        return G2(self.X @ other.X, self.v + self.X.apply(other.v))

    @property
    def inverse(self) -> G2:
        """(X^-1, -X^-1 v), (51)."""
        X = self.X.inverse
        return G2(X, -X.apply(self.v))

    def log(self) -> tuple[Dual, Dual]:
        """Omega-hat and v0-hat of (145)."""
        Omega = self.X.log()
        return Omega, Dual.unstacked(ca.solve(left_jacobian(Omega).matrix, self.v.stacked))

    @staticmethod
    def exp(Omega: Dual, v0: Dual) -> G2:
        """(exp(Omega), Psi_G1(Omega) v0), (141)."""
        return G2(G1.exp(Omega), left_jacobian(Omega) @ v0)


def algebra(Omega: Dual, v: Dual) -> SX:
    """The 7x7 member of the Lie algebra g2, (55)."""
    return ca.blockcat([[skew(Omega).matrix, v.stacked], [ca.SX(1, 6), ca.SX(1, 1)]])


def small_operator(Omega: Dual, v: Dual) -> SX:
    """(12, 12) ad of g2: [[Omega^, 0], [v^, Omega^]]."""
    W = skew(Omega).matrix
    return ca.blockcat([[W, ca.SX(6, 6)], [skew(v).matrix, W]])


def rotation(phi: Dual) -> Dual:
    """exp(phi^) over the dual numbers: 1 + (sin s)/s phi^ + (1 - cos s)/s^2 phi^^2, (22)."""
    s2, W = phi.T @ phi, skew(phi)
    return Dual.of(ca.SX.eye(3)) + _scaled(_series(s2, 1), W) + _scaled(_series(s2, 2), W @ W)


def left_jacobian(phi: Dual) -> Dual:
    """Psi_l over the dual numbers. Its block form is Psi_l of G1, (143), and its dual part is Q of (144)."""
    s2, W = phi.T @ phi, skew(phi)
    return Dual.of(ca.SX.eye(3)) + _scaled(_series(s2, 2), W) + _scaled(_series(s2, 3), W @ W)


def barfoot(phi: Dual, gamma: Dual) -> Dual:
    """Q(phi, gamma) of (144), the derivative of Psi_l at `phi` along `gamma`, here over the dual numbers."""
    s2, f, g = phi.T @ phi, skew(phi), skew(gamma)
    fg, gf, fgf, ff = f @ g, g @ f, f @ g @ f, f @ f
    Q = _scaled(Dual.of(ca.SX(0.5)), g) + _scaled(_series(s2, 3), fg + gf + fgf)
    # (cos s - 1 + s^2/2)/s^4 and (s - sin s - s^3/6)/s^5 = -series(5)
    fourth, fifth = _series(s2, 4), _series(s2, 5)
    Q = Q + _scaled(fourth, ff @ g + g @ ff - _scaled(Dual.of(ca.SX(3)), fgf))
    factor = fourth - fifth * ca.SX(3)
    return Q + _scaled(factor * ca.SX(0.5), fgf @ f + f @ fgf)


def left_jacobian_g2(Omega: Dual, v: Dual) -> SX:
    """(12, 12) left Jacobian of G2, [[Psi, 0], [Q, Psi]] over the dual numbers."""
    Psi = left_jacobian(Omega).matrix
    return ca.blockcat([[Psi, ca.SX(6, 6)], [barfoot(Omega, v).matrix, Psi]])


def rotation_vector(R: SX) -> SX:
    """log of a rotation matrix whose angle is below pi; smooth through the identity."""
    half = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]) / 2  # sin(s) k
    s2 = ca.dot(half, half)
    c = (ca.trace(R) - 1) / 2
    small = s2 < 1e-8
    s = ca.sqrt(ca.if_else(ca.logic_and(small, c > 0), 1.0, s2))
    series = 1 + s2 / 6 + 3 * s2 * s2 / 40  # asin(s)/s
    return half * ca.if_else(ca.logic_and(small, c > 0), series, ca.atan2(s, c) / s)


def twist_of(pose: G2, symbols: SX, rates: SX) -> Dual:
    """Right velocity t-hat = (Y^-1 Y-dot)v (6,) = [omega; v] of a pose that depends on `symbols`, (16), (17)."""
    X, v = pose.X, pose.v
    A_rate = ca.reshape(ca.jtimes(ca.vec(X.A), symbols, rates), 3, 3)
    W = ca.mtimes(X.A.T, A_rate)
    omega = Dual(ca.vertcat(W[2, 1], W[0, 2], W[1, 0]), ca.mtimes(X.A.T, ca.jtimes(X.theta, symbols, rates)))
    v_rate = Dual(ca.jtimes(v.real, symbols, rates), ca.jtimes(v.dual, symbols, rates))
    return rows([omega, X.unapply(v_rate)])


def _series(s2: Dual, first: int) -> Dual:
    """Sum over k of (-s^2)^k / (2k + first)!: sin(s)/s, (1 - cos s)/s^2, (s - sin s)/s^3 for `first` = 1, 2, 3."""
    factorial = 1
    for k in range(2, first + 1):
        factorial *= k
    total = Dual.of(ca.SX(1.0))
    for k in range(TERMS - 1, 0, -1):
        total = Dual.of(ca.SX(1.0)) - s2 * total * ca.SX(1.0 / ((2 * k + first - 1) * (2 * k + first)))
    return total * ca.SX(1.0 / factorial)


def _scaled(factor: Dual, X: Dual) -> Dual:
    """A dual number times a dual matrix."""
    return Dual(factor.real * X.real, factor.real * X.dual + factor.dual * X.real)
