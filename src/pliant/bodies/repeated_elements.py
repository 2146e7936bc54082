"""Elements that stand twice or in each other, and nodes at the place of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.arrays import Array
from pliant.bodies.body_surface import all_faces
from pliant.bodies.closed_surfaces import MERGE
from pliant.bodies.element_model import Indices
from pliant.bodies.mesh_reading import SolidMesh
from pliant.errors import ModelError, warn_user


def without_repeats(mesh: SolidMesh) -> SolidMesh:
    """Return the mesh with every element once, by the places of its corners in any order; a warning says so.

    Elements that overlap are refused. Nodes at the place of another, where elements do not hold together, are told:
    it may be a slit.
    """
    name = mesh.about.partition(":")[0]
    corners = 8 if mesh.cells.shape[1] == 8 else 4
    place = _places(mesh.points, np.unique(mesh.cells[:, :corners]))
    _, first = np.unique(np.sort(place[mesh.cells[:, :corners]], axis=1), axis=0, return_index=True)
    if extra := len(mesh.cells) - len(first):
        warn_user(f"{name}: {extra} of {len(mesh.cells)} elements stand where others do; each is counted once")
        cells = mesh.cells[np.sort(first)]
        kept = np.unique(cells[:, :corners])  # a group may name the node of an element that is left out
        groups = {key: kept[np.isin(place[kept], place[nodes])] for key, nodes in mesh.groups.items()}
        mesh = replace(mesh, cells=cells, groups=groups, about=f"{mesh.about}, {extra} of them repeated")
    cells = mesh.cells[:, :corners]
    _check_overlap(mesh.points, cells, name)
    used = np.unique(cells)
    _, once = np.unique(place[used], return_index=True)
    if len(once) < len(used):
        other = np.delete(used, once)
        warn_user(
            f"{name}: nodes stand where others do, {len(other)} of {len(used)}, the first at "
            f"{_text(mesh.points[other[0]])}; elements do not hold together there: merge them unless it is a slit"
        )
    return mesh


def _places(points: Array, used: Indices) -> Indices:
    """(p,) one number for all used points at one place."""
    some = points[used] - points[used].min(axis=0)
    grid = np.round(some / (MERGE * (float(some.max()) or 1.0))).astype(np.int64)
    out = np.full(len(points), -1)
    out[used] = np.unique(grid, axis=0, return_inverse=True)[1].reshape(-1)
    return out


def _check_overlap(points: Array, cells: Indices, name: str) -> None:
    """Check that a face has at most two elements, one on either side."""
    faces = all_faces(cells)
    count = faces.shape[1]
    _, number, times = np.unique(
        np.sort(faces.reshape(len(cells) * count, -1), axis=1), axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(number.reshape(-1), kind="stable")
    start = np.concatenate([[0], np.cumsum(times)[:-1]])
    crowded = order[start[times > 2]]
    pairs = np.stack([order[start[times == 2]], order[start[times == 2] + 1]])
    corners = points[faces.reshape(-1, faces.shape[2])[pairs[0]]]
    middle = corners.mean(axis=1)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    away = points[cells].mean(axis=1)[pairs // count] - middle
    side = np.einsum("sij,ij->si", away, normal)
    size = 1e-9 * np.linalg.norm(normal, axis=1) * np.linalg.norm(away, axis=2).max(axis=0, initial=0.0)
    wrong = [*crowded, *pairs[0][(np.minimum(*side) > size) | (np.maximum(*side) < -size)]]
    if wrong:
        where = points[cells[wrong[0] // count]].mean(axis=0)
        raise ModelError(
            f"{name}: elements overlap at {len(wrong)} faces, the first near {_text(where)}; mesh it "
            "again, each part once"
        )


def _text(point: Array) -> str:
    return f"({', '.join(f'{x:.4g}' for x in point)})"
