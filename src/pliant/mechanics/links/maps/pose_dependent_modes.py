"""A beam whose modes follow what hangs on its tip: a map of its amplitudes and of the outer joints, c = (q_out, a).

    r(x; q_out, a) = x e_x + sum a_i e_i psi_i(x/L; beta_i(q_out)),

so the outer joints move the points of this beam too, through psi_i. It is again only a map; all moments are sums over
Gauss points inside the trace. [TG95] Section 4.2. A joint is then a coordinate of several bodies, so that only
`lagrange` can take it, which differentiates the energies whichever body a coordinate belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import ClassVar

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, Identity, Rotation, compose, exponential_bias
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.maps.link_maps import ROTATIONS, BeamData, LinearBeam, Moments, TipMap, is_zero
from pliant.mechanics.links.maps.pose_dependent_roots import LoadedModes, TrackedModes
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.mechanics.shapes.quadrature import gauss
from pliant.options import RotationName


@dataclass(frozen=True)
class TrackedBeam:
    """Uniform beam along +x with clamped-mass bending modes that follow the configuration of the outer joints.

    Attributes
    ----------
    data : BeamData
    shapes : LinkShapes
        The modes of the straight arm: names, fields and directions.
    planes : tuple of TrackedModes
        One per field of the shapes.
    load : casadi.Function
        q_out -> (J, D) of every plane, in units of the beam.
    outer : int
        Number of outer joints.
    frozen : LinearBeam
        The beam with the modes of the straight arm.
    """

    data: BeamData
    shapes: LinkShapes
    planes: tuple[TrackedModes, ...]
    load: ca.Function
    outer: int
    rotation: RotationName
    frozen: LinearBeam
    end_rotation: Rotation = field(default_factory=Identity)
    is_linear: bool = True  # in its amplitudes
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = True

    @property
    def rest(self) -> np.ndarray:
        return np.zeros(self.size)

    def length(self, c: SX) -> SX:
        return self.data.length

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"outer.{k + 1}" for k in range(self.outer)), *self.shapes.names)

    @property
    def size(self) -> int:
        """Number of coordinates, outer joints included."""
        return self.outer + len(self.shapes.names)

    def _modes(self, c: SX) -> list[LoadedModes]:
        """Modes of each plane where the outer joints are."""
        outer = c[: self.outer]
        loads = self.load(outer)
        return [plane.at(outer, loads[2 * k], loads[2 * k + 1]) for k, plane in enumerate(self.planes)]

    def _at(self, modes: list[LoadedModes], c: SX, eta: float) -> tuple[SX, SX]:
        """Position and rotation vector of a section."""
        values = ca.vertcat(*(v for plane in modes for v in plane.values(eta)))
        slopes = ca.vertcat(*(v for plane in modes for v in plane.slopes(eta)))
        a, I = c[self.outer :], self.shapes.integrals
        r = ca.SX(ca.DM([eta, 0, 0])) * self.data.length + ca.mtimes(ca.DM(I.axis.T), values * a)
        return ca.densify(r), ca.densify(ca.mtimes(ca.DM(I.turn.T), slopes * a)) / self.data.length

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        return self._at(self._modes(c), c, eta)

    mass_point = point

    @property
    def points(self) -> int:
        """Gauss points: twelve serve two or three modes to rounding; each further half wave needs about three more."""
        return max(12, 5 + ceil(max(part.shapes.wavenumber for part in self.shapes.parts)))

    def moments(self, c: SX, cd: SX) -> Moments:
        """All moments by quadrature: phi_j = dr/dc_j, rd = sum phi_j cd_j, beta = d(rd)/dc cd."""
        k = self.size
        parts = self._moments_per_mass(c, ca.densify(cd))
        (s, D, eps), H, gram, N = parts[:3], parts[3 : 3 + k], parts[3 + k], parts[4 + k : 4 + 2 * k]
        P, f_beta, X_beta, b_beta = parts[4 + 2 * k :]
        mass = ca.SX(self.data.mass_per_length * self.data.length)
        polar = ca.diag(ca.vertcat(-1, 1, 1)) * self.data.polar_inertia * self.data.length / 2  # of the sections
        return Moments(
            m=mass, s=mass * s, D=mass * D + polar, eps=mass * eps, H=[mass * h for h in H], gram=mass * gram,
            spin=ca.SX.zeros(3, k), N=[mass * h for h in N], P=mass * P,
            f_beta=mass * f_beta, X_beta=mass * X_beta, b_beta=mass * b_beta,
        )  # fmt: skip

    @cached_property
    def _moments_per_mass(self) -> ca.Function:
        """Moments per unit mass: traced once, with what the points share."""
        c, cd = ca.SX.sym("c", self.size), ca.SX.sym("cd", self.size)
        out = self._quadrature(c, cd)
        parts = [out.s, out.D, out.eps, *out.H, out.gram, *out.N, out.P, out.f_beta, out.X_beta, out.b_beta]
        return ca.Function("moments", [c, cd], [ca.densify(x) for x in parts], {"cse": True})

    def _quadrature(self, c: SX, cd: SX) -> Moments:
        """Sums over the Gauss points of a beam of unit mass."""
        k, modes = self.size, self._modes(c)
        zero = ca.SX.zeros
        s, D, eps, gram, P = zero(3), zero(3, 3), zero(3, k), zero(k, k), zero(3, 3)
        H, N = [zero(3, 3) for _ in range(k)], [zero(3, 3) for _ in range(k)]
        f_beta, X_beta, b_beta = zero(3), zero(3, 3), zero(k)
        for eta, m in zip(*(x.tolist() for x in gauss(self.points))):
            r, _ = self._at(modes, c, eta)
            phi = ca.jacobian(r, c)
            rd = ca.mtimes(phi, cd)
            beta = ca.jtimes(rd, c, cd)
            s, D, eps = s + m * r, D + m * ca.mtimes(r, r.T), eps + m * phi
            gram, P = gram + m * ca.mtimes(phi.T, phi), P + m * ca.mtimes(r, rd.T)
            H = [h + m * ca.mtimes(r, phi[:, j].T) for j, h in enumerate(H)]
            N = [h + m * ca.mtimes(rd, phi[:, j].T) for j, h in enumerate(N)]
            f_beta, X_beta = f_beta + m * beta, X_beta + m * ca.mtimes(beta, r.T)
            b_beta = b_beta + m * ca.mtimes(phi.T, beta)
        return Moments(
            m=ca.SX(1), s=s, D=D, eps=eps, H=H, gram=gram, spin=zero(3, k), N=N, P=P,
            f_beta=f_beta, X_beta=X_beta, b_beta=b_beta,
        )  # fmt: skip

    def tip(self, c: SX, cd: SX) -> TipMap:
        p, theta, J, turn, v_beta, theta_beta = self._tip(c, ca.densify(cd))
        R, A = ROTATIONS[self.rotation](theta)
        w_beta = ca.mtimes(A, theta_beta)
        if self.rotation == "exact":
            w_beta += exponential_bias(theta, ca.mtimes(turn, cd))
        return TipMap(compose(R, self.end_rotation), p, ca.mtimes(A, turn), J, w_beta, v_beta)

    @cached_property
    def _tip(self) -> ca.Function:
        """Position and rotation vector of the tip, their Jacobians, and the rates of these times the rates: traced
        once."""
        c, cd = ca.SX.sym("c", self.size), ca.SX.sym("cd", self.size)
        p, theta = self._at(self._modes(c), c, 1.0)
        J, turn = ca.jacobian(p, c), ca.jacobian(theta, c)
        v_beta, theta_beta = (ca.jtimes(ca.mtimes(x, cd), c, cd) for x in (J, turn))
        outputs = [ca.densify(x) for x in (p, theta, J, turn, v_beta, theta_beta)]
        return ca.Function("tip", [c, cd], outputs, {"cse": True})

    def stiffness(self, c: SX) -> SX:
        """Diagonal (k,) of the stiffness of the amplitudes: clamped-mass modes are orthogonal in strain, beta^4 N."""
        L = self.data.length
        entries = []
        for part, plane in zip(self.shapes.parts, self._modes(c)):
            rigidity = self.data.rigidity(part.name) / L**3
            entries += [rigidity * b**4 * n for b, n in zip(plane.beta, plane.norm)]
        return ca.vertcat(*entries)

    def strain_energy(self, c: SX) -> SX:
        return ca.dot(self.stiffness(c), c[self.outer :] ** 2) / 2

    def dissipation(self, c: SX, cd: SX) -> SX:
        """Modal ratio, plus Rayleigh's alpha M + beta K, on the amplitudes."""
        alpha, beta = self.data.rayleigh
        rate = cd[self.outer :]
        out = beta * self.stiffness(c) * rate
        if not is_zero(self.data.damping):
            out += self._ratio(c) * rate
        if not is_zero(alpha):
            gram = self.moments(c, ca.SX.zeros(self.size)).gram[self.outer :, self.outer :]
            out += alpha * ca.mtimes(gram, rate)
        return ca.vertcat(ca.SX.zeros(self.outer), out)

    def _ratio(self, c: SX) -> SX:
        """Diagonal (k,) of the damping of the amplitudes by a ratio."""
        entries = []
        for part, plane in zip(self.shapes.parts, self._modes(c)):
            root = ca.sqrt(self.data.rigidity(part.name) * self.data.mass_per_length) / self.data.length
            entries += [2 * self.data.damping * root * b**2 * n for b, n in zip(plane.beta, plane.norm)]
        return ca.vertcat(*entries)


def frozen(chain: Chain) -> Chain:
    """The chain with the modes of the straight arm."""
    links = []
    for link in chain.links:
        if isinstance(link.body, TrackedBeam):
            outer = link.body.outer
            indices, places = link.body_indices[outer:], link.body_places[outer:]
            link = replace(link, body=link.body.frozen, body_indices=indices, body_places=places)
        links.append(link)
    return replace(chain, links=tuple(links))


__all__ = ["TrackedBeam", "frozen"]
