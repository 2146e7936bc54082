"""Camera that sees a moving arm, and the floor below it: the same on the page, in the viewer and in movies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.viewer.scenes.placed_link import PlacedLink
from pliant.viewer.scenes.scene import Scene
from pliant.viewer.scenes.scene_fittings import Spanned
from pliant.viewer.scenes.scene_tubes import corners

FLAT = 0.04
"""A motion thinner than this part of the reach is flat."""


@dataclass(frozen=True)
class Outlook:
    """Place of a camera that sees everything an arm reaches, and of the floor.

    Attributes
    ----------
    center : (3,)
    radius : float
        Radius of a ball around the center that holds everything.
    towards : (3,)
        Unit vector from the center to the camera.
    level : (2, 3)
        Two horizontal unit vectors; with `up` they are right-handed.
    floor : float
        Height of the floor, along `up`.
    hangs : bool
        Whether the arm moves below its base.
    """

    center: Array
    radius: float
    towards: Array
    level: Array
    floor: float
    hangs: bool


def outlook(scene: Scene, placed: Sequence[PlacedLink], follow: bool = False) -> Outlook:
    """Camera and floor of a scene whose links stand where `placed` says; a flat motion is seen from its side.

    For a camera that follows a free base, all positions are taken from the base.
    """
    up, points = scene.up, np.concatenate([np.zeros((1, 3)), touched(scene, placed, follow)])
    low, high = points.min(0), points.max(0)
    center, span = (low + high) / 2, high - low
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 0.0, 1.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    second = np.cross(up, first)
    towards = 0.5 * up + 0.75 * first - second
    if span.min() < FLAT * scene.reach:
        across = np.eye(3)[int(np.argmin(span))]
        lying = abs(across @ up) > 0.5
        towards = 1.1 * up - 0.9 * second if lying else across + 0.18 * up + 0.22 * np.cross(up, across)
    foot = float(placed[0].link.half.max())
    size = np.linalg.norm(points - center, axis=1).max() if follow else np.linalg.norm(span) / 2
    return Outlook(
        center=center,
        radius=max(float(size), 0.3 * scene.reach),
        towards=towards / np.linalg.norm(towards),
        level=np.stack([first, second]),
        floor=min(float((points @ up).min()), -foot) - 0.06 * scene.reach,
        hangs=float(center @ up) < -0.15 * scene.reach,
    )


def touched(scene: Scene, placed: Sequence[PlacedLink], follow: bool) -> Array:
    """(K, 3) points that arm and couplings reach over time, taken from the base where a camera follows it."""
    away = scene.base(placed)[:, None] if follow else np.zeros(3)
    shown = [part.points if part.link.box is None else corners(part) for part in placed]
    lines = [fitting.place.frames for fitting in scene.fittings if isinstance(fitting.place, Spanned)]
    shown += [frame.at(placed)[:, None, :3, 3] for frames in lines for frame in frames]
    shown += [_edges(part) for part in placed if part.link.surface is not None]
    return np.concatenate([(points - away).reshape(-1, 3) for points in shown])


def _edges(part: PlacedLink) -> Array:
    """(F, 8, 3) corners of a box around the surface of a body, in the base."""
    assert part.link.surface is not None
    points = part.link.surface.points
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    local = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    return np.asarray(np.einsum("fij,kj->fki", part.joint[:, :3, :3], local) + part.joint[:, None, :3, 3])
