"""Loops, couplings and their forces as functions of a state, from expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from pliant.mechanics.constraints.couplings import closed_valves, line_forces
from pliant.mechanics.constraints.loop_constraints import closing_rows, gaps
from pliant.mechanics.formulations import denoc
from pliant.mechanics.formulations.generalized_forces import rotors
from pliant.mechanics.links.chain import Chain

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model


def all_gaps(chain: Chain, p: ca.SX) -> ca.Function:
    """Return the function (q, p) -> all gaps, and numbers that are positive where loops stand the right way round."""
    q = ca.SX.sym("q", chain.n_q)
    return ca.Function("gaps", [q, p], [ca.densify(x) for x in gaps(chain, q)], ["q", "p"], ["gaps", "right"])


def slopes_of_gaps(chain: Chain, p: ca.SX) -> ca.Function:
    """Return the function (q, p) -> slopes of all gaps along the speeds."""
    q = ca.SX.sym("q", chain.n_q)
    J = closing_rows(chain, q, ca.SX.zeros(chain.n), every=True).J
    return ca.Function("slopes", [q, p], [ca.densify(J)], ["q", "p"], ["J"])


def inertia(chain: Chain, p: ca.SX) -> ca.Function:
    """Return the function (q, p) -> inertia matrix, which is the same by all formulations, and soonest by this one."""
    q = ca.SX.sym("q", chain.n_q)
    M = denoc.mass_matrix(chain, q) + ca.diag(rotors(chain))
    return ca.Function("inertia", [q, p], [ca.densify(M)], ["q", "p"], ["M"])


def length(chain: Chain, p: ca.SX) -> ca.Function:
    """Return the function p -> sum of the lengths of links and joint offsets, m."""
    parts = [ca.norm_2(link.joint.origin) for link in chain.links]
    for link in chain.links:
        rest = ca.SX(ca.DM(np.asarray(link.body.rest, dtype=float)))
        parts.append(ca.norm_2(link.body.tip(rest, ca.SX.zeros(len(link.body_indices))).p))
    return ca.Function("length", [p], [ca.densify(ca.sum1(ca.vertcat(*parts)))], ["p"], ["length"])


def row_slopes(model: Model) -> ca.Function:
    """Return the function (q, qd, multipliers, p) -> slopes J (m, n) of the rows that are kept, those of J^T
    multipliers and of J qd."""
    chain, x, v = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
    pull = ca.SX.sym("multipliers", len(model.constraints))
    J = closing_rows(chain, x, v).J
    by = [J, chain.jacobian(ca.mtimes(J.T, pull), x), chain.jacobian(ca.mtimes(J, v), x)]
    return ca.Function("rows", [x, v, pull, model.parameter_symbols], ca.cse([ca.densify(a) for a in by]))


def oil_slopes(model: Model) -> ca.Function:
    """Return the function (q, forces, p) -> slopes (m, n) of the lengths of commanded couplings, and the stiffness that
    they add under forces that drive apart."""
    x, push = ca.SX.sym("q", model.n_q), ca.SX.sym("forces", len(model.layout.commanded))
    return ca.Function("oil", [x, push, model.parameter_symbols], ca.cse(list(closed_valves(model.chain, x, push))))


def balance(
    model: Model, loads: Sequence[Load], *, unknown: Sequence[int], rows: Sequence[int], holding: Sequence[int]
) -> ca.Function:
    """Return the function (q, f and multipliers, p) -> residual of a `Balance`, and its slopes by the unknown
    displacements, by f and multipliers, and by p."""
    chain, x, still, m = model.chain, ca.SX.sym("q", model.n_q), ca.SX.zeros(model.n), len(holding)
    carried = ca.SX.sym("carried", m + len(model.constraints))
    push = ca.SX.zeros(len(model.layout.commanded))
    push[list(holding)] = carried[:m]
    force = model.equations.bias(x, still) - line_forces(chain, x, push) if m else model.equations.bias(x, still)
    force -= sum((load.expression(chain, ca.SX(0), x, still) for load in loads), still)
    found = force[list(rows)]
    if model.constraints:
        loops = closing_rows(chain, x, still)
        found = ca.vertcat((force - ca.mtimes(loops.J.T, carried[m:]))[list(rows)], loops.g)
    slopes = [chain.jacobian(found, x)[:, list(unknown)], ca.jacobian(found, carried)]
    slopes.append(ca.jacobian(found, model.parameter_symbols))
    return ca.Function("balance", [x, carried, model.parameter_symbols], [ca.densify(a) for a in (found, *slopes)])
