"""Recursive Lagrange by 4x4 homogeneous transforms: Book's method as [ZZZ] extends it, for links that are maps.

A point of link i is W_i h with h = [r; 1]. With A_i the joint and E_i the deformation of the distal frame, both 4x4,

    W_i = W^_{i-1} A_i,    W^_i = W_i E_i,    W^_0 = 1.

The kinetic energy is a trace, T = 1/2 sum_i tr int (d/dt W_i h)(d/dt W_i h)^T, so that a body enters only through 4x4
integrals: the pseudo-inertia G = int h h^T and, per amplitude, H_f = int h phi_f^T. Lagrange's equations become
traces with the partial transforms of the coordinates, shared by all outer links i up to the product of A and E from
there to i:

    joint j: P_j = W^_{j-1} U_j, U_j = dA_j/dq_j;    amplitude f of link j: P_jf = W_j E_jf, E_jf = dE_j/dc_f

The sums over outer links are gathered once, tip to base: F for the inertia coefficients, Q for the remainders.

Notes
-----
The equations of [ZZZ] are lost; these are derived anew and keep its names J_jh, J_jhk, I_jfh, I_jfhk. Beyond the
paper: prismatic and fixed joints, exact rotations, rotary inertia about three axes together with its coupling to the
rotation of the frame (the paper keeps the polar part of the amplitudes only). The coupling `spin` is an antisymmetric
part of H_f, since tr(omega^ S) = spin . omega for S = -spin^/2. Gravity is base acceleration -g instead of a
potential, which costs nothing. Lumped masses: case 1, an irregular rigid link, is its G; case 2, a mass at the
proximal end, joins G as the hub; case 3, a mass at the distal end, is a G of the distal frame. Rotors do not couple
to their carrier, so flexible joints need nothing here. The high-order coupling (foreshortening) enters by moments and
tip map of the body and by its velocity term `beta`. With `rotation="linear"` the trace sees that E is not
orthonormal: M and the remainders then agree with the other recursions to second order in the amplitudes.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.inertia import symmetric
from pliant.algebra.rotations import SX
from pliant.dynamics.chain import Chain
from pliant.dynamics.recursive_lagrange_transforms import (
    Transforms,
    modal_inertia,
    outward,
    pseudo_inertia,
    rotation,
    top,
    trace,
)


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia coefficients J_jh, J_jhk, I_jfh, I_jfhk of [ZZZ], all sums over outer links by one recursion.

    A coordinate of link h has Y = F_h P_h^T or Y = H_f W_h^T + E_h K_h P_hf^T (see `composites`), and its coefficient
    in the equation of an inner coordinate j is tr(P_j Y) once Y has been carried to the frame of j.
    """
    links = list(outward(chain, q, ca.SX.zeros(chain.n)))
    M = ca.SX.zeros(chain.n, chain.n)
    for h, (K, F) in enumerate(composites(links)):
        t = links[h]
        for f, column in enumerate(t.link.body_indices):
            Y_tip = ca.mtimes(K, t.P_body[f].T)
            for k, row in enumerate(t.link.body_indices[: f + 1]):
                M[row, column] = M[column, row] = t.body.gram[k, f] + trace(t.P_body[k], Y_tip)
            Y = ca.mtimes(modal_inertia(t.body, f), rotation(t.W).T) + ca.mtimes(t.E, Y_tip)
            _fill_column(links[: h + 1], column, Y, M)
        if t.link.joint_index is not None:
            _fill_column(links[: h + 1], t.link.joint_index, ca.mtimes(F, t.P_joint.T), M)
    return M


