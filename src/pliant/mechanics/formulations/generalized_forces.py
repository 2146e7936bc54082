"""Generalized forces without inertia: strain, structural damping, joint friction, elastic drives, stops, couplings,
contacts.

They are the same for every formulation: `M(q) qdd + inertial(q, qd) + passive(q, qd) = S tau`.
"""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.actuation.shaft_laws import Placed
from pliant.mechanics.constraints.contact_forces import touch_energy, touch_push, touch_resistance
from pliant.mechanics.constraints.couplings import (
    line_energy,
    line_forces,
    line_pull,
    line_rates,
    line_resistance,
    line_starts,
    pushes,
)
from pliant.mechanics.links.chain import Chain, ChainLink, Shaft
from pliant.mechanics.links.maps.link_maps import is_zero


def strain_energy(chain: Chain, q: SX) -> SX:
    """Elastic energy of links, drives, stops, couplings and contacts."""
    V = line_energy(chain, q) if chain.lines else ca.SX(0)
    V = V + touch_energy(chain, q) if chain.contacts else V
    for link in chain.links:
        V += link.body.strain_energy(chain.body(link, q))
        for shaft in link.shafts:
            if shaft.drive is not None:
                V += shaft.drive.spring.energy(_twist(shaft, q))
            V += sum((stop.energy(q) for stop in shaft.stops), ca.SX(0))
    return V


def _twist(shaft: Shaft, q: SX) -> SX:
    """Twist of the spring of an elastic drive."""
    assert shaft.drive is not None
    return shaft.drive.spring.twist(q[shaft.drive.place], q[shaft.place])


def dissipation(chain: Chain, q: SX, qd: SX, states: SX | None = None) -> SX:
    """(n,) generalized forces of dampers, friction and hysteresis, positive against the motion.

    In a run, drives have states, those of `chain.drive_states`; without them friction is smooth, and nothing yields.
    """
    out = ca.SX.zeros(chain.n)
    own = _own(chain, states)
    for link in chain.links:
        if link.body_indices:
            c, cd = chain.body(link, q), chain.body_rate(link, qd)
            out[list(link.body_indices)] += chain.body_step("damping", _damping_forces, link, c, cd)
        for shaft in link.shafts:
            for placed in shaft.laws:
                force = placed.force(q, qd, _law_states(shaft, placed, own))
                for index, sign in zip(placed.indices, placed.signs):
                    out[index] += force if sign > 0 else -force
            for stop in shaft.stops:
                out[stop.index] += stop.resisting(q, qd)
            if shaft.drive is not None:
                spring, twist = shaft.drive.spring, _twist(shaft, q)
                slope = spring.twist_slope(q[shaft.drive.place])
                torque = shaft.drive.damping * (slope * qd[shaft.actuated] - qd[shaft.index]) * spring.engaged(twist)
                out[shaft.actuated] += slope * torque
                out[shaft.index] -= torque
                out[shaft.actuated] += lost(shaft, spring.torque(twist), qd)
    for damper in chain.dampers:
        damped = list(damper.indices)
        out[damped] += ca.mtimes(damper.matrix, qd[damped])
    out = out + line_resistance(chain, q, qd) if chain.lines else out
    return out + touch_resistance(chain, q, qd) if chain.contacts else out


def _damping_forces(link: ChainLink, c: SX, cd: SX) -> SX:
    """(k,) forces of the damping inside a link on its coordinates."""
    return link.body.dissipation(c, cd)


def lost(shaft: Shaft, torque: SX, qd: SX) -> SX:
    """Part of a torque that a moving gear loses, against its motion."""
    if is_zero(shaft.loss):
        return ca.SX(0)
    return shaft.loss * ca.fabs(torque) * ca.fmin(ca.fmax(qd[shaft.actuated] / shaft.reversal, -1), 1)


def torques(chain: Chain, command: SX, qd: SX, states: SX) -> SX:
    """(m,) torques on the joints, or on the motors of elastic drives, and forces of couplings, that a command (m,) of a
    run becomes."""
    own, out = _own(chain, states), ca.SX(command[: chain.n_joints, :])
    for k, shaft in enumerate(chain.shafts):
        if shaft.motor is not None:
            out[k] = shaft.motor.torque(command[k], qd[shaft.actuated], _motor_states(shaft, own))
        if shaft.drive is None:
            out[k] -= lost(shaft, out[k], qd)
    return ca.vertcat(out, *(pushes(chain, command[chain.n_joints :, :], own) if chain.commanded else ()))


def applied_forces(chain: Chain, q: SX, acting: SX) -> SX:
    """(n,) generalized forces of the torques and forces (m,) `acting`."""
    m = chain.n_joints
    out = ca.mtimes(chain.actuation(), acting[:m, :])
    return out + line_forces(chain, q, acting[m:, :]) if chain.commanded else out


