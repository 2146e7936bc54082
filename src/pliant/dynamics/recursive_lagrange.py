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

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.inertia import symmetric
from pliant.algebra.rotations import SX, skew
from pliant.dynamics.bodies import Moments, TipMap
from pliant.dynamics.chain import Chain, ChainLink


@dataclass(frozen=True)
class Transforms:
    """A link on the way out: A, E, W and W^ with their time derivatives, and the partial transforms of its coordinates.

    `P_joint` (3, 4) acts on what is given in the link frame, `P_body[f]` (3, 4) on what is given in the distal frame;
    their fourth rows are zero.
    """

    link: ChainLink
    body: Moments
    A: SX
    E: SX
    W: SX
    Wd: SX
    Wdd: SX
    W_tip: SX
    Wdd_tip: SX
    P_joint: SX
    P_body: tuple[SX, ...]
    cd: SX
    cdd: SX | None


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia coefficients J_jh, J_jhk, I_jfh, I_jfhk of [ZZZ], all sums over outer links by one recursion.

    F_h = G_h + E_h K_h E_h^T with K_h = G^_h + A_{h+1} F_{h+1} A_{h+1}^T is the pseudo-inertia of all from link h
    outwards. A coordinate of link h has Y = F_h P_h^T or Y = H_f W_h^T + E_h K_h P_hf^T, and its coefficient in the
    equation of an inner coordinate j is tr(P_j Y) once Y has been carried to the frame of j.
    """
    links = list(outward(chain, q, ca.SX.zeros(chain.n)))
    M = ca.SX.zeros(chain.n, chain.n)
    F = ca.SX.zeros(4, 4)
    for h in reversed(range(len(links))):
        t = links[h]
        K = F if t.link.load is None else F + pseudo_inertia(t.link.load)
        F = symmetric(pseudo_inertia(_with_hub(t)) + ca.mtimes([t.E, K, t.E.T]))
        for f, column in enumerate(t.link.body_indices):
            Y_tip = ca.mtimes(K, t.P_body[f].T)
            for k, row in enumerate(t.link.body_indices[: f + 1]):
                M[row, column] = M[column, row] = t.body.gram[k, f] + _trace(t.P_body[k], Y_tip)
            Y = ca.mtimes(modal_inertia(t.body, f), _rotation(t.W).T) + ca.mtimes(t.E, Y_tip)
            _fill_column(links[: h + 1], column, Y, M)
        if t.link.joint_index is not None:
            _fill_column(links[: h + 1], t.link.joint_index, ca.mtimes(F, t.P_joint.T), M)
        F = symmetric(ca.mtimes([t.A, F, t.A.T]))
    return M


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) remainders of the equations: velocity terms and gravity."""
    return _remainders(chain, list(outward(chain, q, qd)))