def composites(links: list[Transforms]) -> list[tuple[SX, SX]]:
    """Pseudo-inertias K_h beyond the distal frame and F_h of all from link h outwards, by one recursion from the tip.

    F_h = G_h + E_h K_h E_h^T and K_h = G^_h + A_{h+1} F_{h+1} A_{h+1}^T, G^ being the load.
    """
    found = []
    K = ca.SX.zeros(4, 4)
    for t in reversed(links):
        if t.link.load is not None:
            K = K + pseudo_inertia(t.link.load)
        F = symmetric(t.inertia + ca.mtimes([t.E, K, t.E.T]))
        found.append((K, F))
        K = symmetric(ca.mtimes([t.A, F, t.A.T]))
    return found[::-1]


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) remainders of the equations: velocity terms and gravity."""
    return _remainders(chain, list(outward(chain, q, qd)))


def inverse_dynamics(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """(n,) M qdd + h without forming M, the use for which Book wrote the recursion."""
    return _remainders(chain, list(outward(chain, q, qd, qdd)))


def _remainders(chain: Chain, links: list[Transforms]) -> SX:
    """Q_j = int h a^T of link j + E_j (G^_j W^dd_j^T + A_{j+1} Q_{j+1}), tip to base; tr(P_j Q_j) per coordinate."""
    out = ca.SX.zeros(chain.n)
    Q = ca.SX.zeros(4, 3)
    for t in reversed(links):
        if t.link.load is not None:
            Q = Q + ca.mtimes(pseudo_inertia(t.link.load), top(t.Wdd_tip).T)
        own = _own_modal_forces(t)
        for f, row in enumerate(t.link.body_indices):
            out[row] = own[f] + trace(t.P_body[f], Q)
        Q = _own_moment(t) + ca.mtimes(t.E, Q)
        if t.link.joint_index is not None:
            out[t.link.joint_index] = trace(t.P_joint, Q)
        Q = ca.mtimes(t.A, Q)
    return out


def _own_moment(t: Transforms) -> SX:
    """(4, 3) int h a^T of body and hub, a = Wdd h + 2 Wd hd + W (sum phi_f cdd_f + beta)."""
    moment = ca.mtimes(t.inertia, top(t.Wdd).T)
    if not t.link.body_indices:
        return moment
    H = [modal_inertia(t.body, f) for f in range(t.cd.shape[0])]
    drift = ca.vertcat(t.body.X_beta.T, t.body.f_beta.T)
    if t.cdd is not None:
        drift = drift + sum(H[f] * t.cdd[f] for f in range(len(H)))
    coriolis = 2 * sum(H[f] * t.cd[f] for f in range(len(H)))
    return moment + ca.mtimes(coriolis, rotation(t.Wd).T) + ca.mtimes(drift, rotation(t.W).T)


def _own_modal_forces(t: Transforms) -> list[SX]:
    """int (W phi_f) . a per amplitude: tr(W^T Wdd H_f) + 2 tr(W^T Wd N_f) + beta terms + gram cdd."""
    if not t.link.body_indices:
        return []
    V = ca.mtimes(rotation(t.W).T, top(t.Wdd))
    omega = ca.mtimes(rotation(t.W).T, rotation(t.Wd))
    inertia: SX = ca.SX.zeros(t.cd.shape[0]) if t.cdd is None else ca.mtimes(t.body.gram, t.cdd)
    return [
        trace(V, modal_inertia(t.body, f)) + 2 * trace(omega, N) + t.body.b_beta[f] + inertia[f]
        for f, N in enumerate(t.body.N)
    ]


def _fill_column(inner: list[Transforms], column: int, Y: SX, M: SX) -> None:
    """Carries Y (4, 3) from the last link of `inner` to the base: tr(P Y) is the coefficient of each coordinate met."""
    outermost = len(inner) - 1
    for j in range(outermost, -1, -1):
        t = inner[j]
        if j < outermost:
            for row, P in zip(t.link.body_indices, t.P_body, strict=True):
                M[row, column] = M[column, row] = trace(P, Y)
            Y = ca.mtimes(t.E, Y)
        if t.link.joint_index is not None:
            row = t.link.joint_index
            M[row, column] = M[column, row] = trace(t.P_joint, Y)
        Y = ca.mtimes(t.A, Y)
