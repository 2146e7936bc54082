"""A beam that slides out of its hub while it bends: joint and beam are one body with coordinates c = (l, amplitudes).

The link frame stays at the mouth of the sleeve. The material point at distance s from the tip stands at x = l - s;
where x > 0 it is displaced by sum c_i a_i Psi_i(s, l), inside the sleeve it moves rigidly along x, and has inertia too.
With s held,

    phi_l = e_x + sum c_i a_i Psi_i,l,    phi_i = a_i Psi_i,
    beta = ld^2 sum c_i a_i Psi_i,ll + 2 ld sum cd_i a_i Psi_i,l,

and all moments are integrals of products of such fields. [TG95] (5), (6), (19), (21) with x moving: see Notes.

Notes
-----
[TG95] writes x as if it were fixed, which loses the axial velocity and the convective terms, and (26) has no stiffness
in the row of l although the strain energy depends on l through EI/l^3 and through the modes. Torsion and axial shapes
have a strain at the mouth that the material inside does not have: their velocity would jump there, so they are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, Identity, Rotation, compose, exponential_bias
from pliant.mechanics.links.maps.link_maps import ROTATIONS, BeamData, Moments, RigidMap, TipMap, is_zero
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.sliding.sliding_material import Flow, MaterialPoints
from pliant.mechanics.sliding.sliding_modes import Jet
from pliant.mechanics.sliding.sliding_shapes import FollowedShapes, SlidingShapes, sliding_shapes
from pliant.options import RotationName

MARGIN = (0.9, 1.05)
"""Beyond the travel by these factors the modes are still followed, for the trial steps of an integrator."""


@dataclass(frozen=True)
class SlidingBeam:
    """Uniform beam along +x of which the length l = c[0] is outside the sleeve; without shapes it does not bend.

    Attributes
    ----------
    data : BeamData
        Its `length` is not used: the free length is a coordinate.
    shapes : LinkShapes or None
    rotation : str
    total_length : number or symbol
    travel : (float, float)
        Free lengths for which the model holds.
    rest_length : float
        Free length of the straight arm at rest, at which clamped-mass modes were shaped by their load.
    rotor : number or symbol
        Reflected inertia of a stiff drive, which moves with l.
    damped : function of the free length, optional
        2 zeta times it is the damping of the ratio zeta, where shapes do not follow the length.
    """

    data: BeamData
    shapes: LinkShapes | None
    rotation: RotationName
    total_length: SX
    travel: tuple[float, float]
    rest_length: float
    normalize: str = "unit"
    end_rotation: Rotation = field(default_factory=Identity)
    rotor: SX = 0.0
    is_linear: bool = False
    damped: Callable[[SX], SX] | None = None
    follows: ClassVar[bool] = False

    def length(self, c: SX) -> SX:
        return c[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The free length, which bears the name of the link in a chain, and the amplitudes."""
        return ("length", *(self.shapes.names if self.shapes is not None else ()))

    @property
    def size(self) -> int:
        """Number of amplitudes."""
        return len(self.names) - 1

    @cached_property
    def functions(self) -> SlidingShapes | None:
        """The shapes as functions of the free length."""
        if self.shapes is None:
            return None
        low, high = self.travel
        span = (low * MARGIN[0], high * MARGIN[1])
        return sliding_shapes(self.shapes, self.rest_length, span, self.normalize)

    def moments(self, c: SX, cd: SX) -> Moments:
        material, (r, phi, rd, beta) = self._material(c[0]), self._fields(c, cd)
        k = len(phi)
        gram, b_beta = ca.SX(k, k), ca.SX.zeros(k)
        for i in range(k):
            b_beta[i] = material.product(phi[i], beta)
            for j in range(i, k):
                gram[i, j] = material.product(phi[i], phi[j])
        gram[0, 0] += self.rotor
        # polar inertia of all sections, inside and outside; rotary inertia only of a beam that does not bend
        j = ca.vertcat(self.data.polar_inertia, *self.data.rotary) * self.total_length
        sections = ca.sum1(j) / 2 * ca.SX.eye(3) - ca.diag(j)
        return Moments(
            m=material.mass(0), s=material.integral(r), D=_symmetric(material.dyad(r, r)) + sections,
            eps=ca.horzcat(*(material.integral(f) for f in phi)), H=[material.dyad(r, f) for f in phi],
            gram=ca.densify(_symmetric(gram)), spin=ca.SX.zeros(3, k), N=[material.dyad(rd, f) for f in phi],
            P=material.dyad(r, rd), f_beta=material.integral(beta), X_beta=material.dyad(beta, r), b_beta=b_beta,
        )  # fmt: skip

    def _material(self, l: SX) -> MaterialPoints:
        """All material at a free length."""
        known = self.functions
        axis = known.axis if known is not None else np.zeros((0, 3))
        free = known.integrals(l) if known is not None else None
        return MaterialPoints(self.data.mass_per_length, self.total_length, l, axis, free)

    def _fields(self, c: SX, cd: SX) -> tuple[Flow, list[Flow], Flow, Flow]:
        """r, the phi_j = dr/dc_j, rd and beta."""
        a, ad, ld = c[1:], cd[1:], cd[0]
        unit = ca.SX.eye(self.size)
        phi = [Flow(1, 0, (None, a, None)), *(Flow(0, 0, (unit[:, i], None, None)) for i in range(self.size))]
        rd, beta = Flow(ld, 0, (ad, ld * a, None)), Flow(0, 0, (None, 2 * ld * ad, ld**2 * a))
        return Flow(0, 1, (a, None, None)), phi, rd, beta

    def tip(self, c: SX, cd: SX) -> TipMap:
        ex = ca.SX(ca.DM([1, 0, 0]))
        known = self.functions
        if known is None:
            none = ca.SX.zeros(3)
            return TipMap(self.end_rotation, ex * c[0], ca.SX.zeros(3, 1), ex, none, none)
        values, slopes = known.tip(c[0])
        shift, J, v_beta = _carried(known.axis, values, c, cd)
        theta, turn, theta_beta = _carried(known.turn, slopes, c, cd)
        R, A = ROTATIONS[self.rotation](theta)
        w_beta = ca.mtimes(A, theta_beta)
        if self.rotation == "exact":
            w_beta += exponential_bias(theta, ca.mtimes(turn, cd))
        J[0, 0] += 1
        return TipMap(compose(R, self.end_rotation), ex * c[0] + shift, ca.mtimes(A, turn), J, w_beta, v_beta)

    def strain_energy(self, c: SX) -> SX:
        if self.functions is None:
            return ca.SX(0)
        return ca.mtimes([c[1:].T, self.stiffness(c[0]), c[1:]]) / 2

    def stiffness(self, l: SX) -> SX:
        """(k, k) stiffness matrix of the amplitudes at a free length."""
        assert self.functions is not None
        return self._by_field(self.functions.stiffness(l), self.data.rigidity)

    def damping(self, l: SX) -> SX:
        """(k, k) damping matrix of the amplitudes: modal ratio at every length, plus Rayleigh's alpha M + beta K."""
        assert self.functions is not None
        D = ca.SX(self.size, self.size)
        if isinstance(self.functions, FollowedShapes):
            data, ratio = self.data, 2 * self.data.damping
            per_field = self.functions.damping(l)
            D += self._by_field(per_field, lambda name: ratio * ca.sqrt(data.rigidity(name) * data.mass_per_length))
        elif self.damped is not None:
            D += 2 * self.data.damping * self.damped(l)
        alpha, beta = self.data.rayleigh
        if not is_zero(alpha):
            axis, gram = self.functions.axis, self.functions.integrals(l).G[0][0]
            D += alpha * (self.data.mass_per_length * gram * ca.DM(axis @ axis.T))
        return D + beta * self.stiffness(l) if not is_zero(beta) else D

    def _by_field(self, constants: SX, factor: Callable[[str], SX]) -> SX:
        """(k, k) constants within each field, times the factor of the field."""
        assert self.functions is not None
        fields = self.functions.fields
        K = ca.SX(self.size, self.size)
        for j, name in enumerate(fields):
            for i, other in enumerate(fields):
                if other == name and not constants[j, i].is_zero():
                    K[j, i] = factor(name) * constants[j, i]
        return K

    def dissipation(self, c: SX, cd: SX) -> SX:
        if self.functions is None:
            return ca.SX.zeros(1)
        return ca.vertcat(0, ca.densify(ca.mtimes(self.damping(c[0]), cd[1:])))

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        """Position and rotation vector at x = eta l: a place in space, through which the material slides."""
        r = ca.SX(ca.DM([1, 0, 0])) * (eta * c[0])
        if self.functions is None:
            return r, ca.SX.zeros(3)
        values, slopes = self.functions.station(eta, c[0])
        axis, turn = self.functions.axis, self.functions.turn
        return r + ca.mtimes(ca.DM(axis.T), values * c[1:]), ca.mtimes(ca.DM(turn.T), slopes * c[1:])

    mass_point = point

    def held(self) -> RigidMap:
        """The straight beam, held at its rest length."""
        l = ca.SX([self.rest_length])
        body = replace(self, shapes=None)
        moments, tip = body.moments(l, ca.SX.zeros(1)), body.tip(l, ca.SX.zeros(1))
        return RigidMap(Moments(moments.m, moments.s, moments.D), tip.p, tip.R)

    @property
    def rest(self) -> np.ndarray:
        """Coordinates of the straight beam at the length that its description quotes."""
        return np.array([self.rest_length, *(0.0,) * self.size])


def _carried(direction: np.ndarray, f: Jet, c: SX, cd: SX) -> tuple[SX, SX, SX]:
    """sum d_i f_i(l) c_i, its Jacobian (3, 1 + k) in (l, amplitudes), and (d/dt Jacobian) cd."""
    d, a, ad, ld = ca.DM(direction.T), c[1:], cd[1:], cd[0]
    jacobian = ca.horzcat(ca.mtimes(d, f.first * a), ca.mtimes(ca.SX(d), ca.diag(f.value)))
    bias = ld**2 * ca.mtimes(d, f.second * a) + 2 * ld * ca.mtimes(d, f.first * ad)
    return ca.mtimes(d, f.value * a), ca.densify(jacobian), bias


def _symmetric(A: SX) -> SX:
    return ca.triu2symm(ca.triu(A))
