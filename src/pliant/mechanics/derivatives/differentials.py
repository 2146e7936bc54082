"""Derivatives of the dynamics by the implicit formula: nothing is differentiated through the elimination.

With the residual r(x, a) = inverse_dynamics(q, qd, a; p) - S tau, accelerations solve r = 0, so that any change of the
state changes them by da = -M^-1 dr at the solved accelerations. Only inverse dynamics is ever differentiated, link by
link for columns (`link_slopes.py`), forwards for products, backwards for products with a row; M^-1 is one walk in and
out per right-hand side (`factor.py`). Where loops are closed, multipliers are unknown beside the accelerations, and r
has a row for each: the formula is the same with the symmetric matrix [M, -J^T; -J, 0] in place of M. Differences by
coordinates are taken along the speeds, n numbers also where a joint has a quaternion.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.mechanics.derivatives.inertia_factor import ColumnGroup, Naming, column_group, factor, inverse_of
from pliant.mechanics.derivatives.link_slopes import LinkSlopes
from pliant.mechanics.formulations.generalized_forces import passive
from pliant.mechanics.formulations.motion_equations import Equations, back_substitute
from pliant.mechanics.formulations.motion_equations import factor as factor_matrix

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


@dataclass(frozen=True)
class ClosedFactor:
    """[M, -J^T; -J, 0] of an arm with loops: the factors of M, W = M^-1 J^T and J W = L D L^T."""

    tree: Solver
    J: SX
    W: SX
    L: SX
    d: SX

    def solve(self, b: SX) -> SX:
        """(n + m,) accelerations and multipliers: x = M^-1 b + W y with J x = -c, of b and c one below the other."""
        n = self.J.shape[1]
        x = self.tree.solve(b[:n])
        y = back_substitute(self.L, self.d, -(b[n:] + ca.mtimes(self.J, x)))
        return ca.vertcat(x + ca.mtimes(self.W, y), y)

    def named(self, name: Naming) -> ClosedFactor:
        """The same with symbols in place of what depends on the state."""
        return ClosedFactor(self.tree.named(name), *(name(x) for x in (self.J, self.W, self.L, self.d)))

    def inverse(self) -> SX:
        """(n + m, n + m) inverse."""
        return inverse_of(self.solve, sum(self.J.shape))


def closed_solver(e: Equations, q: SX) -> Solver:
    """Factors for accelerations and multipliers together; those of the inertia matrix where there are no loops."""
    tree = solver(e, q)
    if not e.chain.kept:
        return tree
    J = closing_rows(e.chain, q, ca.SX.zeros(e.chain.n)).J
    W = ca.horzcat(*(tree.solve(row.T) for row in ca.vertsplit(J)))
    S = ca.mtimes(J, W)
    return ClosedFactor(tree, J, W, *factor_matrix((S + S.T) / 2))


def solver(e: Equations, q: SX) -> Solver:
    """Factors of the inertia matrix by the formulation's own way: the recursion of denoc, or the whole matrix."""
    if e.formulation.name == "denoc":
        return factor(e.chain, q)
    return DenseFactor(*factor_matrix(e.mass_matrix(q)))


@dataclass(frozen=True)
class SolvedColumns:
    """Many right-hand sides and one factor, kept apart.

    `own` expressions; `shared` numbers of the factor, for which `symbols` stand in the `groups` of columns; `widths` of
    the blocks into which solved columns are cut, in the order of their places; and the `order` of the outputs, each
    rows of blocks, own ones and cut columns.
    """

    own: tuple[SX, ...]
    shared: SX
    symbols: SX
    groups: tuple[ColumnGroup, ...]
    widths: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]


Slopes = SX | tuple[Naming, tuple[ColumnGroup, ...]]
"""Columns written out, or groups of them and the numbers that they share."""


def acceleration_slopes(
    e: Equations, q: SX, qd: SX, unknown: SX, applied: SX, others: Sequence[SX], states: SX | None = None
) -> Slopes:
    """Slopes of accelerations by displacements along the speeds, by speeds and by `others`, all of them symbols, under
    forces (n,) that are expressions of them: columns in that order. `unknown` are accelerations and multipliers."""
    chain, n, name, at = e.chain, e.chain.n, Naming(), ca.SX.sym("qdd", unknown.numel())
    residual = _below(applied, at) - e.residual(q, qd, at, states)
    further = [ca.jacobian(residual, z) for z in others]
    if e.formulation.name == "denoc" and n > WRITTEN_OUT and not chain.kept:
        links, forces = LinkSlopes(chain, q, qd, unknown), applied - passive(chain, q, qd, states)
        by, slopes = links.factor.named(name), ca.horzcat(chain.jacobian(forces, q), ca.jacobian(forces, qd))
        groups = links.groups(slopes, name, by)
        left = [*by.motors, *(n + motor for motor in by.motors)]
        (columns,) = ca.substitute([ca.horzcat(slopes[:, left], *further)], [at], [unknown])
        places = (*left, *range(2 * n, 2 * n + columns.shape[1] - len(left)))
        return name, (*groups, column_group(places, columns, by.solve)) if places else groups
    columns = ca.horzcat(chain.jacobian(residual, q), ca.jacobian(residual, qd), *further)
    (columns,) = ca.substitute([columns], [at], [unknown])
    matrix = closed_solver(e, q)
    if n <= WRITTEN_OUT:
        return ca.mtimes(matrix.inverse()[:n, :], columns)
    shared = matrix.named(name)
    return name, (column_group(range(columns.shape[1]), columns, lambda column: shared.solve(column)[:n]),)


