"""Forces into displacements while every interface is held: one sparse factor, and a small system for averages.

Rigid interfaces are held by leaving out their nodes. An average interface is held by six forces that spread over its
nodes: with D its averages and W = K^-1 D^T, u = K^-1 f + W lambda where D u = q. Where no interface is rigid, six
degrees of freedom keep the body in place for the factor, and its rigid motions R a join the unknowns:

    [ D W    D R ] [lambda]   [ q - D K^-1 f ]
    [ R^T D^T  0 ] [   a  ] = [    - R^T f   ]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from pliant.arrays import Array
from pliant.base.stages import say
from pliant.errors import ModelError, PliantError
from pliant.mechanics.bodies.element_model import (
    ElementModel,
    Indices,
    SparseMatrix,
    node_graph,
    present,
    present_nodes,
    rigid_motions,
)
from pliant.mechanics.bodies.interfaces import HeldNodes

LEAF = 64
"""Nodes that are not divided any further."""
SINGULAR = 1e-13
"""A motion whose energy is less, of what its degrees of freedom would cost one by one, has no stiffness."""
BYTES_PER_ENTRY = 22
"""Memory at the peak, for an entry of L: a number of L and one of U, indices, and room to grow; measured 19."""


class Factorization(Protocol):
    """Factor of a sparse matrix, as SciPy gives it."""

    def solve(self, b: Array) -> Array:
        """Solution of a right-hand side, or of several as columns."""


class HeldStiffness:
    """The stiffness of a model whose interfaces are held.

    Parameters
    ----------
    model : ElementModel
    places : sequence of HeldNodes
    """

    def __init__(self, model: ElementModel, places: Sequence[HeldNodes]) -> None:
        self.model, self.places = model, tuple(places)
        there = present(model)
        held = np.zeros((len(model.nodes), model.freedoms), dtype=bool)
        for place in places:
            held[place.nodes] |= place.kind == "rigid"
        self.free = np.flatnonzero(there & ~held.ravel())
        loose = [place for place in places if place.kind == "average"]
        self.averages = np.concatenate([place.averages(model) for place in loose] or [np.zeros((0, model.size))])
        self.averages = self.averages[:, self.free]
        kept = np.zeros(0, dtype=int)
        self.rigid = np.zeros((len(self.free), 0))
        if len(loose) == len(places):
            motions = rigid_motions(model, model.nodes.mean(axis=0))
            kept, self.rigid = _supports(model, motions, there), motions[self.free]
        order = _dof_order(model, np.setdiff1d(self.free, kept))
        if not len(order):
            raise ModelError("interfaces: they hold every node, so that nothing can bend; name fewer nodes")
        self.entries = estimated_entries(model, order)
        needed = BYTES_PER_ENTRY * self.entries
        say(f"factorizing {len(order)} degrees of freedom, about {needed / 1e9:.2g} GB")
        _require_memory(needed)
        self.factor = _factor(model.stiffness[order][:, order])
        self._inner = np.searchsorted(self.free, order)
        self._spread = W = self._inverse(self.averages.T)
        D, R = self.averages, self.rigid
        self._small = np.block([[D @ W, D @ R], [(D @ R).T, np.zeros((R.shape[1], R.shape[1]))]])

    def _inverse(self, forces: Array) -> Array:
        """Displacements under forces by the factor alone, whose nodes it keeps in place."""
        out = np.zeros_like(forces)
        if forces.size:
            out[self._inner] = self.factor.solve(np.ascontiguousarray(forces[self._inner]))
        return out

    def solve(self, forces: Array, averages: Array | None = None) -> Array:
        """Displacements (free, m) under forces (free, m), with average interfaces moved by (6 a, m), or held."""
        u = self._inverse(forces)
        D, R = self.averages, self.rigid
        if not len(D):
            return u
        wanted = np.zeros((len(D), *forces.shape[1:])) if averages is None else averages
        unknown = np.linalg.solve(self._small, np.concatenate([wanted - D @ u, -R.T @ forces]))
        return np.asarray(u + self._spread @ unknown[: len(D)] + R @ unknown[len(D) :])

    def deflections(self, forces: Array) -> Array:
        """(d n, m) of all nodes under forces (d n, m), every interface held."""
        out = np.zeros_like(forces)
        out[self.free] = self.solve(forces[self.free])
        return out

    @cached_property
    def static(self) -> Array:
        """(d n, 6 (f - 1)): one interface after the other, but the root, moved by one along and about each axis."""
        found, model = [], self.model
        loose = [place for place in self.places if place.kind == "average"]
        for place in self.places[1:]:
            moved = place.motions(model) if place.kind == "rigid" else np.zeros((model.size, 6))
            wanted = np.zeros((len(self.averages), 6))
            if place.kind == "average":
                k = 6 * loose.index(place)
                wanted[k : k + 6] = np.eye(6)
            moved[self.free] = self.solve(-(model.stiffness @ moved)[self.free], wanted)
            found.append(moved)
        return np.concatenate(found, axis=1)


def _supports(model: ElementModel, motions: Array, there: Indices) -> Indices:
    """Six degrees of freedom that keep a free body in place: of three nodes far apart."""
    nodes = np.flatnonzero(present_nodes(model))
    places = model.nodes[nodes]
    first = int(np.linalg.norm(places - places.mean(axis=0), axis=1).argmax())
    second = int(np.linalg.norm(places - places[first], axis=1).argmax())
    axis = places[second] - places[first]
    third = int(np.linalg.norm(np.cross(places - places[first], axis), axis=1).argmax())
    d = model.freedoms
    dofs = np.concatenate([np.arange(d * node, d * node + d) for node in nodes[[first, second, third]]])
    dofs = dofs[there[dofs]]
    from scipy.linalg import qr

    length = float(np.linalg.norm(axis)) or 1.0
    _, _, pivots = qr((motions[dofs] / np.array([1.0] * 3 + [length] * 3)).T, pivoting=True)
    return np.sort(dofs[pivots[:6]])


def _factor(matrix: SparseMatrix) -> Factorization:
    """LU of a symmetric positive matrix in the order given, without pivots."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    try:
        factor: Factorization = splu(
            csc_array(matrix), permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # exactly singular
        raise ModelError(_LOOSE) from None
    except MemoryError:
        raise PliantError("not enough memory to factorize the stiffness; use a coarser mesh") from None
    u, scale = np.cos(np.arange(matrix.shape[0]) * 1.6180339887), matrix.diagonal()
    for _ in range(2):  # towards the softest motion
        u = factor.solve(scale * u)
        if not np.isfinite(u).all() or u @ (matrix @ u) <= SINGULAR * (u @ (scale * u)):
            raise ModelError(_LOOSE)
        u /= np.abs(u).max()
    return factor


_LOOSE = (
    "stiffness: singular with the interfaces held: a part moves without force; are there nodes that hang loose, or "
    "elements joined at a point or an edge alone?"
)

# ------------------------------------------------------------------------------------------------- order and memory


def _dof_order(model: ElementModel, dofs: Indices) -> Indices:
    """Degrees of freedom by nodes in the order of `dissection`."""
    rank = np.empty(len(model.nodes), dtype=int)
    rank[dissection(model.nodes, node_graph(model))] = np.arange(len(model.nodes))
    return np.asarray(dofs[np.lexsort((dofs % model.freedoms, rank[dofs // model.freedoms]))])


def dissection(places: Array, graph: SparseMatrix) -> Indices:
    """An order of nodes in which a factor has few entries: two halves, each ordered alike, then the nodes that separate
    them."""
    from scipy import sparse

    edges = sparse.csr_array(graph)

    def parts(nodes: Indices) -> list[Indices]:
        if len(nodes) <= LEAF:
            return [nodes]
        along = places[nodes, np.ptp(places[nodes], axis=0).argmax()]
        order = np.argsort(along, kind="stable")
        left, right = nodes[order[: len(nodes) // 2]], nodes[order[len(nodes) // 2 :]]
        touches = np.diff(edges[left][:, right].indptr) > 0
        if touches.all():  # all nodes meet: no order is better than another
            return [nodes]
        return [*parts(left[~touches]), *parts(right), left[touches]]

    return np.concatenate(parts(np.arange(len(places))))


def factor_memory(model: ElementModel) -> float:
    """Bytes that the factor of a whole model takes at its peak, about."""
    return BYTES_PER_ENTRY * estimated_entries(model, _dof_order(model, np.flatnonzero(present(model))))


def estimated_entries(model: ElementModel, order: Indices) -> float:
    """Entries of the factor L in an order of degrees of freedom, told by the pattern of the stiffness alone."""
    d = model.freedoms
    nodes = order[np.insert(np.diff(order // d) != 0, 0, True)] // d
    count = np.bincount(order // d, minlength=len(model.nodes))[nodes].astype(float)
    graph = node_graph(model)[nodes][:, nodes]
    below = column_counts(graph.indptr, graph.indices) - 1  # block rows under the diagonal
    mean = float(count.mean()) if len(count) else 0.0
    return float((count * (count + 1) / 2 + count * below * mean).sum())


def column_counts(starts: Indices, rows: Indices) -> Indices:
    """Entries in each column of the Cholesky factor of a symmetric pattern, by the leaves of its row subtrees.

    After Gilbert, Ng and Peyton (1994): a column gains one entry for each row whose subtree it is a leaf of, loses one
    where two such paths meet, and hands the rest to its parent in the elimination tree.
    """
    n = len(starts) - 1
    begin, entries = starts.tolist(), rows.tolist()
    parent = _elimination_tree(begin, entries, n)
    order = _postorder(parent)
    first, delta = [-1] * n, [0] * n
    for k, j in enumerate(order):
        delta[j] = 1 if first[j] == -1 else 0
        while j != -1 and first[j] == -1:
            first[j] = k
            j = parent[j]
    furthest, last_leaf, ancestor = [-1] * n, [-1] * n, list(range(n))
    for j in order:
        if parent[j] != -1:
            delta[parent[j]] -= 1
        for i in entries[begin[j] : begin[j + 1]]:
            if i <= j or first[j] <= furthest[i]:
                continue
            furthest[i], before, last_leaf[i] = first[j], last_leaf[i], j
            delta[j] += 1
            if before != -1:
                delta[_root(ancestor, before)] -= 1
        if parent[j] != -1:
            ancestor[j] = parent[j]
    for j in order:
        if parent[j] != -1:
            delta[parent[j]] += delta[j]
    return np.array(delta)


def _elimination_tree(begin: list[int], entries: list[int], n: int) -> list[int]:
    parent, ancestor = [-1] * n, [-1] * n
    for j in range(n):
        for i in entries[begin[j] : begin[j + 1]]:
            while i != -1 and i < j:
                above, ancestor[i] = ancestor[i], j
                if above == -1:
                    parent[i] = j
                i = above
    return parent


def _postorder(parent: list[int]) -> list[int]:
    children: list[list[int]] = [[] for _ in parent]
    roots: list[int] = []
    for j, above in enumerate(parent):
        (children[above] if above != -1 else roots).append(j)
    order, stack = [], roots
    while stack:
        j = stack.pop()
        order.append(j)
        stack.extend(children[j])
    return order[::-1]


def _root(ancestor: list[int], j: int) -> int:
    """The root of the tree built so far that j is in; the path to it is made short."""
    top = j
    while ancestor[top] != top:
        top = ancestor[top]
    while ancestor[j] != top:
        ancestor[j], j = top, ancestor[j]
    return top


def _require_memory(needed: float) -> None:
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return
    if needed > 0.9 * there:
        raise PliantError(
            f"about {needed / 1e9:.3g} GB are needed and the machine has {there / 1e9:.3g} GB; use a coarser mesh"
        )
