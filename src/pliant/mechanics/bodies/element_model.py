"""A finite-element model as matrices: nodes, stiffness, mass, and named sets of nodes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.writing import atomic_write
from pliant.errors import ModelError

Indices = NDArray[Any]
"""Whole numbers, or truth values."""
SparseMatrix: TypeAlias = Any
"""A sparse matrix of SciPy, which has no types."""
TENSOR = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
"""Where the components of a symmetric tensor stand among xx, yy, zz, yz, xz, xy."""
SYMMETRY = 1e-9
FARTHEST = 1e6
"""Meters from the origin that a node of a link may be."""
GROUNDED = 1e-6
"""Largest force that a rigid motion may meet, of what the same motion of one degree of freedom alone would meet."""


@dataclass(frozen=True, eq=False)
class ElementModel:
    """Finite-element model of a free body: full matrices in SI units, degrees of freedom node by node.

    Attributes
    ----------
    nodes : (n, 3) array
        m.
    stiffness, mass : sparse (d n, d n)
        Of d = 3 displacements, or d = 6 displacements and small rotations per node. Consistent or lumped.
    groups : mapping of str to arrays
        Indices of nodes by name, for interfaces.
    triangles : (t, 3) array
        Of the surface, as indices of nodes, outward; may be empty.
    shares : sparse (f, n), optional
        Area of each face of the surface by its nodes, entries of no area included; averages are weighted with it.
    stress : callable, optional
        Stress (v, 6, k) in Pa at nodes (v,) of shapes (n, 3, k): xx, yy, zz, yz, xz, xy.
    prestress : callable, optional
        int sigma_a : grad phi_i^T grad phi_j (a, k, k) of shapes (n, 3, k) under the stress of shapes (n, 3, a).
    about : str
        Where it comes from.
    """

    nodes: Array
    stiffness: SparseMatrix
    mass: SparseMatrix
    groups: Mapping[str, Indices] = field(default_factory=dict)
    triangles: Indices = field(default_factory=lambda: np.zeros((0, 3), dtype=int))
    shares: SparseMatrix | None = None
    stress: Callable[[Indices, Array], Array] | None = None
    prestress: Callable[[Array, Array], Array] | None = None
    about: str = ""

    @property
    def freedoms(self) -> int:
        """Degrees of freedom of a node, 3 or 6."""
        return int(self.stiffness.shape[0]) // max(len(self.nodes), 1)

    @property
    def size(self) -> int:
        """Degrees of freedom in all."""
        return int(self.stiffness.shape[0])

    def __post_init__(self) -> None:
        from scipy import sparse

        nodes = np.asarray(self.nodes, dtype=float)
        if nodes.ndim != 2 or nodes.shape[1] != 3 or not len(nodes) or not np.isfinite(nodes).all():
            raise ModelError(f"nodes: got shape {nodes.shape}, expected finite numbers of shape (n, 3)")
        object.__setattr__(self, "nodes", nodes)
        for name in ("stiffness", "mass"):
            matrix = sparse.csr_array(getattr(self, name), dtype=float)
            object.__setattr__(self, name, matrix)
            if matrix.shape not in ((3 * len(nodes),) * 2, (6 * len(nodes),) * 2):
                raise ModelError(
                    f"{name}: got shape {matrix.shape}, expected 3 or 6 rows and columns for each of {len(nodes)} nodes"
                )
            if not np.isfinite(matrix.data).all():
                raise ModelError(f"{name}: has numbers that are not finite")
            size = np.abs(matrix.data).max(initial=0.0)
            if size == 0 or np.abs((matrix - matrix.T).data).max(initial=0.0) > SYMMETRY * size:
                raise ModelError(f"{name}: expected a symmetric matrix that is not zero; is it one triangle of it?")
        if self.stiffness.shape != self.mass.shape:
            raise ModelError(f"mass: got shape {self.mass.shape}, expected {self.stiffness.shape} as of the stiffness")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write nodes, matrices, sets and surface as plain arrays (`.npz`) that `read_model` reads.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
        >>> pliant.bodies.mesh_model(bar, "steel", unit="m").save("matrices.npz").name
        'matrices.npz'
        """
        arrays: dict[str, Any] = {"nodes": self.nodes, "triangles": self.triangles}
        for letter, matrix in (("K", self.stiffness), ("M", self.mass)):
            arrays |= {f"{letter}_{piece}": getattr(matrix, piece) for piece in ("data", "indices", "indptr")}
        packed = io.BytesIO()
        arrays |= {f"set_{name}": nodes for name, nodes in self.groups.items()}
        np.savez_compressed(packed, **arrays)
        with atomic_write(Path(path)) as beside:
            beside.write_bytes(packed.getvalue())
        return Path(path)


def rigid_motions(model: ElementModel, center: Array) -> Array:
    """(d n, 6): displacements of all nodes along x, y, z, then turns about axes through a point."""
    arms = model.nodes - center
    out = np.zeros((len(arms), model.freedoms, 6))
    out[:, :3, :3] = np.eye(3)
    for axis, one in enumerate(np.eye(3)):
        out[:, :3, 3 + axis] = np.cross(one, arms)
    if model.freedoms == 6:
        out[:, 3:, 3:] = np.eye(3)
    return out.reshape(model.size, 6)


def check_free(model: ElementModel) -> None:
    """Raise `ModelError` unless the matrices are of one free body: rigid motions without force, all nodes connected."""
    from scipy.sparse.csgraph import connected_components

    if (far := float(np.abs(model.nodes).max())) > FARTHEST:
        raise ModelError(f"nodes: one is {far:.3g} m away, expected less than {FARTHEST:.0e} m; is the unit right?")
    length = float(np.ptp(model.nodes, axis=0).max()) or 1.0
    motions = rigid_motions(model, model.nodes.mean(axis=0)) / np.array([1.0] * 3 + [length] * 3)
    force = np.abs(model.stiffness @ motions).max()
    if force > GROUNDED * model.stiffness.diagonal().max():
        raise ModelError(
            f"stiffness: resists rigid motion ({force:.3g} N/m); take supports out of the model, the root holds it"
        )
    _, piece = connected_components(node_graph(model), directed=False)
    sizes = np.bincount(piece)[np.unique(piece[present_nodes(model)])]
    if len(sizes) > 1:
        raise ModelError(
            f"the mesh falls into {len(sizes)} pieces, of {', '.join(map(str, sorted(sizes)[::-1][:4]))} nodes; "
            "join them, or leave out what does not belong to the link"
        )


def present(model: ElementModel) -> Indices:
    """(d n,) whether a degree of freedom has stiffness or mass: rotations of solids may have neither."""
    return np.asarray((model.stiffness.diagonal() != 0) | (model.mass.diagonal() != 0))


def present_nodes(model: ElementModel) -> Indices:
    """(n,) whether a node has any degree of freedom that is present."""
    return np.asarray(present(model).reshape(len(model.nodes), -1).any(axis=1))


def node_graph(model: ElementModel) -> SparseMatrix:
    """Sparse (n, n), one where a stiffness connects two nodes."""
    from scipy import sparse

    entries = model.stiffness.tocoo()
    d, n = model.freedoms, len(model.nodes)
    ones = np.ones(len(entries.data), dtype=np.int8)
    graph = sparse.csr_array((ones, (entries.row // d, entries.col // d)), shape=(n, n), dtype=np.int64)
    graph.data[:] = 1
    return graph
