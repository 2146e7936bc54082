"""From the description of a robot to the chain of its links, which is all that formulations see.

Every number is read through a `RobotView`, so that chosen ones arrive as symbols and the rest fold into the
expressions. The steps:

1. Loads beyond the tips of links (`boundary_loads`) shape the functions of beams.
2. Coordinates are numbered (`build_joints`): a free base, joints, motors, then the amplitudes of each link.
3. Each link becomes a joint and a body (`build_links`), is damped (`link_damping`) and hung on the one that carries it.
4. Frames are named, and loops, couplings and contacts join them (`build_connections`).
5. Modes that follow the outer joints replace those of the straight arm (`pose_dependent_links`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import get_args

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.errors import ModelError
from pliant.mechanics.links.builders.boundary_loads import (
    boundary_loads,
    inertias_at_tips,
    inertias_beyond,
    robot_shapes,
    shapes_that_change,
    tip_loads,
)
from pliant.mechanics.links.builders.build_connections import closures, contacts, couplings, named_frames
from pliant.mechanics.links.builders.build_joints import CoordinateOrder
from pliant.mechanics.links.builders.build_links import LinkSource, Modeling, base_link, chain_link
from pliant.mechanics.links.builders.link_damping import damped_link, dampers
from pliant.mechanics.links.builders.link_geometry import place_at
from pliant.mechanics.links.builders.pose_dependent_links import with_tracked_modes
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.shapes.builder import link_shapes
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.options import RotationName, StiffeningName
from pliant.robot.description import RobotDescription
from pliant.robot.parts.link import At, Link
from pliant.robot.parts.shapes import TipLoad
from pliant.robot.symbolic_view import RobotView
from pliant.robot.tree import parents


def build_chain(
    robot: RobotDescription,
    rotation: RotationName = "exact",
    stiffening: StiffeningName = "off",
    symbols: Mapping[str, SX] | None = None,
    functions: Callable[[Link, TipLoad | None], LinkShapes | None] = link_shapes,
) -> Chain:
    """The chain of a robot; numbers at the paths of `symbols` become those symbols, `functions` are those of a link."""
    if stiffening not in get_args(StiffeningName):
        raise ModelError(f"stiffening: got {stiffening!r}, expected {', '.join(get_args(StiffeningName))}")
    view = RobotView(robot, symbols or {})
    robot = view.description  # from here on that of the pieces
    beyond = inertias_at_tips(robot)
    shapes = [functions(link, load) for link, load in zip(robot.links, boundary_loads(robot, beyond))]
    sources = [LinkSource(*parts) for parts in zip(view.links, robot.links, view.pieces, shapes, strict=True)]
    order = CoordinateOrder(robot, (name for source in sources for name in source.amplitudes))
    tree = _Tree(view)
    links = [base_link(view.base, robot.bodies[0], order)] if robot.base.is_free else []
    for i, source in enumerate(sources):
        made = chain_link(source, view.carried(i), order, Modeling(rotation, stiffening))
        links.append(tree.hung(i, damped_link(made, source, beyond[i])))
    chain = Chain(
        links=tuple(links),
        gravity=ca.SX(ca.vertcat(*view.gravity)),
        coordinates=order.coordinates,
        speeds=order.speeds,
        rotation=rotation,
        stiffening=stiffening,
        frames=named_frames(view),
        first=tree.first,
    )
    chain = replace(chain, dampers=tuple(dampers(chain, view, beyond)), closures=closures(view, chain))
    chain = replace(chain, lines=couplings(view, chain), contacts=contacts(view, chain))
    if not any(link.shapes is not None and link.shapes.tip_load == "track" for link in robot.links):
        return chain
    return with_tracked_modes(robot, chain, lambda q, place: inertias_beyond(robot, q, place)[place])


class _Tree:
    """The link that carries each one, and where it hangs there.

    `first` is the number of the first link in the chain, 1 behind a free base. A link hangs at port 0 of the one that
    carries it, the tip, or at one of its further `places`.
    """

    def __init__(self, view: RobotView) -> None:
        self.links, links = view.links, view.description.links
        self.first = int(view.description.base.is_free)
        self.parents = parents(links)
        self.places: list[list[At]] = [[] for _ in links]
        self.ports = [self._port(link, parent) for link, parent in zip(links, self.parents)]

    def _port(self, link: Link, parent: int | None) -> int:
        """Number of the port that a link hangs at, whose place is noted for the link `parent`."""
        if parent is None or link.at == "tip":
            return 0
        known = self.places[parent]
        if link.at not in known:
            known.append(link.at)
        return 1 + known.index(link.at)

    def hung(self, i: int, link: ChainLink) -> ChainLink:
        """Link number `i` at its place in the tree."""
        own, parent = self.links[i], self.parents[i]
        on_base = 0 if self.first else None
        return replace(
            link,
            parent=on_base if parent is None else self.first + parent,
            port=self.ports[i],
            places=tuple(place_at(own, at) for at in self.places[i]),
            root=place_at(own, "root"),
        )


__all__ = ["build_chain", "inertias_beyond", "robot_shapes", "shapes_that_change", "tip_loads"]
