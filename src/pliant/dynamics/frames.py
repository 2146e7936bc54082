"""Frames by name: where they are, and how they move with the coordinates."""

from __future__ import annotations

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.dynamics.bodies import TipMap
from pliant.dynamics.chain import Chain, FrameMap
from pliant.dynamics.kinematics import placements, twists
from pliant.dynamics.places import place_map
from pliant.errors import ModelError


def frame_names(chain: Chain) -> list[str]:
    """All frames that have a name."""
    own = [f"{link.name}.{place}" for link in chain.links[chain.first :] for place in ("root", "tip")]
    return ["tip", "base", *chain.frames, *own]


def frame_of(chain: Chain, name: str) -> FrameMap:
    """The frame of a name: `tip` of the last link, `NAME.tip` and `NAME.root` of any, or one of the robot's own."""
    if name in chain.frames:
        return chain.frames[name]
    if name == "tip":
        return FrameMap(len(chain.links) - 1, None)
    if name == "base" and chain.first:
        return FrameMap(0, None)
    link, _, place = name.rpartition(".")
    names = [known.name for known in chain.links]
    if link in names and place in ("tip", "root"):
        number = names.index(link)
        return FrameMap(number, None if place == "tip" else chain.links[number].root)
    raise ModelError(f"frame: got {name!r}, expected one of {', '.join(frame_names(chain))}")


def frame_pose(chain: Chain, q: SX, name: str) -> SX:
    """(4, 4) homogeneous pose of a frame, in the base."""
    if name == "base" and not chain.first:
        return ca.SX.eye(4)
    frame = frame_of(chain, name)
    carrier = placements(chain, q)[frame.link]
    c = chain.body(carrier.link, q)
    place = _map(chain, frame, c, ca.SX.zeros(c.shape))
    R, p = ca.mtimes(carrier.R, place.R.matrix), carrier.p + ca.mtimes(carrier.R, place.p)
    p = p + ca.mtimes(R, frame.origin)
    return ca.densify(ca.blockcat([[ca.mtimes(R, frame.rotation.matrix), p], [ca.SX.zeros(1, 3), ca.SX.ones(1, 1)]]))


def frame_jacobian(chain: Chain, q: SX, name: str) -> SX:
    """(6, n) geometric Jacobian [angular; linear] of a frame, in base axes."""
    if name == "base" and not chain.first:
        return ca.SX.zeros(6, chain.n)
    frame, qd = frame_of(chain, name), ca.SX.sym("qd", chain.n)
    carrier, twist = placements(chain, q)[frame.link], twists(chain, q, qd)[frame.link]
    place = _map(chain, frame, chain.body(carrier.link, q), twist.cd)
    omega = twist.omega + ca.mtimes(place.W, twist.cd)
    v = twist.v + ca.cross(twist.omega, place.p) + ca.mtimes(place.J, twist.cd)
    v = v + ca.cross(omega, place.R.apply(frame.origin))
    both = ca.vertcat(ca.mtimes(carrier.R, omega), ca.mtimes(carrier.R, v))
    return ca.densify(ca.jacobian(both, qd))


def _map(chain: Chain, frame: FrameMap, c: SX, cd: SX) -> TipMap:
    body = chain.links[frame.link].body
    return body.tip(c, cd) if frame.place is None else place_map(body, frame.place, c, cd)