def _below(forces: SX, unknown: SX) -> SX:
    """Forces (n,) with zeros on the rows of loops, as many entries as `unknown`."""
    return ca.vertcat(forces, ca.SX.zeros(unknown.numel() - forces.numel()))


def solved_columns(
    own: Sequence[SX], slopes: Slopes, widths: tuple[int, ...], order: tuple[tuple[int, ...], ...] = ()
) -> SolvedColumns | list[SX]:
    """Own expressions and slopes, cut into blocks, the outputs in the given `order` of these; as expressions where the
    slopes are written out."""
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
        """Symbols of the accelerations, in place of the solved ones."""
        return ca.SX.sym("qdd", self.e.chain.n)

    @cached_property
    def force(self) -> SX:
        """Inverse dynamics of the open tree at these symbols."""
        return self.e.tree_forces(self.q, self.qd, self.qdd)

    @cached_property
    def unknown(self) -> SX:
        """Symbols of the accelerations and, where loops are closed, of their multipliers."""
        return ca.vertcat(self.qdd, ca.SX.sym("multipliers", len(self.e.chain.kept)))

    @cached_property
    def residual(self) -> SX:
        """Residual of the equations at these symbols, without the torques."""
        return self.e.residual(self.q, self.qd, self.unknown)

    @cached_property
    def solver(self) -> Solver:
        """The slope of the residual by the unknowns, at q."""
        return closed_solver(self.e, self.q)

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
        """Expressions with the accelerations and multipliers that these torques give."""
        found = self.e.constrained(self.q, self.qd, self._forces(tau)).unknown
        return ca.substitute([ca.SX(v) for v in values], [self.unknown], [found])

    def _forces(self, tau: SX) -> SX:
        return ca.densify(ca.mtimes(self.e.chain.actuation(), tau))

    def changes(self, dtau: SX) -> SX:
        """Change of the residual's right-hand side with that of the torques."""
        return _below(self._forces(dtau), self.unknown)

    def forward_jvp(self, tau: SX, dq: SX, dqd: SX, dtau: SX, dp: SX) -> SX:
        """Change of the accelerations along a direction."""
        (change,) = self.at(tau, [self.along(self.residual, dq, dqd, dp)])
        return self.solver.solve(self.changes(dtau) - change)[: self.e.chain.n]

    def forward_vjp(self, tau: SX, w: SX) -> list[SX]:
        """w^T times the derivatives of the accelerations by q, qd, tau and p."""
        y = self.solver.solve(_below(w, self.unknown))
        by_q, by_qd, by_p = self.at(tau, self.against(self.residual, -y))
        return [by_q, by_qd, self._by_torques(y), by_p]

    def _by_torques(self, y: SX) -> SX:
        return ca.mtimes(self.e.chain.actuation().T, y[: self.e.chain.n])

    def forward_hvp(self, tau: SX, w: SX, dq: SX, dqd: SX, dtau: SX, dp: SX) -> list[SX]:
        """Change of what `forward_vjp` gives along a direction.

        With y = M^-1 w and the accelerations a as own symbols: da by `forward_jvp`, dy = -M^-1 (dM y), and the change
        of -dr^T y along both.
        """
        n = self.e.chain.n
        y, da, dy = (ca.SX.sym(name, self.unknown.numel()) for name in ("y", "da", "dy"))
        (change,) = self.at(tau, [self.along(self.residual, dq, dqd, dp)])
        momentum_like = ca.jtimes(self.residual, self.unknown, y)  # M y: forces are linear in what is unknown
        turned = self.along(momentum_like, dq, ca.SX.zeros(n), dp)
        by = self.along(ca.vertcat(*self.against(self.residual, -y)), dq, dqd, dp, (self.unknown, da), (y, dy))
        solved = self.solver.solve(_below(w, self.unknown))
        slope = self.solver.solve(self.changes(dtau) - change)
        (turned,) = ca.substitute([turned], [y], [solved])
        changed = -self.solver.solve(turned)
        (by,) = ca.substitute([by], [y, da, dy], [solved, slope, changed])
        (by,) = self.at(tau, [by])
        by_q, by_qd, by_p = ca.vertsplit(by, [0, n, 2 * n, by.shape[0]])
        return [by_q, by_qd, self._by_torques(changed), by_p]

    def forward_derivatives(
        self, tau: SX, own: SX | None = None, order: tuple[tuple[int, ...], ...] = ()
    ) -> SolvedColumns | list[SX]:
        """Accelerations, or `own` instead, and their derivatives by q, qd and tau, and by p where there are
        parameters."""
        found, others = self.e.constrained(self.q, self.qd, self._forces(tau)), [tau]
        others += [self.p] if self.p.numel() else []
        slopes = acceleration_slopes(self.e, self.q, self.qd, found.unknown, self._forces(tau), others)
        widths = (self.e.chain.n,) * 2 + tuple(z.numel() for z in others)
        return solved_columns([found.qdd if own is None else own], slopes, widths, order)
