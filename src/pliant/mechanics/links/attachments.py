"""Places on a link at which others hang: its tip, the frame behind its joint, a section of its beam.

All are maps of the same kind, `TipMap`: a pose in the axes of the link, and how it moves with the coordinates of the
body.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, compose
from pliant.mechanics.links.maps.link_maps import ROTATIONS, Body, TipMap


@dataclass(frozen=True)
class Place:
    """A section at the part `eta` of the length, or the frame of the link itself where that is None; `end` is the
    rotation from the frame that hangs there to the axes of the section."""

    eta: float | None
    end: Rotation = field(default_factory=Identity)


def place_map(body: Body, place: Place, c: SX, cd: SX) -> TipMap:
    """Pose of a place and its rates, at `c`, `cd`."""
    still, k = ca.SX(3, 1), c.shape[0]
    if place.eta is None:
        return TipMap(place.end, still, ca.SX(3, k), ca.SX(3, k), still, still)
    own = ca.SX.sym("c", k)
    r, theta = (ca.SX(x) for x in body.point(own, place.eta))
    W, J = ca.mtimes(ROTATIONS[body.rotation](theta)[1], ca.jacobian(theta, own)), ca.jacobian(r, own)
    w_beta, v_beta = (ca.jtimes(ca.mtimes(X, cd), own, cd) if k else still for X in (W, J))
    theta, *found = ca.substitute([theta, *map(ca.densify, (r, W, J)), w_beta, v_beta], [own], [c])
    return TipMap(compose(ROTATIONS[body.rotation](ca.densify(theta))[0], place.end), *found)
