"""What acts on the coordinates without any inertia: strain, structural damping, joint friction, elastic drives.

The same for every formulation: `M(q) qdd + inertial(q, qd) + passive(q, qd) = S tau`.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics.chain import Chain


def strain_energy(chain: Chain, q: SX) -> SX:
    """Elastic energy of links and drives."""
    V = ca.SX(0)
    for link in chain.links:
        V += link.body.strain_energy(chain.body(link, q))
        if link.drive is not None:
            V += link.drive.stiffness * (q[link.drive.index] - q[link.shaft]) ** 2 / 2
    return V


def dissipation(chain: Chain, q: SX, qd: SX, bristles: SX | None = None) -> SX:
    """(n,) generalised forces of dampers and friction, positive against the motion.

    In a run, friction has states (k,), one for each of `chain.bristled`; without them it is smooth.
    """
    out = ca.SX.zeros(chain.n)
    numbers = {link.name: k for k, link in enumerate(chain.bristled)} if bristles is not None else {}
    for link in chain.links:
        if link.body_indices:
            out[list(link.body_indices)] += link.body.dissipation(chain.body(link, q), chain.body(link, qd))
        if link.actuated is None:
            continue
        shaft = link.joint_index if link.joint_index is not None else link.body_indices[0]
        rate = qd[shaft]
        if bristles is not None and link.name in numbers:
            friction = link.coulomb.force(rate, bristles[numbers[link.name]])
        else:
            friction = link.coulomb.level * ca.tanh(rate / link.coulomb.width)
        out[shaft] += link.viscous * rate + friction
        if link.drive is not None:
            torque = link.drive.damping * (qd[link.drive.index] - rate)
            out[link.drive.index] += torque
            out[shaft] -= torque
    return out


def bristle_rates(chain: Chain, qd: SX, bristles: SX) -> SX:
    """(k,) rates of the states of friction."""
    rates = [link.coulomb.rate(qd[link.shaft], bristles[k]) for k, link in enumerate(chain.bristled)]
    return ca.vertcat(ca.SX(0, 1), *rates)


def passive(chain: Chain, q: SX, qd: SX, bristles: SX | None = None) -> SX:
    """(n,) forces of strain and dissipation, on the left-hand side of the equations of motion."""
    free = ca.SX.sym("q", chain.n)  # q itself may hold prescribed motions, which no derivative can be taken by
    elastic = ca.substitute(ca.gradient(strain_energy(chain, free), free), free, q)
    return ca.densify(elastic + dissipation(chain, q, qd, bristles))


def rotors(chain: Chain) -> SX:
    """(n,) diagonal that reflected rotor inertias add to the inertia matrix, on joints of stiff drives and on
    motors."""
    out = ca.SX.zeros(chain.n)
    for link in chain.links:
        if link.drive is not None:
            out[link.drive.index] += link.drive.rotor
        elif link.actuated is not None:
            out[link.actuated] += link.rotor
    return out
