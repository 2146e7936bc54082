"""Lagrange's equations straight from kinetic and potential energy by automatic differentiation: the judge of all disputes.

Nothing here is recursive or clever. M = d2T/dqd2, the velocity terms are d/dt(dT/dqd) - dT/dq at zero acceleration, gravity is a
gradient. [TG95] eqs. (16), (17), (26).
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics import kinematics
from pliant.dynamics.chain import Chain
from pliant.dynamics.energies import gravity_energy, kinetic_energy


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia matrix of the links: the Hessian of the kinetic energy in the rates."""
    qd = ca.SX.sym("qd", chain.n)
    return ca.densify(ca.jacobian(ca.gradient(kinetic_energy(chain, q, qd), qd), qd))


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) velocity and gravity terms h + c of [TG95] (26)."""
    omega, v = ca.SX.sym("omega_base", 3), ca.SX.sym("v_base", 3)
    moving = not chain.base.at_rest
    T = kinematics.kinetic_energy(chain, q, qd, (omega, v)) if moving else kinetic_energy(chain, q, qd)
    momentum = ca.gradient(T, qd)
    h = ca.jtimes(momentum, q, qd) - ca.gradient(T, q)
    if moving:  # in a frame that moves with the base at this instant: v = 0, dv/dt = a
        base, rates = ca.vertcat(omega, v), ca.vertcat(chain.base.alpha, chain.base.a)
        h += ca.jtimes(momentum, base, rates)
        h = ca.substitute(h, base, ca.vertcat(chain.base.omega, ca.SX.zeros(3)))
    return ca.densify(h + ca.gradient(gravity_energy(chain, q), q))
