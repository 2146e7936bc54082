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
from pliant.mechanics.formulations.recursive_lagrange_transforms import (
    Transforms,
    modal_inertia,
    outward,
    pseudo_inertia,
    rotation,
    top,
    trace,
)
from pliant.mechanics.links.chain import Arrivals, Chain


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia coefficients J_jh, J_jhk, I_jfh, I_jfhk of [ZZZ], all sums over outer links by one recursion.

    A coordinate of link h has Y = F_h P_h^T or Y = H_f W_h^T + E_h K_h P_hf^T (see `composites`), and its coefficient
    in the equation of an inner coordinate j is tr(P_j Y) once Y has been carried to the frame of j.
    """
    links = outward(chain, q, ca.SX.zeros(chain.n))
    M = ca.SX.zeros(chain.n, chain.n)
    for h, (K, F) in enumerate(composites(chain, links)):
        t = links[h]
        for f, column in enumerate(t.link.body_indices):
            Y_ports = [(t.ports[port], ca.mtimes(inertia, t.ports[port].P[f].T)) for port, inertia in K.items()]
            for k, row in enumerate(t.link.body_indices[: f + 1]):
                value = t.body.gram[k, f] + sum(trace(port.P[k], Y) for port, Y in Y_ports)
                M[row, column] = M[column, row] = value
            Y = ca.mtimes(modal_inertia(t.body, f), rotation(t.W).T) + sum(ca.mtimes(port.E, Y) for port, Y in Y_ports)
            _fill_column(links, h, column, Y, M)
        for index, P in zip(t.link.joint_indices, t.P_joint, strict=True):
            _fill_column(links, h, index, ca.mtimes(F, P.T), M)
    return M


def composites(chain: Chain, links: list[Transforms]) -> list[tuple[dict[int, SX], SX]]:
    """Pseudo-inertias K_h beyond the ports and F_h of all from link h outwards, by one recursion from the tips.

    F_h = G_h + sum E_h K_h E_h^T and K_h = G^_h + sum A_{h+1} F_{h+1} A_{h+1}^T, G^ being the load at the distal frame.
    """
    found = []
    beyond = Arrivals(chain, ca.SX.zeros(4, 4))
    for h, t in reversed(list(enumerate(links))):
        K = beyond.at(h)
        if t.link.load is not None:
            K[0] = K[0] + pseudo_inertia(t.link.load)
        F = symmetric(t.inertia + sum(ca.mtimes([t.ports[port].E, X, t.ports[port].E.T]) for port, X in K.items()))
        found.append((K, F))
        beyond.add(h, symmetric(ca.mtimes([t.A, F, t.A.T])))
    return found[::-1]


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) remainders of the equations: velocity terms and gravity."""
    return _remainders(chain, outward(chain, q, qd))


def inverse_dynamics(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """(n,) M qdd + h without forming M, the use for which Book wrote the recursion."""
    return _remainders(chain, outward(chain, q, qd, qdd))


def _remainders(chain: Chain, links: list[Transforms]) -> SX:
    """Q_j = int h a^T of link j + sum E_j (G^_j W^dd_j^T + A_{j+1} Q_{j+1}), tips to base; tr(P_j Q_j) per
    coordinate."""
    out = ca.SX.zeros(chain.n)
    beyond = Arrivals(chain, ca.SX.zeros(4, 3))
    for j, t in reversed(list(enumerate(links))):
        Q_ports = beyond.at(j)
        if t.link.load is not None:
            Q_ports[0] = Q_ports[0] + ca.mtimes(pseudo_inertia(t.link.load), top(t.ports[0].Wdd).T)
        own = _own_modal_forces(t)
        for f, row in enumerate(t.link.body_indices):
            out[row] = own[f] + sum(trace(t.ports[port].P[f], Q) for port, Q in Q_ports.items())
        Q = _own_moment(t) + sum(ca.mtimes(t.ports[port].E, Q) for port, Q in Q_ports.items())
        for index, P in zip(t.link.joint_indices, t.P_joint, strict=True):
            out[index] = trace(P, Q)
        beyond.add(j, ca.mtimes(t.A, Q))
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


def _fill_column(links: list[Transforms], h: int, column: int, Y: SX, M: SX) -> None:
    """Carry Y (4, 3) from link `h` to the base: tr(P Y) is the coefficient of each coordinate met."""
    t = links[h]
    while True:
        for row, P in zip(t.link.joint_indices, t.P_joint, strict=True):
            M[row, column] = M[column, row] = trace(P, Y)
        if t.link.parent is None:
            return
        Y = ca.mtimes(t.A, Y)
        t, number = links[t.link.parent], t.link.port
        for row, P in zip(t.link.body_indices, t.ports[number].P, strict=True):
            M[row, column] = M[column, row] = trace(P, Y)
        Y = ca.mtimes(t.ports[number].E, Y)
