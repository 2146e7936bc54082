"""Rows that close loops: relative motions of two frames that their joint does not allow, g(q) = 0.

With A and B the two frames, R = R_A^T R_B and d = R_A^T (p_B - p_A), all in the axes of A:

    x, y, z           d = 0                             spherical, revolute, universal, fixed
    turn_1, turn_2    e_k . (u x R u) = 0               revolute: what is u in A is u in B; e_1, e_2 are across u
    turn_x .. turn_z  the axial part of R is zero       fixed, prismatic
    across_1, 2       e_k . d = 0                       prismatic
    twist             u . R w = u . w                   universal, with u in A and w in B
    length            |d| = length                      distance

At a closed loop a multiplier is then a force or moment of A on B along an axis of A. Rows that turn are zero also where
B is turned by half a turn; `gaps` tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX, axial
from pliant.mechanics.links.chain import Chain, Closure
from pliant.mechanics.links.frames import placed_frame
from pliant.mechanics.links.kinematics import placements

POINT, TURN = ("x", "y", "z"), ("turn_x", "turn_y", "turn_z")
ROWS: dict[str, tuple[str, ...]] = {
    "spherical": POINT, "revolute": (*POINT, "turn_1", "turn_2"), "universal": (*POINT, "twist"),
    "fixed": (*POINT, *TURN), "prismatic": ("across_1", "across_2", *TURN), "distance": ("length",),
}  # fmt: skip
"""Rows of each joint, in order."""


def row_names(chain: Chain) -> tuple[str, ...]:
    """All rows, as `loop.row`."""
    return tuple(f"{closure.name}.{row}" for closure in chain.closures for row in ROWS[closure.kind])


@dataclass(frozen=True)
class LoopRows:
    """Rows at a state: how far they are open `g` (m,), their slopes `J` (m, n) along the speeds, and `gamma` (m,) of
    their second derivative J vdot + gamma."""

    g: SX
    J: SX
    gamma: SX


def gaps(chain: Chain, q: SX) -> tuple[SX, SX]:
    """(m,) all rows, and for each loop a number that is positive where its frames are not half a turn apart."""
    links = placements(chain, q)
    found = [_rows(closure, *(placed_frame(chain, q, links, frame) for frame in closure.frames))
             for closure in chain.closures]  # fmt: skip
    rows, right = zip(*found, strict=True)
    return ca.densify(ca.vertcat(*rows)), ca.densify(ca.vertcat(*right))


def closing_rows(chain: Chain, q: SX, qd: SX, every: bool = False) -> LoopRows:
    """The rows that the model keeps, or all."""
    Q, V = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)  # those given may hold prescribed motions
    g, names = gaps(chain, Q)[0], row_names(chain)
    if not every:
        g = g[[names.index(name) for name in chain.kept]]
    J = chain.jacobian(g, Q)
    gamma = ca.jtimes(ca.mtimes(J, V), Q, chain.rates(Q, V))
    return LoopRows(*ca.substitute([ca.densify(x) for x in (g, J, gamma)], [Q, V], [q, qd]))


def closing_wrench(closure: Closure, first: tuple[SX, SX], second: tuple[SX, SX], multipliers: SX) -> tuple[SX, SX]:
    """Moment about the origin of the second frame and force that multipliers of all rows exert there, in base axes: the
    slopes of their work by a turn and a shift of that frame."""
    shift, turn, (R, p) = ca.SX.sym("shift", 3), ca.SX.sym("turn", 3), second
    rows, _ = _rows(closure, first, (R + ca.mtimes(ca.skew(turn), R), p + shift))
    by = ca.gradient(ca.dot(rows, multipliers), ca.vertcat(turn, shift))
    (by,) = ca.substitute([ca.densify(by)], [ca.vertcat(turn, shift)], [ca.SX.zeros(6)])
    return by[:3], by[3:]


def _rows(closure: Closure, first: tuple[SX, SX], second: tuple[SX, SX]) -> tuple[SX, SX]:
    """Rows of a loop between two placed frames, and a number that is positive where these are not half a turn apart."""
    (R_a, p_a), (R_b, p_b) = first, second
    d, R = ca.mtimes(R_a.T, p_b - p_a), ca.mtimes(R_a.T, R_b)
    u, w = (ca.SX(ca.DM(axis)) for axis in closure.axes)
    across, along = _across(closure.axes[0]), ca.dot(u, ca.mtimes(R, u))
    kind, right = closure.kind, ca.SX(1)
    if kind == "distance":
        return ca.norm_2(d) - closure.length, right
    if kind == "spherical":
        return d, right
    if kind == "universal":
        return ca.vertcat(d, ca.dot(u, ca.mtimes(R, w)) - ca.dot(u, w)), right
    if kind == "revolute":
        return ca.vertcat(d, ca.mtimes(across, ca.cross(u, ca.mtimes(R, u)))), along
    turned, right = axial(R) / 2, ca.trace(R)  # 1 + 2 cos of the angle: 3 or -1 where the rows are zero
    return ca.vertcat(d if kind == "fixed" else ca.mtimes(across, d), turned), right


def _across(axis: tuple[float, float, float]) -> SX:
    """(2, 3) unit vectors across an axis: x and y of z."""
    u, k = np.array(axis), int(np.argmin(np.abs(axis)))
    first = np.eye(3)[k] - u[k] * u
    first /= np.linalg.norm(first)
    return ca.SX(ca.DM(np.array([first, np.cross(u, first)])))
