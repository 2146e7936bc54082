"""Homogeneous 4x4 transforms of a chain with their rates, and the 4x4 integrals of a body: the alphabet of [ZZZ]."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, skew
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.link_maps import Moments, TipMap


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
