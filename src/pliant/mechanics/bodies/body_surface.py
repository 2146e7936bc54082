"""The surface of a body for drawing: few enough points, and numbers with as many digits as a picture needs."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.mechanics.bodies.element_model import ElementModel, Indices

MOST_NUMBERS = 300_000
"""Limit of displacements and stresses at the points of a surface: two to three bytes each in the file."""
DIGITS = 2.0**-16
"""Resolution of a displacement or stress, of the largest of its shape."""
_TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
_BRICK = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def all_faces(cells: Indices) -> Indices:
    """Faces (e, 4, 3) of tetrahedra (e, 4), or (e, 6, 4) of bricks (e, 8), seen from outside."""
    return np.asarray(cells[:, np.array(_TETRAHEDRON if cells.shape[1] == 4 else _BRICK)])


def skin(cells: Indices) -> Indices:
    """Faces (f, 3 or 4) of tetrahedra (e, 4) or bricks (e, 8) that belong to one cell alone, seen from outside."""
    faces = all_faces(cells)
    faces = faces.reshape(-1, faces.shape[2])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.asarray(faces[np.sort(first[count == 1])])


def as_triangles(faces: Indices) -> Indices:
    """Triangles as they are, quadrangles in two."""
    if faces.shape[1] == 3:
        return faces
    return np.asarray(faces[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))


def drawn_surface(model: ElementModel, k: int) -> tuple[Indices, Indices]:
    """Nodes (v,) of the surface of a model and triangles of their places in it, thinned for k coordinates."""
    most = MOST_NUMBERS // (9 * max(k, 1))
    vertices, inverse = np.unique(model.triangles, return_inverse=True)
    triangles: Indices = inverse.reshape(-1, 3)
    cells = 256
    while len(vertices) > most and cells > 2:
        vertices, triangles = _merged(model.nodes, model.triangles, cells)
        cells = int(cells / 1.2)
    return vertices, triangles


def _merged(points: Array, triangles: Indices, cells: int) -> tuple[Indices, Indices]:
    """Points in one cell of a grid made one of them, the one nearest to their mean; flat triangles left out."""
    own, inverse = np.unique(triangles, return_inverse=True)
    places = points[own]
    low = places.min(axis=0)
    size = float(np.ptp(places, axis=0).max()) or 1.0
    grid = np.floor((places - low) / size * cells).astype(np.int64)
    _, number = np.unique(grid, axis=0, return_inverse=True)
    number = number.reshape(-1)
    count = np.bincount(number)
    mean = np.stack([np.bincount(number, places[:, a]) / count for a in range(3)], axis=1)
    away = np.linalg.norm(places - mean[number], axis=1)
    order = np.lexsort((np.arange(len(own)), np.round(away / size * 1e9), number))
    nearest = order[np.insert(np.diff(number[order]) > 0, 0, True)]
    kept = number[inverse.reshape(-1, 3)]
    sound = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    used, again = np.unique(kept[sound], return_inverse=True)
    return own[nearest[used]], again.reshape(-1, 3)


def rounded(values: Array) -> Array:
    """Values (v, 3 or 6, k) or (v, 3) with the digits that a picture needs, which pack well."""
    if not values.size:
        return values
    largest = np.abs(values).max(axis=(0, 1) if values.ndim == 3 else None)
    step = DIGITS * 2.0 ** np.ceil(np.log2(np.where(largest > 0, largest, 1.0)))
    return np.asarray(np.round(values / step) * step + 0.0)
