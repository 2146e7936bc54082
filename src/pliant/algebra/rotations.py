"""Rotations that stay orthonormal, keep their structural zeros, and differentiate right at rest.

A rotation `R_ab` maps coordinates in b to a. Three kinds share one small interface (`apply`, `unapply`, `congruence`,
`matrix`): the identity, a turn about one coordinate axis by a cosine and a sine, and a full matrix. The axis turn
spends 4 multiplications where a product of matrices spends 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any, Protocol

import casadi as ca

SX = Any
"""A CasADi `SX` expression (CasADi ships no types)."""

TERMS = 12
"""Terms of the series in theta.theta: exact to round-off for |theta| below 3, far beyond a small section rotation."""


def skew(v: SX) -> SX:
    """Matrix v^ with v^ u = v x u."""
    return ca.skew(v)


def axial(X: SX) -> SX:
    """The vector (X_zy - X_yz, X_xz - X_zx, X_yx - X_xy): with X = int b a^T it is int a x b, with X = v^ it is 2 v."""
    return ca.vertcat(X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1])


class Rotation(Protocol):
    """Operations that the recursions need of a rotation R."""

    def apply(self, v: SX) -> SX:
        """Return R v."""

    def unapply(self, v: SX) -> SX:
        """Return R^T v."""

    def congruence(self, A: SX) -> SX:
        """Return R A R^T."""

    @property
    def matrix(self) -> SX:
        """R as a 3x3 expression."""


@dataclass(frozen=True)
class Identity:
    """No rotation."""

    def apply(self, v: SX) -> SX:
        return v

    def unapply(self, v: SX) -> SX:
        return v

    def congruence(self, A: SX) -> SX:
        return A

    @property
    def matrix(self) -> SX:
        return ca.SX.eye(3)


@dataclass(frozen=True)
class AxisRotation:
    """Turn about coordinate axis `axis` (0, 1, 2); `c` and `s` are the cosine and sine of the angle."""

    axis: int
    c: SX
    s: SX

    def apply(self, v: SX) -> SX:
        return self._turn(v, self.s)

    def unapply(self, v: SX) -> SX:
        return self._turn(v, -self.s)

    def _turn(self, v: SX, s: SX) -> SX:
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = ca.SX(v)
        out[i] = self.c * v[i] - s * v[j]
        out[j] = s * v[i] + self.c * v[j]
        return out

    def congruence(self, A: SX) -> SX:
        k, c, s = self.axis, self.c, self.s
        i, j = (k + 1) % 3, (k + 2) % 3
        out = ca.SX(A)
        u = s * (A[j, j] - A[i, i]) - c * (A[i, j] + A[j, i])
        out[i, i] = A[i, i] + s * u
        out[j, j] = A[j, j] - s * u
        out[i, j] = -c * u - A[j, i]
        out[j, i] = -c * u - A[i, j]
        out[i, k] = c * A[i, k] - s * A[j, k]
        out[j, k] = s * A[i, k] + c * A[j, k]
        out[k, i] = c * A[k, i] - s * A[k, j]
        out[k, j] = s * A[k, i] + c * A[k, j]
        return out

    @property
    def matrix(self) -> SX:
        return ca.horzcat(*(self.apply(e) for e in _columns(ca.SX.eye(3))))


@dataclass(frozen=True)
class MatrixRotation:
    """Rotation as a full 3x3 matrix, orthonormal unless the model is asked to be linear as printed in the papers."""

    matrix: SX

    def apply(self, v: SX) -> SX:
        return ca.mtimes(self.matrix, v)

    def unapply(self, v: SX) -> SX:
        return ca.mtimes(self.matrix.T, v)

    def congruence(self, A: SX) -> SX:
        return ca.mtimes(ca.mtimes(self.matrix, A), self.matrix.T)


def compose(first: Rotation, second: Rotation) -> Rotation:
    """R_first R_second, without spending operations on identities."""
    if isinstance(first, Identity):
        return second
    if isinstance(second, Identity):
        return first
    return MatrixRotation(ca.mtimes(first.matrix, second.matrix))


def constant(matrix: SX) -> Rotation:
    """The rotation of a fixed matrix (numbers or symbols)."""
    R = ca.SX(matrix)
    return Identity() if (R - ca.SX.eye(3)).is_zero() else MatrixRotation(R)


def about(axis: tuple[float, float, float], angle: SX) -> Rotation:
    """Rotation by `angle` about a fixed unit `axis`; coordinate axes get the cheap form."""
    c, s = ca.cos(angle), ca.sin(angle)
    for k in range(3):
        if abs(axis[k]) == 1.0:
            return AxisRotation(k, c, axis[k] * s)
    a = ca.SX(ca.DM(axis))
    return MatrixRotation(c * ca.SX.eye(3) + s * skew(a) + (1 - c) * ca.mtimes(a, a.T))


def of_quaternion(quaternion: SX) -> Rotation:
    """Rotation of a quaternion (w, x, y, z) of any length but zero: a drifting norm is harmless."""
    w, v = quaternion[0], quaternion[1:]
    square = ca.dot(quaternion, quaternion)
    double = ca.mtimes(v, v.T) + w * skew(v)
    return MatrixRotation(ca.SX.eye(3) + (2 / square) * (double - ca.dot(v, v) * ca.SX.eye(3)))


def quaternion_rate(quaternion: SX, omega: SX) -> SX:
    """Rate of a quaternion whose frame turns by `omega` in its own axes: 1/2 quaternion * (0, omega)."""
    w, v = quaternion[0], quaternion[1:]
    return ca.vertcat(-ca.dot(v, omega), w * omega + ca.cross(v, omega)) / 2


def exponential(theta: SX) -> tuple[Rotation, SX]:
    """Exact rotation exp(theta^) and its left Jacobian `A`, with omega = A thetad in the axes before the rotation.

    Rodrigues' formula R = 1 + a theta^ + b theta^^2, A = 1 + b theta^ + c theta^^2, with b = (1 - cos s)/s^2 and
    c = (s - sin s)/s^3 as series in s^2 = theta.theta and a = 1 - s^2 c: analytic at rest, orthonormal to round-off.
    A rotation vector along one coordinate axis uses the plain sine and cosine.
    """
    moving = [k for k in range(3) if not theta[k].is_zero()]
    if not moving:
        return Identity(), ca.SX.eye(3)
    if len(moving) == 1:
        k = moving[0]
        return AxisRotation(k, ca.cos(theta[k]), ca.sin(theta[k])), ca.SX.eye(3)
    s2 = ca.dot(theta, theta)
    b, c = _horner(_coefficients(2), s2), _horner(_coefficients(3), s2)
    W = skew(theta)
    WW = ca.mtimes(theta, theta.T) - s2 * ca.SX.eye(3)
    return MatrixRotation(ca.SX.eye(3) + (1 - s2 * c) * W + b * WW), ca.SX.eye(3) + b * W + c * WW


def linear(theta: SX) -> tuple[Rotation, SX]:
    """The rotation 1 + theta^ of the papers and its Jacobian 1: not orthonormal, second-order error."""
    if theta.is_zero():
        return Identity(), ca.SX.eye(3)
    return MatrixRotation(ca.SX.eye(3) + skew(theta)), ca.SX.eye(3)


def exponential_bias(theta: SX, thetad: SX) -> SX:
    """(dA/dt) thetad of the left Jacobian of `exponential`: the angular acceleration that follows from the rates alone.

    With x = theta x thetad: 2 (theta.thetad) (b' x + c' theta x x) + c thetad x x, primes being derivatives in s^2.
    """
    if sum(not theta[k].is_zero() for k in range(3)) < 2:
        return ca.SX.zeros(3)
    s2, x = ca.dot(theta, theta), ca.cross(theta, thetad)
    b_rate, c_rate = (_horner([k * a for k, a in enumerate(_coefficients(f))][1:], s2) for f in (2, 3))
    along = 2 * ca.dot(theta, thetad)
    return along * (b_rate * x + c_rate * ca.cross(theta, x)) + _horner(_coefficients(3), s2) * ca.cross(thetad, x)


def _coefficients(first: int) -> list[float]:
    """(-1)^k / (2k + first)! for the series in s^2."""
    return [(-1) ** k / factorial(2 * k + first) for k in range(TERMS)]


def _horner(coefficients: list[float], x: SX) -> SX:
    total = ca.SX(coefficients[-1])
    for a in reversed(coefficients[:-1]):
        total = a + x * total
    return total


def _columns(A: SX) -> list[SX]:
    return [A[:, k] for k in range(3)]
