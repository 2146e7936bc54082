"""Numbers of an arm of the generator by one formulation, and what all formulations must agree on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from combinations.generator import Arm, Array
from pliant.mechanics import FORMULATIONS, Chain, equations, features
from pliant.mechanics.constraints.loop_constraints import LoopRows, closing_rows
from pliant.mechanics.formulations.generalized_forces import applied_forces, passive, rotors
from pliant.mechanics.links.frames import frame_of, map_jacobian
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.link_maps import LinearBeam, RigidMap

ROUND_OFF = 1e-9
"""The promise; measured values stand near 1e-13. Accelerations lose digits to the condition of M, see `lost`."""
EPS = float(np.finfo(float).eps)


def applied(arm: Arm, chain: Chain, q: ca.SX) -> ca.SX:
    """(n,) generalized forces of the inputs and of the load."""
    force = applied_forces(chain, q, ca.SX(ca.DM(arm.tau)))
    if arm.load is None:
        return force
    return force + ca.mtimes(map_jacobian(chain, q, frame_of(chain, arm.at)).T, ca.DM(arm.load))


@dataclass(frozen=True)
class Numbers:
    """What one formulation says of an arm: inertia matrix, inertial forces, the forces of its own way to them at
    accelerations that are the speeds, accelerations, and multipliers of loops."""

    M: Array
    inertial: Array
    inverse: Array
    qdd: Array
    multipliers: Array


class Judged:
    """An arm with the forces that all formulations share, traced once."""

    def __init__(self, arm: Arm) -> None:
        self.arm, self.chain = arm, arm.chain
        self.q, self.qd = ca.SX.sym("q", self.chain.n_q), ca.SX.sym("qd", self.chain.n)

    def at_state(self, *expressions: ca.SX) -> list[Array]:
        """Values of expressions of `q` and `qd`."""
        f = ca.Function("f", [self.q, self.qd], [ca.densify(ca.SX(x)) for x in expressions])
        return [np.array(x) for x in f.call([self.arm.q, self.arm.qd])]

    @cached_property
    def shared(self) -> tuple[Array, Array, Array, Array]:
        """Forces on all coordinates but inertial ones, slopes and second derivatives of loops, and rotors."""
        chain, q, qd = self.chain, self.q, self.qd
        none = LoopRows(ca.SX(0, 1), ca.SX(0, chain.n), ca.SX(0, 1))
        rows = closing_rows(chain, q, qd) if chain.kept else none
        force = applied(self.arm, chain, q) - passive(chain, q, qd)
        force, J, gamma, rotor = self.at_state(force, rows.J, rows.gamma, rotors(chain))
        return force.ravel(), J, gamma.ravel(), rotor.ravel()

    def by_matrix(self, formulation: str) -> Numbers:
        """By a formulation's matrix and inertial forces; accelerations and multipliers from the whole of the equations
        M qdd + h = force + J^T lambda, J qdd + gamma = 0."""
        chain, q, qd, one = self.chain, self.q, self.qd, FORMULATIONS[formulation]
        force, J, gamma, rotor = self.shared
        M, h, inverse = self.at_state(
            one.mass_matrix(chain, q), one.inertial_forces(chain, q, qd),
            ca.SX.zeros(chain.n) if one.inverse is None else one.inverse(chain, q, qd, qd),
        )  # fmt: skip
        h, inverse = h.ravel(), inverse.ravel() if one.inverse is not None else M @ self.arm.qd + h.ravel()
        M = M + np.diag(rotor)
        m, n, s = len(gamma), chain.n, scaled(M)
        whole = np.block([[M / np.outer(s, s), -(J / s).T], [-J / s, np.zeros((m, m))]])
        found = np.linalg.solve(whole, np.concatenate([(force - h) / s, gamma])) if n + m else np.zeros(0)
        return Numbers(M, h, inverse, found[:n] / s, found[n:])

    def by_model(self, formulation: str = "denoc") -> Numbers:
        """By the equations of a model."""
        chain, q, qd = self.chain, self.q, self.qd
        e = equations(chain, formulation)  # type: ignore[arg-type]
        found = e.constrained(q, qd, applied(self.arm, chain, q))
        one = e.formulation
        inverse = None if one.inverse is None else one.inverse(chain, q, qd, qd)
        M, h, qdd, multipliers, inverse = self.at_state(
            e.mass_matrix(q), one.inertial_forces(chain, q, qd), found.qdd, found.multipliers,
            ca.SX.zeros(chain.n) if inverse is None else inverse,
        )  # fmt: skip
        h = h.ravel()
        if one.inverse is None:
            inverse = (M - np.diag(self.shared[3])) @ self.arm.qd + h
        return Numbers(M, h, np.ravel(inverse), qdd.ravel(), multipliers.ravel())


def able(chain: Chain) -> list[str]:
    """Formulations that know all that a chain has; `dual-screw` only bodies that are linear."""
    found = [name for name, one in FORMULATIONS.items() if not features(chain) - one.supports]
    linear = all(isinstance(link.body, (LinearBeam, LinearBody, RigidMap)) for link in chain.links)
    return [name for name in found if name != "dual-screw" or (linear and chain.stiffening == "off")]


def unbent(arm: Arm) -> Arm:
    """The arm with straight links at rest in themselves, where `dual-screw` is exact."""
    q, qd = arm.q.copy(), arm.qd.copy()
    for link in arm.chain.links:
        q[list(link.body_places)] = qd[list(link.body_indices)] = 0.0
    return replace(arm, q=q, qd=qd)


def scaled(M: Array) -> Array:
    """Square roots of the diagonal of M: what coordinates of different units are measured by."""
    return np.asarray(np.sqrt(np.abs(np.diagonal(M))))


def lost(M: Array) -> float:
    """Factor by which the solution of equations with M, scaled, may be less exact than ROUND_OFF."""
    s = scaled(M)
    return 1 + EPS / ROUND_OFF * float(np.linalg.cond(M / np.outer(s, s)))


def relative(a: Array, b: Array, by: Array | float = 1.0) -> float:
    """Largest difference over the largest entry, each entry measured `by` what stands at its place."""
    size = max(np.abs(a / by).max(initial=0.0), np.abs(b / by).max(initial=0.0))
    return float(np.abs((a - b) / by).max(initial=0.0) / size) if size else 0.0


def differences(ours: Numbers, judge: Numbers) -> dict[str, float]:
    """Relative, measured by the inertia matrix: forces over its roots, accelerations times them."""
    s = scaled(judge.M)
    return {
        "M": relative(ours.M, judge.M, np.outer(s, s)), "inertial": relative(ours.inertial, judge.inertial, s),
        "inverse": relative(ours.inverse, judge.inverse, s),
        "qdd": relative(ours.qdd, judge.qdd, 1 / s) / lost(judge.M),
        "multipliers": relative(ours.multipliers, judge.multipliers) / lost(judge.M),
    }  # fmt: skip


def disagreements(arm: Arm) -> dict[str, float]:
    """Differences of all formulations that know the arm from `lagrange`, by formulation and quantity."""
    at, found = Judged(arm), {}
    judge = at.by_matrix("lagrange")
    for name in able(at.chain):
        if name in ("denoc", "gibbs-appell", "recursive-lagrange"):
            ours = at.by_model() if name == "denoc" else at.by_matrix(name)
            found |= {f"{name} {key}": value for key, value in differences(ours, judge).items()}
        if name == "dual-screw":
            straight = Judged(unbent(arm))
            both = [straight.by_matrix(one) for one in (name, "lagrange")]
            found |= {f"{name} {key}": value for key, value in differences(*both).items()}
    return found
