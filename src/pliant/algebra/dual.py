"""Dual numbers, vectors and matrices: real part of order zero, dual part of order one, eps^2 = 0 [CE21] section II-A.

A product of two duals drops the product of their dual parts. With elastic displacements and rates in dual parts,
expressions are linear in them after *each* operation, and the nonlinear ones are never formed.

A dual may be written in three ways, all of the paper: the pair `real + eps dual`; the real block matrix
`[X] = [[r, 0], [d, r]]`, whose ordinary product is the dual product; and the stacked vector `[r; d]`. The code computes
with pairs: blocks that repeat are never formed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX


@dataclass(frozen=True)
class Dual:
    """`real + eps dual`, both expressions of one shape."""

    real: SX
    dual: SX

    @staticmethod
    def of(value: Dual | SX) -> Dual:
        """A dual without a dual part (structural zeros, which cost nothing)."""
        if isinstance(value, Dual):
            return value
        real = ca.SX(value)
        return Dual(real, ca.SX(*real.shape))

    @staticmethod
    def first_order(value: SX) -> Dual:
        """`eps value`: a quantity that is of order one as a whole, as elastic rates are."""
        dual = ca.SX(value)
        return Dual(ca.SX(*dual.shape), dual)

    def __add__(self, other: Dual | SX) -> Dual:
        o = Dual.of(other)
        return Dual(self.real + o.real, self.dual + o.dual)

    def __sub__(self, other: Dual | SX) -> Dual:
        o = Dual.of(other)
        return Dual(self.real - o.real, self.dual - o.dual)

    def __neg__(self) -> Dual:
        return Dual(-self.real, -self.dual)

    def __mul__(self, other: Dual | SX) -> Dual:
        """Elementwise product."""
        o = Dual.of(other)
        return Dual(self.real * o.real, self.real * o.dual + self.dual * o.real)

    def __matmul__(self, other: Dual | SX) -> Dual:
        """Matrix product."""
        o = Dual.of(other)
        return Dual(ca.mtimes(self.real, o.real), ca.mtimes(self.real, o.dual) + ca.mtimes(self.dual, o.real))

    def __getitem__(self, key: object) -> Dual:
        return Dual(self.real[key], self.dual[key])

    @property
    def T(self) -> Dual:
        """Transpose of both parts."""
        return Dual(self.real.T, self.dual.T)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of either part."""
        return int(self.real.shape[0]), int(self.real.shape[1])

    @property
    def value(self) -> SX:
        """`real + dual`: the quantity to first order, eps = 1."""
        return self.real + self.dual

    @property
    def matrix(self) -> SX:
        """The block form `[X] = [[r, 0], [d, r]]` of (31), (38)."""
        zero = ca.SX(*self.shape)
        return ca.blockcat([[self.real, zero], [self.dual, self.real]])

    @property
    def stacked(self) -> SX:
        """The stacked form `[r; d]` of (37)."""
        return ca.vertcat(self.real, self.dual)

    @staticmethod
    def unstacked(x: SX) -> Dual:
        """Dual of a stacked vector `[r; d]`."""
        half = x.shape[0] // 2
        return Dual(x[:half, :], x[half:, :])


def project(P: Dual, w: Dual) -> SX:
    """`P^T I-hat w` to first order, `r^T r + r^T d + d^T r`, with I-hat = [[1, 1], [1, 0]] of (99)."""
    return ca.mtimes(P.real.T, w.value) + ca.mtimes(P.dual.T, w.real)


def skew(v: Dual) -> Dual:
    """v^ with v^ u = v x u; its block form is [v]^ of (38)."""
    return Dual(ca.skew(v.real), ca.skew(v.dual))


def cross(a: Dual, b: Dual | SX) -> Dual:
    """a x b, where `b` may have several columns: (13)."""
    return skew(a) @ b


def axial(X: Dual) -> Dual:
    """`int a x b` from X = `int b a^T`: see `rotations.axial`."""
    return Dual(*(ca.vertcat(Y[2, 1] - Y[1, 2], Y[0, 2] - Y[2, 0], Y[1, 0] - Y[0, 1]) for Y in (X.real, X.dual)))


def trace(X: Dual) -> Dual:
    """Sum of the diagonal."""
    return Dual(ca.trace(X.real), ca.trace(X.dual))


def rows(parts: Sequence[Dual]) -> Dual:
    """Stack duals below each other."""
    return Dual(ca.vertcat(*(p.real for p in parts)), ca.vertcat(*(p.dual for p in parts)))


def columns(parts: Sequence[Dual], height: int) -> Dual:
    """Put duals side by side; no parts give `height` rows and no columns."""
    if not parts:
        return Dual(ca.SX(height, 0), ca.SX(height, 0))
    return Dual(ca.horzcat(*(p.real for p in parts)), ca.horzcat(*(p.dual for p in parts)))


def expand(expression: SX, symbols: SX, values: SX) -> Dual:
    """First-order expansion of `expression` in `symbols` about zero, with `values` in their place."""
    if symbols.shape[0] == 0:
        return Dual.of(expression)
    origin = ca.SX.zeros(symbols.shape)
    slope = ca.substitute(ca.jacobian(ca.vec(ca.densify(expression)), symbols), symbols, origin)
    real = ca.sparsify(ca.substitute(ca.densify(expression), symbols, origin))
    return Dual(real, ca.sparsify(ca.reshape(ca.mtimes(ca.sparsify(slope), values), expression.shape)))


def lower(omega: Dual) -> SX:
    """`[w]_` = [[r^, d^], [0, r^]] of (100), which stands left of I-hat: I-hat [w]^ = [w]_ I-hat."""
    r, d = ca.skew(omega.real), ca.skew(omega.dual)
    return ca.blockcat([[r, d], [ca.SX(3, 3), r]])


def inertia_pattern(J: SX) -> SX:
    """`[[J, J], [J, 0]]`: I-hat, M-hat of (99) and J-hat of (107)."""
    return ca.blockcat([[J, J], [J, ca.SX(*J.shape)]])
