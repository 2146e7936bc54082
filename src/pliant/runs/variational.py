"""Variational equations: a state and how it changes along several directions, traced together and stepped as one."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.integrate import Problem
from pliant.runs.composition import LARGEST_JACOBIAN


def variational(t: Any, x: Any, f: Any, S: Any, by: Any, seeds: Any, p: Any) -> Problem:
    """x' = f beside S' = (df/dby) seeds, one column of S (n, K) for each direction.

    `by` are the symbols that change, `seeds` (len(by), K) how they change along each direction: x by S itself, the
    others by expressions. The states of the problem are x and then the columns of S, its inputs `p`.
    """
    slopes = ca.jtimes(f, by, seeds)
    whole, rates = ca.vertcat(x, ca.vec(S)), ca.vertcat(f, ca.vec(slopes))
    return Problem.traced("variational", t, whole, p, rates, LARGEST_JACOBIAN)
