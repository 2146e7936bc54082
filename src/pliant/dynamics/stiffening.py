"""A bent beam is shorter: the second-order shortening -1/2 int_0^x (v'^2 + w'^2) as a map, [ZZZ] Section 2.

The shortened position is linear in *lifted* coordinates g(c): the amplitudes themselves and, for each pair of
bending amplitudes of one plane, the product s_jk = -c_j c_k / L (half for j = k), which moves points along -x by
H_jk(x) = int psi_j' psi_k'. So a stiffened beam is a `LinearBeam` over g with constant integrals, seen through g(c):
exact, with no quadrature in the trace. All products are kept: this is the "high-order" model. The second-order model
drops the products of two shortenings, which are of fourth degree in the amplitudes, by taking their inner products as
zero in every integral: energy is kept all the same, and a beam of many shapes costs half. The first-order model keeps,
of the shortening, what meets the undeformed chain: see `lagrange`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.dynamics.bodies import BeamData, LinearBeam, Moments, TipMap
from pliant.dynamics.chain import Chain, ChainLink
from pliant.options import RotationName
from pliant.shapes import Field, LinkShapes, ModalIntegrals, SectionProfile, gauss_rule


def bending_pairs(shapes: LinkShapes, H: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of amplitudes of one bending plane that shorten the beam together (elements far apart do not)."""
    pairs = combinations_with_replacement(range(len(shapes.fields)), 2)
    return [(j, k) for j, k in pairs if shapes.fields[j] == shapes.fields[k] and np.abs(H[:, j, k]).max() > 1e-13]


@dataclass(frozen=True)
class LiftedShapes:
    """Shapes of a beam and, behind them, one axial function H_jk(eta) per bending pair; the same interface as
    `LinkShapes`."""

    base: LinkShapes
    pairs: tuple[tuple[int, int], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.base.names, *(f"shortening.{j + 1}.{k + 1}" for j, k in self.pairs))

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.base.fields, *("axial" for _ in self.pairs))

    @property
    def powers(self) -> tuple[int, ...]:
        return (*self.base.powers, *(self.base.powers[j] + self.base.powers[k] for j, k in self.pairs))

    @property
    def parts(self) -> tuple[Field, ...]:
        return self.base.parts

    def evaluate(self, eta: Any, derivative: int = 0) -> np.ndarray:
        """Values (or slopes) of all functions, (len(eta), m)."""
        psi = self.base.evaluate(eta, derivative)
        if derivative == 0:
            H = self.base.integrals.shortening(eta)
        else:
            slope = self.base.evaluate(eta, 1)
            H = slope[:, :, None] * slope[:, None, :]
        return np.hstack([psi, np.stack([H[:, j, k] for j, k in self.pairs], axis=1)]) if self.pairs else psi


def lift(
    shapes: LinkShapes, integrals: ModalIntegrals, profile: SectionProfile, squares: bool = True
) -> tuple[LiftedShapes, ModalIntegrals]:
    """The lifted shapes of a link and their integrals under the profile of its beam.

    Without `squares` the products of two shortenings count as zero: the second-order model.
    """
    breaks = np.concatenate([profile.breaks, [0.0, 1.0], *(part.shapes.breaks for part in shapes.parts)])
    rule = gauss_rule(breaks, 2 * max(part.shapes.wavenumber for part in shapes.parts))  # H is itself a product
    pairs = bending_pairs(shapes, integrals.shortening(np.unique(breaks)))
    lifted = LiftedShapes(shapes, tuple(pairs))
    m, k = len(shapes.fields), len(pairs)
    g = rule.weight * profile("mass_per_length", rule.eta)
    psi = lifted.evaluate(rule.eta)
    psi[:, :m] = np.where(integrals.turn[:, 0] != 0, 0.0, psi[:, :m])  # torsion moves no axis
    gram = psi.T @ (g[:, None] * psi)
    gram[m:, m:] *= squares
    tip, slope = lifted.evaluate(np.ones(1))[0], lifted.evaluate(np.ones(1), 1)[0]

    def padded(matrix: np.ndarray) -> np.ndarray:
        out = np.zeros((*matrix.shape[:-2], m + k, m + k))
        out[..., :m, :m] = matrix
        return out

    return lifted, replace(
        integrals,
        axis=np.vstack([integrals.axis, np.tile([1.0, 0.0, 0.0], (k, 1))]),
        turn=np.vstack([integrals.turn, np.zeros((k, 3))]),
        eps=g @ psi, eta_eps=(g * rule.eta) @ psi, gram=gram,
        spin=np.vstack([integrals.spin, np.zeros((k, 3))]), spin_gram=padded(integrals.spin_gram),
        stiffness=padded(integrals.stiffness), tip=tip, tip_slope=slope,
    ).canonical()  # fmt: skip


