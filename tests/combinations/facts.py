"""What an arm does at its state, by names, and the comparison with the same arm in other words."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from combinations.equations import Judged, applied, lost, relative, scaled
from combinations.generator import Arm, Array
from combinations.restatements import Restated, joined
from pliant.mechanics import equations
from pliant.mechanics.constraints.couplings import lines
from pliant.mechanics.formulations.energies import energies
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.momentum import total_mass
from pliant.model.coordinate_units import speed_units


@dataclass(frozen=True)
class Facts:
    """Speeds in order with their units, inertia matrix, accelerations, energies, poses of tips by link, lengths of
    couplings by name, and total mass."""

    speeds: tuple[str, ...]
    units: tuple[str, ...]
    M: Array
    qdd: Array
    energies: Array
    poses: dict[str, tuple[Array, Array]]
    lengths: dict[str, float]
    mass: float


def facts(arm: Arm) -> Facts:
    """By the default formulation."""
    at, chain = Judged(arm), arm.chain
    e, q, qd = equations(chain, "denoc"), at.q, at.qd
    places = placements(chain, q)
    L = lines(chain, q, qd).L if chain.lines else ca.SX(0, 1)
    M, qdd, energy, L, mass, *poses = at.at_state(
        e.mass_matrix(q), e.constrained(q, qd, applied(arm, chain, q)).qdd, energies(chain, q, qd), L,
        total_mass(chain, q), *(part for place in places for part in (place.R_tip, place.p_tip)),
    )  # fmt: skip
    tips = {place.link.name: (R, p.ravel()) for place, R, p in zip(places, poses[::2], poses[1::2])}
    lengths = {line.name: float(length) for line, length in zip(chain.lines, L.ravel())}
    units = speed_units(arm.model)
    return Facts(chain.speeds, units, M, qdd.ravel(), energy.ravel(), tips, lengths, float(mass[0, 0]))


def changes(first: Facts, restated: Restated) -> dict[str, float]:
    """Relative differences between an arm and its restatement, each of the size of rounding where both are the same."""
    second = facts(restated.arm)
    names, factor = restated.names, restated.factor
    own = [k for k, name in enumerate(first.speeds) if name not in restated.lost]
    new = [second.speeds.index(names.get(first.speeds[k], first.speeds[k])) for k in own]
    by = np.array([factor(first.units[k]) for k in own])
    s = scaled(first.M)
    size = np.abs(first.qdd * s).max(initial=0.0)
    off = np.abs((second.qdd[new] / by * factor("s") - first.qdd[own]) * s[own]).max(initial=0.0)
    found = {"qdd": off / size / max(lost(first.M), lost(second.M)) if size else off}
    if restated.matrix:
        M = second.M[np.ix_(new, new)] * np.outer(by, by) / factor("N m")
        found["M"] = relative(M, first.M[np.ix_(own, own)], np.outer(s[own], s[own]))
    if restated.energies:
        expected = first.energies * factor("N m")
        expected[1] -= np.dot(restated.arm.robot.gravity, restated.moved[1]) * second.mass
        found["energies"] = relative(second.energies, expected)
    for name, pose in first.poses.items():
        there = second.poses.get(names.get(name, name))
        if there is not None and name not in restated.lost:
            R, p = joined(restated.moved, pose)
            found[f"pose {name}"] = max(np.abs(R - there[0]).max(), np.abs(there[1] / factor("m") - p).max())
    for name, length in first.lengths.items():
        found[f"length {name}"] = abs(second.lengths[name] / factor("m") / length - 1)
    return {name: float(value) for name, value in found.items()}
