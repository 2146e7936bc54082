"""Derivatives of the dynamics by the implicit formula: nothing is differentiated through the elimination.

With the residual r(x, a) = inverse_dynamics(q, qd, a; p) - S tau, accelerations solve r = 0, so that any change of the
state changes them by da = -M^-1 dr at the solved accelerations. Only inverse dynamics is ever differentiated, link by
link for columns (`link_slopes.py`), forwards for products, backwards for products with a row; M^-1 is one walk in and
out per right-hand side (`factor.py`). Differences by coordinates are taken along the speeds, n numbers also where a
joint has a quaternion.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics.factor import ColumnGroup, Naming, column_group, factor, inverse_of
from pliant.dynamics.forces import passive
from pliant.dynamics.link_slopes import LinkSlopes
from pliant.dynamics.motion_equations import Equations, back_substitute
from pliant.dynamics.motion_equations import factor as factor_matrix

WRITTEN_OUT = 7
"""Most coordinates of an arm whose slopes are products with M^-1, written out. Operations of a rigid chain of 4, 6, 7,
8 and 14 joints written out: 1545, 4440, 6330, 8795, 32492; by columns, for one state in registers of four: 2560, 5537,
7021, 8847, 22680; for a state of a batch, where columns come one after the other: 3902, 8905, 11760, 15241, 42186."""


class Solver(Protocol):
    """The inertia matrix as factors."""

    def solve(self, b: SX) -> SX:
        """(n,) accelerations x of M x = b."""

    def inverse(self) -> SX:
        """(n, n) inverse of M."""

    def named(self, name: Naming) -> Solver:
        """The same with symbols in place of what depends on the state."""


@dataclass(frozen=True)
class DenseFactor:
    """M = L D L^T of the formulations that have no recursion for it."""

    L: SX
    d: SX

    def solve(self, b: SX) -> SX:
        """(n,) accelerations x of M x = b."""
        return back_substitute(self.L, self.d, b)

    def named(self, name: Naming) -> DenseFactor:
        """The same with symbols in place of what depends on the state."""
        return DenseFactor(name(self.L), name(self.d))

    def inverse(self) -> SX:
        """(n, n) inverse of M."""
        return inverse_of(self.solve, self.d.shape[0])


def solver(e: Equations, q: SX) -> Solver:
    """Factors of the inertia matrix by the formulation's own way: the recursion of denoc, or the whole matrix."""
    if e.formulation.name == "denoc":
        return factor(e.chain, q)
    return DenseFactor(*factor_matrix(e.mass_matrix(q)))


@dataclass(frozen=True)
class SolvedColumns:
    """Many right-hand sides and one factor, kept apart: `own` expressions; `shared` numbers of the factor, for which
    `symbols` stand in the `groups` of columns; `widths` of what the solved columns are cut into, in the order of their
    places; and the `order` of the outputs, each rows of blocks, own ones and cut columns."""

    own: tuple[SX, ...]
    shared: SX
    symbols: SX
    groups: tuple[ColumnGroup, ...]
    widths: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]


Slopes = SX | tuple[Naming, tuple[ColumnGroup, ...]]
"""Columns written out, or groups of them and the numbers that they share."""


def acceleration_slopes(
    e: Equations, q: SX, qd: SX, qdd: SX, applied: SX, others: Sequence[SX], states: SX | None = None
) -> Slopes:
    """Slopes of accelerations by displacements along the speeds, by speeds and by `others`, all of them symbols, under
    forces (n,) that are expressions of them: columns in that order."""
    chain, n, name, at = e.chain, e.chain.n, Naming(), ca.SX.sym("qdd", e.chain.n)
    residual = applied - e.inverse_dynamics(q, qd, at, states)
    further = [ca.jacobian(residual, z) for z in others]
    if e.formulation.name == "denoc" and n > WRITTEN_OUT:
        links, forces = LinkSlopes(chain, q, qd, qdd), applied - passive(chain, q, qd, states)
        by, slopes = links.factor.named(name), ca.horzcat(chain.jacobian(forces, q), ca.jacobian(forces, qd))
        groups = links.groups(slopes, name, by)
        left = [*by.motors, *(n + motor for motor in by.motors)]
        (columns,) = ca.substitute([ca.horzcat(slopes[:, left], *further)], [at], [qdd])
        places = (*left, *range(2 * n, 2 * n + columns.shape[1] - len(left)))
        return name, (*groups, column_group(places, columns, by.solve)) if places else groups
    columns = ca.horzcat(chain.jacobian(residual, q), ca.jacobian(residual, qd), *further)
    (columns,) = ca.substitute([columns], [at], [qdd])
    matrix = solver(e, q)
    if n <= WRITTEN_OUT:
        return ca.mtimes(matrix.inverse(), columns)
    return name, (column_group(range(columns.shape[1]), columns, matrix.named(name).solve),)


def solved_columns(
    own: Sequence[SX], slopes: Slopes, widths: tuple[int, ...], order: tuple[tuple[int, ...], ...] = ()
) -> SolvedColumns | list[SX]:
    """Own expressions and slopes, cut into blocks; outputs in the order that they are given by default, as they are
    where the slopes are written out."""
    order = order or tuple((k,) for k in range(len(own) + len(widths)))
    if isinstance(slopes, ca.SX):
        blocks = [*own, *ca.horzsplit(slopes, list(itertools.accumulate(widths, initial=0)))]
        return [ca.vertcat(*(blocks[k] for k in rows)) for rows in order]
    name, groups = slopes
    shared, symbols = (ca.vertcat(ca.SX(0, 1), *column) for column in (name.values, name.symbols))
    return SolvedColumns(tuple(own), shared, symbols, groups, widths, order)


