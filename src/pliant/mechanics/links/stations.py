"""Stations of a link: where a section is, how it moves with the coordinates, and how users name it."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.links.attachments import Place, place_map
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.linear_body import LinearBody
from pliant.mechanics.links.link_maps import ROTATIONS
from pliant.mechanics.links.stiffened_body import StiffenedBody
from pliant.mechanics.shapes.quadrature import Rule, gauss, gauss_rule
from pliant.robot.pieces import at_fraction

NAMED = {"tip": 1.0, "middle": 0.5}


def places_of(chain: Chain, link: str | int) -> list[int]:
    """Numbers of the pieces of a link, most often one, from its name or number; of one piece, by its name."""
    found: dict[str, list[int]] = {}
    for place, known in enumerate(chain.links):
        found.setdefault(known.piece.owner, []).append(place)
    if isinstance(link, str):
        own = [place for place, known in enumerate(chain.links) if known.name == link]
        if link not in found and not own:
            raise ModelError(f"link: got {link!r}, expected one of {', '.join(found)}")
        return found.get(link, own)
    if not isinstance(link, int):
        raise ModelError(f"link: got {type(link).__name__}, expected a name or a number: {', '.join(found)}")
    numbers = list(found.values())[chain.first :]
    if not -len(numbers) <= link < len(numbers):
        raise ModelError(f"link: got {link}, expected a number below {len(numbers)}, or one of {', '.join(found)}")
    return numbers[link]


def place_of(chain: Chain, link: str | int) -> int:
    """Number of a link, of its first piece, from its name or number."""
    return places_of(chain, link)[0]


def locate(
    chain: Chain, link: str | int, x: float | str, length: float | None = None, material: bool = False
) -> tuple[int, float]:
    """Number of the piece on which a station of a link is, and the part of its length there.

    Stations are meters or a name; `length` is that of the whole link where it is a parameter of known value. What is
    fixed to the `material` of a sliding beam has no such station but its tip.
    """
    places = places_of(chain, link)
    first = chain.links[places[0]]
    if material and first.slides and x != "tip":
        raise UnsupportedModel(f"link {first.name!r} slides: its material passes every station but the tip; use 'tip'")
    if len(places) == 1:
        return places[0], fraction(first, x, length)
    part = fraction(first, x, whole_length(first) if length is None and not isinstance(x, str) and x else length)
    own = [chain.links[place].piece for place in places]
    piece = at_fraction(own, part)
    return places[own.index(piece)], min(max((part - piece.low) / (piece.high - piece.low), 0.0), 1.0)


def whole_length(link: ChainLink) -> float:
    """Length of the whole link of which this one is a piece; raises `ModelError` if it is a parameter of the model."""
    return fixed_length(link) / (link.piece.high - link.piece.low)


def link_length(link: ChainLink) -> SX:
    """Length of a link that does not slide: a number, or an expression of the parameters."""
    return link.body.length(ca.SX.zeros(len(link.body_indices)))


def fixed_length(link: ChainLink) -> float:
    """Length of a link; raises `ModelError` if it is a parameter of the model."""
    length = ca.SX(link_length(link))
    if not length.is_constant():
        raise ModelError(
            f"link {link.piece.owner!r}: its length is a parameter of the model, so that a station in metres is not a "
            "fixed part of it; use 'tip' or 'middle'"
        )
    return float(length)


def fraction(link: ChainLink, x: float | str, length: float | None = None) -> float:
    """Station as a part of the length, from meters or a name; `length` where it is a parameter of known value."""
    if x not in ("tip", 0.0):
        require_stations(link)
    if isinstance(x, str):
        if x not in NAMED:
            raise ModelError(f"x: got {x!r}, expected a station in metres, 'tip' or 'middle'")
        return NAMED[x]
    if link.slides:
        raise ModelError(f"links.{link.name}: stations of a sliding beam are 'tip' or 'middle' of its free length")
    if x == 0.0:
        return 0.0
    length = fixed_length(link) if length is None else length
    if not (np.isfinite(x) and 0 <= x <= length * (1 + 1e-12)):
        raise ModelError(f"x: got {x!r}, expected a station between 0 and {length:g} m of link {link.piece.owner!r}")
    return min(float(x) / length, 1.0)


def require_stations(link: ChainLink) -> None:
    """Raise `UnsupportedModel` for a body from a file, of which frames alone are known."""
    if link.flexible and isinstance(link.body, LinearBody | StiffenedBody):
        raise UnsupportedModel(
            f"link {link.name!r} is a body from a file, which has no stations; use 'tip', or one of its frames"
        )


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
    require_stations(link)
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
