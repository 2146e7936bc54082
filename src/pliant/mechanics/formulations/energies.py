"""Energies of a chain with its rotors and springs."""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.generalized_forces import rotors, strain_energy
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import gravity_energy, kinetic_energy


def potential_energy(chain: Chain, q: SX) -> SX:
    """Gravity and strain."""
    return gravity_energy(chain, q) + strain_energy(chain, q)


def energies(chain: Chain, q: SX, qd: SX) -> SX:
    """(3,) kinetic energy with rotors, gravity energy, strain energy."""
    spinning = ca.dot(rotors(chain), qd**2) / 2
    return ca.vertcat(kinetic_energy(chain, q, qd) + spinning, gravity_energy(chain, q), strain_energy(chain, q))
