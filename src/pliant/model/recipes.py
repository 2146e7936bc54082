"""Table of the functions of a model and how each is traced. A new function is one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.arrays import Expression
from pliant.compute.tape.columns import ColumnFunction
from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.mechanics.derivatives.differentials import Differentials, SolvedColumns, solver
from pliant.mechanics.formulations import terms
from pliant.mechanics.formulations.energies import energies, potential_energy
from pliant.mechanics.formulations.generalized_forces import strain_energy
from pliant.mechanics.formulations.motion_equations import Equations
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.frames import frame_jacobian, frame_pose
from pliant.mechanics.links.kinematics import jacobian, tip_pose
from pliant.mechanics.links.momentum import center_of_mass, momentum

QUICKLY_COMPILED = 12_000
"""Instructions that compile in about a second, once per machine. A longer function that is asked now and then is
interpreted, some fifty times slower than machine code but at once (canadarm2: 2 ms)."""
SOON_COMPILED = 3_000
"""Instructions that compile in some 0.3 s: the limit for functions that are asked a few times only."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of a function of the model: names of its inputs, its expression, and the most instructions with which it
    is compiled. Beyond `longest` it is interpreted.

    Parameters `p` come behind the inputs, unless these name them; then, and for their change `dp`, the expression is
    built with none where the model has none. Links may have `shared` functions in recursions from link to link. What is
    `closed` holds for arms with loops and passive joints too; all else refuses them.
    """

    inputs: tuple[str, ...]
    build: Callable[..., Sequence[SX] | SolvedColumns]
    longest: float = inf
    shared: bool = False
    closed: bool = False

    def where(self, instructions: int) -> Literal["llvm", "vm"]:
        """Return the back end for a function of so many instructions."""
        return "llvm" if instructions <= self.longest else "vm"


def _linearize(e: Equations, q: SX, qd: SX, tau: SX) -> Sequence[SX] | SolvedColumns:
    turning = ca.densify(e.chain.turning(qd))
    return Differentials(e, q, qd, ca.SX(0, 1)).forward_derivatives(tau, turning, order=((1,), (2,), (3,), (0,)))


def _forward_derivatives(e: Equations, q: SX, qd: SX, tau: SX, p: SX) -> Sequence[SX] | SolvedColumns:
    return Differentials(e, q, qd, p).forward_derivatives(tau)


def _inverse_derivatives(e: Equations, q: SX, qd: SX, qdd: SX, p: SX) -> Sequence[SX]:
    by = Differentials(e, q, qd, p)
    by_q, by_qd, by_p = by.inverse_columns()
    found = _given(p, [by.force, by_q, by_qd, e.mass_matrix(q), by_p])
    return ca.substitute(found, [by.qdd], [qdd])  # type: ignore[return-value]


def _inverse_vjp(e: Equations, q: SX, qd: SX, qdd: SX, p: SX, w: SX) -> Sequence[SX]:
    by = Differentials(e, q, qd, p)
    return ca.substitute(_given(p, by.inverse_vjp(w)), [by.qdd], [qdd])  # type: ignore[return-value]


def _inverse_jvp(e: Equations, q: SX, qd: SX, qdd: SX, p: SX, dq: SX, dqd: SX, dqdd: SX, dp: SX) -> SX:
    by = Differentials(e, q, qd, p)
    return ca.substitute([by.along(by.force, dq, dqd, dp, (by.qdd, dqdd))], [by.qdd], [qdd])


def _inverse_hvp(e: Equations, q: SX, qd: SX, qdd: SX, p: SX, w: SX, dq: SX, dqd: SX, dqdd: SX, dp: SX) -> Sequence[SX]:
    by = Differentials(e, q, qd, p)
    found = [by.along(row, dq, dqd, dp, (by.qdd, dqdd)) for row in _given(p, by.inverse_vjp(w))]
    return ca.substitute(found, [by.qdd], [qdd])  # type: ignore[no-any-return]


def _given(p: SX, values: Sequence[SX]) -> list[SX]:
    """All but the last value, which belongs to parameters, where there are none."""
    return list(values if p.numel() else values[:-1])


def _forward_vjp(e: Equations, q: SX, qd: SX, tau: SX, p: SX, w: SX) -> Sequence[SX]:
    return _given(p, Differentials(e, q, qd, p).forward_vjp(tau, w))


def _forward_jvp(e: Equations, q: SX, qd: SX, tau: SX, p: SX, *change: SX) -> Sequence[SX]:
    return [Differentials(e, q, qd, p).forward_jvp(tau, *change)]


def _forward_hvp(e: Equations, q: SX, qd: SX, tau: SX, p: SX, w: SX, *change: SX) -> Sequence[SX]:
    return _given(p, Differentials(e, q, qd, p).forward_hvp(tau, w, *change))


def _multipliers(e: Equations, q: SX, qd: SX, tau: SX) -> Sequence[SX]:
    return [e.constrained(q, qd, ca.mtimes(e.chain.actuation(), tau)).multipliers]


def _driven(e: Equations, q: SX, qd: SX, rates: SX) -> Sequence[SX]:
    actuated = [shaft.actuated for shaft in e.chain.shafts]
    found = e.constrained(q, qd, ca.SX.zeros(e.chain.n), dict(zip(actuated, ca.vertsplit(rates))))
    tau = (e.tree_forces(q, qd, found.qdd) - found.forces)[actuated]
    return [tau, found.qdd, *([found.multipliers] if e.chain.kept else [])]


def stiffness(e: Equations, q: SX) -> SX:
    """Second derivatives of the potential by displacements along the speeds."""
    V = strain_energy(e.chain, q) if e.chain.first else potential_energy(e.chain, q)  # what flies falls with gravity
    if e.chain.plain:
        return ca.hessian(V, q)[0]
    return e.chain.jacobian(e.chain.gradient(V, q), q)


def _matrices(e: Equations, q: SX, qd: SX) -> Sequence[SX]:
    form = {"lagrange": terms.partitioned, "dual-screw": terms.screw}
    return form.get(e.formulation.name, terms.general)(e, q, qd)


EXPRESSIONS: dict[str, Recipe] = {
    "mass_matrix": Recipe(("q",), lambda e, q: [e.mass_matrix(q)], closed=True),
    "bias": Recipe(("q", "qd"), lambda e, q, qd: [e.bias(q, qd)], closed=True),
    "forward_dynamics": Recipe(
        ("q", "qd", "tau"), lambda e, q, qd, tau: [e.forward_dynamics(q, qd, tau)], shared=True, closed=True
    ),
    "multipliers": Recipe(("q", "qd", "tau"), _multipliers, closed=True),
    "driven_dynamics": Recipe(("q", "qd", "driven"), _driven, closed=True),
    "gaps": Recipe(("q",), lambda e, q: [closing_rows(e.chain, q, ca.SX.zeros(e.chain.n)).g], closed=True),
    "inverse_dynamics": Recipe(
        ("q", "qd", "qdd"), lambda e, q, qd, qdd: [e.tree_forces(q, qd, qdd)], shared=True, closed=True
    ),
    "energy": Recipe(("q", "qd"), lambda e, q, qd: [energies(e.chain, q, qd)], closed=True),
    "tip_pose": Recipe(("q",), lambda e, q: [tip_pose(e.chain, q)], closed=True),
    "jacobian": Recipe(("q",), lambda e, q: [jacobian(e.chain, q)], closed=True),
    "stiffness": Recipe(("q",), lambda e, q: [stiffness(e, q)], SOON_COMPILED, closed=True),
    "linearize": Recipe(("q", "qd", "tau"), _linearize, QUICKLY_COMPILED, closed=True),
    "matrices": Recipe(("q", "qd"), _matrices, longest=0),
    "denoc_matrices": Recipe(("q",), lambda e, q: terms.denoc(e.chain, q), longest=0),
    "momentum": Recipe(("q", "qd"), lambda e, q, qd: [momentum(e.chain, q, qd)], closed=True),
    "center_of_mass": Recipe(("q",), lambda e, q: [center_of_mass(e.chain, q)], closed=True),
    "mass_matrix_inverse": Recipe(("q",), lambda e, q: [solver(e, q).inverse()], closed=True),
    "forward_dynamics_derivatives": Recipe(("q", "qd", "tau", "p"), _forward_derivatives, closed=True),
    "forward_dynamics_jvp": Recipe(("q", "qd", "tau", "p", "dq", "dqd", "dtau", "dp"), _forward_jvp, closed=True),
    "forward_dynamics_vjp": Recipe(("q", "qd", "tau", "p", "w"), _forward_vjp, closed=True),
    "forward_dynamics_hvp": Recipe(("q", "qd", "tau", "p", "w", "dq", "dqd", "dtau", "dp"), _forward_hvp, closed=True),
    "inverse_dynamics_derivatives": Recipe(("q", "qd", "qdd", "p"), _inverse_derivatives, closed=True),
    "inverse_dynamics_jvp": Recipe(("q", "qd", "qdd", "p", "dq", "dqd", "dqdd", "dp"), _inverse_jvp, closed=True),
    "inverse_dynamics_vjp": Recipe(("q", "qd", "qdd", "p", "w"), _inverse_vjp, closed=True),
    "inverse_dynamics_hvp": Recipe(("q", "qd", "qdd", "p", "w", "dq", "dqd", "dqdd", "dp"), _inverse_hvp, closed=True),
}
"""Every function of a model; what is asked seldom is interpreted."""
FRAMED: dict[str, Callable[[Chain, SX, str], SX]] = {"pose": frame_pose, "jacobian": frame_jacobian}
"""Functions of a frame; one of them is called `pose hand`."""


def recipe(name: str) -> Recipe:
    """Return the recipe of a function, by its name."""
    if name in EXPRESSIONS:
        return EXPRESSIONS[name]
    kind, _, frame = name.partition(" ")
    return Recipe(("q",), lambda e, q: [FRAMED[kind](e.chain, q, frame)], closed=True)


MATRICES = {
    "mass_matrix": (0,), "jacobian": (0,), "stiffness": (0,), "denoc_matrices": range(5), "matrices": (0, 3),
    "mass_matrix_inverse": (0,), "forward_dynamics_derivatives": (1, 2, 3, 4),
    "inverse_dynamics_derivatives": (1, 2, 3, 4), "matrices lagrange": (0, 1, 2, 5), "matrices dual-screw": (0, 1, 2),
}  # fmt: skip
"""Outputs that are matrices, also where they have a single column."""


def column_function(name: str, inputs: Mapping[str, Expression], solved: SolvedColumns) -> ColumnFunction:
    """Groups of columns that are solved with one factor, as a function of several tapes; inputs are named symbols."""
    blocks = [group.columns for group in solved.groups]
    outputs = ca.cse([ca.densify(x) for x in (*solved.own, solved.shared, *blocks)])
    titles = [f"own{k}" for k in range(len(solved.own))] + ["shared"] + [f"columns{k}" for k in range(len(blocks))]
    first = ca.Function(f"{name}_first", list(inputs.values()), outputs, list(inputs), titles)
    seconds = tuple(
        ca.Function(f"{name}_second{k}", [solved.symbols, group.symbols], [ca.densify(group.x)])
        for k, group in enumerate(solved.groups)
    )
    given = [place for group in solved.groups for place in group.places]
    places = tuple(sorted(range(len(given)), key=given.__getitem__))
    return ColumnFunction(name, first, seconds, places, solved.widths, solved.order)
