"""Frames by name: where they are, and how they move with the coordinates."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.errors import ModelError
from pliant.mechanics.formulations.denoc import across_body, euler_matrix, outward_motion
from pliant.mechanics.links.attachments import place_map
from pliant.mechanics.links.chain import Chain, FrameMap
from pliant.mechanics.links.kinematics import Placement, placements, twists
from pliant.mechanics.links.maps.link_maps import TipMap


def frame_names(chain: Chain) -> list[str]:
    """All frames that have a name."""
    owners = dict.fromkeys(link.piece.owner for link in chain.links[chain.first :])
    own = [f"{owner}.{place}" for owner in owners for place in ("root", "tip")]
    further = [f"{link.name}.{place}" for link in chain.links for place in link.interfaces]
    return ["tip", "base", *chain.frames, *own, *further]


def frame_of(chain: Chain, name: str) -> FrameMap:
    """The frame of a name: `tip` of the last link, `NAME.tip` and `NAME.root` of any, those of a body from a file, or
    one of the robot's own."""
    if name in chain.frames:
        return chain.frames[name]
    if name == "tip":
        return FrameMap(len(chain.links) - 1, None)
    if name in ("base", "world"):
        return FrameMap(0 if name == "base" and chain.first else None, None)
    link, _, place = name.rpartition(".")
    numbers = [number for number, known in enumerate(chain.links) if link in (known.piece.owner, known.name)]
    if numbers and place == "tip":
        return FrameMap(numbers[-1], None)
    if numbers and place == "root":
        return FrameMap(numbers[0], chain.links[numbers[0]].root)
    if numbers and place in chain.links[numbers[0]].interfaces:
        return FrameMap(numbers[0], chain.links[numbers[0]].interfaces[place])
    raise ModelError(f"frame: got {name!r}, expected one of {', '.join(frame_names(chain))}")


def frame_pose(chain: Chain, q: SX, name: str) -> SX:
    """(4, 4) homogeneous pose of a frame, in the base."""
    R, p = placed_frame(chain, q, placements(chain, q), frame_of(chain, name))
    return ca.densify(ca.blockcat([[R, p], [ca.SX.zeros(1, 3), ca.SX.ones(1, 1)]]))


def placed_frame(chain: Chain, q: SX, links: list[Placement], frame: FrameMap) -> tuple[SX, SX]:
    """Rotation and position of a frame in the base, from where the links are."""
    if frame.link is None:
        return frame.rotation.matrix, frame.origin
    carrier = links[frame.link]
    c = chain.body(carrier.link, q)
    place = _map(chain, frame, c, ca.SX.zeros(c.shape))
    R, p = ca.mtimes(carrier.R, place.R.matrix), carrier.p + ca.mtimes(carrier.R, place.p)
    return ca.mtimes(R, frame.rotation.matrix), p + ca.mtimes(R, frame.origin)


def frame_jacobian(chain: Chain, q: SX, name: str) -> SX:
    """(6, n) geometric Jacobian [angular; linear] of a frame, in base axes."""
    return map_jacobian(chain, q, frame_of(chain, name))


def map_jacobian(chain: Chain, q: SX, frame: FrameMap) -> SX:
    """(6, n) geometric Jacobian of a frame without a name: see `frame_jacobian`."""
    qd = ca.SX.sym("qd", chain.n)
    if frame.link is None:
        return ca.SX.zeros(6, chain.n)
    carrier, twist = placements(chain, q)[frame.link], twists(chain, q, qd)[frame.link]
    place = _map(chain, frame, chain.body(carrier.link, q), twist.cd)
    omega = twist.omega + ca.mtimes(place.W, twist.cd)
    v = twist.v + ca.cross(twist.omega, place.p) + ca.mtimes(place.J, twist.cd)
    v = v + ca.cross(omega, place.R.apply(frame.origin))
    both = ca.vertcat(ca.mtimes(carrier.R, omega), ca.mtimes(carrier.R, v))
    return ca.densify(ca.jacobian(both, qd))


def frame_motion(chain: Chain, q: SX, qd: SX, qdd: SX, name: str) -> tuple[SX, SX, SX]:
    """Angular velocity, angular acceleration and acceleration less gravity of a frame, in its own axes."""
    frame = frame_of(chain, name)
    if frame.link is None:
        omega, alpha, a = chain.base.omega, chain.base.alpha, chain.base.a - chain.gravity
    else:
        m = outward_motion(chain, q, qd, qdd)[frame.link]
        place = _map(chain, frame, chain.body(m.link, q), m.cd)
        omega, alpha, a = across_body(place, m.cd, m.cdd, m.omega, m.alpha, m.a)
    a = a + ca.mtimes(euler_matrix(omega, alpha), frame.origin)
    return frame.rotation.unapply(omega), frame.rotation.unapply(alpha), frame.rotation.unapply(a)


class Seat(NamedTuple):
    """Where a frame sits: number of its link, part `eta` of the length (None: the frame of the link itself), and from
    that section the rotation and the origin of the frame, in link axes."""

    link: int
    eta: float | None
    R: SX
    offset: SX


def seat(chain: Chain, q: SX, name: str) -> Seat:
    """Where a frame sits that moves; raises `ModelError` for one on a base that stands."""
    frame = frame_of(chain, name)
    if frame.link is None:
        raise ModelError(f"frame: got {name!r}, which is fixed, expected a frame that moves; choose another one")
    c = chain.body(chain.links[frame.link], q)
    place = _map(chain, frame, c, ca.SX.zeros(c.shape))
    eta = 1.0 if frame.place is None else frame.place.eta
    return Seat(frame.link, eta, ca.mtimes(place.R.matrix, frame.rotation.matrix), place.R.apply(frame.origin))


def _map(chain: Chain, frame: FrameMap, c: SX, cd: SX) -> TipMap:
    assert frame.link is not None
    body = chain.links[frame.link].body
    return body.tip(c, cd) if frame.place is None else place_map(body, frame.place, c, cd)