@dataclass(frozen=True)
class StiffenedBeam:
    """A beam whose bending shortens it: a linear beam over the lifted coordinates g(c)."""

    inner: LinearBeam
    shapes: LinkShapes
    pairs: tuple[tuple[int, int], ...]
    is_linear: bool = False
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.shapes.names

    @property
    def rest(self) -> np.ndarray:
        return np.zeros(self.size)

    @property
    def data(self) -> BeamData:
        return self.inner.data

    @property
    def rotation(self) -> RotationName:
        return self.inner.rotation

    def length(self, c: SX) -> SX:
        return self.inner.data.length

    @cached_property
    def size(self) -> int:
        """Number of amplitudes."""
        return len(self.shapes.names)

    def lifted(self, c: SX) -> SX:
        """g(c): the amplitudes and the products that shorten the beam."""
        L = self.inner.data.length
        products = [-(0.5 if j == k else 1.0) * c[j] * c[k] / L for j, k in self.pairs]
        return ca.vertcat(c, *products)

    def _rates(self, c: SX, cd: SX) -> tuple[SX, SX, SX, SX]:
        """g, dg/dc, and the rates gd and (d/dt dg/dc) cd."""
        L = self.inner.data.length
        g = self.lifted(c)
        G = ca.vertcat(ca.SX.eye(self.size), ca.SX(len(self.pairs), self.size))
        for row, (j, k) in enumerate(self.pairs, start=self.size):
            G[row, j] = -c[k] / L
            G[row, k] = -c[j] / L
        bias = [-(1.0 if j == k else 2.0) * cd[j] * cd[k] / L for j, k in self.pairs]
        return g, G, ca.mtimes(G, cd), ca.vertcat(ca.SX.zeros(self.size), *bias)

    def lifted_rate(self, c: SX, cd: SX) -> SX:
        """dg/dt."""
        return self._rates(c, cd)[2]

    def moments(self, c: SX, cd: SX) -> Moments:
        g, G, gd, bias = self._rates(c, cd)
        inner = self.inner.moments(g, gd)
        return replace(
            inner,
            eps=ca.mtimes(inner.eps, G), H=_combined(inner.H, G), gram=ca.mtimes([G.T, inner.gram, G]),
            spin=ca.mtimes(inner.spin, G), N=_combined(inner.N, G),
            f_beta=ca.mtimes(inner.eps, bias),
            X_beta=sum((inner.H[a].T * bias[a] for a in range(self.size, g.shape[0])), ca.SX(3, 3)),
            b_beta=ca.mtimes([G.T, inner.gram, bias]),
        )  # fmt: skip

    def tip(self, c: SX, cd: SX) -> TipMap:
        g, G, gd, bias = self._rates(c, cd)
        inner = self.inner.tip(g, gd)
        return replace(inner, W=ca.mtimes(inner.W, G), J=ca.mtimes(inner.J, G), v_beta=ca.mtimes(inner.J, bias))

    def strain_energy(self, c: SX) -> SX:
        return self.inner.strain_energy(ca.vertcat(c, ca.SX.zeros(len(self.pairs))))

    def dissipation(self, c: SX, cd: SX) -> SX:
        none = ca.SX.zeros(len(self.pairs))
        return self.inner.dissipation(ca.vertcat(c, none), ca.vertcat(cd, none))[: self.size]

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        return self.inner.point(self.lifted(c), eta)


def _combined(matrices: Sequence[SX], G: SX) -> list[SX]:
    """sum_a X_a dg_a/dc_j for every j."""
    sparsity = G.sparsity()
    rows = range(G.shape[0])
    return [sum((matrices[a] * G[a, j] for a in rows if sparsity.has_nz(a, j)), ca.SX(3, 3)) for j in range(G.shape[1])]


def first_order(chain: Chain, energy: Callable[[Chain, SX, SX], SX], q: SX, qd: SX) -> SX:
    """An energy in which the shortening meets only the undeformed chain: kept to second degree in amplitudes and rates.

    E(q, qd) without shortening, plus its first variation in the shortening s and its rate sd, taken where all
    amplitudes and their rates vanish. With E = T and E = V this is the first-order ("linear stiffening") model of
    [ZZZ].
    """
    lifted, s, sd = _lifted_chain(chain, q, qd)
    if not s:
        return energy(chain, q, qd)
    S, Sd = ca.SX.sym("s", len(s)), ca.SX.sym("sd", len(s))
    E = energy(lifted, ca.vertcat(q, S), ca.vertcat(qd, Sd))
    none = ca.SX.zeros(len(s))
    without = ca.substitute([E], [S, Sd], [none, none])[0]
    amplitudes = [k for link in chain.links for k in link.body_indices]
    rest = [q[amplitudes], qd[amplitudes], S, Sd]
    zeros = [ca.SX.zeros(len(amplitudes)), ca.SX.zeros(len(amplitudes)), none, none]
    slope, slope_rate = ca.substitute([ca.gradient(E, S), ca.gradient(E, Sd)], rest, zeros)
    return without + ca.dot(slope, ca.vertcat(*s)) + ca.dot(slope_rate, ca.vertcat(*sd))


def _lifted_chain(chain: Chain, q: SX, qd: SX) -> tuple[Chain, list[SX], list[SX]]:
    """The chain with every shortening product as a coordinate of its own, and these products and their rates."""
    links: list[ChainLink] = []
    s: list[SX] = []
    sd: list[SX] = []
    for link in chain.links:
        body = link.body
        if isinstance(body, StiffenedBeam):
            c, cd = chain.body(link, q), chain.body(link, qd)
            extra = tuple(range(chain.n + len(s), chain.n + len(s) + len(body.pairs)))
            s += ca.vertsplit(body.lifted(c)[body.size :]) if body.pairs else []
            sd += ca.vertsplit(body.lifted_rate(c, cd)[body.size :]) if body.pairs else []
            link = replace(link, body=body.inner, body_indices=link.body_indices + extra)
        links.append(link)
    names = chain.coordinates + tuple(f"shortening.{k}" for k in range(len(s)))
    return replace(chain, links=tuple(links), coordinates=names), s, sd
