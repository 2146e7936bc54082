"""Check that the inertia matrix of a new model is positive definite, by the pivots of the O(n) elimination.

The error names coordinates without mass (torsion without polar inertia, a bare joint without inertia about its axis).
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.recursion_steps import Called
from pliant.algebra.rotations import SX
from pliant.errors import ModelError
from pliant.mechanics.formulations import denoc
from pliant.mechanics.formulations.energies import potential_energy
from pliant.mechanics.formulations.generalized_forces import rotors
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.pose_dependent_modes import frozen

SMALLEST = 1e-13
"""Pivot over diagonal entry: below this, round-off is all that is left of the inertia.

The elimination takes from an entry what other coordinates carry of it; each of the some hundred subtractions and
products along a chain leaves 1e-16 of the entry. A number without unit, so that it holds for arms of any size.
"""
BEND = 1e-3
"""Trial deflection of a beam over its length, and trial twist in radians: small, as the models assume."""


def pivots(chain: Chain, q: SX, qd: SX, force: SX) -> tuple[SX, SX]:
    """(n,) pivots of the elimination and diagonal entries of the inertia matrix, which do not depend on rates and
    forces; zeros at motors."""
    motions = denoc.outward_motion(chain, q, qd, None)
    d = ca.SX.zeros(chain.n)
    for eliminated in denoc.inward_elimination(chain, motions, force, rotors(chain)):
        for pivot in eliminated:
            d[pivot.index] = 1 / pivot.inverse
    return d, denoc.diagonal(chain, motions) + rotors(chain)


def trial_state(chain: Chain, p: SX, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One bent configuration: joints turned by unlike angles, or moved by unlike parts of the arm's length; amplitudes
    that bend every beam by `BEND` of its own length."""
    rest = chain.rest()
    lengths = _numbers([ca.norm_2(link.body.tip(*_still(link, rest)).p) for link in chain.links], p, values)
    offsets = _numbers([ca.norm_2(link.joint.origin) for link in chain.links], p, values)
    reach = float(lengths.sum() + offsets.sum()) or 1.0
    state = 0.3 + 0.7 * np.arange(chain.n_q) % 2.1
    for link, length in zip(chain.links, lengths):
        for index, _ in zip(link.joint_places, link.joint.slides):
            state[index] *= reach
        if link.joint.is_ball:
            turned = list(link.joint_places[-4:])
            state[turned] /= np.linalg.norm(state[turned])
        if link.body_indices:
            moments = link.body.moments(*_still(link, rest))
            squares = _numbers([moments.gram[k, k] / moments.m for k in range(len(link.body_indices))], p, values)
            for index, square in zip(link.body_places, squares):  # root of the mean square deflection per amplitude
                turns = ".torsion." in chain.coordinates[index]
                state[index] = BEND if turns or not square > 0 else BEND * (length or reach) / np.sqrt(square)
    chain.followed(state)
    sliding = list(chain.travels())
    state[sliding] = rest[sliding]
    return np.asarray(state, dtype=float)


def _still(link: ChainLink, rest: NDArray[np.float64]) -> tuple[SX, SX]:
    """A body's own coordinates at rest, and their rates."""
    return ca.SX(ca.DM(rest[list(link.body_places)])), ca.SX.zeros(len(link.body_indices))


def _numbers(expressions: list[SX], p: SX, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array(ca.Function("numbers", [p], [ca.vertcat(*expressions)])(values), dtype=float).ravel()


def check(chain: Chain, p: SX, values: NDArray[np.float64]) -> None:
    """Raise `ModelError` if a coordinate has no inertia or an energy is not finite, at rest or slightly bent."""
    still = frozen(chain)  # with small amplitudes, modes that follow have the inertia of those that do not
    bent = _check_definite(still, p, values)
    _check_finite(chain, p, values, bent)


def _check_definite(chain: Chain, p: SX, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Raise `ModelError` for the first coordinate without inertia; return the bent state that was tried."""
    motors = {shaft.actuated for shaft in chain.driven}
    for shaft in chain.driven:
        if shaft.drive is not None and not _numbers([shaft.drive.rotor], p, values)[0] > 0:
            raise ModelError(
                f"links.{shaft.name}.joint.drive: rotor_inertia is 0; an elastic drive needs rotor_inertia > 0"
            )
    q, none = ca.SX.sym("q", chain.n_q), ca.SX.zeros(chain.n)
    if chain.long:  # by the steps that will be traced for its dynamics too, at rest all the same
        still = ca.SX.sym("qd", chain.n), ca.SX.sym("force", chain.n)
        called = replace(chain, steps=Called(traced=chain.traced))
        both = ca.substitute(list(pivots(called, q, *still)), list(still), [none, none])
    else:
        both = list(pivots(chain, q, none, none))
    found = ca.Function("pivots", [q, p], both)
    for state in (chain.rest(), bent := trial_state(chain, p, values)):
        d, diagonal = (np.array(x, dtype=float).ravel() for x in found(state, values))
        lost = [k for k in range(chain.n) if k not in motors and not d[k] > SMALLEST * diagonal[k]]
        if lost:
            k = min(lost, key=lambda k: bool(np.isnan(d[k])))  # the elimination divided by it, further in
            raise ModelError(_remedy(chain.speeds[k], d[k] / diagonal[k] if diagonal[k] else 0.0))
    return bent


def _check_finite(chain: Chain, p: SX, values: NDArray[np.float64], bent: NDArray[np.float64]) -> None:
    """Raise `ModelError` for energies that are not finite."""
    q = ca.SX.sym("q", chain.n_q)
    V = ca.Function("potential", [q, p], [potential_energy(chain, q)])
    for state in (chain.rest(), bent):
        if not np.isfinite(float(V(state, values))):
            raise ModelError(
                "the gravity and strain energy of this arm is not finite; its masses, lengths or stiffnesses are too "
                "large or too small to compute with"
            )


def _remedy(name: str, left: float) -> str:
    cause = "it moves no mass: add inertia about its axis (hub, polar_inertia, tip, payload, rotor), or remove it"
    if ".torsion." in name:
        cause = "give the beam a polar_inertia > 0, or leave torsion out"
    if name.startswith("base."):
        cause = "give the free base an inertia about all its axes, `base: {inertia: [...]}`"
    return f"{name}: the inertia matrix is singular, {left:.0e} of this coordinate's inertia is left; {cause}"
