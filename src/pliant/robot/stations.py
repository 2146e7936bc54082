"""Stations of a link: facts of each link as plain data, and how users name the places along it.

`Layout` and the chain of `mechanics` both have these facts, so that the place of a station needs no equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pliant.errors import ModelError, UnsupportedModel
from pliant.options import JointType
from pliant.robot.parts.joint import Axis
from pliant.robot.pieces import BeamPiece, at_fraction

NAMED = {"tip": 1.0, "middle": 0.5}


@dataclass(frozen=True)
class LinkFact:
    """A link of a chain, most often a whole link of the robot, as plain data.

    It hangs at `port` of link number `parent`, and has `ports` itself, the tip included. Its coordinates are at
    `joint_places` and `body_places`. `fields` has the field of each shape function; None where it has none.

    Attributes
    ----------
    length : float, optional
        Length, m; None where it slides, and where a parameter of the model decides.
    has_sections : bool
        Whether its body is a beam with properties of sections.
    """

    name: str
    piece: BeamPiece
    parent: int | None
    port: int
    ports: int
    kind: JointType
    axes: tuple[Axis, ...]
    joint_places: tuple[int, ...]
    body_places: tuple[int, ...]
    fields: tuple[str, ...] | None
    length: float | None
    slides: bool
    has_sections: bool

    @classmethod
    def from_facts(cls, kept: Mapping[str, Any]) -> LinkFact:
        """A link from the plain data in a file, in which tuples have become lists."""
        plain: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in kept.items()}
        return cls(**plain | {"piece": BeamPiece(**kept["piece"]), "axes": tuple(map(tuple, kept["axes"]))})

    @property
    def flexible(self) -> bool:
        """Return whether it has coordinates of its own."""
        return bool(self.body_places)

    @property
    def from_file(self) -> bool:
        """Return whether it is a body from a file that bends, of which frames alone are known."""
        return self.flexible and not self.has_sections


class Linked(Protocol):
    """Links of an arm as plain data; `first` is the number of the first one, 1 behind a free base."""

    @property
    def link_facts(self) -> Sequence[LinkFact]:
        """The links, from the base outwards."""

    @property
    def first(self) -> int:
        """Number of the first link that is not the base."""


def places_of(arm: Linked, link: str | int) -> list[int]:
    """Numbers of the pieces of a link, most often one, from its name or number; of one piece, by its name."""
    found: dict[str, list[int]] = {}
    for place, known in enumerate(arm.link_facts):
        found.setdefault(known.piece.owner, []).append(place)
    if isinstance(link, str):
        own = [place for place, known in enumerate(arm.link_facts) if known.name == link]
        if link not in found and not own:
            raise ModelError(f"link: got {link!r}, expected one of {', '.join(found)}")
        return found.get(link, own)
    if not isinstance(link, int):
        raise ModelError(f"link: got {type(link).__name__}, expected a name or a number: {', '.join(found)}")
    numbers = list(found.values())[arm.first :]
    if not -len(numbers) <= link < len(numbers):
        raise ModelError(f"link: got {link}, expected a number below {len(numbers)}, or one of {', '.join(found)}")
    return numbers[link]


def place_of(arm: Linked, link: str | int) -> int:
    """Number of a link, of its first piece, from its name or number."""
    return places_of(arm, link)[0]


def locate(
    arm: Linked, link: str | int, x: float | str, length_of: Callable[[int], float] | None = None,
    material: bool = False,
) -> tuple[int, float]:  # fmt: skip
    """Number of the piece on which a station of a link is, and the part of its length there.

    Stations are meters or a name; `length_of` gives the length of a piece by its number where that is a parameter of
    known value. What is fixed to the `material` of a sliding beam has no such station but its tip.
    """
    places = places_of(arm, link)
    first = arm.link_facts[places[0]]
    if material and first.slides and x != "tip":
        raise UnsupportedModel(f"link {first.name!r} slides: its material passes every station but the tip; use 'tip'")
    length = None
    if first.length is None and not first.slides and not isinstance(x, str) and length_of is not None:
        length = length_of(places[0]) / (first.piece.high - first.piece.low)
    if len(places) == 1:
        return places[0], fraction(first, x, length)
    part = fraction(first, x, whole_length(first) if length is None and not isinstance(x, str) and x else length)
    own = [arm.link_facts[place].piece for place in places]
    piece = at_fraction(own, part)
    return places[own.index(piece)], min(max((part - piece.low) / (piece.high - piece.low), 0.0), 1.0)


def whole_length(link: LinkFact) -> float:
    """Length of the whole link of which this one is a piece; raises `ModelError` if it is a parameter of the model."""
    return fixed_length(link) / (link.piece.high - link.piece.low)


def fixed_length(link: LinkFact) -> float:
    """Length of a link; raises `ModelError` if it is a parameter of the model."""
    if link.length is None:
        raise ModelError(
            f"link {link.piece.owner!r}: its length is a parameter of the model, so that a station in metres is not a "
            "fixed part of it; use 'tip' or 'middle'"
        )
    return link.length


def fraction(link: LinkFact, x: float | str, length: float | None = None) -> float:
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


def require_stations(link: LinkFact) -> None:
    """Raise `UnsupportedModel` for a body from a file, of which frames alone are known."""
    if link.from_file:
        raise UnsupportedModel(
            f"link {link.name!r} is a body from a file, which has no stations; use 'tip', or one of its frames"
        )


def require_sections(link: LinkFact) -> None:
    """Raise `UnsupportedModel` for links without sections, and for those whose section forces are not followed."""
    if link.slides:
        raise UnsupportedModel(
            f"link {link.name!r} slides: its section forces are not followed; ask reaction of its joints"
        )
    if not link.has_sections:
        what = "is no beam: it has no sections" if link.flexible else "is rigid: where its mass lies is not known"
        raise UnsupportedModel(f"link {link.name!r} {what}; ask reaction of its joints, or give it a beam with shapes")
