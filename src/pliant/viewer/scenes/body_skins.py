"""Surfaces of bodies from files on a moving arm: every point moves as the shapes of its body say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.viewer.colors import RIGID
from pliant.viewer.scenes.body_surfaces import SceneSurface
from pliant.viewer.scenes.placed_link import PlacedLink


@dataclass(frozen=True)
class BodySkin:
    """Surface of a body from a file, drawn in place of its link; it has the members of `SceneSkin`.

    Attributes
    ----------
    name : str
        Name of its link.
    number : int
        Number of the scene's link that it covers.
    surface : SceneSurface
        Its points, triangles, shapes and stress.
    largest : float
        Stress at which colors end, Pa: the largest of all bodies of the scene.
    """

    name: str
    number: int
    surface: SceneSurface
    largest: float

    @property
    def links(self) -> tuple[int, ...]:
        """Numbers of the scene's links that it covers."""
        return (self.number,)

    @property
    def faces(self) -> NDArray[np.int64]:
        """(K, 3) triangles."""
        return self.surface.faces

    @property
    def color(self) -> Array:
        """(3,) color where no stress is shown."""
        return RIGID

    @property
    def bends(self) -> bool:
        """Whether it has stresses to show."""
        return self.largest > 0

    @cached_property
    def along(self) -> Array:
        """(P,) position from 0 to 1 along its longest side. Where triangles cannot have colors of their own, those near
        each other along it share one."""
        spread = np.ptp(self.surface.points, axis=0)
        k = int(np.argmax(spread))
        return np.asarray((self.surface.points[:, k] - self.surface.points[:, k].min()) / (spread[k] or 1.0))

    @property
    def form(self) -> bytes:
        """Key that two runs must share to share meshes."""
        return self.surface.points.tobytes() + self.surface.moves.tobytes()

    def points(self, placed: Sequence[PlacedLink], frame: int) -> Array:
        """(P, 3) points in the base, at a frame."""
        part = placed[self.number]
        root = part.joint[min(frame, len(part.joint) - 1)]
        return np.asarray(self.surface.bent(frame, part.magnification) @ root[:3, :3].T + root[:3, 3])

    def parts(self, placed: Sequence[PlacedLink], frame: int, largest: float) -> Array:
        """(P,) stress over the largest stress. `largest`, the largest strain of beams, is not used."""
        return self.surface.von_mises(frame) / (self.largest or 1.0)
