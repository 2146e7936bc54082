"""Variational equations: a state and how it changes along several directions, traced together and stepped as one."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.integrate import Problem
from pliant.runs.composition import LARGEST_JACOBIAN, Composition


def variational(
    t: Any, x: Any, f: Any, S: Any, by: Any, seeds: Any, p: Any, closer: tuple[Any, Any, Any] | None = None
) -> Problem:
    """x' = f beside S' = (df/dby) seeds, one column of S (n, K) for each direction.

    `by` are the symbols that change, `seeds` (len(by), K) how they change along each direction: x by S itself, the
    others by expressions. The states of the problem are x and then the columns of S, its inputs `p`.

    Where loops are closed after every step, `closer` has the first states of x nearer to closed loops, by how much they
    moved, and the least part of a row that is left. The columns go through the derivative of the same step, so that
    they are those of the states that are computed.
    """
    slopes = ca.jtimes(f, by, seeds)
    whole, rates = ca.vertcat(x, ca.vec(S)), ca.vertcat(f, ca.vec(slopes))
    closing = None
    if closer is not None:
        first, moved, least = closer
        k = first.shape[0]
        along = ca.vertcat(ca.jtimes(first, by, seeds), S[k:, :])
        closing = ca.vertcat(first, x[k:], ca.vec(along), moved, least)
    return Problem.traced("variational", t, whole, p, rates, LARGEST_JACOBIAN, closing)


def run_closer(c: Composition) -> tuple[Any, Any, Any] | None:
    """What brings the moving states of a run to closed loops, as `variational` takes it; None where there are none."""
    if not c.model.constraints:
        return None
    x, moved, least = c.equations.closer()
    return x[: c.moving], moved, least
