"""Balances of an arm at its state: power against the rate of its energy, momentum of every link against what acts on
it, and joints that carry along their axes what drives them.

Momenta are slopes of kinetic energies, energies are differentiated along the motion; reactions come from the balance
that `result.reaction` reads, and accelerations from the equations of motion.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from combinations.equations import Judged, applied, lost
from combinations.generator import Arm, Array
from pliant.loads import Wrench
from pliant.mechanics import Chain, equations
from pliant.mechanics.constraints.constraint_wrenches import ties
from pliant.mechanics.formulations.energies import energies
from pliant.mechanics.formulations.generalized_forces import dissipation, passive, rotors
from pliant.mechanics.links.frames import frame_of, placed_frame
from pliant.mechanics.links.kinematics import body_kinetic_energy, placements, twists
from pliant.mechanics.links.section_forces import InternalForces


def power(arm: Arm) -> dict[str, float]:
    """The energy of an arm on a base at rest grows by the power of what acts, less that of what rubs, which is never
    below zero; closed loops do no work."""
    at, chain = Judged(arm), arm.chain
    q, qd = at.q, at.qd
    force = applied(arm, chain, q)
    found = equations(chain, "denoc").constrained(q, qd, force)
    E = ca.sum1(energies(chain, q, qd))
    growth = ca.jtimes(E, q, chain.rates(q, qd)) + ca.jtimes(E, qd, found.qdd)
    M, sizes, growth, given, rubbed = at.at_state(
        equations(chain, "denoc").mass_matrix(q), found.qdd * qd, growth, ca.dot(force, qd),
        ca.dot(dissipation(chain, q, qd), qd),
    )  # fmt: skip
    flow = np.abs(np.diagonal(M) * sizes.ravel()).sum() + abs(given).sum() + abs(rubbed).sum()
    off = abs(float(growth[0, 0] - given[0, 0] + rubbed[0, 0])) / flow if flow else 0.0
    return {"power": off / lost(M), "gain of what rubs": max(0.0, -float(rubbed[0, 0]) / flow) if flow else 0.0}


def _momentum(chain: Chain, q: ca.SX, qd: ca.SX) -> list[ca.SX]:
    """(6,) momentum about the origin of the base of each link with its lumps."""
    twist, found = ca.SX.sym("twist", 6), []
    for one in twists(chain, q, qd, (twist[:3], twist[3:])):
        link, T = one.link, body_kinetic_energy(one.moments, one.omega, one.v, one.cd)
        if link.hub is not None:
            T += body_kinetic_energy(link.hub, one.omega, one.v, ca.SX(0, 1))
        if link.load is not None:
            T += body_kinetic_energy(link.load, one.omega_tip, one.v_tip, ca.SX(0, 1))
        found.append(ca.substitute(ca.gradient(T, twist), twist, ca.SX.zeros(6)))
    return found


def _weights(chain: Chain, q: ca.SX) -> list[ca.SX]:
    """(6,) weight of each link with its lumps, about the origin of the base."""
    found = []
    for place in placements(chain, q):
        c, n, f = chain.body(place.link, q), ca.SX.zeros(3), ca.SX.zeros(3)
        parts = [(place.link.body.moments(c, ca.SX.zeros(c.shape)), place.R, place.p)]
        parts += [(place.link.hub, place.R, place.p)] if place.link.hub is not None else []
        parts += [(place.link.load, place.R_tip, place.p_tip)] if place.link.load is not None else []
        for body, R, p in parts:
            n = n + ca.cross(body.m * p + ca.mtimes(R, body.s), chain.gravity)
            f = f + body.m * chain.gravity
        found.append(ca.vertcat(n, f))
    return found


def reactions(arm: Arm) -> dict[str, float]:
    """Every link gains the momentum of what acts on it; the base takes what they leave; joints carry along their axes
    what drives them."""
    at, chain = Judged(arm), arm.chain
    q, qd = at.q, at.qd
    e = equations(chain, "denoc")
    solved = e.constrained(q, qd, applied(arm, chain, q))
    loads = () if arm.load is None else (Wrench(moment=arm.load[:3], force=arm.load[3:], frame=arm.at),)
    inside = InternalForces(chain, loads)
    push = ca.SX(ca.DM(arm.tau[chain.n_joints :]))
    carried, on_base = inside.carried, inside.on_base
    wrenches = [ca.vertcat(*one.at_root) for one in carried] + [ca.vertcat(*on_base)]
    old = ca.vertcat(inside.t, inside.q, inside.qd, inside.qdd, inside.push, inside.multipliers)
    new = ca.vertcat(ca.SX(0), q, qd, solved.qdd, push, solved.multipliers)
    wrenches = ca.substitute([ca.densify(w) for w in wrenches], [old], [new])
    places = placements(chain, q)
    at_root = []
    for place, w in zip(places, wrenches):
        f = ca.mtimes(place.R, w[3:])
        at_root.append(ca.vertcat(ca.mtimes(place.R, w[:3]) + ca.cross(place.p, f), f))
    outer = [ca.SX.zeros(6) for _ in range(len(places) + 1)]  # on each link from outside, on the base last
    for k, (place, w) in enumerate(zip(places, at_root)):
        outer[k] = outer[k] + w
        outer[-1 if place.link.parent is None else place.link.parent] -= w
    for tie in ties(chain, q, qd, push, solved.multipliers):
        k = len(places) if tie.link is None else tie.link
        outer[k] = outer[k] + ca.vertcat(tie.n + ca.cross(tie.point, tie.f), tie.f)
    if arm.load is not None:
        k, p = _loaded(arm, chain, q)
        outer[k] = outer[k] + ca.vertcat(
            ca.SX(ca.DM(arm.load[:3])) + ca.cross(p, ca.DM(arm.load[3:])), ca.DM(arm.load[3:])
        )
    rates = [
        ca.jtimes(P, q, chain.rates(q, qd)) + ca.jtimes(P, qd, solved.qdd) for P in _momentum(chain, q, qd)
    ]  # fmt: skip
    sums = [ca.horzcat(w + weight, rate) for w, weight, rate in zip(outer, _weights(chain, q), rates)]
    alone = replace(chain, lines=(), contacts=())
    torque = ca.mtimes(chain.actuation(), ca.SX(ca.DM(arm.tau[: chain.n_joints])))
    through = torque - passive(alone, q, qd) - rotors(chain) * solved.qdd
    along = []
    for link, w in zip(chain.links, wrenches):
        for (turn, slide), k in zip(link.joint.columns(chain.joint(link, q)), link.joint_indices):
            along.append(ca.horzcat(ca.dot(turn, w[:3]) + ca.dot(slide, w[3:]), through[k]))
    base_pair = ca.horzcat(at_root[0], ca.SX.zeros(6)) if chain.first else ca.horzcat(outer[-1], wrenches[-1])
    M, base, along_axes, *found = at.at_state(
        e.mass_matrix(q), base_pair,
        ca.vertcat(ca.SX.zeros(1, 2), *along), *sums,
    )  # fmt: skip
    size = max(np.abs(part).max() for part in (along_axes, *found)) * lost(M)
    out = {f"momentum of {place.link.name}": _off(part) / size for place, part in zip(places, found)}
    out["base"] = _off(base) / size
    out["along axes"] = _off(along_axes) / size
    return out


def _off(pair: Array) -> float:
    half = pair.shape[1] // 2
    return float(np.abs(pair[:, :half] - pair[:, half:]).max(initial=0.0))


def _loaded(arm: Arm, chain: Chain, q: ca.SX) -> tuple[int, ca.SX]:
    """Number of the link on which the load acts, and where."""
    frame = frame_of(chain, arm.at)
    _, p = placed_frame(chain, q, placements(chain, q), frame)
    assert frame.link is not None
    return frame.link, p
