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


def dissipation(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) generalised forces of dampers and friction, positive against the motion."""
    out = ca.SX.zeros(chain.n)
    for link in chain.links:
        if link.body_indices:
            out[list(link.body_indices)] += link.body.dissipation(chain.body(link, q), chain.body(link, qd))
        if link.actuated is None:
            continue
        shaft = link.joint_index if link.joint_index is not None else link.body_indices[0]
        rate, (level, width) = qd[shaft], link.coulomb
        out[shaft] += link.viscous * rate + level * ca.tanh(rate / width)
        if link.drive is not None:
            torque = link.drive.damping * (qd[link.drive.index] - rate)
            out[link.drive.index] += torque
            out[shaft] -= torque
    return out


def passive(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) forces of strain and dissipation, on the left-hand side of the equations of motion."""
    free = ca.SX.sym("q", chain.n)  # q itself may hold prescribed motions, which no derivative can be taken by
    elastic = ca.substitute(ca.gradient(strain_energy(chain, free), free), free, q)
    return ca.densify(elastic + dissipation(chain, q, qd))


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
