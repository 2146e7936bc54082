"""Closed surfaces of triangles, and the tetrahedra that fill them."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError, install
from pliant.mechanics.bodies.element_model import Indices
from pliant.mechanics.bodies.library_process import in_process

MOST_TETRAHEDRA = 5_000_000
BYTES = 100
"""Bytes of input that a tetrahedron counts for: 1 ms and 6 kB."""
MERGE = 1e-9
"""Points nearer to each other, of the largest extent, are one."""


def closed_surface(points: Array, triangles: Indices, name: str) -> tuple[Array, Indices]:
    """Points (v, 3) of a surface, each once, and its triangles; every edge must have two of them."""
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    _, first, number = np.unique(
        np.round(points / (MERGE * extent)).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    faces = number.reshape(-1)[triangles]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    if not len(faces):
        raise ModelError(f"{name}: has no triangles with an area")
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, at, count = np.unique(edges, axis=0, return_index=True, return_counts=True)
    if (count != 2).any():
        wrong = at[count != 2][0]
        place = ", ".join(f"{x:.4g}" for x in points[first[edges[wrong]]].mean(axis=0))
        kind = "open" if (count == 1).any() else "not a simple one"
        raise ModelError(
            f"{name}: the surface is {kind}: {int((count != 2).sum())} edges do not have two triangles, one near "
            f"({place}); close it where it was drawn"
        )
    shells = _shells(faces, len(first))
    if shells > 1:
        raise ModelError(
            f"{name}: has {shells} closed surfaces, expected one; a cavity would be filled: give a mesh of tetrahedra"
        )
    return points[first], faces


def _shells(faces: Indices, count: int) -> int:
    """Number of surfaces that share no point."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    edges = faces[:, [[0, 1], [1, 2]]].reshape(-1, 2).T
    _, piece = connected_components(sparse.csr_array((np.ones(edges.shape[1]), tuple(edges)), shape=(count, count)))
    return len(np.unique(piece[faces]))


def filled(points: Array, triangles: Indices, name: str, size: float | None) -> tuple[Array, Indices]:
    """Points and tetrahedra (e, 4) inside a closed surface, with edges of about `size`."""
    largest = 0.0 if size is None else size**3 / (6 * np.sqrt(2.0))
    a, b, c = (points[triangles[:, k]] - points.mean(axis=0) for k in range(3))
    volume = abs(float(np.einsum("ij,ij->", a, np.cross(b, c)))) / 6
    expected = volume / largest if largest > 0 else 0.0
    if not expected <= MOST_TETRAHEDRA:
        raise ModelError(f"size: got {size:g}, which asks for {expected:.2g} tetrahedra in {name}; give a larger one")
    found = in_process(
        "fill", int(BYTES * (len(triangles) + expected)),
        wrong=lambda words: f"{name}: TetGen cannot fill the surface: {words}; does it cross itself?",
        missing=lambda _: f"{name}: a surface; filling it needs TetGen (its license is the AGPL); {install('tetgen')}, "
        "or give a mesh of tetrahedra",
        remedy="give a larger `size`, or a mesh of tetrahedra", points=points, triangles=triangles, volume=largest,
    )  # fmt: skip
    return found["nodes"], found["cells"]
