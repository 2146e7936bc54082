"""Poses and twists of the links, and the energies that follow from them, in each link's own axes."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, axial, compose
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import Moments


@dataclass(frozen=True)
class Placement:
    """Pose of a link frame in the base: rotation `R` and position `p`, and of its tip frame `R_tip`, `p_tip`."""

    link: ChainLink
    R: SX
    p: SX
    R_tip: SX
    p_tip: SX


def placements(chain: Chain, q: SX) -> list[Placement]:
    """Poses of all links."""
    found = []
    at: dict[tuple[int | None, int], tuple[Rotation, SX]] = {(None, 0): (Identity(), ca.SX.zeros(3))}
    for i, link in enumerate(chain.links):
        R, p = at[link.parent, link.port]
        joint, c = chain.joint(link, q), chain.body(link, q)
        p = p + R.apply(link.joint.position(joint))
        R = compose(R, link.joint.rotation(joint))
        for number, port in enumerate(link.ports(c, ca.SX.zeros(c.shape))):
            at[i, number] = compose(R, port.R), p + R.apply(port.p)
        R_tip, p_tip = at[i, 0]
        found.append(Placement(link, R.matrix, p, R_tip.matrix, p_tip))
    return found


def tip_pose(chain: Chain, q: SX) -> SX:
    """(4, 4) homogeneous pose of the distal frame of the last link."""
    last = placements(chain, q)[-1]
    return ca.blockcat([[last.R_tip, last.p_tip], [ca.SX.zeros(1, 3), ca.SX.ones(1, 1)]])


@dataclass(frozen=True)
class Twist:
    """Angular and linear velocity of a link frame and of its tip frame, each in its own axes."""

    link: ChainLink
    moments: Moments
    cd: SX
    omega: SX
    v: SX
    omega_tip: SX
    v_tip: SX


def twists(chain: Chain, q: SX, qd: SX, base: tuple[SX, SX] | None = None) -> list[Twist]:
    """Twists of all links; `base` is the angular and linear velocity of the base, zero by default."""
    found = []
    at: dict[tuple[int | None, int], tuple[SX, SX]] = {(None, 0): base or (ca.SX.zeros(3), ca.SX.zeros(3))}
    for i, link in enumerate(chain.links):
        omega, v = at[link.parent, link.port]
        joint, rate = chain.joint(link, q), chain.joint_rate(link, qd)
        c, cd = chain.body(link, q), chain.body_rate(link, qd)
        R = link.joint.rotation(joint)
        v, omega = R.unapply(v + ca.cross(omega, link.joint.position(joint))), R.unapply(omega)
        for k, (turn, slide) in enumerate(link.joint.columns(joint)):
            omega, v = omega + turn * rate[k], v + slide * rate[k]
        for number, port in enumerate(link.ports(c, cd)):
            omega_port = port.R.unapply(omega + ca.mtimes(port.W, cd))
            at[i, number] = omega_port, port.R.unapply(v + ca.cross(omega, port.p) + ca.mtimes(port.J, cd))
        found.append(Twist(link, link.body.moments(c, cd), cd, omega, v, *at[i, 0]))
    return found


def jacobian(chain: Chain, q: SX) -> SX:
    """(6, n) geometric Jacobian [angular; linear] of the tip frame, in base axes."""
    qd = ca.SX.sym("qd", chain.n)
    last = twists(chain, q, qd)[-1]
    R = tip_pose(chain, q)[:3, :3]
    twist = ca.vertcat(ca.mtimes(R, last.omega_tip), ca.mtimes(R, last.v_tip))
    return ca.densify(ca.jacobian(twist, qd))


def kinetic_energy(chain: Chain, q: SX, qd: SX, base: tuple[SX, SX] | None = None) -> SX:
    """Kinetic energy of links, hubs and loads."""
    T = ca.SX(0)
    for twist in twists(chain, q, qd, base):
        link = twist.link
        T += body_kinetic_energy(twist.moments, twist.omega, twist.v, twist.cd)
        if link.hub is not None:
            T += body_kinetic_energy(link.hub, twist.omega, twist.v, ca.SX(0, 1))
        if link.load is not None:
            T += body_kinetic_energy(link.load, twist.omega_tip, twist.v_tip, ca.SX(0, 1))
    return T


def body_kinetic_energy(body: Moments, omega: SX, v: SX, cd: SX) -> SX:
    """1/2 int |v + omega x r + rd|^2 and the sections' rotary part, from the moments."""
    D = body.D
    T = body.m * ca.dot(v, v) / 2 + ca.dot(v, ca.cross(omega, body.s))
    T += (ca.trace(D) * ca.dot(omega, omega) - ca.mtimes([omega.T, D, omega])) / 2
    if cd.shape[0]:
        T += ca.dot(v, ca.mtimes(body.eps, cd)) + ca.mtimes([cd.T, body.gram, cd]) / 2
        T += ca.dot(omega, axial(body.P.T) + ca.mtimes(body.spin, cd))
    return T


def gravity_energy(chain: Chain, q: SX) -> SX:
    """Potential energy of gravity, zero for mass at the origin of the base."""
    V = ca.SX(0)
    for place in placements(chain, q):
        c = chain.body(place.link, q)
        body = place.link.body.moments(c, ca.SX.zeros(c.shape))
        V -= _weight(chain, body, place.R, place.p)
        if place.link.hub is not None:
            V -= _weight(chain, place.link.hub, place.R, place.p)
        if place.link.load is not None:
            V -= _weight(chain, place.link.load, place.R_tip, place.p_tip)
    return V


def _weight(chain: Chain, body: Moments, R: SX, p: SX) -> SX:
    return ca.dot(chain.gravity, body.m * p + ca.mtimes(R, body.s))
