"""Where the links are and how they move: poses, twists and the energies that follow from them, in each link's own
axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, axial, compose
from pliant.dynamics.bodies import Moments, TipMap
from pliant.dynamics.chain import Chain, ChainLink


@dataclass(frozen=True)
class Placement:
    """Pose of a link frame in the base: rotation `R` and position `p`, and of its tip frame `R_tip`, `p_tip`."""

    link: ChainLink
    R: SX
    p: SX
    R_tip: SX
    p_tip: SX


def placements(chain: Chain, q: SX) -> Iterator[Placement]:
    """Walks out along the chain."""
    R: Rotation = Identity()
    p = ca.SX.zeros(3)
    for link in chain.links:
        joint, c = chain.joint(link, q), chain.body(link, q)
        p = p + R.apply(link.joint.position(joint))
        R = compose(R, link.joint.rotation(joint))
        tip = link.body.tip(c, ca.SX.zeros(c.shape))
        p_tip = p + R.apply(tip.p)
        R_tip = compose(R, tip.R)
        yield Placement(link, R.matrix, p, R_tip.matrix, p_tip)
        R, p = R_tip, p_tip


def tip_pose(chain: Chain, q: SX) -> SX:
    """(4, 4) homogeneous pose of the distal frame of the last link."""
    *_, last = placements(chain, q)
    return ca.blockcat([[last.R_tip, last.p_tip], [ca.SX.zeros(1, 3), ca.SX.ones(1, 1)]])


@dataclass(frozen=True)
class Twist:
    """Angular and linear velocity of a link frame and of its tip frame, each in its own axes."""

    link: ChainLink
    moments: Moments
    tip: TipMap
    cd: SX
    omega: SX
    v: SX
    omega_tip: SX
    v_tip: SX


def twists(chain: Chain, q: SX, qd: SX, base: tuple[SX, SX] | None = None) -> Iterator[Twist]:
    """Walks out along the chain with velocities; `base` is the angular and linear velocity of the base, zero by
    default."""
    omega, v = base or (ca.SX.zeros(3), ca.SX.zeros(3))
    for link in chain.links:
        joint, rate = chain.joint(link, q), chain.joint(link, qd)
        c, cd = chain.body(link, q), chain.body(link, qd)
        R = link.joint.rotation(joint)
        turn, slide = link.joint.screw()
        v = R.unapply(v + ca.cross(omega, link.joint.position(joint))) + slide * rate
        omega = R.unapply(omega) + turn * rate
        tip = link.body.tip(c, cd)
        omega_tip = tip.R.unapply(omega + ca.mtimes(tip.W, cd))
        v_tip = tip.R.unapply(v + ca.cross(omega, tip.p) + ca.mtimes(tip.J, cd))
        yield Twist(link, link.body.moments(c, cd), tip, cd, omega, v, omega_tip, v_tip)
        omega, v = omega_tip, v_tip


def jacobian(chain: Chain, q: SX) -> SX:
    """(6, n) geometric Jacobian [angular; linear] of the tip frame, in base axes."""
    qd = ca.SX.sym("qd", chain.n)
    *_, last = twists(chain, q, qd)
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
