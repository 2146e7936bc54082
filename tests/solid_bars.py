"""Meshes of bars for tests, and what the full model of them says."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from pliant.bodies import box_mesh
from pliant.bodies.element_model import ElementModel, present
from pliant.bodies.mesh_reading import SolidMesh

LENGTH, WIDTH, HEIGHT = 0.4, 0.012, 0.009
_SIX = [[0, 1, 3, 7], [0, 1, 7, 5], [0, 5, 7, 4], [1, 2, 3, 7], [1, 2, 7, 6], [1, 6, 7, 5]]


def bar(
    divisions: tuple[int, int, int] = (16, 2, 2),
    size: tuple[float, float, float] = (LENGTH, WIDTH, HEIGHT),
    tetrahedra: bool = False,
) -> SolidMesh:
    """A bar along x, centred on its axis, with the group `flange` at its end."""
    box = box_mesh(size, divisions)
    points, cells = box.points, box.cells
    groups = {"flange": np.flatnonzero(np.isclose(points[:, 0], size[0]))}
    return SolidMesh(points, cells[:, _SIX].reshape(-1, 4) if tetrahedra else cells, groups, "bar.vtk: made here")


def quadratic(mesh: SolidMesh) -> SolidMesh:
    """The same tetrahedra with the middles of their edges, bent a little where they are inside or outside."""
    edges = mesh.cells[:, [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]]
    unique, number = np.unique(np.sort(edges.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    middles = mesh.points[unique].mean(axis=1)
    middles += 2e-4 * np.sin(middles @ np.array([[40.0, 9.0, 3.0], [5.0, 300.0, 7.0], [2.0, 8.0, 300.0]]))
    cells = np.concatenate([mesh.cells, len(mesh.points) + number.reshape(-1, 6)], axis=1)
    return SolidMesh(np.concatenate([mesh.points, middles]), cells, mesh.groups, mesh.about)


def full_frequencies(model: ElementModel, held: Any, count: int) -> Any:
    """Hz of the full model with degrees of freedom held, rigid motions included."""
    free = np.setdiff1d(np.flatnonzero(present(model)), held)
    K, M = model.stiffness[free][:, free].tocsc(), model.mass[free][:, free].tocsc()
    shift = -1e-4 * float(K.diagonal().sum() / M.diagonal().sum())
    squares = eigsh(K, count, M, sigma=shift, which="LM", return_eigenvectors=False)
    return np.sqrt(np.maximum(np.sort(squares), 0.0)) / (2 * np.pi)


def inertia_with_rigid_motions(body: Any) -> tuple[Any, Any]:
    """Mass and stiffness (6 + k) of a body with its root free: displacements, turns, coordinates."""
    s, k = body.first, body.size
    cross = np.array([[0.0, s[2], -s[1]], [-s[2], 0.0, s[0]], [s[1], -s[0], 0.0]])
    arms = body.arms  # int X phi^T; its axial part is int X x phi
    moment = np.stack([arms[:, 1, 2] - arms[:, 2, 1], arms[:, 2, 0] - arms[:, 0, 2], arms[:, 0, 1] - arms[:, 1, 0]])
    inertia = np.trace(body.second) * np.eye(3) - body.second
    M = np.block(
        [
            [body.mass * np.eye(3), cross, body.eps],
            [cross.T, inertia, moment + body.spin],
            [body.eps.T, (moment + body.spin).T, body.gram],
        ]
    )
    K = np.zeros((6 + k, 6 + k))
    K[6:, 6:] = body.stiffness
    return M, K
