"""Operations of the inertia matrix, Table 2 of [TG95]: entries written out as in the paper, and common terms once."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from pliant.analysis import counts
from pliant.mechanics.formulations.registry import equations
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.robot import Robot

PRODUCTS = {ca.OP_MUL, ca.OP_DIV, ca.OP_SQ, ca.OP_TWICE}
SUMS = {ca.OP_ADD, ca.OP_SUB}


def counted(robots: Mapping[str, Robot]) -> dict[str, dict[str, list[int]]]:
    """Products and sums of M(q) by closed-form Lagrange, for modes and for elements.

    Entries of an arm with a sliding link are not written out: each of them would contain the series of its roots.
    """
    return {kind: _counted(robot) for kind, robot in robots.items()}


def _counted(robot: Robot) -> dict[str, list[int]]:
    chain = build_chain(robot)
    q = ca.SX.sym("q", chain.n)
    once = counts.tape_count(chain, "lagrange", "inertia matrix")
    found = {"common terms once": [int(once.products), int(once.sums)]}
    if not any(link.beam is not None and link.beam.slides for link in robot.links):
        M = equations(chain, "lagrange").mass_matrix(q)
        found["written out"] = written_out(ca.Function("M", [q], [ca.densify(ca.tril(M))]))
    return found


def written_out(function: ca.Function) -> list[int]:
    """Products and sums if every entry is a formula of its own, as computer algebra systems of the time print it."""
    work: dict[int, tuple[int, int]] = {}
    products, sums = 0, 0
    for k in range(function.n_instructions()):
        code, inputs, outputs = (
            function.instruction_id(k),
            function.instruction_input(k),
            function.instruction_output(k),
        )
        parts = [work[i] for i in inputs] if code not in (ca.OP_INPUT, ca.OP_CONST) else []
        p, s = sum(p for p, _ in parts), sum(s for _, s in parts)
        if code == ca.OP_OUTPUT:
            products, sums = products + p, sums + s
        else:
            work[outputs[0]] = (p + (code in PRODUCTS), s + (code in SUMS))
    return [products, sums]
