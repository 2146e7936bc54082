"""The equations of motion M(q) qdd + bias(q, qd) = S tau, put together from a formulation and the forces all of them
share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import casadi as ca

from pliant.algebra.recursion_steps import Called
from pliant.algebra.rotations import SX
from pliant.errors import UnsupportedModel
from pliant.mechanics.constraints.couplings import line_bias
from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.mechanics.formulations.formulation import Formulation
from pliant.mechanics.formulations.generalized_forces import passive, rotors
from pliant.mechanics.links.chain import Chain

T = TypeVar("T")
MOST_DENSE = 60
MANY_AMPLITUDES = f"more than {MOST_DENSE} amplitudes in one link"
"""Feature of a chain. Formulations without a recursion of their own factorize the whole inertia matrix, symbol by
symbol: the time to build that grows with the cube (lagrange, one link: 3 s for 40 amplitudes, 19 s for 80)."""


def features(chain: Chain) -> frozenset[str]:
    """Features that a chain needs of a formulation, beyond rigid and linearly flexible links."""
    found = set()
    if chain.driven:
        found.add("flexible joints")
    if not chain.base.at_rest:
        found.add("a moving base")
    if not chain.plain:
        found.add("spherical and free joints")
    if any(link.body.follows for link in chain.links):
        found.add("modes that follow the arm")
    if chain.closures:
        found.add("closed loops")
    if any(len(link.body_indices) > MOST_DENSE for link in chain.links):
        found.add(MANY_AMPLITUDES)
    if any(not link.body.is_linear for link in chain.links):
        found.add("sliding beams" if any(link.slides for link in chain.links) else "stiffening")
        if chain.stiffening != "off":
            found.add("stiffening")
    return frozenset(found)


def require(formulation: Formulation, chain: Chain, others: list[Formulation]) -> None:
    """Raise `UnsupportedModel` with the missing feature and the formulations that have it."""
    for feature in sorted(features(chain) - formulation.supports):
        able = [f.name for f in others if feature in f.supports]
        raise UnsupportedModel(
            f"formulation '{formulation.name}' does not support {feature}; use one of: {', '.join(able) or 'none yet'}"
        )


@dataclass(frozen=True)
class Equations:
    """Expressions of one chain by one formulation."""

    chain: Chain
    formulation: Formulation

    def mass_matrix(self, q: SX) -> SX:
        """(n, n) inertia matrix, rotors included."""
        return self.formulation.mass_matrix(self.chain, q) + ca.diag(rotors(self.chain))

    def bias(self, q: SX, qd: SX) -> SX:
        """(n,) all forces but inertia and torque: gravity, velocity terms, strain, damping, friction."""
        return self.formulation.inertial_forces(self.chain, q, qd) + passive(self.chain, q, qd)

    def forward_dynamics(self, q: SX, qd: SX, tau: SX) -> SX:
        """(n,) accelerations."""
        return self.accelerations(q, qd, ca.mtimes(self.chain.actuation(), tau))

    def accelerations(
        self, q: SX, qd: SX, applied: SX, held: Mapping[int, SX] | None = None, states: SX | None = None
    ) -> SX:
        """(n,) accelerations under generalized forces on every coordinate; `held` ones are prescribed. In a run,
        friction has states: `states`."""
        return self.constrained(q, qd, applied, held, states).qdd

    def constrained(
        self, q: SX, qd: SX, applied: SX, held: Mapping[int, SX] | None = None, states: SX | None = None
    ) -> Constrained:
        """Accelerations, and the multipliers that close the loops: S lambda = -(J a + gamma) with the accelerations a
        of the open tree, and qdd = a + M^-1 J^T lambda."""
        free = self.chain.settled(lambda: self._accelerations(q, qd, applied, held or {}, states))
        if not self.chain.kept:
            return Constrained(free, ca.SX(0, 1), ca.SX.zeros(self.chain.n))
        rows = closing_rows(self.chain, q, qd)
        by = self.closing(q, rows.J, held or {})
        multipliers = back_substitute(by.L, by.d, -(ca.mtimes(rows.J, free) + rows.gamma))
        return Constrained(free + ca.mtimes(by.W, multipliers), multipliers, ca.mtimes(rows.J.T, multipliers))

    def closing(self, q: SX, J: SX, held: Collection[int] = ()) -> Closing:
        """Factors that close rows with slopes J (m, n); `held` coordinates are not moved.

        Accelerations are linear in the forces, so that M^-1 J^T is their slope along J^T: for each row one more walk
        in and out with the pivots that are already there.
        """
        n, force = self.chain.n, ca.SX.sym("force", self.chain.n)
        still = {index: ca.SX(0) for index in held}
        a = self._accelerations(q, ca.SX.zeros(n), force, still, None)
        (W,) = ca.substitute([ca.densify(ca.jtimes(a, force, J.T))], [force], [ca.SX.zeros(n)])
        S = ca.mtimes(J, W)
        return Closing(W, ca.diag(S), *factor((S + S.T) / 2))

    def closer(self, q: SX, qd: SX, held: Collection[int] = ()) -> tuple[SX, SX, SX, SX]:
        """Coordinates and speeds nearer to closed loops, the largest displacement of a coordinate, and the least part
        of a row that does not follow from the others; `held` coordinates are not moved.

        Two Newton steps of positions and one of speeds with one factor: q <- q - M^-1 J^T S^-1 g(q), then
        v <- v - M^-1 J^T S^-1 J v with J where the positions have come to.
        """
        chain, still = self.chain, ca.SX.zeros(self.chain.n)
        rows = closing_rows(chain, q, still)
        by = self.closing(q, rows.J, held)
        first = by.back(rows.g)
        q = q + chain.rates(q, first)
        q = q + chain.rates(q, by.back(closing_rows(chain, q, still).g))
        qd = qd + by.back(ca.mtimes(closing_rows(chain, q, still).J, qd))
        return q, qd, ca.norm_inf(first), ca.mmin(by.d / by.diagonal)

    def _accelerations(self, q: SX, qd: SX, applied: SX, held: Mapping[int, SX], states: SX | None) -> SX:
        chain = self.chain
        force, rotor = ca.densify(applied) - passive(chain, q, qd, states), rotors(chain)
        if self.formulation.forward is None:
            qdd = self._by_matrix(q, qd, force, held)
        else:
            qdd = ca.SX(self.formulation.forward(chain, q, qd, force, rotor, held))
        for shaft in chain.driven:
            index = shaft.actuated
            qdd[index] = held.get(index, force[index] / rotor[index])
        return qdd

    def _by_matrix(self, q: SX, qd: SX, force: SX, held: Mapping[int, SX]) -> SX:
        """M_ff qdd_f = force_f - h_f - M_fp qdd_p over the free coordinates."""
        M, h = self.mass_matrix(q), self.formulation.inertial_forces(self.chain, q, qd)
        qdd = ca.SX.zeros(self.chain.n)
        for index, value in held.items():
            qdd[index] = value
        free = [k for k in range(self.chain.n) if k not in held]
        if free:
            qdd[free] = solve_positive(M[free, free], (force - h - ca.mtimes(M, qdd))[free])
        return qdd

    def inverse_dynamics(self, q: SX, qd: SX, qdd: SX, states: SX | None = None) -> SX:
        """(n,) generalized forces that give `qdd`: M qdd + bias."""
        self.chain.require_tree("inverse dynamics")
        return self.tree_forces(q, qd, qdd, states)

    def residual(self, q: SX, qd: SX, unknown: SX, states: SX | None = None) -> SX:
        """(n + m,) residual of the equations and of the closed loops, M qdd + bias - J^T lambda and -(J qdd + gamma).

        `unknown` (n + m,) are accelerations and multipliers, one below the other; the slope by them is symmetric.
        """
        n = self.chain.n
        qdd, multipliers = unknown[:n], unknown[n:]
        forces = self.tree_forces(q, qd, qdd, states)
        if not self.chain.kept:
            return forces
        rows = closing_rows(self.chain, q, qd)
        return ca.vertcat(forces - ca.mtimes(rows.J.T, multipliers), -(ca.mtimes(rows.J, qdd) + rows.gamma))

    def tree_forces(self, q: SX, qd: SX, qdd: SX, states: SX | None = None) -> SX:
        """(n,) inverse dynamics of the open tree; forces J^T lambda of its loops are not subtracted."""
        return self.chain.settled(lambda: self._inverse_dynamics(q, qd, qdd, states))

    def _inverse_dynamics(self, q: SX, qd: SX, qdd: SX, states: SX | None) -> SX:
        inverse, other = self.formulation.inverse, passive(self.chain, q, qd, states)
        if inverse is None:
            return ca.mtimes(self.mass_matrix(q), qdd) + self.formulation.inertial_forces(self.chain, q, qd) + other
        return inverse(self.chain, q, qd, qdd) + rotors(self.chain) * qdd + other


def holding_pushes(
    e: Equations, q: SX, qd: SX, applied: SX, held: Mapping[int, SX], states: SX, pushed: SX
) -> SX:  # fmt: skip
    """(m,) forces of the commanded couplings, of which those with states hold their length: L'' = 0.

    `applied` contains the forces `pushed` that they have otherwise.
    """
    holding = [k for k, line in enumerate(e.chain.commanded) if line.states]
    if not holding:
        return pushed
    J, gamma = (part[holding, :] for part in line_bias(e.chain, q, qd))
    more = ca.SX.sym("more", len(holding))
    rate = ca.mtimes(J, e.accelerations(q, qd, applied + ca.mtimes(J.T, more), held, states)) + gamma
    A, (b,) = ca.jacobian(rate, more), ca.substitute([rate], [more], [ca.SX.zeros(len(holding))])
    own = ca.diag(A)
    A = A + ca.diag(
        ca.if_else(own > 0, SHARED * own, 1)
    )  # which two side by side share, and one that is held goes without
    out = ca.SX(pushed)
    out[holding] += solve_positive(A, -b)
    return out


SHARED = 1e-13
"""Compliance, as a part of their own, of couplings that hold their length, so that two side by side share the force."""


@dataclass(frozen=True)
class Constrained:
    """Accelerations `qdd` (n,), multipliers (m,) of the rows that close loops, and their forces J^T lambda (n,)."""

    qdd: SX
    multipliers: SX
    forces: SX

    @property
    def unknown(self) -> SX:
        """(n + m,) accelerations and multipliers, one below the other."""
        return ca.vertcat(self.qdd, self.multipliers)


@dataclass(frozen=True)
class Closing:
    """Factors that close loops: W = M^-1 J^T (n, m), and S = J W as its diagonal and L diag(d) L^T."""

    W: SX
    diagonal: SX
    L: SX
    d: SX

    def back(self, gap: SX) -> SX:
        """(n,) the smallest displacement, or change of speeds, weighted by M, that closes a gap (m,)."""
        return ca.mtimes(self.W, back_substitute(self.L, self.d, -gap))


SAVED, QUICKLY_WRITTEN = 2.0, 25_000
"""Links share functions where all steps are longer by this factor than the functions, and have so many instructions,
which would take 4 s to compile."""


def by_kinds(e: Equations, build: Callable[[Equations], T], shared: bool = True) -> T:
    """Return `build(e)`; of a long arm of few kinds of links with calls of functions that links of a kind share, if
    `shared`.

    Written out, an arm runs up to a fourth faster (12 links of 5 amplitudes: 5.6 us instead of 7.2, and 3 s to compile)
    until it is so long that no cache holds it (100 links of 3: 43 us either way, 22 s to compile instead of 3).
    """
    if shared and e.chain.long and not e.chain.closures and e.formulation.name == "denoc":
        steps = Called(traced=e.chain.traced)
        found = build(replace(e, chain=replace(e.chain, steps=steps)))
        written, functions = steps.lengths()
        if written >= max(QUICKLY_WRITTEN, SAVED * functions):
            return found
    return build(e)


def factor(M: SX) -> tuple[SX, SX]:
    """Unit lower triangle `L` and pivots `d` of M = L diag(d) L^T: no pivoting, safe exactly when M is positive
    definite."""
    n = M.shape[0]
    L, d, A = ca.SX.eye(n), ca.SX.zeros(n), ca.SX(M)
    for k in range(n):
        d[k] = A[k, k]
        inverse = 1 / d[k]
        column = [A[i, k] for i in range(k + 1, n)]
        for i in range(k + 1, n):
            L[i, k] = column[i - k - 1] * inverse
            for j in range(k + 1, i + 1):
                A[i, j] = A[i, j] - L[i, k] * column[j - k - 1]
    return L, d


def solve_positive(M: SX, b: SX) -> SX:
    """x of M x = b by L D L^T, for a symmetric positive definite M: the non-recursive O(n^3) way of [MS07]."""
    return back_substitute(*factor(M), b)


def back_substitute(L: SX, d: SX, b: SX) -> SX:
    """x of L diag(d) L^T x = b."""
    n = d.shape[0]
    x = [b[k] for k in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            x[i] = x[i] - L[i, k] * x[k]
    x = [x[k] / d[k] for k in range(n)]
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    return ca.vertcat(*x)