def inverse_dynamics(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """(n,) M qdd + h without forming M, the use for which Book wrote the recursion."""
    return _remainders(chain, list(outward(chain, q, qd, qdd)))


def outward(chain: Chain, q: SX, qd: SX, qdd: SX | None = None) -> Iterator[Transforms]:
    """W, Wd, Wdd of every link, base to tip; without `qdd` the part of Wdd that holds no second derivatives."""
    W, Wd, Wdd = _base_transforms(chain)
    for link in chain.links:
        A, U, U2 = joint_transforms(link, chain.joint(link, q))
        rate = chain.joint(link, qd)
        Ad, Add = U * rate, U2 * rate**2
        if qdd is not None:
            Add = Add + U * chain.joint(link, qdd)
        P_joint = _top(ca.mtimes(W, U))
        W, Wd, Wdd = _product(W, Wd, Wdd, A, Ad, Add)
        cd = chain.body(link, qd)
        cdd = None if qdd is None else chain.body(link, qdd)
        tip = link.body.tip(chain.body(link, q), cd)
        E, E_f = homogeneous(tip.R.matrix, tip.p), _tip_partials(tip)
        W_tip, Wd_tip, Wdd_tip = _product(W, Wd, Wdd, E, *_tip_rates(tip, E_f, cd, cdd))
        P_body = tuple(ca.mtimes(_rotation(W), partial) for partial in E_f)
        body = link.body.moments(chain.body(link, q), cd)
        yield Transforms(link, body, A, E, W, Wd, Wdd, W_tip, Wdd_tip, P_joint, P_body, cd, cdd)
        W, Wd, Wdd = W_tip, Wd_tip, Wdd_tip


def _base_transforms(chain: Chain) -> tuple[SX, SX, SX]:
    """W^_0 and its derivatives, in a frame that moves with the origin of the base at this instant."""
    base = chain.base
    turn = skew(base.omega)
    still = ca.SX.zeros(3)
    Wdd = tangent(skew(base.alpha) + ca.mtimes(turn, turn), base.a - chain.gravity)
    return ca.SX.eye(4), tangent(turn, still), Wdd


def _remainders(chain: Chain, links: list[Transforms]) -> SX:
    """Q_j = int h a^T of link j + E_j (G^_j W^dd_j^T + A_{j+1} Q_{j+1}), tip to base; tr(P_j Q_j) per coordinate."""
    out = ca.SX.zeros(chain.n)
    Q = ca.SX.zeros(4, 3)
    for t in reversed(links):
        if t.link.load is not None:
            Q = Q + ca.mtimes(pseudo_inertia(t.link.load), _top(t.Wdd_tip).T)
        own = _own_modal_forces(t)
        for f, row in enumerate(t.link.body_indices):
            out[row] = own[f] + _trace(t.P_body[f], Q)
        Q = _own_moment(t) + ca.mtimes(t.E, Q)
        if t.link.joint_index is not None:
            out[t.link.joint_index] = _trace(t.P_joint, Q)
        Q = ca.mtimes(t.A, Q)
    return out


def _own_moment(t: Transforms) -> SX:
    """(4, 3) int h a^T of body and hub, a = Wdd h + 2 Wd hd + W (sum phi_f cdd_f + beta)."""
    moment = ca.mtimes(pseudo_inertia(_with_hub(t)), _top(t.Wdd).T)
    if not t.link.body_indices:
        return moment
    H = [modal_inertia(t.body, f) for f in range(t.cd.shape[0])]
    drift = ca.vertcat(t.body.X_beta.T, t.body.f_beta.T)
    if t.cdd is not None:
        drift = drift + sum(H[f] * t.cdd[f] for f in range(len(H)))
    coriolis = 2 * sum(H[f] * t.cd[f] for f in range(len(H)))
    return moment + ca.mtimes(coriolis, _rotation(t.Wd).T) + ca.mtimes(drift, _rotation(t.W).T)


def _own_modal_forces(t: Transforms) -> list[SX]:
    """int (W phi_f) . a per amplitude: tr(W^T Wdd H_f) + 2 tr(W^T Wd N_f) + beta terms + gram cdd."""
    if not t.link.body_indices:
        return []
    V = ca.mtimes(_rotation(t.W).T, _top(t.Wdd))
    omega = ca.mtimes(_rotation(t.W).T, _rotation(t.Wd))
    inertia: SX = ca.SX.zeros(t.cd.shape[0]) if t.cdd is None else ca.mtimes(t.body.gram, t.cdd)
    return [
        _trace(V, modal_inertia(t.body, f)) + 2 * _trace(omega, N) + t.body.b_beta[f] + inertia[f]
        for f, N in enumerate(t.body.N)
    ]


def _fill_column(inner: list[Transforms], column: int, Y: SX, M: SX) -> None:
    """Carries Y (4, 3) from the last link of `inner` to the base: tr(P Y) is the coefficient of each coordinate met."""
    outermost = len(inner) - 1
    for j in range(outermost, -1, -1):
        t = inner[j]
        if j < outermost:
            for row, P in zip(t.link.body_indices, t.P_body, strict=True):
                M[row, column] = M[column, row] = _trace(P, Y)
            Y = ca.mtimes(t.E, Y)
        if t.link.joint_index is not None:
            row = t.link.joint_index
            M[row, column] = M[column, row] = _trace(t.P_joint, Y)
        Y = ca.mtimes(t.A, Y)


# -------------------------------------------------------------------------------------------------------- 4x4 alphabet


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


def joint_transforms(link: ChainLink, q: SX) -> tuple[SX, SX, SX]:
    """A, U = dA/dq and d2A/dq2 of a joint."""
    joint = link.joint
    A = homogeneous(joint.rotation(q).matrix, joint.position(q))
    if joint.turns:
        R, a = A[:3, :3], skew(joint.a)
        still, Ra = ca.SX.zeros(3), ca.mtimes(R, a)
        return A, tangent(Ra, still), tangent(ca.mtimes(Ra, a), still)
    zero = ca.SX.zeros(3, 3)
    slides = joint.kind == "prismatic"
    return A, tangent(zero, joint.origin_rotation.apply(joint.a) if slides else ca.SX.zeros(3)), ca.SX.zeros(4, 4)


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
    """W T and its first two time derivatives."""
    first = ca.mtimes(Wd, T) + ca.mtimes(W, Td)
    second = ca.mtimes(Wdd, T) + ca.mtimes(Wd, 2 * Td) + ca.mtimes(W, Tdd)
    return ca.mtimes(W, T), first, second


def _with_hub(t: Transforms) -> Moments:
    return t.body if t.link.hub is None else t.body.added(t.link.hub)


def _top(T: SX) -> SX:
    """The first three rows, the only ones of a derivative that are not zero."""
    return T[:3, :]


def _rotation(T: SX) -> SX:
    """The upper left 3x3 block."""
    return T[:3, :3]


def _trace(X: SX, Y: SX) -> SX:
    """tr(X Y) without forming the product."""
    return ca.dot(ca.densify(X.T), ca.densify(Y))
