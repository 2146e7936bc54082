"""Gaps to forces that act beyond them alone: contacts, cables, ends of cylinders, stops of joints.

A step of a run must not leap over such a force (`integrators/gap_steps`). So each gap comes with the speed of a
point past the obstacle, which no rate of the gap exceeds, and with a width that a step may pass unseen: a small part
of the way through the thinnest obstacle, which is two radii.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.mechanics.constraints.contact_law import TINY
from pliant.mechanics.constraints.coupling_laws import Ends, LineLaw, TautCable
from pliant.mechanics.constraints.couplings import NOWHERE
from pliant.mechanics.links.chain import Chain, FrameMap
from pliant.mechanics.links.frames import placed_frame
from pliant.mechanics.links.kinematics import placements

CONTACT_WIDTH = 0.05
"""Width, as a part of the radii of sphere and core."""
LINE_WIDTH = 0.01
"""Width, as a part of the length of a cable or cylinder, whose ends may pass one another."""
STOP_WIDTH = 1e-3
"""Width, rad or m, of a joint that turns back at its stop."""


class Clearance(NamedTuple):
    """A gap, positive where nothing acts, the point whose way bounds its change, and the width that may be passed."""

    gap: SX
    point: SX
    width: SX


def approaches(chain: Chain, q: SX, qd: SX) -> SX:
    """(2 k,) gaps, and speeds that no rate of these exceeds, in widths."""
    Q, V = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n)  # those given may hold prescribed motions
    found, moving = _gaps(chain, Q), chain.rates(Q, V)
    widths = [each.width for each in found]
    speeds = [ca.sqrt(ca.sumsqr(ca.jtimes(each.point, Q, moving)) + TINY) for each in found]
    rows = ([each.gap for each in found], speeds)
    every = ca.vertcat(*(value / width for row in rows for value, width in zip(row, widths)))
    return ca.substitute([ca.densify(every)], [Q, V], [q, qd])[0]


def _gaps(chain: Chain, q: SX) -> list[Clearance]:
    """Gaps of all contacts, then of couplings, then of stops."""
    links = placements(chain, q)

    def seen(frames: tuple[FrameMap, FrameMap]) -> SX:
        """The first frame in the axes of the second."""
        (_, a), (R, b) = (placed_frame(chain, q, links, frame) for frame in frames)
        return ca.mtimes(R.T, a - b)

    found = []
    for contact in chain.contacts:
        d = seen(contact.frames)
        gap = contact.core.away(d)[0] - contact.radius
        found.append(Clearance(gap, d, CONTACT_WIDTH * (contact.radius + contact.core.radius)))
    for line in chain.lines:
        d = seen(line.frames)
        L = ca.sqrt(ca.sumsqr(d) + NOWHERE)
        found += [Clearance(gap, d, width) for law in line.laws for gap, width in _line_gaps(law, L)]
    for stop in (stop for shaft in chain.all_shafts for stop in shaft.stops):
        found.append(Clearance(-stop.depth(q), q[stop.place], ca.SX(STOP_WIDTH)))
    return found


def _line_gaps(law: LineLaw, L: SX) -> list[tuple[SX, SX]]:
    """Gaps of a law along a line of this length, and their widths."""
    if isinstance(law, TautCable):
        return [(law.length - law.smoothing - L, LINE_WIDTH * law.length)]
    if isinstance(law, Ends):
        return [(L - law.low, LINE_WIDTH * law.high), (law.high - L, LINE_WIDTH * law.high)]
    return []
