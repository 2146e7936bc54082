"""Closed chains of links: the links that a loop holds, and a check that a robot is a tree."""

from __future__ import annotations

from pliant.errors import UnsupportedModel
from pliant.robot.description import RobotDescription
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.loop_joints import Loop
from pliant.robot.tree import parents


def require_tree(robot: RobotDescription, what: str) -> None:
    """Raise `UnsupportedModel` for a robot with loops, passive joints, couplings or contacts, which other formats
    would lose."""
    passive = [link.name for link in robot.links if not link.joint.actuated]
    parts: dict[str, tuple[Loop | Coupling | Contact, ...]] = {
        "closed loops": robot.loops, "couplings": robot.couplings, "contacts": robot.contacts,
    }  # fmt: skip
    listed = {kind: [part.name for part in found] for kind, found in parts.items()}
    for kind, names in (listed | {"passive joints": passive}).items():
        if names:
            raise UnsupportedModel(f"{what}: not built yet for {kind}, and this arm has {', '.join(names)}")


def way_to_base(robot: RobotDescription, end: str) -> set[int]:
    """Numbers of the links from a frame to the base."""
    numbers, carried_by = {link.name: k for k, link in enumerate(robot.links)}, parents(robot.links)
    owners = {frame.name: frame.link for frame in robot.frames} | {"tip": robot.links[-1].name}
    at, found = numbers.get(owners.get(end, end.rpartition(".")[0])), set()
    while at is not None:
        found.add(at)
        at = carried_by[at]
    return found


def looped(robot: RobotDescription) -> set[str]:
    """Names of the links on the way from one frame of a loop to the other: their joints follow from one another."""
    ways = (
        way_to_base(robot, first) ^ way_to_base(robot, second) for first, second in (x.between for x in robot.loops)
    )
    return {robot.links[k].name for each in ways for k in each}