@dataclass(frozen=True)
class Differentials:
    """Derivatives of one arm at the symbols q, qd and p (parameters; none where there are none)."""

    e: Equations
    q: SX
    qd: SX
    p: SX

    @cached_property
    def qdd(self) -> SX:
        """Symbols of the accelerations, for which the solved ones are put."""
        return ca.SX.sym("qdd", self.e.chain.n)

    @cached_property
    def force(self) -> SX:
        """Inverse dynamics at these symbols."""
        return self.e.inverse_dynamics(self.q, self.qd, self.qdd)

    @cached_property
    def solver(self) -> Solver:
        """The inertia matrix at q."""
        return solver(self.e, self.q)

    # ------------------------------------------------------------------------------- inverse dynamics

    def inverse_columns(self) -> list[SX]:
        """Derivatives of the forces by q, qd and p at symbols of the accelerations."""
        chain, force = self.e.chain, self.force
        return [chain.jacobian(force, self.q), ca.jacobian(force, self.qd), ca.jacobian(force, self.p)]

    def along(self, value: SX, dq: SX, dqd: SX, dp: SX, *others: tuple[SX, SX]) -> SX:
        """Change of an expression along a direction, also of `others`: symbols and how they change."""
        pairs = [(self.q, self.e.chain.rates(self.q, dq)), (self.qd, dqd), (self.p, dp), *others]
        by, change = (ca.vertcat(*column) for column in zip(*pairs, strict=True))
        return ca.jtimes(value, by, change)

    def against(self, value: SX, w: SX) -> list[SX]:
        """w^T times the derivatives of an expression by q, qd and p."""
        chain = self.e.chain
        both: SX = ca.jtimes(value, ca.vertcat(self.q, self.qd, self.p), w, True)
        by_q, by_qd, by_p = ca.vertsplit(both, [0, chain.n_q, chain.n_q + chain.n, both.shape[0]])
        return [chain.along_speeds(by_q, self.q), by_qd, by_p]

    def inverse_vjp(self, w: SX) -> list[SX]:
        """w^T times the derivatives of the forces by q, qd, qdd and p, at symbols of the accelerations."""
        by_q, by_qd, by_p = self.against(self.force, w)
        return [by_q, by_qd, ca.jtimes(self.force, self.qdd, w, True), by_p]

    # ------------------------------------------------------------------------------- forward dynamics

    def at(self, tau: SX, values: Sequence[SX]) -> list[SX]:
        """Expressions with the accelerations that these torques give."""
        found = self.e.forward_dynamics(self.q, self.qd, tau)
        return ca.substitute([ca.SX(v) for v in values], [self.qdd], [found])

    def changes(self, dtau: SX) -> SX:
        """Generalised forces of a change of the torques."""
        return ca.densify(ca.mtimes(self.e.chain.actuation(), dtau))

    def forward_jvp(self, tau: SX, dq: SX, dqd: SX, dtau: SX, dp: SX) -> SX:
        """Change of the accelerations along a direction."""
        (change,) = self.at(tau, [self.along(self.force, dq, dqd, dp)])
        return self.solver.solve(self.changes(dtau) - change)

    def forward_vjp(self, tau: SX, w: SX) -> list[SX]:
        """w^T times the derivatives of the accelerations by q, qd, tau and p."""
        y = self.solver.solve(w)
        by_q, by_qd, by_p = self.at(tau, self.against(self.force, -y))
        return [by_q, by_qd, ca.mtimes(self.e.chain.actuation().T, y), by_p]

    def forward_hvp(self, tau: SX, w: SX, dq: SX, dqd: SX, dtau: SX, dp: SX) -> list[SX]:
        """Change of what `forward_vjp` gives along a direction.

        With y = M^-1 w and the accelerations a as own symbols: da by `forward_jvp`, dy = -M^-1 (dM y), and the change
        of -dr^T y along both.
        """
        n = self.e.chain.n
        y, da, dy = (ca.SX.sym(name, n) for name in ("y", "da", "dy"))
        (change,) = self.at(tau, [self.along(self.force, dq, dqd, dp)])
        momentum_like = ca.jtimes(self.force, self.qdd, y)  # M y: forces are linear in the accelerations
        turned = self.along(momentum_like, dq, ca.SX.zeros(n), dp)
        by = self.along(ca.vertcat(*self.against(self.force, -y)), dq, dqd, dp, (self.qdd, da), (y, dy))
        solved = self.solver.solve(w)
        slope = self.solver.solve(self.changes(dtau) - change)
        (turned,) = ca.substitute([turned], [y], [solved])
        changed = -self.solver.solve(turned)
        (by,) = ca.substitute([by], [y, da, dy], [solved, slope, changed])
        (by,) = self.at(tau, [by])
        by_q, by_qd, by_p = ca.vertsplit(by, [0, n, 2 * n, by.shape[0]])
        return [by_q, by_qd, ca.mtimes(self.e.chain.actuation().T, changed), by_p]

    def forward_derivatives(
        self, tau: SX, own: SX | None = None, order: tuple[tuple[int, ...], ...] = ()
    ) -> SolvedColumns | list[SX]:
        """Accelerations, or `own` instead, and their derivatives by q, qd and tau, and by p where there are
        parameters."""
        qdd, others = self.e.forward_dynamics(self.q, self.qd, tau), [tau, *([self.p] if self.p.numel() else [])]
        slopes = acceleration_slopes(self.e, self.q, self.qd, qdd, self.changes(tau), others)
        widths = (self.e.chain.n,) * 2 + tuple(z.numel() for z in others)
        return solved_columns([qdd if own is None else own], slopes, widths, order)
