"""Tip load of a bending beam as three ratios to the beam."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError


@dataclass(frozen=True)
class LoadRatios:
    """Tip load of a bending beam in units of the beam, [TG95] below eq. (11).

    `M` = m/(mu L), `J` = J_tip/(mu L^3) with J about the tip, `D` = d/(mu L^2), positive for mass beyond the tip.
    The kinetic energy 1/2 (M v^2 + 2 D v v' + J v'^2) of a real body is never negative: M, J >= 0 and D^2 <= M J.
    """

    M: float = 0.0
    J: float = 0.0
    D: float = 0.0

    def __post_init__(self) -> None:
        given = f"tip load M={self.M}, J={self.J}, D={self.D}"
        if not all(isfinite(value) for value in (self.M, self.J, self.D)) or self.M < 0 or self.J < 0:
            raise ModelError(f"{given}: expected finite ratios with M >= 0 and J >= 0; check mass and inertia")
        if self.D**2 > self.M * self.J * (1 + 1e-9):  # equality is a point mass beyond the tip: leave room for rounding
            raise ModelError(f"{given}: no body has D^2 > M J; J is about the tip, so J >= D^2/M")

    @property
    def E(self) -> float:
        """Determinant M J - D^2, zero for a point mass and never below."""
        return max(self.M * self.J - self.D**2, 0.0)

    @property
    def matrix(self) -> Array:
        """Mass of the tip for (deflection, slope d/d eta): [[M, D], [D, J]]."""
        return np.array([[self.M, self.D], [self.D, self.J]])

    def over(self, mean: float) -> LoadRatios:
        """The same load on a beam `mean` times as heavy."""
        return LoadRatios(self.M / mean, self.J / mean, self.D / mean) if self else self

    def __bool__(self) -> bool:
        return bool(self.M or self.J or self.D)


FREE = LoadRatios()
