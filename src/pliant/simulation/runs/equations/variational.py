"""Variational equations: a state and how it changes along several directions, traced together and stepped as one."""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.integrators.problem import Problem
from pliant.simulation.runs.equations.composition import LARGEST_JACOBIAN, Composition


def variational(c: Composition, t: SX, x: SX, f: SX, S: SX, by: SX, seeds: SX, p: SX) -> Problem:
    """x' = f beside S' = (df/dby) seeds, one column of S (n, K) for each direction.

    `by` are the symbols that change, `seeds` (len(by), K) how they change along each direction: x by S itself, the
    others by expressions. The states of the problem are x and then the columns of S, its inputs `p`.

    The steps are those of a run of `c`: they do not leap over obstacles of the arm, and close loops after each step.
    The columns pass through the derivative of this closing, so that they belong to the states that are computed.
    """
    slopes = ca.jtimes(f, by, seeds)
    whole: SX = ca.vertcat(x, ca.vec(S))
    rates: SX = ca.vertcat(f, ca.vec(slopes))
    closing, closer = None, run_closer(c)
    if closer is not None:
        first, moved, least = closer
        k = first.shape[0]
        along = ca.vertcat(ca.jtimes(first, by, seeds), S[k:, :])
        closing = ca.vertcat(first, x[k:], ca.vec(along), moved, least)
    approach = c.equations.approaching if c.meets else None
    return Problem.traced("variational", t, whole, p, rates, LARGEST_JACOBIAN, closing, approach)


def run_closer(c: Composition) -> tuple[SX, SX, SX] | None:
    """Moving states of a run nearer to closed loops, by how much they were moved, and the least part of a row that the
    others leave; None where there are no loops."""
    if not c.model.constraints:
        return None
    x, moved, least = c.equations.closer()
    return x[: c.moving], moved, least
