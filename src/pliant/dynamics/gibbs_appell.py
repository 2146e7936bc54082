"""Recursive Gibbs-Appell equations of rigid and flexible chains [KS09]: I(Theta) Thetadd = Re, by 3x3 and 3x1 matrices.

The Gibbs function S is half the mass-weighted square of all accelerations. dS/dqdd_j = tau_j and
dS/ddeltadd_jf + dV/ddelta_jf = 0 are the equations of motion (57), (58). Steps 1-6 of the paper's algorithm, here, walk
out for velocities and accelerations and in for the derivatives of S; Steps 7-10, in `gibbs_appell_inertia`, give the
inertia matrix. All vectors stand in the axes of their own link.

Notes
-----
Corrections of the printed equations, each held by a test: `+ omega~ B_9 omega` in (44); omega x thetad in (70) and in
Step 2; omegad_v x r and the base acceleration -g in (69); eps_jf in (102). The strain forces K delta of (103) and the
torques are added by `Equations`, alike for all formulations, which also solves (94) for Thetadd. What reaches beyond
the paper is described in `gibbs_appell_links`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics.chain import Chain
from pliant.dynamics.gibbs_appell_inertia import inertia_matrix
from pliant.dynamics.gibbs_appell_links import GibbsAppellLink, links_of


@dataclass(frozen=True)
class LinkMotion:
    """Angular velocity, angular acceleration and acceleration of the origin of a link, in its axes."""

    omega: SX
    omegad: SX
    rdd: SX


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia matrix I(Theta) of the links, Steps 1 and 7-10."""
    return inertia_matrix(links_of(chain, q, ca.SX(chain.n, 1)), chain.n)


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
    phi, chi = _inward_forces(links, S, T)
    Q = [_modal_forces(link, motion, qdd) for link, motion in zip(links, motions, strict=True)]
    out = ca.SX.zeros(chain.n)
    for j, link in enumerate(links):  # Step 6
        if link.joint is not None:
            out[link.joint] = ca.dot(link.z, chi[j])  # (98)
        if link.indices:
            beyond = ca.mtimes(link.r_modes.T, phi[j])
            if j + 1 < len(links):
                beyond += ca.mtimes(link.theta_modes.T, links[j + 1].R.apply(chi[j + 1]))
            out[list(link.indices)] = beyond - Q[j]  # (103)
    return out


def outward_motion(chain: Chain, links: list[GibbsAppellLink], qd: SX, qdd: SX) -> list[LinkMotion]:
    """Step 2: omega (63), omegad (65) and rdd (59) of links 0...n; zero `qdd` leaves omegad_v and rdd_v.

    Gravity is base acceleration -g.
    """
    base = chain.base
    motions = [LinkMotion(base.omega, base.alpha, base.a - chain.gravity)]
    for before, link in pairwise(links):
        omega, omegad, rdd = motions[-1].omega, motions[-1].omegad, motions[-1].rdd
        deltadd = before.second(qdd)
        thetadd = ca.mtimes(before.theta_modes, deltadd) + before.theta_beta  # (66)
        rdd = rdd + ca.mtimes(before.r_modes, deltadd) + before.r_beta + 2 * ca.cross(omega, before.rd)
        rdd = rdd + ca.cross(omegad, before.r) + ca.cross(omega, ca.cross(omega, before.r))  # (59)
        turning = link.R.unapply(omega + before.thetad)
        omegad = link.R.unapply(omegad + thetadd + ca.cross(omega, before.thetad))  # (65)
        omega = turning
        if link.joint is not None:
            omega = turning + link.z * qd[link.joint]  # (63)
            omegad = omegad + ca.cross(turning, link.z) * qd[link.joint] + link.z * qdd[link.joint]
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


def _inward_forces(links: list[GibbsAppellLink], S: list[SX], T: list[SX]) -> tuple[list[SX], list[SX]]:
    """Step 4: phi_j (100), the force of all beyond j, and chi_j (99), the moment about O_j of link j and beyond."""
    n = len(links) - 1
    phi, chi = [ca.SX(3, 1)] * (n + 1), [T[n]] * (n + 1)
    for j in reversed(range(n)):
        R = links[j + 1].R
        phi[j] = R.apply(S[j + 1] + phi[j + 1])
        chi[j] = T[j] + ca.cross(links[j].r, phi[j]) + R.apply(chi[j + 1])
    return phi, chi


def _modal_forces(link: GibbsAppellLink, motion: LinkMotion, qdd: SX) -> SX:
    """Step 5: Q (102) with eps_jf where the paper prints c_jf, and the sC deltadd of (44)."""
    i, omega = link.integrals, motion.omega
    if not link.indices:
        return ca.SX(0, 1)
    rows = [2 * ca.dot(omega, c) + ca.dot(omega, ca.mtimes(beta, omega)) for c, beta in zip(i.c, i.beta, strict=True)]
    carried = ca.mtimes(i.eps.T, motion.rdd) + ca.mtimes(i.alpha.T, motion.omegad)
    return ca.vertcat(*rows) - carried - ca.mtimes(i.sC, link.second(qdd)) - i.Q_beta
