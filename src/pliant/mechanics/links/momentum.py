"""Momentum and center of mass of everything that moves, in axes that stand still.

Both are slopes of energies, so that flexible bodies, sections and every order of stiffening count as they do there: the
momentum is the slope of the kinetic energy by a velocity that all links are given on top of their own, the first moment
of mass the slope of the gravity energy by gravity.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import gravity_energy, kinetic_energy


def total_mass(chain: Chain, q: SX) -> SX:
    """Mass of links, hubs and loads."""
    mass = ca.SX(0)
    for link in chain.links:
        c = chain.body(link, q)
        parts = (link.body.moments(c, ca.SX.zeros(c.shape)), link.hub, link.load)
        mass += sum(part.m for part in parts if part is not None)
    return mass


def center_of_mass(chain: Chain, q: SX) -> SX:
    """(3,) center of mass; the origin, where nothing has mass."""
    gravity, mass = ca.SX.sym("gravity", 3), total_mass(chain, q)
    if mass.is_zero():
        return ca.SX.zeros(3)
    return -ca.gradient(gravity_energy(replace(chain, gravity=gravity), q), gravity) / mass


def momentum(chain: Chain, q: SX, qd: SX) -> SX:
    """(6,) angular momentum about the center of mass, and linear momentum; rotors apart, which have none in T."""
    twist = ca.SX.sym("twist", 6)
    T = kinetic_energy(chain, q, qd, (twist[:3], twist[3:]))
    whole = ca.substitute(ca.gradient(T, twist), twist, ca.SX.zeros(6))
    return ca.vertcat(whole[:3] - ca.cross(center_of_mass(chain, q), whole[3:]), whole[3:])
