"""Jumps of prescribed rates: the impulse on all coordinates that are free to move."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from pliant.mechanics.constraints.loop_constraints import closing_rows
from pliant.mechanics.formulations.motion_equations import Equations, solve_positive

SX = ca.SX


def after_jump(equations: Equations, q: SX, qd: SX, jumps: Mapping[int, SX]) -> tuple[SX, SX]:
    """All rates after a jump of some of them, and the work that it does.

    The impulse acts along the prescribed coordinates alone, so the momenta of the free ones stay: M_ff d_f + M_fp d_p =
    0, but for the impulses of closed loops, which keep J d = 0. Positions stand still meanwhile, and the work is the
    kinetic energy gained.

    Parameters
    ----------
    q, qd : (n, 1)
        Coordinates, and rates before the jump.
    jumps : mapping
        By index of a prescribed coordinate, what its rate jumps by.
    """
    M = equations.mass_matrix(q)
    prescribed = list(jumps)
    free = [k for k in range(qd.shape[0]) if k not in jumps]
    change = SX.zeros(qd.shape[0])
    change[prescribed] = ca.vertcat(*jumps.values())
    if free:
        change[free] = -solve_positive(M[free, free], ca.mtimes(M[free, prescribed], change[prescribed]))
    if equations.chain.kept:
        J = closing_rows(equations.chain, q, SX.zeros(qd.shape[0])).J
        change = change + equations.closing(q, J, prescribed).back(ca.mtimes(J, change))
    return qd + change, ca.dot(qd + change / 2, ca.mtimes(M, change))
