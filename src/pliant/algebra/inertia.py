"""Spatial inertia of a (possibly articulated) body: the symmetric 6x6 matrix [[A, B], [B^T, C]] by its 3x3 blocks.

Twists and accelerations are [angular; linear], wrenches [moment; force]: moment = A alpha + B a, force = B^T alpha +
C a.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Rotation, skew


@dataclass(frozen=True)
class Inertia:
    """Blocks of a spatial inertia; `A` and `C` are symmetric."""

    A: SX
    B: SX
    C: SX

    @staticmethod
    def rigid(m: SX, s: SX, D: SX) -> Inertia:
        """Inertia of a rigid body from mass, first moment `int r` and second moment `int r r^T` about the reference
        point."""
        return Inertia(ca.trace(D) * ca.SX.eye(3) - D, skew(s), m * ca.SX.eye(3))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.A + other.A, self.B + other.B, self.C + other.C)

    def rotated(self, R: Rotation) -> Inertia:
        """The same inertia in the axes that `R` maps to."""
        return Inertia(symmetric(R.congruence(self.A)), R.congruence(self.B), symmetric(R.congruence(self.C)))

    def shifted(self, p: SX) -> Inertia:
        """The same inertia about a reference point from which the old one is seen at `p`."""
        P = skew(p)
        B = self.B + ca.mtimes(P, self.C)
        A = self.A - ca.mtimes(self.B, P) + ca.mtimes(P, B.T)
        return Inertia(symmetric(A), B, self.C)

    def times(self, w: SX, v: SX) -> tuple[SX, SX]:
        """Moment and force for angular part `w` and linear part `v` of a twist or an acceleration."""
        return ca.mtimes(self.A, w) + ca.mtimes(self.B, v), ca.mtimes(self.B.T, w) + ca.mtimes(self.C, v)

    @property
    def matrix(self) -> SX:
        """The whole 6x6 matrix."""
        return ca.blockcat([[self.A, self.B], [self.B.T, self.C]])

    def upper(self) -> Inertia:
        """The same without the entries below the diagonals of the symmetric blocks, which need not be handed on."""
        return Inertia(ca.triu(self.A), self.B, ca.triu(self.C))

    def whole(self) -> Inertia:
        """Undo `upper`: mirror the upper triangles of the symmetric blocks."""
        return Inertia(symmetric(self.A), self.B, symmetric(self.C))

    @staticmethod
    def from_matrix(M: SX) -> Inertia:
        """Blocks of a 6x6 matrix of which the upper triangle counts."""
        return Inertia(symmetric(M[:3, :3]), M[:3, 3:], symmetric(M[3:, 3:]))


def zero() -> Inertia:
    """Inertia without mass."""
    return Inertia(ca.SX.zeros(3, 3), ca.SX.zeros(3, 3), ca.SX.zeros(3, 3))


def symmetric(A: SX) -> SX:
    """The symmetric matrix with the upper triangle of `A`, so that the entries below are never computed."""
    return ca.triu2symm(ca.triu(A))


def shift_wrench(moment: SX, force: SX, p: SX) -> SX:
    """Moment about a point from which the old reference point is seen at `p`."""
    return moment + ca.cross(p, force)
