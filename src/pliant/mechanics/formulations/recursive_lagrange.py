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

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.inertia import symmetric
from pliant.algebra.rotations import SX, skew
from pliant.mechanics.links.chain import Arrivals, Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import Moments, TipMap


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


@dataclass(frozen=True)
class PortTransforms:
    """A place at which others hang, the distal frame or another: E, W^ with its time derivatives, and the partial
    transforms P[f] (3, 4) of the amplitudes, which act on points of the frame there."""

    E: SX
    W: SX
    Wd: SX
    Wdd: SX
    P: tuple[SX, ...]


@dataclass(frozen=True)
class Transforms:
    """A link on the way out: A and W with their time derivatives, the distal frame and other places, and the partial
    transforms of its coordinates.

    `P_joint[k]` (3, 4) acts on points of the link frame; its fourth row is zero.
    """

    link: ChainLink
    body: Moments
    A: SX
    W: SX
    Wd: SX
    Wdd: SX
    P_joint: tuple[SX, ...]
    ports: tuple[PortTransforms, ...]
    cd: SX
    cdd: SX | None

    @property
    def inertia(self) -> SX:
        """(4, 4) pseudo-inertia of body and hub."""
        return pseudo_inertia(self.body if self.link.hub is None else self.body.added(self.link.hub))


def outward(chain: Chain, q: SX, qd: SX, qdd: SX | None = None) -> list[Transforms]:
    """W, Wd, Wdd of every link, base to tip; without `qdd` the part of Wdd that holds no second derivatives."""
    found: list[Transforms] = []
    for link in chain.links:
        if link.parent is None:
            W, Wd, Wdd = _base_transforms(chain)
        else:
            before = found[link.parent].ports[link.port]
            W, Wd, Wdd = before.W, before.Wd, before.Wdd
        joint, rate = chain.joint(link, q), chain.joint_rate(link, qd)
        A, U, Ad, Add = joint_transforms(link, joint, rate)
        if qdd is not None:
            second = chain.joint_rate(link, qdd)
            Add = Add + sum((partial * second[k] for k, partial in enumerate(U)), ca.SX.zeros(4, 4))
        P_joint = tuple(top(ca.mtimes(W, partial)) for partial in U)
        W, Wd, Wdd = _product(W, Wd, Wdd, A, Ad, Add)
        c, cd = chain.body(link, q), chain.body_rate(link, qd)
        cdd = None if qdd is None else chain.body_rate(link, qdd)
        ports = tuple(_port(port, (W, Wd, Wdd), cd, cdd) for port in link.ports(c, cd))
        found.append(
            Transforms(
                link=link, body=link.body.moments(c, cd), A=A, W=W, Wd=Wd, Wdd=Wdd, P_joint=P_joint, ports=ports,
                cd=cd, cdd=cdd,
            )
        )  # fmt: skip
    return found


def _port(port: TipMap, link: tuple[SX, SX, SX], cd: SX, cdd: SX | None) -> PortTransforms:
    """Transforms of a port, from W, Wd, Wdd of its link."""
    E, E_f = homogeneous(port.R.matrix, port.p), _tip_partials(port)
    P = tuple(ca.mtimes(rotation(link[0]), partial) for partial in E_f)
    return PortTransforms(E, *_product(*link, E, *_tip_rates(port, E_f, cd, cdd)), P)


def _base_transforms(chain: Chain) -> tuple[SX, SX, SX]:
    """W^_0 and its derivatives, in a frame that moves with the origin of the base at this instant."""
    base = chain.base
    turn = skew(base.omega)
    still = ca.SX.zeros(3)
    Wdd = tangent(skew(base.alpha) + ca.mtimes(turn, turn), base.a - chain.gravity)
    return ca.SX.eye(4), tangent(turn, still), Wdd


def homogeneous(R: SX, p: SX) -> SX:
    """(4, 4) [[R, p], [0, 1]]."""
    return ca.blockcat([[R, p], [ca.SX.zeros(1, 3), ca.SX.ones(1, 1)]])


def tangent(R: SX, p: SX) -> SX:
    """(4, 4) [[R, p], [0, 0]]: the derivative of a transform."""
    return ca.blockcat([[R, p], [ca.SX.zeros(1, 3), ca.SX.zeros(1, 1)]])


