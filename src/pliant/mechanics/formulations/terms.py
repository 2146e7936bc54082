"""The terms of the equations of motion by name, as each source writes them.

`general` serves every formulation: M qdd + h + c + K q + d = S tau. `partitioned` is the same in joints r and
amplitudes f, [TG95] (26). `screw` is M, C, K of [CE21] (111), (112). `denoc` are the matrices of [MS07].
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations import denoc_matrices, dual_screw
from pliant.mechanics.formulations.generalized_forces import dissipation, rotors, strain_energy
from pliant.mechanics.formulations.motion_equations import Equations
from pliant.mechanics.links.chain import Chain


def general(e: Equations, q: SX, qd: SX) -> list[SX]:
    """M (n, n), h (n,) velocity terms, c (n,) gravity, K (n, n) stiffness, d (n,) dampers and friction.

    K is the Hessian of the strain energy at zero amplitudes, so that K q is the whole elastic force. The one exception
    is a beam that slides: its energy depends on its length, and dV/dl is added to c, where (26) of [TG95] omits it.
    """
    h, gravity = _inertial_terms(e, q, qd)
    elastic, K = _stiffness(e.chain, q)
    return [e.mass_matrix(q), h, gravity + elastic - ca.mtimes(K, q), K, dissipation(e.chain, q, qd)]


def partitioned(e: Equations, q: SX, qd: SX) -> list[SX]:
    """M_rr, M_rf, M_ff, h, c, K (amplitudes only), d of [TG95] (26): r are joints and motors, f amplitudes.

    c is the gradient of the potential energy apart from K q_f: gravity, springs of drives, dV/dl of sliding beams.
    """
    r, f = partition(e.chain)
    M, (h, gravity), (elastic, K) = e.mass_matrix(q), _inertial_terms(e, q, qd), _stiffness(e.chain, q)
    c = gravity + elastic
    if f:
        c[f] -= ca.mtimes(K[f, f], q[f])
    return [M[r, r], M[r, f], M[f, f], h, c, K[f, f], dissipation(e.chain, q, qd)]


def screw(e: Equations, q: SX, qd: SX) -> list[SX]:
    """M with rotors, C, K of [CE21] (111), (112), gravity g on the left-hand side, d.

    M qdd + C qd + K q + g + d = S tau. Forces of stops beyond K q are added to g.
    """
    chain = e.chain
    M, C, K = dual_screw.matrices(chain, q, qd)
    g = -dual_screw.gravity_forces(chain, q)
    if any(shaft.stops for shaft in chain.all_shafts):
        g += _stiffness(chain, q)[0] - ca.mtimes(K, q)
    return [M + ca.diag(rotors(chain)), C, K, g, dissipation(chain, q, qd)]


def denoc(chain: Chain, q: SX) -> list[SX]:
    """N_l, N_d, M, the generalized inertia matrix, U and D of [MS07]; reflected rotors of stiff drives included."""
    found, rotor = denoc_matrices.complement(chain, q), rotors(chain)
    pivots = denoc_matrices.factors(chain, q, rotor)
    GIM = found.generalised_inertia + ca.diag(rotor[list(found.order)])
    return [found.N_l, found.N_d, found.M, GIM, pivots.U, pivots.D]


def elimination_order(chain: Chain) -> tuple[int, ...]:
    """Coordinates in the order of the rows of `denoc`: link by link, the joint before the amplitudes; no motors."""
    blocks = denoc_matrices.link_blocks(chain, ca.SX.sym("q", chain.n_q))
    return tuple(index for block in blocks for index in block.coordinates)


def partition(chain: Chain) -> tuple[list[int], list[int]]:
    """Indices of joints and motors, and of amplitudes."""
    joints = {k for link in chain.links for k in link.joint_indices}
    r = sorted(joints | {shaft.index for shaft in chain.shafts} | {shaft.actuated for shaft in chain.shafts})
    return r, [k for k in range(chain.n) if k not in r]


def _inertial_terms(e: Equations, q: SX, qd: SX) -> tuple[SX, SX]:
    """Velocity terms, from the chain without gravity, and gravity, at rest."""
    forces, weightless = e.formulation.inertial_forces, replace(e.chain, gravity=ca.SX.zeros(3))
    return forces(weightless, q, qd), forces(e.chain, q, ca.SX.zeros(e.chain.n))


def _stiffness(chain: Chain, q: SX) -> tuple[SX, SX]:
    """Elastic forces, and K at zero amplitudes."""
    free = ca.SX.sym("q", chain.n_q)
    K, gradient = ca.hessian(strain_energy(chain, free), free)
    straight = ca.SX(q)
    f = partition(chain)[1]
    straight[f] = 0
    return ca.densify(ca.substitute(gradient, free, q)), ca.densify(ca.substitute(K, free, straight))
