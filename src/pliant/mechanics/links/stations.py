"""Sections of a link at stations: where they are, and how they move with the coordinates."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.errors import UnsupportedModel
from pliant.mechanics.links.attachments import Place, place_map
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.maps.link_maps import ROTATIONS
from pliant.mechanics.shapes.quadrature import Rule, gauss, gauss_rule
from pliant.robot.stations import require_stations


def section_map(link: ChainLink, c: SX, eta: float | None) -> tuple[SX, SX, SX]:
    """Position r of a section in link axes, and its angular and linear velocity (3, k) per rate of the amplitudes; None
    for the frame of the link itself."""
    still = ca.SX.zeros(c.shape)
    place = link.body.tip(c, still) if eta == 1.0 else place_map(link.body, Place(eta), c, still)
    return place.p, place.W, place.J


def section_pose(chain: Chain, q: SX, place: int, eta: float) -> tuple[SX, SX]:
    """Rotation (3, 3) and position of a section itself in the base."""
    carrier = placements(chain, q)[place]
    c = chain.body(carrier.link, q)
    r, _ = carrier.link.body.point(c, eta)
    return ca.mtimes(carrier.R, section_axes(carrier.link, c, eta)), carrier.p + ca.mtimes(carrier.R, r)


def section_axes(link: ChainLink, c: SX, eta: float) -> SX:
    """(3, 3) rotation from the axes of a section itself, without a frame fixed beyond it, to those of its link."""
    return ROTATIONS[link.body.rotation](link.body.point(c, eta)[1])[0].matrix


def section_rotation(link: ChainLink, c: SX, eta: float) -> SX:
    """(3, 3) rotation from the axes of a section to those of its link; at the tip, from the tip frame."""
    return link.body.tip(c, ca.SX.zeros(c.shape)).R.matrix if eta == 1.0 else section_axes(link, c, eta)


def shape_curvature(link: ChainLink, c: SX, eta: float) -> SX:
    """(phi', -w'', v'') of the shapes at a station: a function of the amplitudes alone.

    State observers use it. Few modes are inexact near the root and at loaded sections; `section_forces` has the exact
    forces of a section.
    """
    shapes, data = link.body.shapes, link.body.data
    if shapes is None or data is None or link.slides or link.body.follows:
        raise UnsupportedModel(f"link {link.name!r}: it has no shapes of its own on a fixed length")
    first, second = (shapes.evaluate(np.array([eta]), order)[0].tolist() for order in (1, 2))
    out = ca.SX.zeros(3)
    for j, (field, power) in enumerate(zip(shapes.fields, shapes.powers)):
        if field == "torsion":
            out[0] += first[j] * data.length ** (power - 1) * c[j]
        elif field == "bending_y":
            out[2] += second[j] * data.length ** (power - 2) * c[j]
        elif field == "bending_z":
            out[1] -= second[j] * data.length ** (power - 2) * c[j]
    return out


def station_rule(link: ChainLink, low: float, high: float, points: int | None = None) -> Rule:
    """Gauss rule between two stations that is exact for the shapes of the link, or has so many points."""
    require_stations(link.fact)
    if low >= high:
        return Rule(np.zeros(0), np.zeros(0))
    if points is not None:
        x, w = gauss(points)
        return Rule(low + (high - low) * x, (high - low) * w)
    parts = [part.shapes for part in link.body.shapes.parts] if link.body.shapes is not None else []
    breaks = np.concatenate([[low, high], *(part.breaks for part in parts)])
    return gauss_rule(
        np.unique(breaks[(breaks >= low) & (breaks <= high)]), max((p.wavenumber for p in parts), default=0)
    )
