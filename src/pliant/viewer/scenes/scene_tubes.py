"""Surfaces of links: rings of points around a bent axis, and the triangles between them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.viewer.scenes.placed_link import PlacedLink

SIDES = 14
"""Points of a ring around a round link."""


def section_outline(is_round: bool) -> Array:
    """(m, 2) points of a section in units of its half sizes."""
    if not is_round:
        return np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    angle = np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def rings(placed: PlacedLink, frame: int) -> Array:
    """(S, m, 3) points of the surface of a link at a frame, in the base."""
    if placed.link.box is not None:
        return np.asarray(corners(placed)[frame].reshape(2, 4, 3))
    points = placed.points[frame]
    sections = placed.sections[min(frame, len(placed.sections) - 1)]
    x = np.gradient(points, axis=0)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    y = np.where(np.abs((sections[:, :, 1] * x).sum(1))[:, None] > 0.9, sections[:, :, 2], sections[:, :, 1])
    y = y - (y * x).sum(1)[:, None] * x
    y = y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-300)
    z = np.cross(x, y)
    outline, half = section_outline(placed.link.round), placed.link.half
    across = outline[None, :, :1] * half[:, None, :1] * y[:, None]
    upward = outline[None, :, 1:] * half[:, None, 1:] * z[:, None]
    return np.asarray(points[:, None] + across + upward)


def corners(placed: PlacedLink) -> Array:
    """(F, 8, 3) corners of the box of a link, as two rings, in the base."""
    box = placed.link.box
    assert box is not None
    ends = np.array([[x, y, z] for x in (-1.0, 1.0) for y, z in section_outline(False)])
    local = box.center + (ends * box.edges / 2) @ (box.axes * np.linalg.det(box.axes)).T
    return np.asarray(np.einsum("fij,kj->fki", placed.joint[:, :3, :3], local) + placed.joint[:, None, :3, 3])


@cache
def tube_faces(stations: int, sides: int, begin: bool = True, end: bool = True) -> NDArray[np.uint32]:
    """(K, 3) triangles of a tube of `stations` rings of `sides` points each, seen from outside. `begin` and `end` say
    which ends are closed; an end is open where another piece goes on."""
    s, k = np.meshgrid(np.arange(stations - 1), np.arange(sides), indexing="ij")
    a, b = s * sides + k, s * sides + (k + 1) % sides
    walls = np.stack([np.stack([a, b, a + sides], -1), np.stack([b, b + sides, a + sides], -1)], axis=2).reshape(-1, 3)
    fan = np.column_stack([np.zeros(sides - 2, int), np.arange(1, sides - 1), np.arange(2, sides)])
    lids = ([fan[:, ::-1]] if begin else []) + ([fan + (stations - 1) * sides] if end else [])
    return np.concatenate([walls, *lids]).astype(np.uint32)


def ball(around: int = 16, along: int = 9) -> tuple[Array, NDArray[np.uint32]]:
    """Points (P, 3) and triangles of a sphere of radius 1; each pole is repeated `around` times."""
    a, b = np.meshgrid(np.linspace(np.pi, 0, along), np.linspace(0, 2 * np.pi, around, endpoint=False), indexing="ij")
    points = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=-1).reshape(-1, 3)
    return points, tube_faces(along, around)
