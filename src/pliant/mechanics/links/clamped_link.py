"""A link alone, its root held: all its pieces as one chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX, Identity
from pliant.mechanics.formulations.generalized_forces import strain_energy
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.kinematics import jacobian, kinetic_energy, placements
from pliant.mechanics.links.stations import section_pose


def held(chain: Chain, places: Sequence[int]) -> Chain:
    """The pieces of a link on a base that stands, without hub, load and other links."""
    links: list[ChainLink] = []
    count = 0
    for k, place in enumerate(places):
        link = chain.links[place]
        own = tuple(range(count, count + len(link.body_indices)))
        joint = JointMap("fixed", (), Identity(), ca.SX.zeros(3)) if k == 0 else link.joint
        links.append(
            replace(
                link, joint=joint, hub=None, load=None, joint_indices=(), joint_places=(), body_indices=own,
                body_places=own, shafts=(), parent=k - 1 if k else None, port=0, places=(),
            )
        )  # fmt: skip
        count += len(own)
    names = tuple(chain.coordinates[index] for place in places for index in chain.links[place].body_places)
    return Chain(tuple(links), ca.SX.zeros(3), names, names, chain.rotation, chain.stiffening)


def section_shift(chain: Chain, q: SX, place: int, eta: float) -> tuple[SX, SX]:
    """Displacement (3,) and rotation (3, 3) of a section of a piece of a link, in the frame at the link's root."""
    alone = held(chain, [k for k, link in enumerate(chain.links) if link.piece.owner == chain.links[place].piece.owner])
    c, number = ca.SX.sym("c", alone.n_q), chain.links[place].piece.number - 1
    R, r = section_pose(alone, c, number, eta)
    R0, r0 = ca.substitute([R, r], [c], [ca.SX.zeros(alone.n_q)])
    own = ca.vertcat(*(q[chain.coordinates.index(name)] for name in alone.coordinates))
    shift, turn = ca.substitute([r - r0, ca.mtimes(R, R0.T)], [c], [own])
    return shift, turn


def vibrations(chain: Chain, beyond: Inertia | None = None) -> tuple[SX, SX, SX]:
    """(k, k) stiffness and mass of a chain without joints, straight, and (6, k) rates of its tip, angular then linear,
    in the axes at its root. The mass includes `beyond`, an inertia at its tip in the axes of its last piece."""
    q, qd = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)
    rest = np.zeros(chain.n)
    K = ca.hessian(strain_energy(chain, q), q)[0]
    M = ca.hessian(ca.substitute(kinetic_energy(chain, q, qd), q, ca.DM(rest)), qd)[0]
    tip = jacobian(chain, q)
    K, tip, R = ca.substitute([K, tip, placements(chain, q)[-1].R], [q], [ca.SX(ca.DM(rest))])
    if beyond is not None:
        own = ca.vertcat(ca.mtimes(R.T, tip[:3, :]), ca.mtimes(R.T, tip[3:, :]))
        M = M + ca.mtimes([own.T, beyond.matrix, own])
    return ca.densify(K), ca.densify(M), ca.densify(tip)
