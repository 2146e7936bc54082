"""Is the inertia matrix positive definite? Asked once, when a model is made, by the pivots of the O(n) elimination.

Massless coordinates (torsion without polar inertia, a bare joint without inertia about its axis) are named, not
divided by.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.inertia import zero
from pliant.algebra.rotations import SX
from pliant.dynamics import denoc
from pliant.dynamics.chain import Chain
from pliant.dynamics.energies import potential_energy
from pliant.dynamics.forces import rotors
from pliant.dynamics.sliding_links import rest_state, travels
from pliant.dynamics.tracked import frozen
from pliant.errors import ModelError

SMALLEST = 1e-13
"""Pivot over diagonal entry: below this, round-off is all that is left of the inertia."""


def pivots(chain: Chain, q: SX) -> tuple[SX, SX]:
    """(n,) pivots of the elimination and diagonal entries of the inertia matrix; zeros at motors."""
    rest = ca.SX.zeros(chain.n)
    motions = denoc.outward_motion(chain, q, rest, None)
    d, diagonal = ca.SX.zeros(chain.n), ca.SX.zeros(chain.n)
    for eliminated in denoc.inward_elimination(chain, motions, rest, rotors(chain)):
        for pivot in eliminated:
            d[pivot.index] = 1 / pivot.inverse
    composite = zero()
    for motion in reversed(motions):
        own, _, gram = denoc.body_blocks(motion, denoc.composite_at_tip(motion, composite))
        for k, index in enumerate(motion.link.body_indices):
            diagonal[index] = gram[k, k]
        if motion.link.joint_index is not None:
            S = ca.vertcat(*motion.link.joint.screw())
            diagonal[motion.link.joint_index] = ca.mtimes([S.T, own.matrix, S]) + motion.link.rotor
        composite = denoc.to_predecessor(motion, own)
    return d, diagonal


def check_definite(chain: Chain, p: SX, values: NDArray[np.float64]) -> None:
    """Raises `ModelError` that names the first coordinate without inertia, at rest and in one bent configuration."""
    chain = frozen(chain)  # with small amplitudes, modes that follow have the inertia of those that do not
    q = ca.SX.sym("q", chain.n)
    found = ca.Function("pivots", [q, p], list(pivots(chain, q)))
    generic = np.where(np.arange(chain.n) < chain.n_joints, 0.3 + 0.7 * np.arange(chain.n) % 2.1, 1e-3)
    motors = {link.drive.index: link for link in chain.links if link.drive is not None}
    for link in motors.values():
        if link.drive is not None and float(ca.evalf(ca.substitute(ca.SX(link.drive.rotor), p, ca.DM(values)))) <= 0:
            raise ModelError(
                f"links.{link.name}.joint.drive: rotor_inertia is 0; an elastic drive needs rotor_inertia > 0"
            )
    rest, sliding = rest_state(chain), list(travels(chain))
    generic[sliding] = rest[sliding]
    for state in (rest, generic):
        d, diagonal = (np.array(x, dtype=float).ravel() for x in found(state, values))
        for k, name in enumerate(chain.coordinates):
            if k not in motors and not d[k] > SMALLEST * diagonal[k]:
                raise ModelError(_remedy(name, d[k]))


def check_finite(chain: Chain, p: SX, values: NDArray[np.float64]) -> None:
    """Raises `ModelError` where energies of the arm at rest or slightly bent are beyond all numbers."""
    q = ca.SX.sym("q", chain.n)
    V = ca.Function("potential", [q, p], [potential_energy(chain, q)])
    rest = rest_state(chain)
    for state in (rest, rest + 1e-3):
        if not np.isfinite(float(V(state, values))):
            raise ModelError(
                "the gravity and strain energy of this arm is not finite; its masses, lengths or stiffnesses are too "
                "large or too small to compute with"
            )


def _remedy(name: str, pivot: float) -> str:
    cause = "it moves no mass: add inertia about its axis (hub, polar_inertia, tip, payload, rotor), or remove it"
    if ".torsion." in name:
        cause = "give the beam a polar_inertia > 0, or leave torsion out"
    return f"{name}: the inertia matrix is singular, this coordinate has no inertia left (pivot {pivot:.1e}); {cause}"
