"""Shapes of a beam on a joint that turns freely or is driven: modes of a pinned root, and the bend of a torque there.

The frame of a link turns with its hub, so a shape has no slope at the root: of a pinned mode psi it is psi - psi'(0)
eta, the turning of the whole beam being that of the joint. All pinned modes have no curvature at the root and cannot
carry a torque; with them alone the sag of a held arm errs by 1/n (30 % with two, 4 % with twenty). So one function
stands beside them, the curvature of a beam that a torque at its root accelerates, 1 - 3/2 eta + 1/2 eta^3. A joint
that nothing drives or holds (`limits: {effort: 0}`) needs none, and its highest frequency is half as high without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.mechanics.shapes.elements import ReducedShapes, eigenpairs, mass_matrix, stiffness_matrix
from pliant.mechanics.shapes.modes import BendingModes, bending_modes
from pliant.mechanics.shapes.quadrature import normalising_scales
from pliant.mechanics.shapes.roots import PINNED
from pliant.options import Normalization

TURN, TORQUE = np.array([0.0, 1.0]), np.array([0, 0, 1 / 2, -1 / 4, 0, 1 / 40])  # coefficients of 1, eta, ...
REFINED = 3  # eigen-solves: the first meets shapes that are nearly parallel, the next ones the rounding that it leaves


@dataclass(frozen=True)
class PinnedSpan:
    """The turning of the whole beam, its pinned modes with a free tip, and the shape of a torque at the root."""

    order: ClassVar[int] = 2
    breaks: ClassVar[Array] = np.array([0.0, 1.0])
    modes: BendingModes

    @property
    def size(self) -> int:
        return self.modes.size + 2

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def wavenumber(self) -> float:
        return self.modes.wavenumber

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, shape (len(eta), size)."""
        x = np.atleast_1d(np.asarray(eta, dtype=float))
        turned, bent = (polynomial.polyval(x, polynomial.polyder(f, derivative)) for f in (TURN, TORQUE))
        return np.column_stack([turned, self.modes.evaluate(x, derivative), bent])


def pinned_shapes(n: int, *, torque: bool = True, normalize: Normalization = "unit") -> ReducedShapes:
    """n shapes of a pinned beam, n - 1 modes and the shape of a torque (n modes on a joint without `torque`), turned to
    the modes that they have when the joint is held: rising frequency, orthogonal in strain and in mass."""
    span = PinnedSpan(bending_modes(n - torque, PINNED))
    still = np.vstack([-span.evaluate(0.0, 1)[:, 1:], np.eye(span.size - 1)])  # what a shape turns at the root, undone
    raw = ReducedShapes(span, still[:, :n])
    for _ in range(REFINED):
        raw = replace(raw, basis=raw.basis @ eigenpairs(stiffness_matrix(raw), mass_matrix(raw))[1])
    return replace(raw, basis=raw.basis * normalising_scales(raw, normalize))
