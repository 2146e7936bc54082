"""Meshes in the browser for the stage: links in pieces of one colour, balls for joints and payload, fittings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.viewer.placed_link import PlacedLink
from pliant.viewer.scene_fittings import Fitting
from pliant.viewer.scene_tubes import RIGID, ball, rings, strain_colours, tube_faces
from pliant.viewer.skins import Skin, covered, shows

CHUNKS = 12
"""Pieces of one colour of a link that bends."""


class _LinkMeshes:
    """The meshes of one link: pieces of tube, each of one colour."""

    def __init__(self, server: Any, name: str, placed: PlacedLink, colour: Any, opacity: float | None) -> None:
        surface = rings(placed, 0)
        count = min(CHUNKS if placed.link.flexible and colour is None else 1, len(surface) - 1)
        edges = np.linspace(0, len(surface) - 1, count + 1).round().astype(int)
        self.pieces = [(int(a), int(b) + 1) for a, b in pairwise(edges)]
        self.fixed, self.shown = colour, [(-1, -1, -1)] * count
        self.meshes = [
            server.scene.add_mesh_simple(
                f"{name}/{k}", surface[a:b].reshape(-1, 3).astype(np.float32),
                tube_faces(b - a, surface.shape[1], begin=a == 0, end=b == len(surface)),  # no lids where pieces meet
                color=colour or tuple(int(255 * c) for c in RIGID), opacity=opacity, side="double",
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
                wanted = _bytes(strain_colours(np.asarray(strain[a:b].mean() / largest)))
                if wanted != self.shown[k]:
                    self.shown[k] = wanted
                    mesh.color = wanted


class _SkinMeshes:
    """The meshes of one visual: triangles of one colour together."""

    def __init__(self, server: Any, name: str, skin: Skin, colour: Any, opacity: float | None) -> None:
        self.skin, self.strained = skin, skin.bends and colour is None
        count = CHUNKS if self.strained else 1
        along = skin.along[skin.faces].mean(1)
        place = np.minimum(along / max(float(along.max()), 1e-9) * count, count - 1).astype(int)
        self.corners, self.meshes = [], []
        for k in np.unique(place):
            self.corners.append(skin.faces[place == k].ravel())
            flat = np.arange(len(self.corners[-1]), dtype=np.uint32).reshape(-1, 3)
            self.meshes.append(
                server.scene.add_mesh_simple(
                    f"{name}/{k}", np.zeros((3 * len(flat), 3), np.float32), flat,
                    color=colour or _bytes(skin.colour), opacity=opacity, side="double", flat_shading=True,
                    cast_shadow=False, receive_shadow=False,
                )
            )  # fmt: skip
        self.shown = [(-1, -1, -1)] * len(self.meshes)

    def update(self, placed: Sequence[PlacedLink], frame: int, largest: float, away: Array) -> None:
        points, part = self.skin.points(placed, frame) - away, self.skin.parts(placed, frame, largest)
        for k, (corners, mesh) in enumerate(zip(self.corners, self.meshes)):
            mesh.vertices = points[corners].astype(np.float32)
            if self.strained and shows(self.skin, largest):
                wanted = _bytes(strain_colours(np.asarray(part[corners].mean())))
                if wanted != self.shown[k]:
                    self.shown[k] = mesh.color = wanted


def _bytes(rgb: Array) -> tuple[int, int, int]:
    """A colour in few steps, so that a small change of strain is none."""
    red, green, blue = (min(255, 8 * round(255 / 8 * float(c))) for c in rgb)
    return red, green, blue


class Ball:
    """A joint or the payload. It moves by its vertices, as links do: a browser may show a new position earlier."""

    def __init__(self, server: Any, name: str, radius: float, colour: Any) -> None:
        points, faces = ball()
        self.points = (radius * points).astype(np.float32)
        self.mesh = server.scene.add_mesh_simple(
            name, self.points, faces, color=colour, cast_shadow=False, receive_shadow=False
        )

    def put(self, at: Array) -> None:
        """Move its centre."""
        self.mesh.vertices = self.points + at.astype(np.float32)


class ArmMeshes:
    """One run on the stage; takes another run of the same links without new meshes."""

    def __init__(
        self,
        server: Any,
        name: str,
        placed: list[PlacedLink],
        colour: Any,
        opacity: float | None,
        skins: Sequence[Skin] = (),
    ) -> None:
        self.layout, hidden = layout(placed, skins), covered(skins)
        self.placed, self.largest = placed, 0.0
        self.links = [
            (k, _LinkMeshes(server, f"{name}/{p.link.name}", p, colour, opacity))
            for k, p in enumerate(placed)
            if k not in hidden
        ]
        self.skins = [
            _SkinMeshes(server, f"{name}/{skin.name}/visual{k}", skin, colour, opacity) for k, skin in enumerate(skins)
        ]

    def draw(self, frame: int, away: Array | None = None) -> None:
        """Bend to a frame of the run, less what a camera has followed."""
        away = np.zeros(3) if away is None else away
        frame = min(frame, len(self.placed[0].points) - 1)
        for k, link in self.links:
            link.update(self.placed[k], frame, self.largest, away)
        for skin in self.skins:
            skin.update(self.placed, frame, self.largest, away)

    def remove(self) -> None:
        """Take it off the stage."""
        for mesh in (mesh for _, link in self.links for mesh in link.meshes):
            mesh.remove()
        for mesh in (mesh for skin in self.skins for mesh in skin.meshes):
            mesh.remove()


class FittingMeshes:
    """What is drawn besides the links of a run; takes another run of the same fittings without new meshes."""

    def __init__(self, server: Any, name: str, parts: Sequence[Fitting]) -> None:
        self.parts, self.maps = parts, [np.eye(4)[None]] * len(parts)
        self.meshes = [
            server.scene.add_mesh_simple(
                f"{name}/{part.name}", part.mesh[0].astype(np.float32), part.mesh[1],
                color=tuple(round(255 * c) for c in part.colour[:3]),
                opacity=None if part.colour[3] == 1.0 else part.colour[3], side="double", flat_shading=True,
                cast_shadow=False, receive_shadow=False,
            )
            for part in parts
        ]  # fmt: skip

    def fits(self, parts: Sequence[Fitting]) -> bool:
        """Whether the same meshes serve other fittings."""
        keys = [[(part.name, part.mesh[0].tobytes()) for part in some] for some in (self.parts, parts)]
        return keys[0] == keys[1]

    def place(self, parts: Sequence[Fitting], placed: Sequence[PlacedLink]) -> None:
        """Take the motion of a run."""
        self.parts, self.maps = parts, [part.place.maps(placed) for part in parts]

    def draw(self, frame: int, away: Array) -> None:
        """Move to a frame of the run, less what a camera has followed."""
        for part, maps, mesh in zip(self.parts, self.maps, self.meshes):
            mesh.vertices = (part.points(maps, frame) - away).astype(np.float32)

    def remove(self) -> None:
        """Take them off the stage."""
        for mesh in self.meshes:
            mesh.remove()


def layout(placed: Sequence[PlacedLink], skins: Sequence[Skin] = ()) -> Any:
    """What two runs must share to share meshes."""
    dressed = [(skin.name, skin.faces.tobytes(), skin.form) for skin in skins]
    boxes = ["" if p.link.box is None else repr(p.link.box) for p in placed]
    links = ((p.link.name, p.link.flexible, p.link.round, p.link.half.tobytes(), b) for p, b in zip(placed, boxes))
    return (*links, *dressed)
