"""Meshes in the browser: links in pieces of one color, balls for joints and payloads, fittings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.viewer.colors import RIGID, Color, strain_colors
from pliant.viewer.scenes.placed_link import PlacedLink
from pliant.viewer.scenes.scene_fittings import Fitting
from pliant.viewer.scenes.scene_tubes import ball, rings, tube_faces
from pliant.viewer.scenes.skins import Skin, covered, shows

if TYPE_CHECKING:
    from viser import ClientHandle, MeshHandle, ViserServer

    Page: TypeAlias = ViserServer | ClientHandle
    """The page that all visitors share, or that of one visitor."""

Control: TypeAlias = Any
"""A control of viser whose value is set from here: mypy takes the values of viser's own types for read-only."""
CHUNKS = 12
"""Pieces of one color of a link that bends."""


class _LinkMeshes:
    """Meshes of one link: pieces of tube, each of one color."""

    def __init__(self, server: Page, name: str, placed: PlacedLink, color: Color | None, opacity: float | None) -> None:
        surface = rings(placed, 0)
        count = min(CHUNKS if placed.link.flexible and color is None else 1, len(surface) - 1)
        edges = np.linspace(0, len(surface) - 1, count + 1).round().astype(int)
        self.pieces = [(int(a), int(b) + 1) for a, b in pairwise(edges)]
        self.fixed, self.shown = color, [(-1, -1, -1)] * count
        self.meshes = [
            server.scene.add_mesh_simple(
                f"{name}/{k}", surface[a:b].reshape(-1, 3).astype(np.float32),
                tube_faces(b - a, surface.shape[1], begin=a == 0, end=b == len(surface)),  # no lids where pieces meet
                color=color or (int(255 * RIGID[0]), int(255 * RIGID[1]), int(255 * RIGID[2])), opacity=opacity,
                side="double",
                flat_shading=not placed.link.round, cast_shadow=False, receive_shadow=False,
            )
            for k, (a, b) in enumerate(self.pieces)
        ]  # fmt: skip

    def update(self, placed: PlacedLink, frame: int, largest: float, away: Array) -> None:
        surface = rings(placed, frame) - away
        strain = placed.link.strain[min(frame, len(placed.link.strain) - 1)]
        for k, ((a, b), mesh) in enumerate(zip(self.pieces, self.meshes)):
            mesh.vertices = surface[a:b].reshape(-1, 3).astype(np.float32)
            if self.fixed is None and placed.link.flexible and largest > 0:
                wanted = _bytes(strain_colors(np.asarray(strain[a:b].mean() / largest)))
                if wanted != self.shown[k]:
                    self.shown[k] = wanted
                    mesh.color = wanted


class _SkinMeshes:
    """Meshes of one visual: triangles of one color together."""

    def __init__(self, server: Page, name: str, skin: Skin, color: Color | None, opacity: float | None) -> None:
        self.skin, self.strained = skin, skin.bends and color is None
        count = CHUNKS if self.strained else 1
        along = skin.along[skin.faces].mean(1)
        place = np.minimum(along / max(float(along.max()), 1e-9) * count, count - 1).astype(int)
        self.corners: list[NDArray[np.int64]] = []
        self.meshes: list[MeshHandle] = []
        for k in np.unique(place):
            self.corners.append(skin.faces[place == k].ravel())
            flat = np.arange(len(self.corners[-1]), dtype=np.uint32).reshape(-1, 3)
            self.meshes.append(
                server.scene.add_mesh_simple(
                    f"{name}/{k}", np.zeros((3 * len(flat), 3), np.float32), flat,
                    color=color or _bytes(skin.color), opacity=opacity, side="double", flat_shading=True,
                    cast_shadow=False, receive_shadow=False,
                )
            )  # fmt: skip
        self.shown = [(-1, -1, -1)] * len(self.meshes)

    def update(self, placed: Sequence[PlacedLink], frame: int, largest: float, away: Array) -> None:
        points, part = self.skin.points(placed, frame) - away, self.skin.parts(placed, frame, largest)
        for k, (corners, mesh) in enumerate(zip(self.corners, self.meshes)):
            mesh.vertices = points[corners].astype(np.float32)
            if self.strained and shows(self.skin, largest):
                wanted = _bytes(strain_colors(np.asarray(part[corners].mean())))
                if wanted != self.shown[k]:
                    self.shown[k] = mesh.color = wanted


