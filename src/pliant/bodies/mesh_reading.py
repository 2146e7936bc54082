"""Meshes of solids out of files: points, one kind of elements, groups."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.bodies.closed_surfaces import closed_surface, filled
from pliant.bodies.element_model import Indices
from pliant.errors import ModelError, extra, install
from pliant.reading import open_input

MOST_BYTES = 1 << 30
NEEDS = f"meshes need meshio and scikit-fem; {install('mesh')}"
_BRICK_MIDDLES = {"hexahedron20", "hexahedron27"}
KINDS = {"tetra": 4, "tetra10": 4, "hexahedron": 8, "hexahedron20": 8, "hexahedron27": 8}
"""Elements that are understood, and their corners."""


@dataclass(frozen=True, eq=False)
class SolidMesh:
    """A mesh of tetrahedra or hexahedra.

    Attributes
    ----------
    points : (p, 3) array
        In the unit of the file.
    cells : (e, 4), (e, 10) or (e, 8) array
        Tetrahedra, quadratic ones with the middles of their edges, or hexahedra; corners first, in the order of VTK.
    groups : dict of str to arrays
        Indices of points.
    about : str
        Name of the file and its elements.
    """

    points: Array
    cells: Indices
    groups: dict[str, Indices] = field(default_factory=dict)
    about: str = ""


def read_solid_mesh(path: str | os.PathLike[str], size: float | None = None) -> SolidMesh:
    """A mesh from a file that meshio reads; a closed surface is filled with tetrahedra of about `size` (its unit)."""
    meshio: Any = extra("meshio", NEEDS)
    name = Path(path).name
    with open_input(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise ModelError(f"{name}: larger than 1 GiB; is it the right file?")
    said = io.StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(said):  # it prints what it thinks of a file
            raw = meshio.read(path)
    except (Exception, SystemExit) as error:  # readers of forty formats, each with errors of its own
        words = " ".join(str(error).split()) if not isinstance(error, SystemExit) else " ".join(said.getvalue().split())
        kind = Path(path).suffix or "a mesh"
        raise ModelError(f"{name}: cannot be read as {kind}: {words[:200] or type(error).__name__}") from None
    return _solid(raw, name, size)


def _solid(raw: Any, name: str, size: float | None) -> SolidMesh:
    points = np.asarray(raw.points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ModelError(f"{name}: expected points in three dimensions, got shape {points.shape}")
    blocks: dict[str, list[Indices]] = {}
    for block in raw.cells:
        blocks.setdefault(block.type, []).append(np.asarray(block.data, dtype=np.int64))
    solid = [kind for kind in blocks if kind in KINDS]
    other = [kind for kind in blocks if kind.startswith(("wedge", "pyramid", "tetra", "hexa")) and kind not in KINDS]
    if other or len({KINDS[kind] for kind in solid}) > 1 or len(solid) > 1:
        kinds = ", ".join([*solid, *other])
        raise ModelError(f"{name}: got elements {kinds}; expected one kind, tetrahedra or hexahedra")
    if not solid:
        return _from_surface(points, blocks, name, size)
    kind = solid[0]
    cells = np.concatenate(blocks[kind])
    if cells.size == 0 or cells.min() < 0 or cells.max() >= len(points):
        raise ModelError(f"{name}: elements name points that are not there")
    if kind in _BRICK_MIDDLES:
        cells = cells[:, :8]
    groups = {key: nodes for key, nodes in _groups(raw, len(points)).items() if len(nodes)}
    return SolidMesh(points, cells, groups, f"{name}: {len(cells)} {_WORDS[kind]}")


_WORDS = {
    "tetra": "tetrahedra", "tetra10": "quadratic tetrahedra", "hexahedron": "hexahedra",
    "hexahedron20": "hexahedra (edges straight)", "hexahedron27": "hexahedra (edges straight)",
}  # fmt: skip


def _from_surface(points: Array, blocks: dict[str, list[Indices]], name: str, size: float | None) -> SolidMesh:
    if "triangle" not in blocks:
        kinds = ", ".join(blocks) or "nothing"
        raise ModelError(f"{name}: got {kinds}, expected tetrahedra, hexahedra, or a closed surface of triangles")
    vertices, triangles = closed_surface(points, np.concatenate(blocks["triangle"]), name)
    nodes, cells = filled(vertices, triangles, name, size)
    return SolidMesh(nodes, cells, {}, f"{name}: surface filled with {len(cells)} tetrahedra")


def _groups(raw: Any, count: int) -> dict[str, Indices]:
    """Points of named sets of points, of named sets of cells, and of Gmsh's physical groups."""
    found: dict[str, Indices] = {str(key): np.asarray(value, dtype=int) for key, value in raw.point_sets.items()}
    for key, parts in raw.cell_sets.items():
        if str(key).startswith("gmsh:"):
            continue
        chosen = [
            np.asarray(block.data)[np.asarray(part, dtype=int)]
            for block, part in zip(raw.cells, parts)
            if part is not None and len(part)
        ]
        if chosen:
            found.setdefault(str(key), np.unique(np.concatenate([part.ravel() for part in chosen])))
    tags = raw.cell_data.get("gmsh:physical")
    for key, value in raw.field_data.items() if tags is not None else ():
        number, dimension = int(value[0]), int(value[1])
        chosen = [
            np.asarray(block.data)[np.asarray(tag) == number].ravel()
            for block, tag in zip(raw.cells, tags)
            if block.dim == dimension
        ]
        found.setdefault(str(key), np.unique(np.concatenate(chosen or [np.zeros(0, dtype=int)])))
    return {key: nodes[(nodes >= 0) & (nodes < count)] for key, nodes in found.items()}
