"""A beam that slides out of its hub while it bends: joint and beam are one body with coordinates c = (l, amplitudes).

The link frame stays at the mouth of the sleeve. The material point at distance s from the tip stands at x = l - s; where x > 0 it is
displaced by sum c_i a_i Psi_i(s, l), inside the sleeve it moves rigidly along x, and has inertia too. With s held,

    phi_l = e_x + sum c_i a_i Psi_i,l,    phi_i = a_i Psi_i,    beta = ld^2 sum c_i a_i Psi_i,ll + 2 ld sum cd_i a_i Psi_i,l,

and all moments are integrals of products of such fields. [TG95] (5), (6), (19), (21) with x moving: see Notes.

Notes
-----
[TG95] writes x as if it were fixed, which loses the axial velocity and the convective terms, and (26) has no stiffness in the row of
l although the strain energy depends on l through EI/l^3 and through the modes. Torsion and axial shapes have a strain at the mouth
that the material inside does not have: their velocity would jump there, so they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, Identity, Rotation, compose, exponential_bias
from pliant.dynamics.bodies import ROTATIONS, BeamData, Moments, RigidMap, TipMap, is_zero
from pliant.dynamics.chain import Chain, ChainLink
from pliant.dynamics.sliding_shapes import ORDERS, SlidingIntegrals, SlidingShapes, sliding_shapes
from pliant.errors import ModelError, UnsupportedModel
from pliant.shapes import LinkShapes

SHORTEST = 0.05
"""Least free length of the travel, as a part of the total length, unless the robot asks for less."""

MARGIN = (0.9, 1.05)
"""Beyond the travel by these factors the modes are still followed, for the trial steps of an integrator."""


@dataclass(frozen=True)
class Flow:
    """A vector field over the material: `e_x (one + along x)` everywhere, and `sum_i a_i bend[a]_i Psi_i^(a)` outside the sleeve."""

    one: SX
    along: SX
    bend: tuple[SX | None, SX | None, SX | None] = (None, None, None)


@dataclass(frozen=True)
class Material:
    """All material of a beam of total length `total`, `l` of it outside: integrates fields and their products."""

    mu: SX
    total: SX
    l: SX
    axis: np.ndarray
    free: SlidingIntegrals | None

    def mass(self, order: int) -> SX:
        """Integral of x^order, from l - total to l."""
        low = self.l - self.total
        return self.mu * ((self.total, (self.l + low) / 2 * self.total)[order] if order < 2 else (self.l**3 - low**3) / 3)

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

    def _across(self, f: Flow, integral: Any) -> SX:
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


@dataclass(frozen=True)
class SlidingBeam:
    """Uniform beam along +x of which the length l = c[0] is outside the sleeve; without shapes it does not bend.

    Attributes
    ----------
    data : BeamData
        Its `length` is the free length at which clamped-mass modes see the load they were given.
    shapes : LinkShapes or None
    rotation : str
    total_length : number or symbol
    travel : (float, float)
        Free lengths for which the model holds.
    rotor : number or symbol
        Reflected inertia of a stiff drive, which moves with l.
    """

    data: BeamData
    shapes: LinkShapes | None
    rotation: str
    total_length: SX
    travel: tuple[float, float]
    rest_length: float
    normalise: str = "unit"
    end_rotation: Rotation = field(default_factory=Identity)
    rotor: SX = 0.0
    is_linear: bool = False

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
        return sliding_shapes(self.shapes, self.rest_length, span, self.normalise)

    def moments(self, c: SX, cd: SX) -> Moments:
        material, (r, phi, rd, beta) = self._material(c[0]), self._fields(c, cd)
        k = len(phi)
        gram, b_beta = ca.SX(k, k), ca.SX.zeros(k)
        for i in range(k):
            b_beta[i] = material.product(phi[i], beta)
            for j in range(i, k):
                gram[i, j] = material.product(phi[i], phi[j])
        gram[0, 0] += self.rotor
        return Moments(
            m=material.mass(0), s=material.integral(r), D=_symmetric(material.dyad(r, r)) + self._section_inertia(),
            eps=ca.horzcat(*(material.integral(f) for f in phi)), H=[material.dyad(r, f) for f in phi],
            gram=ca.densify(_symmetric(gram)), spin=ca.SX.zeros(3, k), N=[material.dyad(rd, f) for f in phi],
            P=material.dyad(r, rd), f_beta=material.integral(beta), X_beta=material.dyad(beta, r), b_beta=b_beta,
        )  # fmt: skip

    def _material(self, l: SX) -> Material:
        known = self.functions
        axis = known.axis if known is not None else np.zeros((0, 3))
        free = known.integrals(l) if known is not None else None
        return Material(self.data.mass_per_length, self.total_length, l, axis, free)

    def _fields(self, c: SX, cd: SX) -> tuple[Flow, list[Flow], Flow, Flow]:
        """r, the phi_j = dr/dc_j, rd and beta."""
        a, ad, ld = c[1:], cd[1:], cd[0]
        unit = ca.SX.eye(self.size)
        phi = [Flow(1, 0, (None, a, None)), *(Flow(0, 0, (unit[:, i], None, None)) for i in range(self.size))]
        return Flow(0, 1, (a, None, None)), phi, Flow(ld, 0, (ad, ld * a, None)), Flow(0, 0, (None, 2 * ld * ad, ld**2 * a))

    def _section_inertia(self) -> SX:
        """Polar inertia of all sections, inside and outside; rotary inertia only of a beam that does not bend."""
        j = ca.vertcat(self.data.polar_inertia, *self.data.rotary) * self.total_length
        return ca.sum1(j) / 2 * ca.SX.eye(3) - ca.diag(j)

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
        if not is_zero(self.data.damping):
            D += self._by_field(self.functions.damping(l), self._dashpot)
        alpha, beta = self.data.rayleigh
        if not is_zero(alpha):
            D += alpha * self._material_gram(l)
        return D + beta * self.stiffness(l) if not is_zero(beta) else D

    def _dashpot(self, name: str) -> SX:
        return 2 * self.data.damping * ca.sqrt(self.data.rigidity(name) * self.data.mass_per_length)

    def _material_gram(self, l: SX) -> SX:
        assert self.functions is not None
        axis = self.functions.axis
        return self.data.mass_per_length * self.functions.integrals(l).G[0][0] * ca.DM(axis @ axis.T)

    def _by_field(self, constants: SX, factor: Any) -> SX:
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


def _carried(direction: np.ndarray, f: Any, c: SX, cd: SX) -> tuple[SX, SX, SX]:
    """sum d_i f_i(l) c_i, its Jacobian (3, 1 + k) in (l, amplitudes), and (d/dt Jacobian) cd."""
    d, a, ad, ld = ca.DM(direction.T), c[1:], cd[1:], cd[0]
    jacobian = ca.horzcat(ca.mtimes(d, f.first * a), ca.mtimes(ca.SX(d), ca.diag(f.value)))
    bias = ld**2 * ca.mtimes(d, f.second * a) + 2 * ld * ca.mtimes(d, f.first * ad)
    return ca.mtimes(d, f.value * a), ca.densify(jacobian), bias


def _symmetric(A: SX) -> SX:
    return ca.triu2symm(ca.triu(A))


# ------------------------------------------------------------------------------------------------------- from the description


def sliding_beam(
    link: Any, nominal: Any, data: BeamData, shapes: LinkShapes | None, rotation: str, end: Rotation
) -> SlidingBeam:
    """The body of a link whose beam slides; `link` is a view, `nominal` the description itself."""
    where = f"links.{nominal.name}"
    for name in ("torsion", "axial"):
        if shapes is not None and name in shapes.fields:
            raise UnsupportedModel(
                f"{where}.shapes.{name}: a beam that slides cannot have {name} shapes, their velocity would jump at the mouth "
                f"of the sleeve; leave {name} out"
            )
    if shapes is not None and not all(is_zero(j) for j in data.rotary):
        raise UnsupportedModel(f"{where}.beam.rotary: not supported on a beam that slides and bends; leave it out")
    normalise = nominal.shapes.normalise if nominal.shapes is not None else "unit"
    length, travel = float(nominal.beam.length), travel_of(nominal)
    return SlidingBeam(data, shapes, rotation, link.beam.total_length, travel, length, normalise, end)


def sliding_link(link: ChainLink) -> ChainLink:
    """A link with a sliding beam and a prismatic joint, with the joint's coordinate handed to the body; the joint is then fixed."""
    assert isinstance(link.body, SlidingBeam) and link.joint_index is not None
    return replace(
        link, joint=replace(link.joint, kind="fixed"), joint_index=None, rotor=0.0,
        body=replace(link.body, rotor=link.rotor), body_indices=(link.joint_index, *link.body_indices),
    )  # fmt: skip


