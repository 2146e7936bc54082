"""A body from a file beyond first order: a linear body over its coordinates and what they take along.

Points are at X + sum phi_j c_j + sum chi_a b_a(c) with b_a = c^T forms_a c / 2, see
`pliant.mechanics.bodies.second_order_shapes`: a `LinearBody` over the lifted coordinates
g(c) = (c, b), seen through g(c), as `stiffening` has it for beams. One map gives places, velocities and the tip, so
that energy is kept and all formulations agree; the strain energy is that of first order, since what lies beyond
relaxes without force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.mechanics.links.maps.linear_body import LinearBody, constants
from pliant.mechanics.links.maps.stiffening import Lifted
from pliant.options import RotationName
from pliant.robot.parts.bodies.reduced_body import ReducedBody


@dataclass(frozen=True)
class StiffenedBody(Lifted):
    """A body whose place and rotation are kept to second order; `linear` is the same to first."""

    linear: LinearBody
    inner: LinearBody
    is_linear: ClassVar[bool] = False
    data: ClassVar[None] = None
    shapes: ClassVar[None] = None
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = False

    @property
    def reduced(self) -> ReducedBody:
        """Integrals and shapes that it is made of."""
        return self.linear.reduced

    @property
    def names(self) -> tuple[str, ...]:
        return self.linear.names

    @property
    def rotation(self) -> RotationName:
        return self.linear.rotation

    @property
    def rest(self) -> np.ndarray:
        return self.linear.rest

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.linear.size

    @property
    def beyond(self) -> int:
        """Number of coordinates that the lifting adds."""
        return self.reduced.beyond

    def length(self, c: SX) -> SX:
        return self.linear.length(c)

    def _slope(self, c: SX) -> SX:
        """(b, k) of the forms by the coordinates: forms_a c."""
        forms = constants(self.reduced.beyond_forms.reshape(-1, self.size))
        return ca.reshape(ca.mtimes(forms, c), self.size, self.beyond).T

    def rates(self, c: SX, cd: SX) -> tuple[SX, SX, SX, SX]:
        """g, dg/dc, and the rates gd and (d/dt dg/dc) cd."""
        slope: SX = self._slope(c)
        G = ca.vertcat(ca.SX.eye(self.size), slope)
        bias = ca.vertcat(ca.SX.zeros(self.size), ca.mtimes(self._slope(cd), cd))
        return ca.vertcat(c, ca.mtimes(slope / 2, c)), G, ca.mtimes(G, cd), bias

    def strain_energy(self, c: SX) -> SX:
        return self.linear.strain_energy(c)

    def dissipation(self, c: SX, cd: SX) -> SX:
        return self.linear.dissipation(c, cd)

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        return self.inner.point(self.lifted(c), eta)

    mass_point = point
