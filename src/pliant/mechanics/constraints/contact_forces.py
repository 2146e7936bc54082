"""Contacts: distance of a sphere from a surface, and the forces between the two.

With d the center of the sphere in the axes of the surface, c the point of the surface's core (a plane, a point, a
segment, a box) that is nearest, r and R the radii of sphere and core,

    gap = |d - c| - r - R,      n = (d - c) / |d - c|,      u = -gap.

The contact pushes by F n at the point between the two surfaces, and rubs there against the velocity v_t of the one
along the other by friction F v_t / stick, cut at friction F. The forces do work on the relative velocity v of the two
bodies at this point, v . n = gap', so that their generalized forces are dv/dqd^T f, for every formulation.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.contact_law import TINY
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.frames import map_jacobian, placed_frame
from pliant.mechanics.links.kinematics import placements


class Touch(NamedTuple):
    """A contact at a state: depth and its rate, normal in base axes, velocity along the surface, and dv/dqd (3, n)."""

    depth: SX
    rate: SX
    normal: SX
    sliding: SX
    J: SX


def gap(chain: Chain, q: SX, number: int) -> SX:
    """Distance of a sphere from the surface that it may touch; negative where they are pressed together."""
    return _placed(chain, q, number)[0]


def _placed(chain: Chain, q: SX, number: int) -> tuple[SX, SX, SX]:
    """Gap, normal in base axes, and the point between both surfaces in base axes."""
    contact, links = chain.contacts[number], placements(chain, q)
    (_, center), (R, p) = (placed_frame(chain, q, links, frame) for frame in contact.frames)
    away, n = contact.core.away(ca.mtimes(R.T, center - p))
    n, open_by = ca.mtimes(R, n), away - contact.radius
    return open_by, n, center - n * (contact.radius + open_by / 2)


def touch(chain: Chain, q: SX, qd: SX, number: int) -> Touch:
    """A contact at a state."""
    contact, links = chain.contacts[number], placements(chain, q)
    open_by, n, point = _placed(chain, q, number)
    sides = []
    for frame in contact.frames:
        by, (_, p) = map_jacobian(chain, q, frame), placed_frame(chain, q, links, frame)
        sides.append(by[3:, :] - ca.mtimes(ca.skew(point - p), by[:3, :]))
    J = sides[0] - sides[1]
    v = ca.mtimes(J, qd)
    along = ca.dot(v, n)
    return Touch(-open_by, -along, n, v - along * n, J)


def touch_energy(chain: Chain, q: SX) -> SX:
    """Energy stored in contacts."""
    found = (contact.law.energy(-gap(chain, q, k)) for k, contact in enumerate(chain.contacts))
    return sum(found, ca.SX(0))


def normal_and_friction(chain: Chain, q: SX, qd: SX, number: int) -> tuple[SX, SX]:
    """Force apart, and friction (3,) on the sphere in base axes."""
    return _forces(chain, number, touch(chain, q, qd, number))


def touching_force(chain: Chain, q: SX, qd: SX, number: int) -> tuple[SX, SX]:
    """Place of a contact, and its whole force on the sphere, both in base axes."""
    at = touch(chain, q, qd, number)
    pressed, friction = _forces(chain, number, at)
    return _placed(chain, q, number)[2], pressed * at.normal + friction


def _forces(chain: Chain, number: int, at: Touch) -> tuple[SX, SX]:
    """Normal force, and friction (3,) on the sphere in base axes."""
    contact = chain.contacts[number]
    pressed = contact.law.elastic(at.depth) + contact.law.resisting(at.depth, at.rate)
    speed = ca.sqrt(ca.sumsqr(at.sliding) + TINY)
    return pressed, -contact.friction * pressed * at.sliding / ca.fmax(speed, contact.stick_speed)


def touch_push(chain: Chain, q: SX) -> SX:
    """(n,) elastic forces of contacts, on the left-hand side of the equations of motion."""
    out, still = ca.SX.zeros(chain.n), ca.SX.zeros(chain.n)
    for k, contact in enumerate(chain.contacts):
        at = touch(chain, q, still, k)
        out -= ca.mtimes(at.J.T, contact.law.elastic(at.depth) * at.normal)
    return out


def touch_resistance(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) forces of damping and friction of contacts, positive against the motion."""
    out = ca.SX.zeros(chain.n)
    for k, contact in enumerate(chain.contacts):
        at = touch(chain, q, qd, k)
        _, friction = _forces(chain, k, at)
        out -= ca.mtimes(at.J.T, contact.law.resisting(at.depth, at.rate) * at.normal + friction)
    return out