def travel_of(link: Any) -> tuple[float, float]:
    """Free lengths for which the model of a sliding link holds: from 5 % of its total length, or what the robot asks for."""
    total, limits = float(link.beam.total_length), link.joint.limits
    wanted = [SHORTEST * total, float(link.beam.length)]
    if limits is not None and limits.lower is not None:
        wanted.append(float(limits.lower))
    return min(wanted), total


def travels(chain: Chain) -> dict[int, tuple[float, float]]:
    """Travel of each coordinate that is a free length."""
    bodies = [(link.body_indices, link.body) for link in chain.links]
    return {indices[0]: body.travel for indices, body in bodies if isinstance(body, SlidingBeam)}


def rest_state(chain: Chain) -> np.ndarray:
    """(n,) coordinates of the straight arm: zero, but for the sliding beams, which have no zero length."""
    q = np.zeros(chain.n)
    for link in chain.links:
        if isinstance(link.body, SlidingBeam):
            q[list(link.body_indices)] = link.body.rest
            if link.drive is not None:
                q[link.drive.index] = link.body.rest_length
    return q


def check_travel(chain: Chain, q: Sequence[float] | np.ndarray) -> None:
    """Raises `ModelError` where a free length in `q` (..., n) has left its travel."""
    state = np.asarray(q, dtype=float)
    for index, (low, high) in travels(chain).items():
        l = state[..., index]
        outside = ~((l >= low) & (l <= high))
        if outside.any():
            raise ModelError(
                f"{chain.coordinates[index]}: free length {np.ravel(l)[np.ravel(outside)][0]:g} m is outside its travel "
                f"{low:g} to {high:g} m; start inside it, stop the motion before its end, or give the beam a longer total_length"
            )
