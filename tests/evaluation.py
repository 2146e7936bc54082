"""Numbers of one chain by one formulation."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.mechanics import Chain, equations


def evaluate(chain: Chain, formulation: str, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> dict[str, np.ndarray]:
    """Mass matrix, inertial forces, bias, accelerations and generalized forces of M qdd + bias at qdd = qd."""
    e = equations(chain, formulation)
    Q, V, T = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n), ca.SX.sym("tau", chain.n_joints)
    outputs = {
        "M": e.mass_matrix(Q),
        "inertial": e.formulation.inertial_forces(chain, Q, V),
        "bias": e.bias(Q, V),
        "qdd": e.forward_dynamics(Q, V, T),
        "forces": e.inverse_dynamics(Q, V, V),
    }
    f = ca.Function("f", [Q, V, T], list(outputs.values()))
    return {name: np.array(value) for name, value in zip(outputs, f(q, qd, tau))}


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference over the largest entry."""
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0) / scale) if scale else 0.0
