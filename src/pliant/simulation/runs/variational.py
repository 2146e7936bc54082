"""Variational equations: a state and how it changes along several directions, traced together and stepped as one."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.compute.integrate.problem import Problem
from pliant.simulation.runs.composition import LARGEST_JACOBIAN, Composition


def variational(c: Composition, t: Any, x: Any, f: Any, S: Any, by: Any, seeds: Any, p: Any) -> Problem:
    """x' = f beside S' = (df/dby) seeds, one column of S (n, K) for each direction.

    `by` are the symbols that change, `seeds` (len(by), K) how they change along each direction: x by S itself, the
    others by expressions. The states of the problem are x and then the columns of S, its inputs `p`.

    The steps are those of a run of `c`: they do not leap over what the arm meets, and close loops behind them. The
    columns go through the derivative of what closes loops, so that they are those of the states that are computed.
    """
    slopes = ca.jtimes(f, by, seeds)
    whole, rates = ca.vertcat(x, ca.vec(S)), ca.vertcat(f, ca.vec(slopes))
    closing, closer = None, run_closer(c)
    if closer is not None:
        first, moved, least = closer
        k = first.shape[0]
        along = ca.vertcat(ca.jtimes(first, by, seeds), S[k:, :])
        closing = ca.vertcat(first, x[k:], ca.vec(along), moved, least)
    approach = c.equations.approaching if c.meets else None
    return Problem.traced("variational", t, whole, p, rates, LARGEST_JACOBIAN, closing, approach)


def run_closer(c: Composition) -> tuple[Any, Any, Any] | None:
    """What brings the moving states of a run to closed loops, as `variational` takes it; None where there are none."""
    if not c.model.constraints:
        return None
    x, moved, least = c.equations.closer()
    return x[: c.moving], moved, least
