"""Visuals on a moving arm: every point of a mesh moves with the section of its link that is nearest to it.

A rigid link carries its visuals as they are. Those of a beam bend with it: a point keeps its place in the axes of its
section. Between two stations the axes of both are interpolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.errors import ModelError, warn_user
from pliant.robot.files.mesh_files import MOST_FACES, Triangles
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.bodies.visuals import Visual
from pliant.robot.tree import BASE
from pliant.viewer.colors import RIGID
from pliant.viewer.scenes.body_skins import BodySkin
from pliant.viewer.scenes.placed_link import PlacedLink
from pliant.viewer.scenes.scene import Scene
from pliant.viewer.scenes.scene_tubes import ball, tube_faces

SIDES = 16
"""Corners of a drawn cylinder."""
ROUGH = 3
"""Triangles are no longer than a visual divided by this, so that movies can sort them by depth."""
PARTS = 8
"""Triangles of a visual that bends are no longer than its link divided by this, if there are not too many."""


@dataclass(frozen=True)
class SceneSkin:
    """A visual on the arm.

    Attributes
    ----------
    name : str
        Name of its link, or "base".
    links : tuple of int
        Numbers of the scene's links that it covers: the pieces of a link; none for a fixed base.
    faces : (K, 3)
        Triangles.
    link : (P,)
        Index into `links` of the piece that each point moves with.
    station : (P,)
        Position along the piece, as a number of stations.
    offset : (P, 3)
        Position from there, in the axes of the section.
    color : (3,)
        Color where no strain is shown.
    bends : bool
        Whether its link bends.
    """

    name: str
    links: tuple[int, ...]
    faces: NDArray[np.int64]
    link: NDArray[np.int64]
    station: Array
    offset: Array
    color: Array
    bends: bool

    def points(self, placed: Sequence[PlacedLink], frame: int) -> Array:
        """(P, 3) points in the base, at a frame."""
        if not self.links:
            return self.offset
        out = np.empty_like(self.offset)
        for k, number in enumerate(self.links):
            own, part = self.link == k, placed[number]
            axis, sections = part.points[frame], part.sections[min(frame, len(part.sections) - 1)]
            low, f = _between(self.station[own], len(axis))
            at = (1 - f)[:, None] * axis[low] + f[:, None] * axis[low + 1]
            turned = (1 - f)[:, None, None] * sections[low] + f[:, None, None] * sections[low + 1]
            out[own] = at + np.einsum("pij,pj->pi", turned, self.offset[own])
        return out

    @property
    def along(self) -> Array:
        """(P,) position from the root of its link to the tip. Where triangles cannot have colors of their own, those
        near each other along it share one."""
        return np.asarray(self.link + self.station / max(float(self.station.max(initial=0.0)), 1e-9))

    @property
    def form(self) -> bytes:
        """Key that two runs must share to share meshes."""
        return self.offset.tobytes() + self.station.tobytes()

    def parts(self, placed: Sequence[PlacedLink], frame: int, largest: float) -> Array:
        """(P,) strain of the sections that the points move with, over the largest one."""
        return self.strains(placed, frame) / (largest or 1.0)

    def strains(self, placed: Sequence[PlacedLink], frame: int) -> Array:
        """(P,) strain of the sections that the points move with."""
        out = np.zeros(len(self.offset))
        for k, number in enumerate(self.links):
            own, strain = self.link == k, placed[number].link.strain
            row = strain[min(frame, len(strain) - 1)]
            low, f = _between(self.station[own], len(row))
            out[own] = (1 - f) * row[low] + f * row[low + 1]
        return out


def _between(station: Array, count: int) -> tuple[NDArray[np.int64], Array]:
    """Station before each place, and the part of the way to the next one."""
    low = np.clip(station.astype(int), 0, count - 2)
    return low, station - low


Skin = SceneSkin | BodySkin
"""A surface drawn in place of a link."""


def skins_of(scene: Scene) -> tuple[Skin, ...]:
    """Skins of all links that have visuals, or a body with a surface. Visuals that cannot be read give a warning, and
    their links are drawn from their dimensions.

    A beam that slides through its joint has no skin, since its material moves into its sleeve.
    """
    placed = list(scene.lines(0.0))
    found: list[Skin] = []
    for name, visuals in scene.visuals.items():
        links = tuple(k for k, part in enumerate(placed) if part.link.owner == name)
        if any(np.ptp(placed[k].link.straight, axis=0).any() for k in links):
            continue
        try:
            found += [_skin(visual, name, links, placed) for visual in visuals]
        except ModelError as error:
            warn_user(f"{name}: {error}; it is drawn from its numbers")
            found = [skin for skin in found if skin.name != name]
    hidden = covered(found)
    for k, link in enumerate(scene.links):
        if link.surface is not None and k not in hidden:
            found.append(BodySkin(link.owner, k, link.surface, scene.largest_stress))
    return tuple(found)


def shows(skin: Skin, largest: float) -> bool:
    """Whether a skin shows strain or stress by color; `largest` is the largest strain of the scene."""
    return skin.bends and (isinstance(skin, BodySkin) or largest > 0)


def covered(skins: Sequence[Skin]) -> set[int]:
    """Numbers of the links that skins are drawn in place of."""
    return {number for skin in skins for number in skin.links}


def _skin(visual: Visual, name: str, links: tuple[int, ...], placed: Sequence[PlacedLink]) -> SceneSkin:
    """Skin of one visual: a mesh fine enough, each point attached to its nearest section."""
    points, faces = _surface(visual)
    points, faces = _finer(points, faces, float(np.ptp(points, axis=0).max()) / ROUGH)
    turn = np.array(rotation_rpy(visual.origin.rpy), dtype=float)
    points = points @ turn.T + np.array(visual.origin.xyz)
    color = RIGID if visual.color is None else np.array(visual.color)
    if not links:
        none = np.zeros(len(points))
        return SceneSkin(
            name=BASE, links=(), faces=faces, link=none.astype(int), station=none, offset=points, color=color,
            bends=False,
        )  # fmt: skip
    root = placed[links[0]].joint[0]
    bends = any(placed[k].link.flexible for k in links)
    axes = [_straight(placed[k], root) for k in links]
    if bends:
        points, faces = _finer(points, faces, sum(float(np.linalg.norm(a[-1] - a[0])) for a, _ in axes) / PARTS)
    if not bends:
        axes = [(axis[:1].repeat(2, axis=0), turns) for axis, turns in axes[:1]]
    link, station, offset = _nearest(points, axes)
    return SceneSkin(
        name=name, links=links, faces=faces, link=link, station=station, offset=offset, color=color, bends=bends
    )


def _straight(part: PlacedLink, root: Array) -> tuple[Array, Array]:
    """Stations (S, 3) and sections (S, 3, 3) of an unbent piece, in the axes of the root of its link."""
    R = root[:3, :3]
    sections = part.sections[0]
    return (part.points[0] - root[:3, 3]) @ R, np.einsum("ji,sjk->sik", R, sections)


def _nearest(points: Array, axes: Sequence[tuple[Array, Array]]) -> tuple[NDArray[np.int64], Array, Array]:
    """Nearest section of each point: number of the piece, station, and offset in the axes of the section."""
    best = np.full(len(points), np.inf)
    link, station, offset = np.zeros(len(points), dtype=np.int64), np.zeros(len(points)), np.zeros_like(points)
    for k, low, a, b, turns in _segments(axes):
        along = b - a
        length = float(along @ along)
        f = np.clip((points - a) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
        away = points - a - f[:, None] * along
        distance = np.einsum("pi,pi->p", away, away)
        near = distance < best - 1e-12 * length
        best[near], link[near], station[near] = distance[near], k, low + f[near]
        mean = (1 - f[near])[:, None, None] * turns[low] + f[near][:, None, None] * turns[low + 1]
        offset[near] = np.einsum("pji,pj->pi", mean, away[near])
    return link, station, offset


def _segments(axes: Sequence[tuple[Array, Array]]) -> Iterator[tuple[int, int, Array, Array, Array]]:
    """Stretches between stations: piece, station, both ends, and sections of the piece."""
    for k, (axis, turns) in enumerate(axes):
        for low in range(len(axis) - 1):
            yield k, low, axis[low], axis[low + 1], turns


def _surface(visual: Visual) -> Triangles:
    """Triangles of a visual in its own axes."""
    if visual.mesh is not None:
        if visual.content is None or not len(visual.content.faces):
            raise ModelError(f"{visual.mesh}: no such mesh, or none that can be read")
        points, faces = visual.content.triangles
        return points * np.array(visual.scale), faces[:, ::-1] if np.prod(visual.scale) < 0 else faces
    if visual.box is not None:
        corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y, z in ((1, -1), (1, 1), (-1, 1), (-1, -1))])
        return corners * np.array(visual.box) / 2, tube_faces(2, 4).astype(np.int64)
    if visual.cylinder is not None:
        angle = np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False)
        ring = np.column_stack([np.cos(angle), np.sin(angle)]) * visual.cylinder.radius
        ends = [np.column_stack([ring, np.full(SIDES, s * visual.cylinder.length / 2)]) for s in (-1.0, 1.0)]
        return np.concatenate(ends), tube_faces(2, SIDES).astype(np.int64)
    round_points, round_faces = ball()
    assert visual.sphere is not None
    return round_points * visual.sphere, round_faces.astype(np.int64)


def _finer(points: Array, faces: NDArray[np.int64], longest: float) -> Triangles:
    """Split every triangle into four, at the middles of its edges, until no edge is longer."""
    while 4 * len(faces) <= MOST_FACES:
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        if np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).max() <= longest:
            break
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        middle = len(points) + number.reshape(-1, 3)
        points = np.concatenate([points, points[unique].mean(axis=1)])
        (a, b, c), (ab, bc, ca) = faces.T, middle.T
        faces = np.concatenate(
            [np.stack(each, axis=1) for each in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return points, faces
