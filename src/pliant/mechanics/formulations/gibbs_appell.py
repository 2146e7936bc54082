"""Recursive Gibbs-Appell equations of rigid and flexible chains [KS09]: I(Theta) Thetadd = Re, by 3x3 and 3x1 matrices.

The Gibbs function S is half the mass-weighted square of all accelerations. dS/dqdd_j = tau_j and
dS/ddeltadd_jf + dV/ddelta_jf = 0 are the equations of motion (57), (58). Steps 1-6 of the paper's algorithm, here, walk
out for velocities and accelerations and in for the derivatives of S; Steps 7-10, in `gibbs_appell_inertia`, give the
inertia matrix. All vectors stand in the axes of their own link.

Notes
-----
Corrections of the printed equations, each held by a test: `+ omega~ B_9 omega` in (44); omega x thetad in (70) and in
Step 2; omegad_v x r and the base acceleration -g in (69); eps_jf in (102). The strain forces K delta of (103) and the
torques are added by `Equations`, alike for all formulations, which also solves (94) for Thetadd. Extensions of the
paper are described in `gibbs_appell_links`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.gibbs_appell_inertia import inertia_matrix
from pliant.mechanics.formulations.gibbs_appell_links import GibbsAppellLink, links_of
from pliant.mechanics.links.chain import BaseMotion, Chain


@dataclass(frozen=True)
class LinkMotion:
    """Angular velocity, angular acceleration and acceleration of the origin of a link, in its axes."""

    omega: SX
    omegad: SX
    rdd: SX


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia matrix I(Theta) of the links: Steps 1 and 7-10 for the chains of the paper; on a tree, and with
    joints of several angles, column by column as second derivatives of the Gibbs function."""
    still = ca.SX(chain.n, 1)
    links = links_of(chain, q, still)
    if all(link.carriage == (i - 1, 0) and len(link.joints) < 2 for i, link in enumerate(links) if i):
        return inertia_matrix(links, chain.n)
    weightless = replace(chain, gravity=ca.SX.zeros(3), base=BaseMotion())
    columns = [gibbs_derivatives(weightless, links, still, e) for e in ca.horzsplit(ca.SX.eye(chain.n))]
    return ca.horzcat(*columns)


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) velocity and gravity terms: tau - K delta - Re of (98), (103), Steps 1-6."""
    return inverse_dynamics(chain, q, qd, ca.SX(chain.n, 1))


def inverse_dynamics(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """(n,) dS/dqdd and dS/ddeltadd of (43), (44), gravity included: the inverse form (57), (58) without strain."""
    return gibbs_derivatives(chain, links_of(chain, q, qd), qd, qdd)


def gibbs_derivatives(chain: Chain, links: list[GibbsAppellLink], qd: SX, qdd: SX) -> SX:
    """(n,) derivatives of the Gibbs function by second derivatives, Steps 2-6; zero `qdd` leaves -Re of the links."""
    motions = outward_motion(chain, links, qd, qdd)
    S, T = _link_forces(links, motions, qdd)
    phi, chi, about = _inward_forces(links, S, T)
    Q = [_modal_forces(link, motion, qdd) for link, motion in zip(links, motions, strict=True)]
    out = ca.SX.zeros(chain.n)
    for j, link in enumerate(links):  # Step 6
        for index, z in link.joints:
            out[index] = ca.dot(z, chi[j])  # (98)
        if link.indices:
            beyond = ca.SX.zeros(len(link.indices))
            for place, origin in enumerate(link.next):
                beyond += ca.mtimes(origin.r_modes.T, phi[j][place]) + ca.mtimes(origin.theta_modes.T, about[j][place])
            out[list(link.indices)] = beyond - Q[j]  # (103)
    return out


def outward_motion(chain: Chain, links: list[GibbsAppellLink], qd: SX, qdd: SX) -> list[LinkMotion]:
    """Step 2: omega (63), omegad (65) and rdd (59) of links 0...n; zero `qdd` leaves omegad_v and rdd_v.

    Gravity is base acceleration -g.
    """
    base = chain.base
    motions = [LinkMotion(base.omega, base.alpha, base.a - chain.gravity)]
    for link in links[1:]:
        carrier, place = link.carriage
        before = links[carrier].next[place]
        omega, omegad, rdd = motions[carrier].omega, motions[carrier].omegad, motions[carrier].rdd
        deltadd = links[carrier].second(qdd)
        thetadd = ca.mtimes(before.theta_modes, deltadd) + before.theta_beta  # (66)
        rdd = rdd + ca.mtimes(before.r_modes, deltadd) + before.r_beta + 2 * ca.cross(omega, before.rd)
        rdd = rdd + ca.cross(omegad, before.r) + ca.cross(omega, ca.cross(omega, before.r))  # (59)
        turning = omega = link.R.unapply(omega + before.thetad)
        omegad = link.R.unapply(omegad + thetadd + ca.cross(motions[carrier].omega, before.thetad)) + link.drift  # (65)
        for index, z in link.joints:
            omega = omega + z * qd[index]  # (63)
            omegad = omegad + ca.cross(turning, z) * qd[index] + z * qdd[index]
        motions.append(LinkMotion(omega, omegad, link.R.unapply(rdd)))
    return motions


def _link_forces(links: list[GibbsAppellLink], motions: list[LinkMotion], qdd: SX) -> tuple[list[SX], list[SX]]:
    """Step 3: the brackets of (43), i.e. S (96) and T (97) with B_1 and B_6 of the second derivatives."""
    S, T = [], []
    for link, motion in zip(links, motions, strict=True):
        i, omega, omegad, rdd, deltadd = link.integrals, motion.omega, motion.omegad, motion.rdd, link.second(qdd)
        B_1, B_6 = ca.mtimes(i.eps, deltadd) + i.S_beta, ca.mtimes(i.alpha, deltadd) + i.T_beta  # (23), (28)
        carried = i.M * rdd + B_1 - ca.mtimes(i.B_3, omegad)
        S.append(carried - ca.mtimes(i.B_2, 2 * omega) - ca.cross(omega, ca.mtimes(i.B_3, omega)))
        carried = ca.mtimes(i.B_3, rdd) + B_6 + ca.mtimes(i.B_9, omegad)
        T.append(carried + ca.mtimes(i.B_8, 2 * omega) + ca.cross(omega, ca.mtimes(i.B_9, omega)))
    return S, T


def _inward_forces(
    links: list[GibbsAppellLink], S: list[SX], T: list[SX]
) -> tuple[list[list[SX]], list[SX], list[list[SX]]]:
    """Step 4: phi_j (100), the force of all beyond each next origin of j; chi_j (99), the moment about O_j of link j
    and beyond; and the moment about each next origin of all beyond it, in the axes of j."""
    phi, about = ([[ca.SX(3, 1) for _ in link.next] for link in links] for _ in range(2))
    chi = list(T)
    for i in reversed(range(1, len(links))):
        j, place = links[i].carriage
        phi[j][place] = links[i].R.apply(sum(phi[i], S[i]))
        about[j][place] = links[i].R.apply(chi[i])
        chi[j] = chi[j] + ca.cross(links[j].next[place].r, phi[j][place]) + about[j][place]
    return phi, chi, about


def _modal_forces(link: GibbsAppellLink, motion: LinkMotion, qdd: SX) -> SX:
    """Step 5: Q (102) with eps_jf where the paper prints c_jf, and the sC deltadd of (44)."""
    i, omega = link.integrals, motion.omega
    if not link.indices:
        return ca.SX(0, 1)
    rows = [2 * ca.dot(omega, c) + ca.dot(omega, ca.mtimes(beta, omega)) for c, beta in zip(i.c, i.beta, strict=True)]
    carried = ca.mtimes(i.eps.T, motion.rdd) + ca.mtimes(i.alpha.T, motion.omegad)
    return ca.vertcat(*rows) - carried - ca.mtimes(i.sC, link.second(qdd)) - i.Q_beta
