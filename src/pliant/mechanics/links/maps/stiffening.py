"""Geometric stiffening of a beam: its place and rotation beyond first order as a map, [ZZZ] Section 2.

A bent beam is shorter, and twist turns its bending.

The place of the axis is that of the shapes plus a field of second and third degree in the amplitudes (see
`pliant.mechanics.shapes.bent_axis`), projected on a few polynomials P_k(x) along each axis:
r = x e_x + sum psi_j c_j + sum P_k b_k(c). So a stiffened beam is a `LinearBeam` over the
*lifted* coordinates g(c) = (c, b, turns of the tip) with constant integrals, seen through g(c): velocities are formed
from the projected field, so that its inertia is a square and stays positive definite at any deflection. Tip, mass
center and first moment of the field are exact: through them tension, spin and a payload act.

Levels: "second-order" keeps products of two amplitudes; "third-order" also those of three, over more polynomials, which
is consistent with a strain energy that is quadratic in the curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.mechanics.links.maps.link_maps import BeamData, Body, LinearBeam, Moments, TipMap
from pliant.mechanics.links.maps.turning_sections import TurningSections
from pliant.mechanics.shapes.bent_axis import BentAxis, Forms, Projection, project, stacked
from pliant.mechanics.shapes.integrals import Field, ModalIntegrals, SectionProfile
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.options import RotationName, StiffeningName

FLAT = 0.03
"""Tension acts on twist through N I_p / A beside G J. A closed section stressed to one thousandth of G gains one
thousandth; only below this GJ / (EI_y + EI_z), for flat and open sections, does it matter and is kept."""


def _extent(shapes: LinkShapes, level: StiffeningName) -> tuple[int, tuple[int, int, int]]:
    """Degree in the amplitudes, and number of polynomials along x, y and z.

    Three hold the tip and the two moments of mass. Along x "second-order" takes two more than there are shapes per
    plane, up to five: then the inertia of a beam without hub, bent by 0.05 L, errs by less than 1e-3 (median; three
    modes) to 1e-2 (six).
    """
    if level == "second-order":
        return 2, (min(5, 2 + max(part.shapes.size for part in shapes.parts)), 3, 3)
    return 3, (8, 8, 8)


@dataclass(frozen=True)
class LiftedShapes:
    """Shapes of a beam and, behind them, the functions of the projected field and the turns of the tip; the same
    interface as `LinkShapes`."""

    base: LinkShapes
    fields_beyond: tuple[Projection, ...]
    turns: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        moved = ("xyz"[part.direction] + str(k + 1) for part in self.fields_beyond for k in range(part.size))
        return (*self.base.names, *(f"beyond.{name}" for name in moved), *(f"turn.{'xyz'[d]}" for d in self.turns))

    @property
    def fields(self) -> tuple[str, ...]:
        beyond = sum(part.size for part in self.fields_beyond)
        return (*self.base.fields, *("axial",) * beyond, *("torsion",) * len(self.turns))

    @property
    def powers(self) -> tuple[int, ...]:
        beyond = sum(part.size for part in self.fields_beyond)
        return (*self.base.powers, *(1,) * beyond, *(0,) * len(self.turns))

    @property
    def parts(self) -> tuple[Field, ...]:
        return self.base.parts

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> np.ndarray:
        """Values (or slopes) of all functions, (len(eta), m); a turn of the tip is zero elsewhere."""
        eta = np.asarray(eta, dtype=float)
        beyond = [part.polynomials.functions(eta, derivative) for part in self.fields_beyond]
        turns = np.zeros((len(eta), len(self.turns))) + (derivative == 0) * (eta == 1.0)[:, None]
        return np.hstack([self.base.evaluate(eta, derivative), *beyond, turns])


def lift(
    shapes: LinkShapes, integrals: ModalIntegrals, profile: SectionProfile, level: StiffeningName, flat: bool
) -> tuple[LiftedShapes, ModalIntegrals, BentAxis, Forms]:
    """The lifted shapes of a link, their integrals under the profile of its beam, and the forms of the coordinates that
    they add; `flat` if tension acts on twist."""
    degree, counts = _extent(shapes, level)
    axis = BentAxis(shapes, profile, degree, flat)
    found = (project(axis, direction, counts[direction]) for direction in range(3))
    beyond = tuple(part for part in found if part is not None)
    tip_turn = axis.turned(1.0)
    turns = tuple(d for d in range(3) if tip_turn[[d]].columns().size)
    lifted = LiftedShapes(shapes, beyond, turns)
    m = len(shapes.fields)
    k = sum(part.size for part in beyond)
    directions = np.array([part.direction for part in beyond for _ in range(part.size)], dtype=int)
    eta = axis.nodes.eta
    g = axis.nodes.weight * profile("mass_per_length", eta)
    psi = lifted.evaluate(eta)
    psi[:, :m] = np.where(integrals.axis.any(axis=1), psi[:, :m], 0.0)  # torsion about the centroid moves no axis
    gram = psi.T @ (g[:, None] * psi)
    gram[:m, :m] = integrals.gram
    for low, size in zip(np.cumsum([m, *(part.size for part in beyond)]), (part.size for part in beyond)):
        gram[low : low + size, low : low + size] = np.eye(size)  # orthonormal by construction
    none = len(turns)

    def padded(matrix: np.ndarray) -> np.ndarray:
        out = np.zeros((*matrix.shape[:-2], m + k + none, m + k + none))
        out[..., :m, :m] = matrix
        return out

    return lifted, replace(
        integrals,
        axis=np.vstack([integrals.axis, np.eye(3)[directions], np.zeros((none, 3))]),
        turn=np.vstack([integrals.turn, np.zeros((k, 3)), np.eye(3)[list(turns)].reshape(-1, 3)]),
        eps=g @ psi, eta_eps=(g * eta) @ psi, gram=gram,
        spin=np.vstack([integrals.spin, np.zeros((k + none, 3))]), spin_gram=padded(integrals.spin_gram),
        stiffness=padded(integrals.stiffness), shear=padded(integrals.shear),
        tip=lifted.evaluate(np.ones(1))[0], tip_slope=lifted.evaluate(np.ones(1), 1)[0],
    ).canonical(), axis, stacked([*(part.forms for part in beyond), tip_turn[list(turns)]])  # fmt: skip


@dataclass(frozen=True)
class _LiftedMoments(Moments):
    """Moments of a stiffened beam; sums over points are taken over the lifted coordinates first, where most entries are
    zero."""

    inner: Moments | None = None
    G: SX = None

    def coupling(self) -> SX:
        assert self.inner is not None
        return ca.mtimes(self.inner.coupling(), self.G)

    def modal_forces(self, E: SX, W: SX) -> SX:
        assert self.inner is not None
        return ca.mtimes(self.G.T, self.inner.modal_forces(E, W))


def seen_through(inner: Moments, G: SX, bias: SX) -> Moments:
    """Moments over coordinates g, seen through a map g(c) with the Jacobian G and bias = (dG/dt) cd."""
    return _LiftedMoments(
        inner.m, inner.s, inner.D,
        eps=ca.mtimes(inner.eps, G), H=_combined(inner.H, G), gram=ca.mtimes([G.T, inner.gram, G]),
        spin=ca.mtimes(inner.spin, G), N=_combined(inner.N, G), P=inner.P,
        f_beta=inner.f_beta + ca.mtimes(inner.eps, bias),
        X_beta=sum((H.T * bias[a] for a, H in enumerate(inner.H) if not bias[a].is_zero()), inner.X_beta),
        b_beta=ca.mtimes(G.T, inner.b_beta + ca.mtimes(inner.gram, bias)),
        inner=inner, G=G,
    )  # fmt: skip


def seen_tip(inner: TipMap, G: SX, bias: SX) -> TipMap:
    """Distal frame over coordinates g, seen through a map g(c): see `seen_through`."""
    return replace(
        inner, W=ca.mtimes(inner.W, G), J=ca.mtimes(inner.J, G),
        w_beta=inner.w_beta + ca.mtimes(inner.W, bias), v_beta=inner.v_beta + ca.mtimes(inner.J, bias),
    )  # fmt: skip


class Lifted:
    """A body seen through coordinates g(c) = (c, what they take along) of an `inner` one that is linear."""

    if TYPE_CHECKING:  # fields of the classes below

        @property
        def inner(self) -> Body:
            """Body over the lifted coordinates."""

    def rates(self, c: SX, cd: SX) -> tuple[SX, SX, SX, SX]:
        """g, dg/dc, and the rates gd and (d/dt dg/dc) cd."""
        raise NotImplementedError

    def lifted(self, c: SX) -> SX:
        """g(c): the coordinates and what the lifting adds."""
        return self.rates(c, ca.SX.zeros(c.shape))[0]

    def moments(self, c: SX, cd: SX) -> Moments:
        """Mass integrals at `c`, `cd`."""
        g, G, gd, bias = self.rates(c, cd)
        return seen_through(self.inner.moments(g, gd), G, bias)

    def tip(self, c: SX, cd: SX) -> TipMap:
        """Distal frame at `c`, `cd`."""
        g, G, gd, bias = self.rates(c, cd)
        return seen_tip(self.inner.tip(g, gd), G, bias)


@dataclass(frozen=True)
class StiffenedBeam(Lifted):
    """A beam whose place and rotation are kept beyond first order: a linear beam over the lifted coordinates g(c)."""

    inner: LinearBeam
    shapes: LinkShapes
    axis: BentAxis
    forms: Forms
    sections: TurningSections | None = None
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

    @property
    def beyond(self) -> int:
        """Number of coordinates that the lifting adds."""
        return len(self.forms.second)

    def _units(self) -> SX:
        """Factors that make the amplitudes dimensionless: deflections in lengths of the beam, slopes and twist as
        angles."""
        fields, powers, L = self.shapes.fields, self.shapes.powers, self.data.length
        return ca.vertcat(*(L**p if name == "torsion" else L ** (p - 1) for name, p in zip(fields, powers)))

    def _slope(self, forms: Forms, a: SX, b: SX | None = None) -> tuple[SX, SX]:
        """Slopes (rows, n) by the amplitudes of the forms of second degree at a and of third at the pair (a, b)."""
        unit = self._units()
        n, rows = self.size, len(forms.second)
        a = unit * a
        b = a if b is None else unit * b
        columns = ca.repmat(unit, 1, rows)
        form = _sparse(2 * forms.second.reshape(rows * n, n))
        if forms.twist.any():
            ratio = self.data.polar_inertia / self.data.mass_per_length / self.data.length / self.data.length
            form = form + ratio * _sparse(2 * forms.twist.reshape(rows * n, n))
        second = (columns * ca.reshape(ca.mtimes(form, a), n, rows)).T
        if forms.third is None:
            return second, ca.SX(rows, n)
        pairs = [(j, k) for j in range(n) for k in range(j, n)]
        products = ca.vertcat(*(a[j] * b[k] + (a[k] * b[j] if j != k else 0) for j, k in pairs))
        index = np.array(pairs).T
        matrix = 3 * forms.third[:, :, index[0], index[1]].reshape(rows * n, len(pairs))
        return second, (columns * ca.reshape(ca.mtimes(_sparse(matrix), products), n, rows)).T

    def _values(self, forms: Forms, c: SX) -> SX:
        """The forms at c, by Euler's theorem from their slopes."""
        second, third = self._slope(forms, c)
        return ca.mtimes(second / 2 + third / 3, c)

    def lifted(self, c: SX) -> SX:
        """g(c): the amplitudes and what the lifting adds."""
        return ca.vertcat(c, self._values(self.forms, c))

    def rates(self, c: SX, cd: SX) -> tuple[SX, SX, SX, SX]:
        """g, dg/dc, and the rates gd and (d/dt dg/dc) cd."""
        values, slope, bias = self._along(self.forms, c, cd)
        G = ca.vertcat(ca.SX.eye(self.size), slope)
        return ca.vertcat(c, values), G, ca.mtimes(G, cd), ca.vertcat(ca.SX.zeros(self.size), bias)

    def _along(self, forms: Forms, c: SX, cd: SX) -> tuple[SX, SX, SX]:
        """The forms at c, their slopes, and the change of the slopes times the rates."""
        second, third = self._slope(forms, c)
        bias: SX = ca.mtimes(self._slope(replace(forms, third=None), cd)[0], cd)
        if forms.third is not None:
            bias = bias + ca.mtimes(2 * self._slope(forms, c, cd)[1], cd)
        return ca.mtimes(second / 2 + third / 3, c), second + third, bias

    def section(self, eta: float, c: SX, cd: SX) -> tuple[SX, SX, SX]:
        """Rotation vector of a section, its slope (3, k), and what the rates alone add to its second derivative."""
        linear = self.inner.turn_columns(*self.inner.station(eta))[:, : self.size]
        values, slope, bias = self._along(self.axis.turned(eta), c, cd)
        return ca.mtimes(linear, c) + values, linear + slope, bias

    @cached_property
    def _without_sections(self) -> LinearBeam:
        """The linear beam without the rotary inertia that turns with its sections."""
        inner = self.inner
        return inner if self.sections is None else replace(inner, integrals=inner.integrals.without_spin())

    def moments(self, c: SX, cd: SX) -> Moments:
        g, G, gd, bias = self.rates(c, cd)
        out = seen_through(self._without_sections.moments(g, gd), G, bias)
        return out if self.sections is None else self.sections.added(out, self.section, c, cd)

    def strain_energy(self, c: SX) -> SX:
        return self.inner.strain_energy(ca.vertcat(c, ca.SX.zeros(self.beyond)))

    def dissipation(self, c: SX, cd: SX) -> SX:
        none = ca.SX.zeros(self.beyond)
        return self.inner.dissipation(ca.vertcat(c, none), ca.vertcat(cd, none))[: self.size]

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        r, theta = self.inner.point(ca.vertcat(c, ca.SX.zeros(self.beyond)), eta)
        place = self._values(self.axis.along(self.axis.nodes.to(np.array([eta]))), c)
        return r + self.data.length * place, theta + self._values(self.axis.turned(eta), c)

    def mass_point(self, c: SX, eta: float) -> tuple[SX, SX]:
        return self.inner.point(self.lifted(c), eta)


def _sparse(matrix: np.ndarray) -> SX:
    """A constant matrix without its zeros."""
    return ca.sparsify(ca.DM(matrix))


def _combined(matrices: Sequence[SX], G: SX) -> list[SX]:
    """sum_a X_a dg_a/dc_j for every j."""
    columns = ca.mtimes(ca.horzcat(*map(ca.vec, matrices)), G)
    return [ca.reshape(column, 3, 3) for column in ca.horzsplit(columns)]
