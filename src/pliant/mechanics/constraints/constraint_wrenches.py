"""Couplings, loops and contacts as wrenches on the links that they join.

A coupling pushes its two frames apart along the line between them. The multipliers of a loop do the work lambda . dg on
motions of its second frame against the first, from which the wrench on the second follows; the first receives the
opposite one at the same point. A contact pushes by its force at the point between both surfaces.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.contact_forces import touching_force
from pliant.mechanics.constraints.couplings import line_pushes
from pliant.mechanics.constraints.loop_constraints import ROWS, closing_wrench
from pliant.mechanics.links.chain import Chain, FrameMap
from pliant.mechanics.links.frames import placed_frame
from pliant.mechanics.links.kinematics import placements


class Tie(NamedTuple):
    """Moment about a point and force on a link, or on the world where that is None, at the part `eta` of its length, or
    on the frame of the link itself where that is None; all in base axes."""

    link: int | None
    eta: float | None
    point: SX
    n: SX
    f: SX


def ties(chain: Chain, q: SX, qd: SX, push: SX, multipliers: SX) -> list[Tie]:
    """All wrenches on a chain, under forces of commanded couplings (k,) and multipliers of the rows that are kept."""
    links, none = placements(chain, q), ca.SX.zeros(3)
    found: list[Tie] = []
    for line, force in zip(chain.lines, line_pushes(chain, q, qd, push)):
        (_, a), (_, b) = (placed_frame(chain, q, links, frame) for frame in line.frames)
        f = force * (b - a) / ca.norm_2(b - a)
        found += [_tie(line.frames[1], b, none, f), _tie(line.frames[0], a, none, -f)]
    for closure in chain.closures:
        first, second = (placed_frame(chain, q, links, frame) for frame in closure.frames)
        rows = [f"{closure.name}.{row}" for row in ROWS[closure.kind]]
        pull = ca.vertcat(*(multipliers[chain.kept.index(row)] if row in chain.kept else 0 for row in rows))
        n, f = closing_wrench(closure, first, second, pull)
        found += [_tie(closure.frames[1], second[1], n, f), _tie(closure.frames[0], second[1], -n, -f)]
    for number, contact in enumerate(chain.contacts):
        point, f = touching_force(chain, q, qd, number)
        found += [_tie(contact.frames[0], point, none, f), _tie(contact.frames[1], point, none, -f)]
    return found


def _tie(frame: FrameMap, point: SX, n: SX, f: SX) -> Tie:
    return Tie(frame.link, 1.0 if frame.place is None else frame.place.eta, point, n, f)
