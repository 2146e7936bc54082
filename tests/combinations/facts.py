"""What an arm does at its state, by names, and the comparison with the same arm in other words."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from equations import EPS, ROUND_OFF, applied, condition, relative, scaled
from generator import Arm, Array
from restatements import Restated, joined

from pliant.dynamics import equations
from pliant.dynamics.energies import energies
from pliant.dynamics.kinematics import placements
from pliant.dynamics.lines import lines
from pliant.dynamics.momenta import total_mass
from pliant.model.coordinate_units import speed_units


@dataclass(frozen=True)
class Facts:
    """Speeds in order, inertia matrix, accelerations, bias, energies, poses of tips by link, lengths of couplings by
    name, and total mass."""

    speeds: tuple[str, ...]
    units: tuple[str, ...]
    M: Array
    qdd: Array
    bias: Array
    energies: Array
    poses: dict[str, tuple[Array, Array]]
    lengths: dict[str, float]
    mass: float


def facts(arm: Arm) -> Facts:
    """By the default formulation."""
    chain = arm.chain
    e, q, qd = equations(chain, "denoc"), ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)
    places = placements(chain, q)
    L = lines(chain, q, qd).L if chain.lines else ca.SX(0, 1)
    outputs = [e.mass_matrix(q), e.constrained(q, qd, applied(arm, chain, q)).qdd, e.bias(q, qd), energies(chain, q, qd),
               L, total_mass(chain, q), *(part for place in places for part in (place.R_tip, place.p_tip))]  # fmt: skip
    f = ca.Function("facts", [q, qd], [ca.densify(ca.SX(x)) for x in outputs])
    M, qdd, bias, energy, L, mass, *poses = (np.array(x) for x in f(arm.q, arm.qd))
    tips = {place.link.name: (R, p.ravel()) for place, R, p in zip(places, poses[::2], poses[1::2])}
    lengths = {line.name: float(length) for line, length in zip(chain.lines, L.ravel())}
    units = speed_units(arm.model)
    return Facts(chain.speeds, units, M, qdd.ravel(), bias.ravel(), energy.ravel(), tips, lengths, float(mass[0, 0]))


def disagreements(first: Facts, restated: Restated) -> dict[str, float]:
    """Relative differences between an arm and its restatement, each of the size of rounding where both are the same."""
    second = facts(restated.arm)
    names, factor = restated.names, restated.factor
    own = [k for k, name in enumerate(first.speeds) if name not in restated.lost]
    new = [second.speeds.index(names.get(first.speeds[k], first.speeds[k])) for k in own]
    by = np.array([factor(first.units[k]) for k in own])
    s = scaled(first.M)[own]
    worst = 1 + EPS / ROUND_OFF * max(condition(first.M), condition(second.M))
    size = np.abs(first.qdd * scaled(first.M)).max()
    qdd = second.qdd[new] / by * factor("s")
    found = {"qdd": float(np.abs((qdd - first.qdd[own]) * s).max(initial=0.0) / size) / worst if size else 0.0}
    if restated.matrix:
        M = second.M[np.ix_(new, new)] * np.outer(by, by) / factor("kg m^2/s^2")
        found["M"] = relative(M, first.M[np.ix_(own, own)], np.outer(s, s))
        bias = second.bias[new] * by / factor("N m/s")
        found["bias"] = relative(bias, first.bias[own], s)
    if restated.energies:
        expected = first.energies * factor("N m")
        lifted = np.dot(restated.arm.robot.gravity, restated.moved[1]) * second.mass
        expected[1] -= lifted
        found["energies"] = relative(second.energies, expected)
    poses = [name for name in first.poses if names.get(name, name) in second.poses]
    for name in poses:
        if name in restated.lost or (name == "base" and "base" in names):
            continue
        R, p = joined(restated.moved, first.poses[name])
        R_new, p_new = second.poses[names.get(name, name)]
        found[f"pose {name}"] = max(np.abs(R - R_new).max(), np.abs(p_new / factor("m") - p).max())
    for name, length in first.lengths.items():
        found[f"length {name}"] = abs(second.lengths[name] / factor("m") / length - 1)
    return found
