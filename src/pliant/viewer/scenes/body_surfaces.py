"""Surfaces of bodies from files over time: positions and stress of their points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.robot.files.mesh_files import MOST_FACES, coarser
from pliant.robot.parts.bodies.reduced_body import ReducedBody


@dataclass(frozen=True)
class SceneSurface:
    """Surface of a body from a file, in the axes of its link: points (P, 3), triangles `faces` (K, 3), displacement
    `moves` (P, 3, k) and `stress` (P, 6, k) of each point per coordinate, and the coordinates `c` (F, k)."""

    points: Array
    faces: NDArray[np.int64]
    moves: Array
    stress: Array
    c: Array

    def bent(self, frame: int, magnification: float) -> Array:
        """(P, 3) deformed points at a frame."""
        return np.asarray(self.points + magnification * (self.moves @ self.c[min(frame, len(self.c) - 1)]))

    def von_mises(self, frame: int) -> Array:
        """(P,) von Mises stress at a frame, Pa."""
        x, y, z, yz, xz, xy = (self.stress @ self.c[min(frame, len(self.c) - 1)]).T
        return np.asarray(np.sqrt(((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2 + 3 * (yz**2 + xz**2 + xy**2)))


def surface_of(body: ReducedBody, c: Array) -> SceneSurface | None:
    """Surface of a body with coordinates `c` (F, k), coarse enough to be drawn; None if the file has none."""
    if not len(body.triangles) or not len(body.vertices):
        return None
    moves = body.moves if len(body.moves) else np.zeros((len(body.vertices), 3, body.size))
    stress = body.stress if len(body.stress) else np.zeros((len(body.vertices), 6, body.size))
    kept, faces = coarser(body.vertices, body.triangles.astype(np.int64), MOST_FACES)
    return SceneSurface(body.vertices[kept], faces, moves[kept], stress[kept], c)
