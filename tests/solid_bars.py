"""Meshes of bars for tests, and what the full model of them says."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from pliant.bodies import brick_mesh
from pliant.mechanics.bodies.element_model import ElementModel, present
from pliant.mechanics.bodies.mesh_reading import SolidMesh

LENGTH, WIDTH, HEIGHT = 0.4, 0.012, 0.009
_SIX = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]


def bar(
    divisions: tuple[int, int, int] = (16, 2, 2),
    size: tuple[float, float, float] = (LENGTH, WIDTH, HEIGHT),
    tetrahedra: bool = False,
) -> SolidMesh:
    """A bar along x, centered on its axis, with the group `flange` at its end."""
    L, b, h = size
    nx, ny, nz = divisions
    box = brick_mesh(np.linspace(0, L, nx + 1), np.linspace(-b / 2, b / 2, ny + 1), np.linspace(-h / 2, h / 2, nz + 1))
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


def frame_model(n: int = 12) -> ElementModel:
    """A beam of nodes with rotations (Euler-Bernoulli, consistent mass with rotary inertia about x), bent by 90 deg."""
    E, G, rho, b, h = 70e9, 26e9, 2700.0, 0.02, 0.03
    A, Iy, Iz, J = b * h, b * h**3 / 12, h * b**3 / 12, 2e-8
    s = np.linspace(0, 0.5, n + 1)
    nodes = np.array([[x, 0, 0] if x <= 0.3 else [0.3, x - 0.3, 0] for x in s])
    N = 6 * (n + 1)
    K, M = np.zeros((N, N)), np.zeros((N, N))
    for e in range(n):
        axis = nodes[e + 1] - nodes[e]
        L = np.linalg.norm(axis)
        x = axis / L
        y = np.cross([0, 0, 1.0], x)
        R = np.array([x, y, [0, 0, 1.0]])
        k, m = np.zeros((12, 12)), np.zeros((12, 12))
        for i, stiff, mass in ((0, E * A / L, rho * A * L / 6), (3, G * J / L, rho * (Iy + Iz) * L / 6)):
            at = np.ix_([i, i + 6], [i, i + 6])
            k[at], m[at] = stiff * np.array([[1, -1], [-1, 1]]), mass * np.array([[2, 1], [1, 2]])
        for plane, sign, second in (((1, 5), 1, Iz), ((2, 4), -1, Iy)):
            rows = [plane[0], plane[1], plane[0] + 6, plane[1] + 6]
            flip = np.diag([1, sign, 1, sign])
            bend = np.array([[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2],
                             [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]])  # fmt: skip
            heavy = np.array([[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2],
                              [54, 13 * L, 156, -22 * L], [-13 * L, -3 * L**2, -22 * L, 4 * L**2]])  # fmt: skip
            k[np.ix_(rows, rows)] = E * second / L**3 * flip @ bend @ flip
            m[np.ix_(rows, rows)] = rho * A * L / 420 * flip @ heavy @ flip
        T = np.kron(np.eye(4), R)
        at = np.r_[6 * e : 6 * e + 12]
        K[np.ix_(at, at)] += T.T @ k @ T
        M[np.ix_(at, at)] += T.T @ m @ T
    groups = {"first": np.array([0]), "last": np.array([n])}
    return ElementModel(nodes, sparse.csr_array(K), sparse.csr_array(M), groups)
