"""Derivatives of a start with closed loops by the given values and by the parameters of the arm.

A closed start is moved by d, and its parameters by dp: the rows open by J d + (dg/dp) dp, and the smallest step by M of
what may give way closes them again (`Mechanism.taken_back`). Speeds then follow likewise from J v = 0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from pliant.arrays import Array, StateLike
from pliant.base.derived import SYMBOLS
from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.model.loops import assembly

if TYPE_CHECKING:
    from pliant.model.model import Model


class StartSlopes(NamedTuple):
    """Slopes of a closed start. Its displacements along the speeds depend on those given (n, n) and on parameters (n,
    P). Its speeds depend on displacements and speeds given (n, n) and on parameters (n, P)."""

    q_by_q: Array
    q_by_p: Array
    v_by_q: Array
    v_by_v: Array
    v_by_p: Array


def start_slopes(
    model: Model,
    q: Array,
    qd: Array,
    given: tuple[StateLike | None, StateLike | None],
    placed: Collection[int],
    p: Array,
) -> StartSlopes:
    """Slopes of closed coordinates (n_q,) and speeds (n,). Coordinates `given` by name and those `placed` by a motion
    give way as in `assembly.closed_start`."""
    n, P = model.n, len(model.parameters)
    if not model.constraints:
        return StartSlopes(np.eye(n), np.zeros((n, P)), np.zeros((n, n)), np.eye(n), np.zeros((n, P)))
    with SYMBOLS:
        function = model.derived("slopes of starts", (), lambda: _rows(model))
    J, gap_by_p, rate_by_q, rate_by_p = (np.array(a, dtype=float) for a in function(q, qd, p))
    by, named = assembly.mechanism(model, p), [assembly.named_speeds(model, x, k) for x, k in zip(given, ("q0", "qd0"))]

    def back(gaps: Array, own: Collection[int]) -> Array:
        return by.taken_back(q, gaps, placed, own)[0]

    q_by_q, q_by_p = np.eye(n) + back(J, named[0]), back(gap_by_p, named[0])
    v_by_q, v_by_p = back(rate_by_q @ q_by_q, named[1]), back(rate_by_q @ q_by_p + rate_by_p, named[1])
    found = StartSlopes(q_by_q, q_by_p, v_by_q, np.eye(n) + back(J, named[1]), v_by_p)
    motors = [assembly.motors_given(model, x, {*placed, *own}) for x, own in zip(given, named)]
    for shaft in model.layout.driven:  # motors that are not given stand and turn with their joints
        for slopes, own in zip(found, (motors[0],) * 2 + (motors[1],) * 3):
            if shaft.actuated not in own:
                slopes[shaft.actuated] = slopes[shaft.index]
    return found


def _rows(model: Model) -> ca.Function:
    """J, the slopes of the rows by p, and those of J v along the speeds and by p."""
    chain, x, v, p = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n), model.parameter_symbols
    rows = closing_rows(chain, x, v, every=True)
    rate = ca.mtimes(rows.J, v)
    by = [rows.J, ca.jacobian(rows.g, p), chain.jacobian(rate, x), ca.jacobian(rate, p)]
    return ca.Function("start_slopes", [x, v, p], ca.cse([ca.densify(a) for a in by]))
