"""A beam in pieces is several links of another robot: each piece a link on a fixed joint, straight and of its own
length.

The equations of motion use that robot, `in_pieces(robot)`; users see their own. A curved beam is a polygon of pieces
that run along its tangent at equal distances: the first and the last are half as long as the others, so that root and
tip have the axes of the beam there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from pliant.algebra.quaternions import exponential, to_matrix
from pliant.robot.description import AnyRobot, RobotDescription
from pliant.robot.parts.angles import Numeric
from pliant.robot.parts.beam import Beam, rotary_counts
from pliant.robot.parts.bodies.rigid_body import Lump
from pliant.robot.parts.cross_sections.sections import Section, interpolated
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import DH, Joint, Origin
from pliant.robot.parts.link import BeamStation, Link
from pliant.robot.parts.shapes import FIELDS, MOST_UNREDUCED, Shapes

Placed = TypeVar("Placed", Link, Frame)
STRAIGHT = {"pieces": None, "curvature": None, "twist": None, "x": None}
"""Entries of a beam that is one straight piece."""
FINE = 64
"""Steps per piece in which the axes of a curved beam are followed."""


@dataclass(frozen=True)
class BeamPiece:
    """Piece `number`, from 1, of the `count` pieces of the link `owner`, between parts `low` and `high` of its
    length."""

    owner: str
    number: int = 1
    count: int = 1
    low: float = 0.0
    high: float = 1.0

    @property
    def label(self) -> str:
        """First part of the names of its amplitudes."""
        return self.owner if self.count == 1 else f"{self.owner}.{self.number}"

    @property
    def link(self) -> str:
        """Name of its link: that of the first piece, which has the joint, is the one that the user gave."""
        return self.owner if self.number == 1 else f"{self.owner}.{self.number}"


def pieces(robot: RobotDescription) -> tuple[BeamPiece, ...]:
    """The pieces of all links, in order."""
    return tuple(piece for link in robot.links for piece in _pieces(link))


def _pieces(link: Link) -> list[BeamPiece]:
    count = link.pieces
    if count == 1:
        return [BeamPiece(link.name)]
    assert link.beam is not None
    bounds = [k / count for k in range(count + 1)]
    if link.beam.curved:
        bounds = [0.0, *((k + 0.5) / (count - 1) for k in range(count - 1)), 1.0]
    return [BeamPiece(link.name, k + 1, count, *ends) for k, ends in enumerate(pairwise(bounds))]


def in_pieces(robot: AnyRobot) -> AnyRobot:
    """The robot whose links are the pieces; the robot itself where each link is one.

    It is made of checked parts and not checked again: names of its links are those of pieces.
    """
    cut = [_pieces(link) for link in robot.links]
    if all(len(found) == 1 for found in cut):
        return robot
    by_name = {link.name: found for link, found in zip(robot.links, cut)}
    lengths = {link.name: link.beam.length for link in robot.links if link.beam is not None}
    links = []
    for k, (link, found) in enumerate(zip(robot.links, cut)):
        if link.parent is None and link.at != "tip" and k:  # what stands before it in the cut robot is the last piece
            link = link.model_copy(update={"parent": robot.links[k - 1].name})
        placed = _placed(link, "parent", by_name, lengths)
        links += [placed] if len(found) == 1 else [_piece_link(placed, piece) for piece in found]
    payloads = tuple(
        payload if payload.link is None else payload.model_copy(update={"link": by_name[payload.link][-1].link})
        for payload in robot.payloads
    )
    one = not isinstance(robot.payload, tuple)
    frames = tuple(_placed(frame, "link", by_name, lengths) for frame in robot.frames)
    update = {"links": tuple(links), "payload": payloads[0] if one else payloads, "frames": frames}
    return robot.model_copy(update=update)


def in_one_piece(robot: AnyRobot) -> AnyRobot:
    """The robot whose links are one straight piece each, with elements where they had several, to vibrate by
    themselves."""
    return robot.model_copy(update={"links": tuple(_whole(link) for link in robot.links)})


def _whole(link: Link) -> Link:
    if link.beam is None or link.pieces == 1:
        return link
    update: dict[str, object] = {"beam": link.beam.model_copy(update=STRAIGHT)}
    if link.shapes is not None:
        count = link.pieces * (link.shapes.count or 2)
        fields: dict[str, Any] = {field: bool(getattr(link.shapes, field)) for field in FIELDS}
        update["shapes"] = Shapes(method="elements", count=min(count, MOST_UNREDUCED), **fields)
    return link.model_copy(update=update)


def _placed(part: Placed, key: str, by_name: Mapping[str, list[BeamPiece]], lengths: Mapping[str, float]) -> Placed:
    """A link or frame that names, under `key`, the piece that it sits on, and its place there."""
    found = by_name.get(getattr(part, key) or "", [])
    if len(found) < 2 or part.at == "root":
        return part
    if part.at == "tip":
        return part.model_copy(update={key: found[-1].link})
    assert isinstance(part.at, BeamStation)
    length = lengths[found[0].owner]
    piece = at_fraction(found, part.at.x / length)
    x = min(max(part.at.x - piece.low * length, 0.0), (piece.high - piece.low) * length)
    return part.model_copy(update={key: piece.link, "at": BeamStation(x=x)})


def at_fraction(found: list[BeamPiece], part: float) -> BeamPiece:
    """The piece on which a part of the length lies; the inner one of two that meet there."""
    return next((piece for piece in found if part <= piece.high * (1 + 1e-12)), found[-1])


def _piece_link(link: Link, piece: BeamPiece) -> Link:
    """One piece as a link: the first has the joint, the last what sits at the tip."""
    first, last = piece.number == 1, piece.number == piece.count
    dh = link.joint.dh
    row = dh if dh is not None and dh.convention == "standard" else None  # Rz Tz before the joint, Rx at the tip
    update: dict[str, object] = {"beam": _piece_beam(link, piece), "name": piece.link}
    if not last:
        update["tip"] = Lump()
    if first:
        update["joint"] = link.joint.model_copy(update={"dh": DH(d=row.d, theta=row.theta)} if row is not None else {})
        return link.model_copy(update=update)
    joint = Joint(type="fixed")
    if link.beam is not None and link.beam.curved:
        joint = Joint(type="fixed", origin=Origin(rpy=_turn_to(link, piece)))
    elif last and row is not None:
        joint = Joint(type="fixed", dh=DH(alpha=row.alpha, convention="standard"))
    return link.model_copy(update={**update, "joint": joint, "parent": None, "at": "tip"})


def _piece_beam(link: Link, piece: BeamPiece) -> Beam:
    beam = link.beam
    assert beam is not None
    part = piece.high - piece.low
    update: dict[str, object] = {"length": beam.length * part, **STRAIGHT}
    if beam.section is not None:
        update["section"] = _piece_section(beam.section, piece)
        if beam.rotary is None:  # by default, which looks at the whole beam
            update["rotary"] = "section" if rotary_counts(beam) else (0.0, 0.0)
    return beam.model_copy(update=update)


def _piece_section(section: Section, piece: BeamPiece) -> Section:
    """The stretch of a table, and the offset at the root of the beam alone: each piece starts where the axis is."""
    update: dict[str, object] = {} if piece.number == 1 else {"offset": None}
    if section.x is not None:
        low, high = piece.low, piece.high
        x = [low, *(eta for eta in section.x if low < eta < high), high]
        update["x"] = tuple((eta - low) / (high - low) for eta in x)
        columns = (name for name in Section.model_fields if isinstance(getattr(section, name), tuple))
        for name in columns:
            if name not in ("x", "offset"):
                update[name] = tuple(interpolated(section, name, x).tolist())
    return section.model_copy(update=update)


def _turn_to(link: Link, piece: BeamPiece) -> tuple[float, float, float]:
    """Roll, pitch and yaw from the piece before to this one."""
    assert link.beam is not None
    x, kappa = link.beam.curve
    step = 1.0 / (piece.count - 1)
    ends = np.linspace((piece.number - 2) * step, (piece.number - 1) * step, FINE + 1)
    h = link.beam.length * step / FINE
    R = np.eye(3)
    for a, b in pairwise(ends.tolist()):
        mid, half = (a + b) / 2, (b - a) / (2 * np.sqrt(3.0))
        k1, k2 = (np.array([np.interp(eta, x, column) for column in kappa.T]) for eta in (mid - half, mid + half))
        turn = h * (k1 + k2) / 2 + h * h * np.sqrt(3.0) / 12 * np.cross(k1, k2)
        R = R @ to_matrix(exponential(turn))
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))


def spread(robot: RobotDescription, symbols: Mapping[str, Numeric]) -> dict[str, Numeric]:
    """Symbols of a robot, by the paths of the robot of its pieces."""
    cut = {link.name: _pieces(link) for link in robot.links}
    found: dict[str, Numeric] = {}
    for path, symbol in symbols.items():
        part, _, rest = path.partition(".")
        owner, _, rest = rest.partition(".")
        own = cut[owner] if part == "links" else []
        if len(own) < 2:
            found[path] = symbol
            continue
        found.update((f"links.{piece.link}.{rest}", value) for piece, value in _spread(own, rest, symbol))
    return found


def _spread(own: list[BeamPiece], rest: str, symbol: Numeric) -> Iterator[tuple[BeamPiece, Numeric]]:
    for piece in own:
        if rest == "beam.length":
            yield piece, symbol * (piece.high - piece.low)
        elif rest.startswith("tip.") or rest == "joint.dh.alpha":
            if piece.number == piece.count:
                yield piece, symbol
        elif not rest.startswith(("joint.", "beam.section.offset")) or piece.number == 1:
            yield piece, symbol
