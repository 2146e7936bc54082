"""Homogeneous 4x4 transforms of a chain with their rates, and the 4x4 integrals of a body: the alphabet of [ZZZ]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

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

    @property
    def inertia(self) -> SX:
        """(4, 4) pseudo-inertia of body and hub."""
        return pseudo_inertia(self.body if self.link.hub is None else self.body.added(self.link.hub))


def outward(chain: Chain, q: SX, qd: SX, qdd: SX | None = None) -> Iterator[Transforms]:
    """W, Wd, Wdd of every link, base to tip; without `qdd` the part of Wdd that holds no second derivatives."""
    W, Wd, Wdd = _base_transforms(chain)
    for link in chain.links:
        A, U, U2 = joint_transforms(link, chain.joint(link, q))
        rate = chain.joint(link, qd)
        Ad, Add = U * rate, U2 * rate**2
        if qdd is not None:
            Add = Add + U * chain.joint(link, qdd)
        P_joint = top(ca.mtimes(W, U))
        W, Wd, Wdd = _product(W, Wd, Wdd, A, Ad, Add)
        cd = chain.body(link, qd)
        cdd = None if qdd is None else chain.body(link, qdd)
        tip = link.body.tip(chain.body(link, q), cd)
        E, E_f = homogeneous(tip.R.matrix, tip.p), _tip_partials(tip)
        W_tip, Wd_tip, Wdd_tip = _product(W, Wd, Wdd, E, *_tip_rates(tip, E_f, cd, cdd))
        P_body = tuple(ca.mtimes(rotation(W), partial) for partial in E_f)
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


def top(T: SX) -> SX:
    """The first three rows, the only ones of a derivative that are not zero."""
    return T[:3, :]


def rotation(T: SX) -> SX:
    """The upper left 3x3 block."""
    return T[:3, :3]


def trace(X: SX, Y: SX) -> SX:
    """tr(X Y) without forming the product."""
    return ca.dot(ca.densify(X.T), ca.densify(Y))
