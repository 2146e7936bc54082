"""Things around an arm in the viewer: joints, payloads, the base on its floor, sized by the arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.robot.tree import BASE
from pliant.viewer.browser.viewer_meshes import Ball
from pliant.viewer.colors import FLOOR, FLOOR_LINES, ORANGE, PALE, STEEL
from pliant.viewer.scenes.placed_link import PlacedLink
from pliant.viewer.scenes.scene import Scene
from pliant.viewer.scenes.scene_camera import FLAT, outlook, touched

if TYPE_CHECKING:
    from viser import GridHandle, SceneNodeHandle

    from pliant.viewer.browser.viewer_meshes import Page

FOOT, PLATE, POST = 0.05, 0.02, 0.02
"""Radius and height of the base's plate and half the width of its post, as parts of the reach."""


@dataclass(frozen=True)
class Stand:
    """Stand of the base on the floor.

    Attributes
    ----------
    floor : float
        Height of the floor along `up`.
    top : float
        Height at which the base rests: on the floor, or on a post that ends here.
    aside : (3,)
        To the middle of the plate and the post, which stand below the first joint, or behind an arm that moves in a
        plane and would go through the post.
    """

    floor: float
    top: float
    aside: Array

    @property
    def has_post(self) -> bool:
        """Whether the arm reaches below its base, which then stands higher than the floor."""
        return self.floor < self.top

    def serves(self, other: Stand, reach: float) -> bool:
        """Whether this stand may stay where another is wanted."""
        return abs(self.floor - other.floor) < 0.05 * reach and self.has_post == other.has_post


def stand(scene: Scene, placed: Sequence[PlacedLink]) -> Stand:
    """Stand on the floor, unless the arm would go through it: then on a post, as high as the arm needs."""
    up, size, radius, first = scene.up, scene.reach, joint_radii(scene, placed)[0], placed[0].link.origin[:3, 3]
    height, points, seen = float(first @ up), touched(scene, placed, False), outlook(scene, placed)
    below, under = height - radius - PLATE * size, first - height * up
    if float((points @ up).min()) > below - 0.01 * size:
        return Stand(below, below, under)
    spans = np.ptp(points @ seen.level.T, axis=0)
    thin = int(np.argmin(spans))
    if spans[thin] >= FLAT * size:
        return Stand(min(seen.floor, below), height - radius, under)
    behind = -np.sign(seen.towards @ seen.level[thin]) * seen.level[thin] * (radius + 2 * POST * size)
    return Stand(min(seen.floor, below), height + radius, under + behind)


def joint_radii(scene: Scene, placed: Sequence[PlacedLink]) -> list[float]:
    """Radii of the balls that stand for joints."""
    return [max(0.014 * scene.reach, part.link.joint_size) for part in placed]


class Furniture:
    """Meshes of joints, payloads, base and floor, in one folder `here` of viser's scene, which must be new."""

    def __init__(self, server: Page, here: str, scene: Scene, placed: Sequence[PlacedLink], base: Stand) -> None:
        self.scene, self.base, self._api = scene, base, server.scene
        names = [part.link.name for part in placed]
        self.loads = [Ball(server, f"{here}/payload/{name}", 0.024 * scene.reach, ORANGE) for name in names]
        radii = joint_radii(scene, placed)
        self.joints = [Ball(server, f"{here}/joint/{name}", r, STEEL) for name, r in zip(names, radii)]
        for part, joint in zip(placed, self.joints):
            joint.mesh.visible = part.link.marked
        self._things: list[SceneNodeHandle] = [ball.mesh for ball in (*self.loads, *self.joints)]
        if not scene.flies and BASE not in scene.visuals:
            self._things += self._foot(here)
        self._height = base.floor * scene.up
        self._floor = self._grid(here) if scene.standing else None
        if self._floor is not None:
            self._things.append(self._floor)

    def _foot(self, here: str) -> list[SceneNodeHandle]:
        """Plate on the floor, and the post on it."""
        base, size, up = self.base, self.scene.reach, self.scene.up
        turn = turn_to(up)
        center = base.aside + (base.floor + PLATE / 2 * size) * up
        radius = FOOT * size * (1.5 if base.has_post else 1.0)
        made: list[SceneNodeHandle] = [
            self._api.add_cylinder(
                f"{here}/foot", radius, PLATE * size, STEEL, wxyz=turn, position=tuple(center), cast_shadow=False,
                receive_shadow=False,
            )
        ]  # fmt: skip
        if base.has_post:
            high = base.top - base.floor
            middle = base.aside + (base.floor + high / 2) * up
            made.append(
                self._api.add_box(
                    f"{here}/post", PALE, (2 * POST * size, 2 * POST * size, high), wxyz=turn, position=tuple(middle),
                    cast_shadow=False, receive_shadow=False,
                )
            )  # fmt: skip
        return made

    def _grid(self, here: str) -> GridHandle:
        """Grid of the floor."""
        size = self.scene.reach
        return self._api.add_grid(
            f"{here}/floor", 3 * size, 3 * size, cell_size=size / 5, section_size=size, cell_color=FLOOR,
            section_color=FLOOR_LINES, position=tuple(self._height), wxyz=turn_to(self.scene.up),
            shadow_opacity=0.0,
        )  # fmt: skip

    def draw(self, placed: Sequence[PlacedLink], frame: int, away: Array) -> None:
        """Move joints and payloads to a frame; `away` is what a camera has followed."""
        for part, joint, load in zip(placed, self.joints, self.loads):
            joint.put(part.joint[frame, :3, 3] - away)
            load.put(part.tip[frame, :3, 3] - away)
        if self.scene.flies and self._floor is not None:
            self._floor.position = tuple(self._height - away)

    def remove(self) -> None:
        """Remove all meshes."""
        for thing in self._things:
            thing.remove()


def turn_to(up: Array) -> tuple[float, float, float, float]:
    """Quaternion (w, x, y, z) that turns z to `up`."""
    axis, w = np.cross([0.0, 0.0, 1.0], up), 1.0 + float(up[2])
    if w < 1e-9:
        return (0.0, 1.0, 0.0, 0.0)
    q = np.array([w, *axis]) / np.linalg.norm([w, *axis])
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))
