"""Integrals over all material of a beam that slides, inside its sleeve and outside, of fields and their products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.mechanics.sliding.sliding_shapes import SlidingIntegrals


@dataclass(frozen=True)
class Flow:
    """A vector field: `e_x (one + along x)` on all material, and `sum_i a_i bend[a]_i Psi_i^(a)` on what is outside."""

    one: SX
    along: SX
    bend: tuple[SX | None, SX | None, SX | None] = (None, None, None)


@dataclass(frozen=True)
class MaterialPoints:
    """All material of a beam of total length `total`, `l` of it outside: integrates fields and their products."""

    mu: SX
    total: SX
    l: SX
    axis: np.ndarray
    free: SlidingIntegrals | None

    def mass(self, order: int) -> SX:
        """Integral of x^order, from l - total to l."""
        low = self.l - self.total
        return self.mu * (
            (self.total, (self.l + low) / 2 * self.total)[order] if order < 2 else (self.l**3 - low**3) / 3
        )

    def integral(self, f: Flow) -> SX:
        """(3,) integral of a field."""
        out = self._across(f, lambda I, a: I.A[a])
        out[0] += f.one * self.mass(0) + f.along * self.mass(1)
        return out

    def dyad(self, f: Flow, g: Flow) -> SX:
        """(3, 3) integral of f g^T."""
        out = self._bent(f, g)
        out[0, 0] += f.one * g.one * self.mass(0) + f.along * g.along * self.mass(2)
        out[0, 0] += (f.one * g.along + f.along * g.one) * self.mass(1)
        out[0, :] += self._lever(f, g).T
        out[:, 0] += self._lever(g, f)
        return out

    def product(self, f: Flow, g: Flow) -> SX:
        """Integral of f . g."""
        return ca.trace(self.dyad(f, g))

    def _lever(self, f: Flow, g: Flow) -> SX:
        """(3,) integral of the axial part of f times the bent part of g."""
        return f.one * self._across(g, lambda I, a: I.A[a]) + f.along * self._across(g, lambda I, a: I.X[a])

    def _across(self, f: Flow, integral: Callable[[SlidingIntegrals, int], SX]) -> SX:
        out = ca.SX.zeros(3)
        for a, coefficients in enumerate(f.bend):
            if coefficients is not None and self.free is not None:
                out += ca.mtimes(ca.DM(self.axis.T), coefficients * integral(self.free, a))
        return self.mu * out

    def _bent(self, f: Flow, g: Flow) -> SX:
        out = ca.SX.zeros(3, 3)
        if self.free is None:
            return out
        for a, left in enumerate(f.bend):
            for b, right in enumerate(g.bend):
                if left is not None and right is not None:
                    weighted = self.free.G[a][b] * ca.mtimes(left, right.T)
                    out += ca.mtimes([ca.DM(self.axis.T), weighted, ca.DM(self.axis)])
        return self.mu * out
