"""Numbers of an arm of the generator by one formulation, and what all formulations must agree on."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from generator import Arm, Array

from pliant.dynamics import FORMULATIONS, Chain, equations, features
from pliant.dynamics.bodies import LinearBeam, RigidMap
from pliant.dynamics.forces import applied_forces
from pliant.dynamics.frames import frame_of, map_jacobian
from pliant.dynamics.linear_body import LinearBody

ROUND_OFF = 1e-9
"""The promise; accelerations lose digits to the condition of M, which `relative_to` counts."""
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Numbers:
    """What one formulation says of an arm: inertia matrix, bias, accelerations, multipliers of loops, and forces."""

    M: Array
    bias: Array
    qdd: Array
    multipliers: Array
    forces: Array


def applied(arm: Arm, chain: Chain, q: ca.SX) -> ca.SX:
    """(n,) generalised forces of the inputs and of the load."""
    force = applied_forces(chain, q, ca.SX(ca.DM(arm.tau)))
    if arm.load is None:
        return force
    return force + ca.mtimes(map_jacobian(chain, q, frame_of(chain, arm.at)).T, ca.DM(arm.load))


def numbers(arm: Arm, formulation: str = "denoc") -> Numbers:
    """By a formulation."""
    chain = arm.chain
    e = equations(chain, formulation)  # type: ignore[arg-type]
    q, qd = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)
    found = e.constrained(q, qd, applied(arm, chain, q))
    outputs = [e.mass_matrix(q), e.bias(q, qd), found.qdd, found.multipliers, e.tree_forces(q, qd, qd)]
    f = ca.Function("f", [q, qd], [ca.densify(x) for x in outputs])
    M, *rest = (np.array(x) for x in f(arm.q, arm.qd))
    return Numbers(M, *(x.ravel() for x in rest))


def able(chain: Chain) -> list[str]:
    """Formulations that know all that a chain has; `dual-screw` only bodies that are linear."""
    found = [name for name, one in FORMULATIONS.items() if not features(chain) - one.supports]
    linear = all(isinstance(link.body, (LinearBeam, LinearBody, RigidMap)) for link in chain.links)
    return [name for name in found if name != "dual-screw" or (linear and not chain.stiffening)]


def scaled(M: Array) -> Array:
    """Square roots of the diagonal of M: what coordinates of different units are measured by."""
    return np.asarray(np.sqrt(np.abs(np.diagonal(M))))


def condition(M: Array) -> float:
    """Of M with a diagonal of ones."""
    s = scaled(M)
    return float(np.linalg.cond(M / np.outer(s, s)))


def relative(a: Array, b: Array, by: Array | float = 1.0) -> float:
    """Largest difference over the largest entry, each entry measured `by` what stands at its place."""
    size = max(np.abs(a / by).max(initial=0.0), np.abs(b / by).max(initial=0.0))
    return float(np.abs((a - b) / by).max(initial=0.0) / size) if size else 0.0


def differences(ours: Numbers, judge: Numbers) -> dict[str, float]:
    """Relative, measured by the inertia matrix: forces over its roots, accelerations times them and over its
    condition."""
    s = scaled(judge.M)
    own = 1 + EPS / ROUND_OFF * condition(judge.M)
    return {
        "M": relative(ours.M, judge.M, np.outer(s, s)), "bias": relative(ours.bias, judge.bias, s),
        "forces": relative(ours.forces, judge.forces, s), "qdd": relative(ours.qdd, judge.qdd, 1 / s) / own,
        "multipliers": relative(ours.multipliers, judge.multipliers) / own,
    }  # fmt: skip
