"""Torsion and axial modes of uniform beams with a fixed root, tip free or with inertia."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import pi
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.mechanics.shapes.quadrature import normalising_scales
from pliant.mechanics.shapes.roots import rod_roots
from pliant.mechanics.shapes.tip_load import LoadRatios
from pliant.options import Normalization


@dataclass(frozen=True)
class RodModes:
    """Torsion or axial modes C sin(beta eta) of a uniform beam with a fixed root; make them with `rod_modes`.

    Attributes
    ----------
    inertia : float
        Tip inertia J/(j L) or tip mass m/(mu L).
    roots, amplitudes : (n,) arrays
    """

    order: ClassVar[int] = 1
    breaks: ClassVar[Array] = np.array([0.0, 1.0])
    inertia: float
    roots: Array
    amplitudes: Array = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.roots)

    @property
    def powers(self) -> tuple[int, ...]:
        return (0,) * self.size

    @property
    def wavenumber(self) -> float:
        return float(max(self.roots, default=0.0))

    @property
    def load(self) -> LoadRatios:
        """The tip load as seen by the integrals: a rod's tip has a value and no slope."""
        return LoadRatios(M=self.inertia)

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> Array:
        """d^k psi_j / d eta^k, shape (len(eta), n)."""
        x = np.atleast_1d(np.asarray(eta, dtype=float))
        phase = np.outer(x, self.roots) + 0.5 * pi * derivative
        return np.asarray(self.amplitudes * self.roots**derivative * np.sin(phase))


def rod_modes(n: int, inertia: float = 0.0, *, normalize: Normalization = "unit") -> RodModes:
    """First n torsion or axial modes, int psi^2 d eta = 1 with psi(1) > 0, or psi(1) = 1."""
    roots = rod_roots(n, inertia)
    raw = RodModes(inertia, roots, np.ones(n))
    return replace(raw, amplitudes=normalising_scales(raw, normalize))
