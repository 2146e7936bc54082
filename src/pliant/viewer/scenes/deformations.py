"""Displacements and rotations of the links of an arm as expressions, for scenes of arms without a record of them."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from pliant.mechanics.links.attachments import Place
from pliant.mechanics.links.chain import ChainLink, FrameMap
from pliant.mechanics.links.frames import frame_of
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.stiffened_body import StiffenedBody
from pliant.model.model import Model

STATIONS = 25
"""Stations along a link that bends."""


def moving_parts(model: Model) -> ca.Function:
    """Displacements, rotation vectors and straight positions of each link, then of each of its ports, by (q, p)."""
    q, found, frames = ca.SX.sym("q", model.n_q), [], _frame_maps(model)
    for number, link in enumerate(model.chain.links):
        c = model.chain.body(link, q)
        rest = link.straight(c)
        bent = [link.body.point(c, eta) for eta in _stations(link)]
        axis, turn = ca.vertcat(*(b[0] for b in bent)), ca.vertcat(*(ca.SX(b[1]) for b in bent))
        straight = ca.substitute(axis, c, rest) if link.flexible else axis
        found += [axis - straight, turn, straight]
        for place in _places(number, link, frames):
            r, theta = (ca.SX.zeros(3),) * 2 if place.eta is None else link.body.point(c, place.eta)
            unbent = ca.substitute(ca.SX(r), c, rest) if link.flexible else ca.SX(r)
            found += [r - unbent, theta, unbent]
    return ca.Function("scene", [q, model.parameter_symbols], [ca.densify(ca.SX(x)) for x in found])


def fixed_parts(model: Model) -> ca.Function:
    """Pose of the joint and turn of the tip of each link, then turns of its ports; at last poses of frames, by (q, p).
    Nothing of these moves with deformation."""
    q, found, frames = ca.SX.sym("q", model.n_q), [], _frame_maps(model)
    for number, link in enumerate(model.chain.links):
        c = model.chain.body(link, q)
        tip = link.body.tip(link.straight(c), ca.SX.zeros(c.shape))
        found += [link.joint.origin_rotation.matrix, link.joint.origin, tip.R.matrix]
        found += [place.end.matrix for place in _places(number, link, frames)]
    found += [x for frame in frames.values() for x in (frame.rotation.matrix, frame.origin)]
    return ca.Function("fixed", [q, model.parameter_symbols], [ca.densify(ca.SX(x)) for x in found])


def seats(model: Model) -> dict[str, tuple[int | None, bool]]:
    """Number of the link of each frame that loops, couplings and contacts hold, None for one that stands still; and
    whether the frame has a port of its own there."""
    return {
        name: (frame.link, frame.link is not None and frame.place is not None)
        for name, frame in _frame_maps(model).items()
    }


def _frame_maps(model: Model) -> dict[str, FrameMap]:
    """Frames that loops, couplings and contacts hold, by name."""
    robot = model.robot
    names = dict.fromkeys(
        name for parts in (robot.loops, robot.couplings, robot.contacts) for part in parts for name in part.between
    )
    return {name: frame_of(model.chain, name) for name in names}


def _places(number: int, link: ChainLink, frames: Mapping[str, FrameMap]) -> list[Place]:
    """Ports of a link besides its tip: where other links hang, then those of frames."""
    own = [frame.place for frame in frames.values() if frame.link == number and frame.place is not None]
    return [*link.places, *own]


def _stations(link: ChainLink) -> list[float]:
    """Parts of the length at which a link is drawn; of a body from a file the numbers of its frames, in their order
    from root to tip."""
    if isinstance(link.body, LinearBody | StiffenedBody) and link.flexible:
        places = link.body.reduced.places
        further = sorted(range(2, len(places)), key=lambda k: float(places[k] @ places[1]))
        return [0.0, *(map(float, further) if further else (0.5,)), 1.0]
    count = max(3, STATIONS // link.piece.count) if link.flexible else 2
    return [float(eta) for eta in np.linspace(0.0, 1.0, count)]
