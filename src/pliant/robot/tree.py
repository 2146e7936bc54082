"""Tree of the links: the parent of each, an order from the base outwards, and places on a link."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.robot.files.error_messages import clash, suggestion
from pliant.robot.parts.link import BeamStation, BodyFrame, Link

BASE = "base"
"""Name of the base as a parent, unless a link has that name."""


def parents(links: Sequence[Link]) -> list[int | None]:
    """Number of the link that carries each; None for the base."""
    numbers = {link.name: k for k, link in enumerate(links)}
    found: list[int | None] = []
    for k, link in enumerate(links):
        if link.parent is None:
            found.append(k - 1 if k else None)
        elif link.parent in numbers:
            found.append(numbers[link.parent])
        elif link.parent == BASE:
            found.append(None)
        else:
            meant = suggestion(link.parent, [BASE, *numbers])
            raise clash(f"link `{link.name}` hangs on `{link.parent}`, which is not there{meant}")
    return found


def beyond(links: Sequence[Link], place: int) -> list[int]:
    """Numbers of link `place` and of all that it carries."""
    found = {place}
    for k, parent in enumerate(parents(links)):
        if parent in found:
            found.add(k)
    return sorted(found)


def outwards(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Put the links in an order in which each stands behind the one that carries it; unchanged if they are in one."""
    carried_by = parents(links)
    order: list[int] = []
    waiting = list(range(len(links)))
    while waiting:
        ready = next((k for k in waiting if carried_by[k] is None or carried_by[k] in order), None)
        if ready is None:
            raise clash(f"the parents of link `{links[waiting[0]].name}` lead back to itself; let one hang on `base`")
        order.append(ready)
        waiting.remove(ready)
    if order == list(range(len(links))):
        return links
    found = []
    for place, k in enumerate(order):
        before = carried_by[k]
        plain = before == order[place - 1] if place else before is None
        named = None if plain else BASE if before is None else links[before].name
        found.append(links[k] if links[k].parent == named else links[k].model_copy(update={"parent": named}))
    return tuple(found)


def check_place(link: Link, at: object, who: str) -> None:
    """Refuse a place that the link does not have."""
    if at == "tip":
        return
    if link.beam is not None and link.beam.slides:
        raise clash(f"{who} on link `{link.name}`, which slides: its material passes every place but the tip; use tip")
    if isinstance(at, BeamStation):
        if link.beam is None:
            raise clash(f"{who} on a station of link `{link.name}`, which is no beam; use tip or root and an origin")
        if at.x > link.beam.length * (1 + 1e-12):
            length = f"{link.beam.length:g} m of link `{link.name}`"
            raise clash(f"{who} at x = {at.x:g} m, beyond the {length}; use at most these")
    if isinstance(at, BodyFrame):
        known = () if link.body is None else link.body.reduced.frames
        if at.frame not in known:
            meant = suggestion(at.frame, known) or "; only a body from a file has frames"
            raise clash(f"{who} on frame `{at.frame}` of link `{link.name}`, which is not there{meant}")