def pseudo_inertia(body: Moments) -> SX:
    """(4, 4) G = int h h^T = [[D, s], [s^T, m]]."""
    return ca.densify(ca.blockcat([[body.D, body.s], [body.s.T, ca.SX(body.m)]]))


def modal_inertia(body: Moments, f: int) -> SX:
    """(4, 3) H_f = int h phi_f^T = [[int r phi_f^T - spin_f^/2], [int phi_f^T]]; its fourth column is zero."""
    return ca.densify(ca.vertcat(body.H[f] - skew(body.spin[:, f]) / 2, body.eps[:, f].T))


def joint_transforms(link: ChainLink, q: SX, qd: SX) -> tuple[SX, list[SX], SX, SX]:
    """A of a joint, U_k = A s_k^ of its rates, and Ad, Add at zero second derivatives.

    s_k^ = [[w_k^, v_k], [0, 0]] of the columns; Ad = A s^ for s = sum_k s_k qd_k, and Add = A (s^ s^ + (ds/dt)^).
    """
    joint = link.joint
    A = homogeneous(joint.rotation(q).matrix, joint.position(q))
    R, zero = A[:3, :3], ca.SX.zeros(4, 4)
    U = [tangent(ca.mtimes(R, skew(turn)), ca.mtimes(R, slide)) for turn, slide in joint.columns(q)]
    if not U:
        return A, U, zero, zero
    Ad = sum((partial * qd[k] for k, partial in enumerate(U)), zero)
    if len(U) == 1:
        turn, slide = joint.columns(q)[0]
        return A, U, Ad, tangent(ca.mtimes(rotation(U[0]), skew(turn)), ca.mtimes(rotation(U[0]), slide)) * qd**2
    w, v = (sum((column[k] * qd[j] for j, column in enumerate(joint.columns(q))), ca.SX.zeros(3)) for k in range(2))
    w_drift, v_drift = joint.drift(q, qd)
    turning = ca.mtimes(skew(w), skew(w)) + skew(w_drift)
    return A, U, Ad, tangent(ca.mtimes(R, turning), ca.mtimes(R, ca.cross(w, v) + v_drift))


def _tip_partials(tip: TipMap) -> tuple[SX, ...]:
    """(3, 4) upper rows of E_f = dE/dc_f = [[w_f^ R, J_f], [0, 0]] for every amplitude."""
    R = tip.R.matrix
    return tuple(ca.horzcat(ca.mtimes(skew(tip.W[:, f]), R), tip.J[:, f]) for f in range(tip.W.shape[1]))


def _tip_rates(tip: TipMap, E_f: tuple[SX, ...], cd: SX, cdd: SX | None) -> tuple[SX, SX]:
    """Ed and Edd, the latter without second derivatives unless they are given."""
    if not E_f:
        return ca.SX.zeros(4, 4), ca.SX.zeros(4, 4)
    omega = skew(ca.mtimes(tip.W, cd))
    turning = ca.mtimes(skew(tip.w_beta) + ca.mtimes(omega, omega), tip.R.matrix)
    Ed = tangent(ca.mtimes(omega, tip.R.matrix), ca.mtimes(tip.J, cd))
    Edd = tangent(turning, tip.v_beta)
    if cdd is not None:
        Edd[:3, :] += sum(E_f[f] * cdd[f] for f in range(len(E_f)))
    return Ed, Edd


def _product(W: SX, Wd: SX, Wdd: SX, T: SX, Td: SX, Tdd: SX) -> tuple[SX, SX, SX]:
    """Product W T and its first two time derivatives."""
    first = ca.mtimes(Wd, T) + ca.mtimes(W, Td)
    second = ca.mtimes(Wdd, T) + ca.mtimes(Wd, 2 * Td) + ca.mtimes(W, Tdd)
    return ca.mtimes(W, T), first, second


def top(T: SX) -> SX:
    """The first three rows, the only ones of a derivative that are not zero."""
    return T[:3, :]


def rotation(T: SX) -> SX:
    """The upper left 3x3 block."""
    return T[:3, :3]


def trace(X: SX, Y: SX) -> SX:
    """Trace of X Y without forming the product."""
    return ca.dot(ca.densify(X.T), ca.densify(Y))
