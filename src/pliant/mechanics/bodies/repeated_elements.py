"""Elements that stand twice or in each other, and nodes at the place of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.errors import ModelError, warn_user
from pliant.mechanics.bodies.body_surface import all_faces
from pliant.mechanics.bodies.closed_surfaces import MERGE
from pliant.mechanics.bodies.element_model import Indices
from pliant.mechanics.bodies.mesh_reading import SolidMesh

UNEVEN = 0.07
"""Difference of the weights of corners in the point from the inside of an element."""
WELL_INSIDE = 1e-6
"""Each shape function of a place that counts as inside."""
NEWTON = 12
PAIRS, PAIRS_EACH = 2_000_000, 30
"""Elements and points near them that are looked at, in all and for each element."""
PIECE = 10_000


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
    _check_insides(mesh.points, cells, name)
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


def _check_insides(points: Array, cells: Indices, name: str) -> None:
    """Check that no element holds a point from the inside of another, as one does that lies over several small ones."""
    from scipy.spatial import cKDTree

    corners = _evened(points[cells])
    weight = 1.0 + UNEVEN * np.arange(cells.shape[1])  # off the middle, where corners and faces of others may lie
    inner = np.einsum("k,ekx->ex", weight / weight.sum(), corners)
    low, high = corners.min(axis=1), corners.max(axis=1)
    tree = cKDTree(inner)
    middle, reach = (low + high) / 2, (high - low).max(axis=1) / 2
    bound = PAIRS + PAIRS_EACH * len(cells)
    count = np.cumsum(tree.query_ball_point(middle, reach, p=np.inf, return_length=True))
    if len(count) and count[-1] > bound:
        warn_user(f"{name}: its elements are too unlike in shape to look for all that overlap; check its mass")
    most = int(np.searchsorted(count, bound, side="right"))
    for first in range(0, most, PIECE):
        chosen = np.arange(first, min(first + PIECE, most))
        near = tree.query_ball_point(middle[chosen], reach[chosen], p=np.inf)
        outer = np.repeat(chosen, [len(found) for found in near])
        other = np.concatenate([np.asarray(found, dtype=int) for found in near])
        boxed = (other != outer) & ((inner[other] > low[outer]) & (inner[other] < high[outer])).all(axis=1)
        outer, other = outer[boxed], other[boxed]
        if (held := _inside(corners[outer], inner[other])).any():
            pairs = np.stack([outer, other])[:, held]
            raise ModelError(
                f"{name}: elements overlap, {len(np.unique(pairs[0]))} hold parts of others, the first near "
                f"{_text(points[cells[pairs[1, 0]]].mean(axis=0))}; mesh it again, each part once"
            )


def _evened(corners: Array) -> Array:
    """Places in axes in which elements are about as long as wide, so that few others are near each."""
    if not len(corners):
        return corners
    arms = (corners - corners.mean(axis=1, keepdims=True)).reshape(-1, 3)
    squares, axes = np.linalg.eigh(arms.T @ arms / len(arms))
    size = np.sqrt(np.maximum(squares, 1e-12 * squares[-1]))
    return np.asarray((corners - corners[0, 0]) @ (axes / np.where(size > 0, size, 1.0)))


def _inside(corners: Array, places: Array) -> NDArray[np.bool_]:
    """Return True for places (m, 3) well inside of their own tetrahedra (m, 4, 3) or bricks (m, 8, 3)."""
    signs = (_TETRAHEDRON if corners.shape[1] == 4 else _BRICK)[:, None, :]
    own = np.full(places.shape, 0.25 if corners.shape[1] == 4 else 0.5)  # coordinates in the element, from 0 to 1
    size = np.abs(corners - corners[:, :1]).max(axis=(1, 2))
    with np.errstate(all="ignore"):  # what does not converge is not inside
        for _ in range(1 if corners.shape[1] == 4 else NEWTON):
            shape, slope = _shapes(own, signs)
            miss = np.einsum("km,mkx->mx", shape, corners) - places
            turn = np.einsum("kmj,mkx->mxj", slope, corners)
            own = own - _solved(turn, miss)
        shape, _ = _shapes(own, signs)
        miss = np.abs(np.einsum("km,mkx->mx", shape, corners) - places).max(axis=1, initial=0.0)
        return np.asarray((shape > WELL_INSIDE).all(axis=0) & (miss < 1e-9 * size))


_TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
_BRICK = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


def _shapes(own: Array, signs: Indices) -> tuple[Array, Array]:
    """Shape functions (k, m) of all corners, and their slopes (k, m, 3), by coordinates in the element."""
    if len(signs) == 4:
        shape = np.concatenate([1.0 - own.sum(axis=1, keepdims=True), own], axis=1).T
        return shape, np.broadcast_to(np.concatenate([-np.ones((1, 3)), np.eye(3)])[:, None], (4, len(own), 3))
    factor = np.where(signs == 1, own, 1.0 - own)
    slope = np.stack(
        [np.where(signs[..., j] == 1, 1.0, -1.0) * np.delete(factor, j, -1).prod(-1) for j in range(3)], -1
    )
    return factor.prod(axis=2), slope


def _solved(matrix: Array, right: Array) -> Array:
    """Solutions of many equations in three unknowns, by Cramer's rule: those without one are not finite."""
    a, b, c = (matrix[:, :, j] for j in range(3))
    cross = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    return np.asarray(np.einsum("mjx,mx->mj", cross, right) / np.einsum("mx,mx->m", a, cross[:, 0])[:, None])


def _text(point: Array) -> str:
    return f"({', '.join(f'{x:.4g}' for x in point)})"
