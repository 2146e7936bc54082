"""Meshes in the browser for the stage: links in pieces of one colour, balls for joints and payload."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.view.scene import PlacedLink
from pliant.view.scene_tubes import RIGID, ball, rings, strain_colours, tube_faces

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
                rgb = strain_colours(np.asarray(strain[a:b].mean() / largest))
                red, green, blue = (int(8 * round(255 / 8 * float(c))) for c in rgb)
                wanted = (red, green, blue)
                if wanted != self.shown[k]:
                    self.shown[k] = wanted
                    mesh.color = wanted


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

    def __init__(self, server: Any, name: str, placed: list[PlacedLink], colour: Any, opacity: float | None) -> None:
        self.layout = layout(placed)
        self.placed, self.largest = placed, 0.0
        self.links = [_LinkMeshes(server, f"{name}/{p.link.name}", p, colour, opacity) for p in placed]

    def draw(self, frame: int, away: Array | None = None) -> None:
        """Bend to a frame of the run, less what a camera has followed."""
        for part, link in zip(self.placed, self.links):
            link.update(part, min(frame, len(part.points) - 1), self.largest, np.zeros(3) if away is None else away)

    def remove(self) -> None:
        """Take it off the stage."""
        for link in self.links:
            for mesh in link.meshes:
                mesh.remove()


def layout(placed: Sequence[PlacedLink]) -> Any:
    """What two runs must share to share meshes."""
    boxes = ["" if p.link.box is None else repr(p.link.box) for p in placed]
    return tuple((p.link.name, p.link.flexible, p.link.round, p.link.half.tobytes(), b) for p, b in zip(placed, boxes))
