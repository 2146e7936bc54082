"""Integrals over the mass of a model, from its full mass matrix: off-diagonal terms belong to them.

A field over the body is linear around its nodes: component a of it is u_a + Theta_a . r, where r goes from a node to
the mass that the node carries, and Theta is the cross-product matrix of the node's rotation. The mass matrix then gives
int dm, int r dm and int r r'^T dm for every pair of nodes, and any integral of a product of two components is one
quadratic form. Nodes of solids carry displacements alone: the form is the scalar mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.bodies.element_model import ElementModel, SparseMatrix, rigid_motions

ALIKE = 1e-9
"""Largest difference between mass, center and inertia tensor of the integrals and of the mass matrix, of their size."""


@dataclass(frozen=True, eq=False)
class MassIntegrals:
    """int dm, int X dm, int X X^T dm, int phi_j dm (3, k), int X phi_j^T dm (k, 3, 3), int phi_i phi_j^T dm.

    `spin` (3, k) is the part of the moment of momentum of each shape that is not in these, where nodes turn.
    """

    mass: float
    first: Array
    second: Array
    eps: Array
    arms: Array
    products: Array
    spin: Array


def mass_integrals(model: ElementModel, shapes: Array, origin: Array, axes: Array) -> MassIntegrals:
    """Integrals of shapes (d n, k) of a model, about an origin and in axes (columns), both in those of the mesh."""
    form, fields = _form(model), _fields(model, shapes, origin)
    k = shapes.shape[1]
    turn = np.zeros((4 + 3 * k, 4 + 3 * k))
    turn[0, 0] = 1.0
    for j in range(k + 1):
        turn[1 + 3 * j : 4 + 3 * j, 1 + 3 * j : 4 + 3 * j] = axes
    all_of_them = turn.T @ (fields.T @ (form @ fields)) @ turn
    blocks = all_of_them[1:, 1:].reshape(k + 1, 3, k + 1, 3).transpose(0, 2, 1, 3)
    found = MassIntegrals(
        mass=float(all_of_them[0, 0]),
        first=all_of_them[0, 1:4],
        second=(blocks[0, 0] + blocks[0, 0].T) / 2,
        eps=all_of_them[0, 4:].reshape(k, 3).T,
        arms=blocks[0, 1:],
        products=(blocks[1:, 1:] + blocks[1:, 1:].transpose(1, 0, 3, 2)) / 2,
        spin=np.zeros((3, k)),
    )
    motions = rigid_motions(model, origin) @ np.kron(np.eye(2), axes)
    momentum = motions.T @ (model.mass @ np.concatenate([motions, shapes], axis=1))
    if model.freedoms == 6:
        found = _by_matrix(found, momentum)
    _check(found, momentum[:, :6])
    return found


def _by_matrix(found: MassIntegrals, momentum: Array) -> MassIntegrals:
    """Integrals with the values of the mass matrix for rigid motion: beams and shells have other functions along than
    across."""
    whole = momentum[:, :6]
    second = np.trace(whole[3:, 3:]) / 2 * np.eye(3) - whole[3:, 3:]
    arms = found.arms
    moment = np.stack([arms[:, 1, 2] - arms[:, 2, 1], arms[:, 2, 0] - arms[:, 0, 2], arms[:, 0, 1] - arms[:, 1, 0]])
    return replace(
        found,
        first=np.array([whole[1, 5], whole[2, 3], whole[0, 4]]),
        second=(second + second.T) / 2,
        eps=momentum[:3, 6:],
        spin=momentum[3:, 6:] - moment,
    )


def _check(found: MassIntegrals, whole: Array) -> None:
    """Raise `ModelError` unless the integrals agree with the mass matrix on the rigid body."""
    s = found.first
    arm = np.array([[0.0, s[2], -s[1]], [-s[2], 0.0, s[0]], [s[1], -s[0], 0.0]])  # forces of a turn: -s x
    inertia = np.trace(found.second) * np.eye(3) - found.second
    own = np.block([[found.mass * np.eye(3), arm], [arm.T, inertia]])
    if not found.mass > 0:
        raise ModelError(f"mass: got {found.mass:.3g} kg in all, expected more than 0")
    length = np.sqrt(np.trace(inertia) / found.mass)
    scale = np.array([1.0] * 3 + [length] * 3)
    off = np.abs((own - whole) / np.outer(scale, scale)).max() / found.mass
    if off > ALIKE:
        raise ModelError(
            f"mass: inertia in integrals and in the matrix differ by {off:.1e}; a mass matrix must give every node "
            "the same mass along x, y and z"
        )


def _form(model: ElementModel) -> SparseMatrix:
    """Sparse (c n, c n), c = 1 for displacements alone and 4 with rotations: m, s and D of all pairs of nodes."""
    from scipy import sparse

    d, M = model.freedoms, model.mass.tocsr()

    def part(a: int, b: int) -> SparseMatrix:
        return M[a::d, b::d]

    m = (part(0, 0) + part(1, 1) + part(2, 2)) / 3
    if d == 3:
        return m.tocsr()
    # u . (theta x r) = u . (-[s] theta); (theta x r) . (theta' x r') = theta . (tr D - D^T) theta'
    s = [(part(2, 4) - part(1, 5)) / -2, (part(0, 5) - part(2, 3)) / -2, (part(1, 3) - part(0, 4)) / -2]
    J = [[part(3 + a, 3 + b) for b in range(3)] for a in range(3)]
    half = (J[0][0] + J[1][1] + J[2][2]) / 2
    D = [[(half if a == b else 0 * half) - J[b][a] for b in range(3)] for a in range(3)]
    blocks = [[m, *s], *([s[a].T, *D[a]] for a in range(3))]
    return sparse.block_array(blocks, format="csr")


def _fields(model: ElementModel, shapes: Array, origin: Array) -> Array:
    """(c n, 1 + 3 + 3 k): one, the place, and the shapes, component by component, as coefficients around nodes."""
    n, d, k = len(model.nodes), model.freedoms, shapes.shape[1]
    c = 1 if d == 3 else 4
    out = np.zeros((c, n, 4 + 3 * k))
    out[0, :, 0] = 1.0
    out[0, :, 1:4] = model.nodes - origin
    by_node = shapes.reshape(n, d, k)
    moved = out[:, :, 4:].reshape(c, n, k, 3)
    moved[0] = by_node[:, :3].transpose(0, 2, 1)
    if c == 4:
        for a in range(3):
            out[1 + a, :, 1 + a] = 1.0
            b, e = (a + 1) % 3, (a + 2) % 3  # (theta x r)_a = theta_b r_e - theta_e r_b
            moved[1 + e, :, :, a] = by_node[:, 3 + b]
            moved[1 + b, :, :, a] = -by_node[:, 3 + e]
    out[:, :, 4:] = moved.reshape(c, n, 3 * k)
    return out.reshape(c * n, -1)
