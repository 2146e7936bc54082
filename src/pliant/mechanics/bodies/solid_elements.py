"""Stiffness, mass and stresses of a solid of quadratic elements, by scikit-fem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pliant.arrays import Array
from pliant.base.stages import say
from pliant.errors import ModelError, extra
from pliant.mechanics.bodies.body_surface import as_triangles, skin
from pliant.mechanics.bodies.element_model import TENSOR, ElementModel, Indices, SparseMatrix
from pliant.mechanics.bodies.mesh_reading import NEEDS, SolidMesh
from pliant.robot.parts.materials import Material

if TYPE_CHECKING:
    from types import ModuleType

Basis: TypeAlias = Any
"""Functions on a mesh of scikit-fem, which has no types."""
BATCH = 2000
"""Elements whose matrices are made at once."""
_VTK_BRICK = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])
AFFINE, CURVED = 4, 6
"""Degree of polynomials that quadrature integrates: products of two quadratic functions, more where edges bend."""


def solid_model(mesh: SolidMesh, material: Material, unit: float) -> ElementModel:
    """Matrices of quadratic elements on a mesh, in SI units."""
    skfem: ModuleType = extra("skfem", NEEDS)
    lam, mu = _lame(material)
    corners = 8 if mesh.cells.shape[1] == 8 else 4
    used = np.unique(mesh.cells[:, :corners])
    basis = _basis(skfem, mesh, unit)
    nodes = np.ascontiguousarray(basis.doflocs.T)
    say(f"stiffness and mass of {len(mesh.cells)} elements, {3 * len(nodes)} degrees of freedom")
    stiffness, scalar_mass = _matrices(basis, lam, mu, material.density)
    vertex = np.full(len(mesh.points), -1)
    vertex[used] = np.arange(len(used))
    faces = skin(vertex[mesh.cells[:, :corners]])
    if basis.mapping.detDF(basis.X)[0, 0] < 0 and corners == 4:
        faces = faces[:, ::-1]  # all corners are numbered the other way round
    from scipy import sparse

    return ElementModel(
        nodes=nodes,
        stiffness=stiffness,
        mass=sparse.kron(scalar_mass, sparse.identity(3), format="csr"),
        groups={key: _group_nodes(basis, vertex, points) for key, points in mesh.groups.items()},
        triangles=as_triangles(faces),
        shares=_shares(skfem, basis),
        stress=NodalStress(skfem, basis, lam, mu),
        prestress=Prestress(basis, lam, mu),
        about=f"{mesh.about}, {material.name or 'a material'} (E {material.E:.4g}, G {material.G:.4g}, "
        f"density {material.density:.4g})",
    )


def _lame(material: Material) -> tuple[float, float]:
    """Constants lambda and mu of Lame."""
    poisson = material.E / (2 * material.G) - 1
    if not -1 < poisson < 0.5:
        raise ModelError(
            f"material {material.name or ''}: E / (2 G) - 1 is {poisson:.3g}, expected Poisson's ratio between -1 and "
            "0.5: a solid mesh needs an isotropic material"
        )
    return 2 * material.G * poisson / (1 - 2 * poisson), material.G


def _basis(skfem: ModuleType, mesh: SolidMesh, unit: float) -> Basis:
    """Quadratic functions on the mesh, with the quadrature of mass and stiffness."""
    used = np.unique(mesh.cells)
    number = np.full(len(mesh.points), -1)
    number[used] = np.arange(len(used))
    points, cells = np.ascontiguousarray(unit * mesh.points[used].T), number[mesh.cells].T.astype(np.int32)
    kind, element, degree = skfem.MeshTet, skfem.ElementTetP2(), AFFINE
    if len(cells) == 8:
        kind, element, degree = skfem.MeshHex, skfem.ElementHex2(), CURVED
        wanted = skfem.ElementHex1.refdom.p.T
        cells = cells[[int(np.flatnonzero((corner == _VTK_BRICK).all(axis=1))[0]) for corner in wanted]]
    elif len(cells) == 10:
        kind, degree = skfem.MeshTet2, CURVED
    made = kind(points, np.ascontiguousarray(cells))
    _check_elements(made, element, mesh.about)
    return skfem.CellBasis(made, element, intorder=degree)


def _check_elements(made: Any, element: Any, about: str) -> None:
    """Raise `ModelError` unless all elements turn the same way, at their corners and at the middles of their edges."""
    volume = np.linalg.det(np.moveaxis(made.mapping().DF(element.doflocs.T), (0, 1), (-2, -1)))
    most = np.sign(np.median(volume)) or 1.0
    wrong = np.flatnonzero((most * volume <= 1e-12 * np.abs(volume).max()).any(axis=1))
    if len(wrong):
        where = ", ".join(f"{x:.4g}" for x in made.p[:, made.t[:, wrong[0]]].mean(axis=1))
        raise ModelError(
            f"{about.partition(':')[0]}: {len(wrong)} of {len(volume)} elements are flat or inside out, the first near "
            f"({where}) m; mesh it again"
        )


def _matrices(basis: Basis, lam: float, mu: float, density: float) -> tuple[SparseMatrix, SparseMatrix]:
    """Stiffness (3 n, 3 n), degrees of freedom node by node, and scalar mass (n, n).

    K_ij^ab = int lam g_i^a g_j^b + mu g_i^b g_j^a + mu delta_ab g_i . g_j with the gradients g of the functions.
    """
    from scipy import sparse

    n, local = basis.N, basis.Nbfun
    stiffness, mass = sparse.csr_array((3 * n, 3 * n)), sparse.csr_array((n, n))
    count = basis.dx.shape[0]
    for begin in range(0, count, BATCH):
        some = slice(begin, min(begin + BATCH, count))
        dx = basis.dx[some]
        g = np.stack([np.asarray(basis.basis[i][0].grad)[:, some] for i in range(local)])  # (i, a, element, point)
        value = np.stack([np.broadcast_to(np.asarray(basis.basis[i][0]), basis.dx.shape)[some]
                          for i in range(local)])  # fmt: skip
        weighted = (g * dx).transpose(2, 0, 1, 3).reshape(len(dx), 3 * local, -1)
        plain = g.transpose(2, 0, 1, 3).reshape(len(dx), 3 * local, -1)
        G = (weighted @ plain.transpose(0, 2, 1)).reshape(len(dx), local, 3, local, 3)
        K = lam * G + mu * G.transpose(0, 1, 4, 3, 2)
        K += mu * np.einsum("eicjc->eij", G)[:, :, None, :, None] * np.eye(3)[:, None, :]
        nodes = basis.element_dofs[:, some].T
        dofs = (3 * nodes[:, :, None] + np.arange(3)).reshape(len(dx), 3 * local)
        stiffness = stiffness + _scattered(K.reshape(len(dx), 3 * local, 3 * local), dofs, 3 * n)
        heavy = density * ((value * dx).transpose(1, 0, 2) @ value.transpose(1, 2, 0))
        mass = mass + _scattered(heavy, nodes, n)
    return (stiffness + stiffness.T) / 2, (mass + mass.T) / 2


def _scattered(blocks: Array, dofs: Indices, size: int) -> SparseMatrix:
    """Sparse (size, size) sum of the blocks of elements, whose rows and columns are at `dofs`."""
    from scipy import sparse

    rows = np.broadcast_to(dofs[:, :, None], blocks.shape).ravel()
    columns = np.broadcast_to(dofs[:, None, :], blocks.shape).ravel()
    return sparse.coo_array((blocks.ravel(), (rows, columns)), shape=(size, size)).tocsr()


def _group_nodes(basis: Basis, vertex: Indices, points: Indices) -> Indices:
    """Nodes of a group of points: its corners, and the nodes between corners that are all in it."""
    inside = np.zeros(basis.mesh.nvertices, dtype=bool)
    corners = vertex[points]
    inside[corners[corners >= 0]] = True
    dofs, mesh = basis.dofs, basis.mesh
    found = [dofs.nodal_dofs[0, inside]]
    for table, between in (
        (dofs.edge_dofs, mesh.edges),
        (dofs.facet_dofs, mesh.facets),
        (dofs.interior_dofs, mesh.t[: mesh.refdom.nnodes]),
    ):
        if table is not None and table.size:
            found.append(table[0, inside[between].all(axis=0)])
    return np.sort(np.concatenate(found))


def _shares(skfem: ModuleType, basis: Basis) -> SparseMatrix:
    """Sparse (faces, nodes): integrals of the functions over every face of the surface."""
    from scipy import sparse

    faces = skfem.FacetBasis(basis.mesh, basis.elem, intorder=4)
    area, there = [], []
    for i in range(faces.Nbfun):
        value = np.broadcast_to(np.asarray(faces.basis[i][0]), faces.dx.shape)
        area.append((value * faces.dx).sum(axis=1))
        there.append(np.abs(value).max(axis=1) > 1e-12)
    own = np.array(there)
    rows = np.broadcast_to(np.arange(faces.dx.shape[0]), own.shape)[own]
    found = sparse.csr_array((np.array(area)[own], (rows, faces.element_dofs[own])), shape=(faces.dx.shape[0], basis.N))
    return found


@dataclass(frozen=True, eq=False)
class NodalStress:
    """Stress at corners of elements, the average over the elements that meet there."""

    skfem: ModuleType
    basis: Basis
    lam: float
    mu: float

    def __call__(self, vertices: Indices, shapes: Array) -> Array:
        """Stress (v, 6, k) at nodes (v,), corners all, of shapes (n, 3, k)."""
        basis, mesh = self.basis, self.basis.mesh
        corners = mesh.refdom.p
        at = self.skfem.CellBasis(mesh, basis.elem, quadrature=(corners, np.ones(corners.shape[1])))
        touching = np.flatnonzero(np.isin(mesh.t[: corners.shape[1]], vertices).any(axis=0))
        k = shapes.shape[2]
        nodes = mesh.t[: corners.shape[1]]
        total, count = np.zeros((mesh.nvertices, 6, k)), np.zeros(mesh.nvertices)
        for begin in range(0, len(touching), BATCH):
            some = touching[begin : begin + BATCH]
            g = np.stack([np.asarray(at.basis[i][0].grad)[:, some] for i in range(at.Nbfun)])
            u = shapes[at.element_dofs[:, some]]  # (i, element, c, k)
            slope = np.einsum("iaep,ieck->epcak", g, u)  # du_c / dx_a
            where = nodes[:, some].T
            np.add.at(total, where, stress_of(slope, self.lam, self.mu))
            np.add.at(count, where, 1.0)
        return np.asarray(total[vertices] / count[vertices][:, None, None])


@dataclass(frozen=True, eq=False)
class Prestress:
    """Work of stresses on the second-order strains of shapes."""

    basis: Basis
    lam: float
    mu: float

    def __call__(self, loaded: Array, shapes: Array) -> Array:
        """int sigma_a : grad phi_i^T grad phi_j (a, k, k) of shapes (n, 3, k), under the stress of `loaded`
        (n, 3, a)."""
        basis, k = self.basis, shapes.shape[2]
        count, out = basis.dx.shape[0], np.zeros((loaded.shape[2], k, k))
        for begin in range(0, count, BATCH):
            some = slice(begin, min(begin + BATCH, count))
            g = np.stack([np.asarray(basis.basis[i][0].grad)[:, some] for i in range(basis.Nbfun)])  # (i, b, e, p)
            nodes, dx = basis.element_dofs[:, some], basis.dx[some]
            u = shapes[nodes].transpose(1, 0, 2, 3)  # (e, i, c, k)
            slope = np.einsum("ibep,iecm->epcbm", g, loaded[nodes])
            stress = stress_of(slope, self.lam, self.mu)[:, :, TENSOR] * dx[:, :, None, None, None]
            right = g.transpose(2, 1, 3, 0).reshape(len(dx), -1, basis.Nbfun)
            for a in range(len(out)):
                left = np.einsum("epcb,ibep->eicp", stress[..., a], g).reshape(len(dx), basis.Nbfun, -1)
                pulled = left @ right @ u.reshape(*u.shape[:2], 3 * k)
                out[a] += u.reshape(-1, k).T @ pulled.reshape(-1, k)
        return out


def stress_of(slope: Array, lam: float, mu: float) -> Array:
    """Stress (e, p, 6, k) of the slopes du_c / dx_a (e, p, c, a, k)."""
    volume = lam * np.einsum("epcck->epk", slope)
    normal = [volume + 2 * mu * slope[:, :, a, a] for a in range(3)]
    shear = [mu * (slope[:, :, a, b] + slope[:, :, b, a]) for a, b in ((1, 2), (0, 2), (0, 1))]
    return np.stack([*normal, *shear], axis=2)