def commands_for(chain: Chain, torque: SX) -> SX:
    """(m,) commands under which motors at rest have torques (m,)."""
    pairs = [(shaft.motor, torque[k]) for k, shaft in enumerate(chain.shafts)]
    return ca.vertcat(ca.SX(0, 1), *(x if motor is None else motor.command_for(x) for motor, x in pairs))


def followed(chain: Chain, command: SX, qd: SX) -> SX:
    """(m,) commands that amplifiers can follow, nearest to those given."""
    found = [
        command[k] if shaft.motor is None else shaft.motor.followed(command[k], qd[shaft.actuated])
        for k, shaft in enumerate(chain.shafts)
    ]
    return ca.vertcat(ca.SX(0, 1), *found)


def drive_rates(chain: Chain, q: SX, qd: SX, states: SX, command: SX) -> SX:
    """(k,) rates of the states of drives."""
    own, rates = _own(chain, states), []
    for shaft, given in _commanded(chain, command):
        for placed in shaft.laws:
            r = _law_states(shaft, placed, own)
            rates += [] if r is None else [placed.rate(q, qd, r)]
        if shaft.motor is not None:
            rates += shaft.motor.rates(given, qd[shaft.actuated], _motor_states(shaft, own))
    if chain.commanded:
        rates += line_rates(chain, q, qd, command[chain.n_joints :, :], own)
    return ca.vertcat(ca.SX(0, 1), *rates)


def drive_start(chain: Chain, q: SX, qd: SX, load: SX, command: SX, pushed: SX | None = None) -> SX:
    """(k,) states at a start: of drives that carry generalized forces (n,) besides those of their laws without a state,
    and of couplings that push (m,) by some force, or by none."""
    found = []
    for shaft, given in _commanded(chain, command):
        for placed in shaft.laws:
            if placed.states:
                found.append(placed.carrying(q, qd, load[placed.indices[0]]))
        if shaft.motor is not None:
            found += shaft.motor.start(given, qd[shaft.actuated])
    found += line_starts(chain, pushed)
    return ca.vertcat(ca.SX(0, 1), *found)


def _commanded(chain: Chain, command: SX) -> list[tuple[Shaft, SX]]:
    """All shafts with their commands; passive ones have none, and no motor."""
    given = {shaft.name: command[k] for k, shaft in enumerate(chain.shafts)}
    return [(shaft, given.get(shaft.name, ca.SX(0))) for shaft in chain.all_shafts]


def _own(chain: Chain, states: SX | None) -> dict[tuple[str, str], SX]:
    """States by shaft, or coupling, and name; none without them."""
    if states is None:
        return {}
    keys = [(part.name, state) for part in chain.state_parts for state in part.states]
    return {key: states[k] for k, key in enumerate(keys)}


def _law_states(shaft: Shaft, placed: Placed, own: dict[tuple[str, str], SX]) -> SX | None:
    """States of a law as a column; none where it has none, or they are not known."""
    r = [own[shaft.name, state] for state in placed.states if (shaft.name, state) in own]
    return ca.vertcat(*r) if r else None


def _motor_states(shaft: Shaft, own: dict[tuple[str, str], SX]) -> list[SX]:
    return [] if shaft.motor is None else [own[shaft.name, state] for state in shaft.motor.states]


def passive(chain: Chain, q: SX, qd: SX, states: SX | None = None) -> SX:
    """(n,) forces of strain and dissipation, on the left-hand side of the equations of motion."""
    out = dissipation(chain, q, qd, states)
    for link in chain.links:
        if link.body_indices:
            c = chain.body(link, q)
            out[list(link.body_indices)] += chain.body_step("strain", _strain_forces, link, c)
        for shaft in link.shafts:
            if shaft.drive is not None:
                spring = shaft.drive.spring
                torque = spring.torque(_twist(shaft, q))
                out[shaft.actuated] += spring.twist_slope(q[shaft.drive.place]) * torque
                out[shaft.index] -= torque
            for stop in shaft.stops:
                out[stop.index] += stop.force(q)
    if chain.lines:
        out += line_pull(chain, q)
    if chain.contacts:
        out += touch_push(chain, q)
    return ca.densify(out)


def _strain_forces(link: ChainLink, c: SX) -> SX:
    """(k,) forces of strain on a link's coordinates."""
    free = ca.SX.sym("c", c.shape[0])  # c may hold prescribed motions, which no derivative can be taken by
    return ca.densify(ca.substitute(ca.gradient(link.body.strain_energy(free), free), free, c))


def rotors(chain: Chain) -> SX:
    """(n,) diagonal that reflected rotor inertias add to the inertia matrix, on joints of stiff drives and on
    motors."""
    out = ca.SX.zeros(chain.n)
    for shaft in chain.shafts:
        out[shaft.actuated] += shaft.rotor if shaft.drive is None else shaft.drive.rotor
    return out
