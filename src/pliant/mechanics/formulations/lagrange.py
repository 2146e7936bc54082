"""Lagrange's equations straight from kinetic and potential energy by automatic differentiation: the
reference formulation.

Nothing here is recursive or clever. M = d2T/dqd2, the velocity terms are d/dt(dT/dqd) - dT/dq at zero acceleration,
gravity is a gradient. [TG95] eqs. (16), (17), (26).

Where a joint has a quaternion its speeds v are no rates of coordinates. With displacements along the speeds, by which
a gradient is G(q)^T d/dq, and pi = dT/dv, Lagrange's equations become (Boltzmann, Hamel)

    d/dt pi - ad(v)^T pi - dT/d(displacement) = Q,    ad(v)^T pi = [pi_w x w + pi_v x v; pi_v x w] of a free joint

with the turning and the linear part of its speeds, [pi_w x w] of a spherical one, and nothing of all others.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import gravity_energy, kinetic_energy


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia matrix of the links: the Hessian of the kinetic energy in the rates."""
    Q, Qd = _symbols(chain)
    M = ca.jacobian(ca.gradient(kinetic_energy(chain, Q, Qd), Qd), Qd)
    return ca.densify(ca.substitute(M, Q, q))


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) velocity and gravity terms h + c of [TG95] (26)."""
    Q, Qd = _symbols(chain)
    h = _velocity_forces(chain, Q, Qd) + chain.gradient(gravity_energy(chain, Q), Q)
    return ca.densify(ca.substitute([h], [Q, Qd], [q, qd])[0])


def _velocity_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """d/dt(dT/dqd) - dT/dq at zero acceleration, on a base that moves or stands."""
    base = chain.base
    if base.at_rest:
        T = kinetic_energy(chain, q, qd)
        momentum = ca.gradient(T, qd)
        return ca.jtimes(momentum, q, chain.rates(q, qd)) - chain.gradient(T, q) - _turned(chain, momentum, qd)
    omega, v = ca.SX.sym("omega_base", 3), ca.SX.sym("v_base", 3)
    T = kinetic_energy(chain, q, qd, (omega, v))
    momentum = ca.gradient(T, qd)
    # in a frame that moves with the base at this instant: v = 0, dv/dt = a
    state, rate = ca.vertcat(q, omega, v), ca.vertcat(chain.rates(q, qd), base.alpha, base.a)
    h = ca.jtimes(momentum, state, rate) - chain.gradient(T, q) - _turned(chain, momentum, qd)
    return ca.substitute(h, ca.vertcat(omega, v), ca.vertcat(base.omega, ca.SX.zeros(3)))


def _symbols(chain: Chain) -> tuple[SX, SX]:
    """Coordinates and speeds to differentiate by: those given may hold prescribed motions."""
    return ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)


def _turned(chain: Chain, momentum: SX, speeds: SX) -> SX:
    """(n,) ad(v)^T pi: how the momenta of joints with quaternions turn with their own axes."""
    out = ca.SX(chain.n, 1)
    for link in chain.links:
        if link.joint.is_ball:
            index = list(link.joint_indices)
            pi, v = momentum[index], speeds[index]
            turned = ca.cross(pi[:3], v[:3])
            if link.joint.kind == "free":
                turned = ca.vertcat(turned + ca.cross(pi[3:], v[3:]), ca.cross(pi[3:], v[:3]))
            out[index] = turned
    return out
