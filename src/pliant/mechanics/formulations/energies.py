"""Kinetic and gravity energy of a chain in the model's order of stiffening, for `lagrange` and for users."""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.generalized_forces import rotors, strain_energy
from pliant.mechanics.links import kinematics
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.stiffening import first_order


def kinetic_energy(chain: Chain, q: SX, qd: SX, base: tuple[SX, SX] | None = None) -> SX:
    """Kinetic energy of links, hubs and loads (rotors apart); `base` is the angular and linear velocity of the base."""

    def energy(chain: Chain, q: SX, qd: SX) -> SX:
        return kinematics.kinetic_energy(chain, q, qd, base)

    return first_order(chain, energy, q, qd) if chain.stiffening == "first-order" else energy(chain, q, qd)


def gravity_energy(chain: Chain, q: SX) -> SX:
    """Potential energy of gravity, zero for mass at the origin of the base."""
    if chain.stiffening == "first-order":
        rates = ca.SX.sym("unused", chain.n)
        return first_order(chain, lambda chain, q, qd: kinematics.gravity_energy(chain, q), q, rates)
    return kinematics.gravity_energy(chain, q)


def potential_energy(chain: Chain, q: SX) -> SX:
    """Gravity and strain."""
    return gravity_energy(chain, q) + strain_energy(chain, q)


def energies(chain: Chain, q: SX, qd: SX) -> SX:
    """(3,) kinetic energy with rotors, gravity energy, strain energy."""
    spinning = ca.dot(rotors(chain), qd**2) / 2
    return ca.vertcat(kinetic_energy(chain, q, qd) + spinning, gravity_energy(chain, q), strain_energy(chain, q))