def _bytes(rgb: Array) -> Color:
    """Color in steps of eight, so that a small change of strain sends nothing."""
    red, green, blue = (min(255, 8 * round(255 / 8 * float(c))) for c in rgb)
    return red, green, blue


class Ball:
    """Ball for a joint or a payload. It moves by its vertices as links do, so that a browser shows both together."""

    def __init__(self, server: Page, name: str, radius: float, color: Color) -> None:
        points, faces = ball()
        self.points = (radius * points).astype(np.float32)
        self.mesh = server.scene.add_mesh_simple(
            name, self.points, faces, color=color, cast_shadow=False, receive_shadow=False
        )

    def put(self, at: Array) -> None:
        """Move its center."""
        self.mesh.vertices = self.points + at.astype(np.float32)


class ArmMeshes:
    """Meshes of one run, which serve another run of the same links."""

    def __init__(
        self,
        server: Page,
        name: str,
        placed: list[PlacedLink],
        color: Color | None,
        opacity: float | None,
        skins: Sequence[Skin] = (),
    ) -> None:
        self.layout, hidden = layout(placed, skins), covered(skins)
        self.placed, self.largest = placed, 0.0
        self.links = [
            (k, _LinkMeshes(server, f"{name}/{p.link.name}", p, color, opacity))
            for k, p in enumerate(placed)
            if k not in hidden
        ]
        self.skins = [
            _SkinMeshes(server, f"{name}/{skin.name}/visual{k}", skin, color, opacity) for k, skin in enumerate(skins)
        ]

    def draw(self, frame: int, away: Array | None = None) -> None:
        """Bend to a frame of the run; `away` is what a camera has followed."""
        away = np.zeros(3) if away is None else away
        frame = min(frame, len(self.placed[0].points) - 1)
        for k, link in self.links:
            link.update(self.placed[k], frame, self.largest, away)
        for skin in self.skins:
            skin.update(self.placed, frame, self.largest, away)

    def remove(self) -> None:
        """Remove all meshes."""
        for mesh in (mesh for _, link in self.links for mesh in link.meshes):
            mesh.remove()
        for mesh in (mesh for skin in self.skins for mesh in skin.meshes):
            mesh.remove()


class FittingMeshes:
    """Meshes of the fittings of a run, which serve another run of the same fittings."""

    def __init__(self, server: Page, name: str, parts: Sequence[Fitting]) -> None:
        self.parts, self.maps = parts, [np.eye(4)[None]] * len(parts)
        self.meshes = [
            server.scene.add_mesh_simple(
                f"{name}/{part.name}", part.mesh[0].astype(np.float32), part.mesh[1],
                color=(round(255 * part.color[0]), round(255 * part.color[1]), round(255 * part.color[2])),
                opacity=None if part.color[3] == 1.0 else part.color[3], side="double", flat_shading=True,
                cast_shadow=False, receive_shadow=False,
            )
            for part in parts
        ]  # fmt: skip

    def fits(self, parts: Sequence[Fitting]) -> bool:
        """Whether the same meshes serve other fittings."""
        keys = [[(part.name, part.mesh[0].tobytes()) for part in some] for some in (self.parts, parts)]
        return keys[0] == keys[1]

    def place(self, parts: Sequence[Fitting], placed: Sequence[PlacedLink]) -> None:
        """Take over the motion of a run."""
        self.parts, self.maps = parts, [part.place.maps(placed) for part in parts]

    def draw(self, frame: int, away: Array) -> None:
        """Move to a frame of the run; `away` is what a camera has followed."""
        for part, maps, mesh in zip(self.parts, self.maps, self.meshes):
            mesh.vertices = (part.points(maps, frame) - away).astype(np.float32)

    def remove(self) -> None:
        """Remove all meshes."""
        for mesh in self.meshes:
            mesh.remove()


def layout(placed: Sequence[PlacedLink], skins: Sequence[Skin] = ()) -> tuple[tuple[object, ...], ...]:
    """Key that two runs must share to share meshes."""
    dressed = [(skin.name, skin.faces.tobytes(), skin.form) for skin in skins]
    boxes = ["" if p.link.box is None else repr(p.link.box) for p in placed]
    links = ((p.link.name, p.link.flexible, p.link.round, p.link.half.tobytes(), b) for p, b in zip(placed, boxes))
    return (*links, *dressed)
