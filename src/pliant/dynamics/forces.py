"""What acts on the coordinates without any inertia: strain, structural damping, joint friction, elastic drives.

The same for every formulation: `M(q) qdd + inertial(q, qd) + passive(q, qd) = S tau`.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics.chain import Chain, ChainLink


def strain_energy(chain: Chain, q: SX) -> SX:
    """Elastic energy of links and drives."""
    V = ca.SX(0)
    for link in chain.links:
        V += link.body.strain_energy(chain.body(link, q))
        for shaft in link.shafts:
            if shaft.drive is not None:
                V += shaft.drive.stiffness * (q[shaft.drive.place] - q[shaft.place]) ** 2 / 2
    return V


def dissipation(chain: Chain, q: SX, qd: SX, bristles: SX | None = None) -> SX:
    """(n,) generalised forces of dampers and friction, positive against the motion.

    In a run, friction has states (k,), one for each of `chain.bristled`; without them it is smooth.
    """
    out = ca.SX.zeros(chain.n)
    numbers = {shaft.name: k for k, shaft in enumerate(chain.bristled)} if bristles is not None else {}
    for link in chain.links:
        if link.body_indices:
            c, cd = chain.body(link, q), chain.body_rate(link, qd)
            out[list(link.body_indices)] += chain.body_step("damping", _damping_forces, link, c, cd)
        for shaft in link.shafts:
            rate = qd[shaft.index]
            if bristles is not None and shaft.name in numbers:
                friction = shaft.coulomb.force(rate, bristles[numbers[shaft.name]])
            else:
                friction = shaft.coulomb.level * ca.tanh(rate / shaft.coulomb.width)
            out[shaft.index] += shaft.viscous * rate + friction
            if shaft.drive is not None:
                torque = shaft.drive.damping * (qd[shaft.actuated] - rate)
                out[shaft.actuated] += torque
                out[shaft.index] -= torque
    for damper in chain.dampers:
        own = list(damper.indices)
        out[own] += ca.mtimes(damper.matrix, qd[own])
    return out


def _damping_forces(link: ChainLink, c: SX, cd: SX) -> SX:
    """(k,) forces of the damping inside a link on its coordinates."""
    return link.body.dissipation(c, cd)


def bristle_rates(chain: Chain, qd: SX, bristles: SX) -> SX:
    """(k,) rates of the states of friction."""
    rates = [shaft.coulomb.rate(qd[shaft.index], bristles[k]) for k, shaft in enumerate(chain.bristled)]
    return ca.vertcat(ca.SX(0, 1), *rates)


def passive(chain: Chain, q: SX, qd: SX, bristles: SX | None = None) -> SX:
    """(n,) forces of strain and dissipation, on the left-hand side of the equations of motion."""
    out = dissipation(chain, q, qd, bristles)
    for link in chain.links:
        if link.body_indices:
            c = chain.body(link, q)
            out[list(link.body_indices)] += chain.body_step("strain", _strain_forces, link, c)
        for shaft in link.shafts:
            if shaft.drive is not None:
                torque = shaft.drive.stiffness * (q[shaft.drive.place] - q[shaft.place])
                out[shaft.actuated] += torque
                out[shaft.index] -= torque
    return ca.densify(out)


def _strain_forces(link: ChainLink, c: SX) -> SX:
    """(k,) forces of strain on a link's coordinates."""
    free = ca.SX.sym("c", c.shape[0])  # c may hold prescribed motions, which no derivative can be taken by
    return ca.densify(ca.substitute(ca.gradient(link.body.strain_energy(free), free), free, c))


def rotors(chain: Chain) -> SX:
    """(n,) diagonal that reflected rotor inertias add to the inertia matrix, on joints of stiff drives and on
    motors."""
    out = ca.SX.zeros(chain.n)
    for shaft in chain.shafts:
        out[shaft.actuated] += shaft.rotor if shaft.drive is None else shaft.drive.rotor
    return out
