"""Meshes of solids out of files: points, one kind of elements, groups."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.arrays import Array
from pliant.base.reading import read_input
from pliant.errors import ModelError, install
from pliant.mechanics.bodies.closed_surfaces import closed_surface, filled
from pliant.mechanics.bodies.element_model import Indices
from pliant.mechanics.bodies.library_process import in_process
from pliant.mechanics.bodies.library_tasks import Arrays

MOST_BYTES = 1 << 30
LARGEST_PLACE = 1e12
"""Coordinates in any unit of a file stay below."""
MESH_FORMATS = {
    ".avs": "avsucd", ".bdf": "nastran", ".dat": "tecplot", ".dato": "permas", ".f3grid": "flac3d", ".fem": "nastran",
    ".inp": "abaqus", ".mdpa": "mdpa", ".med": "med", ".mesh": "medit", ".meshb": "medit", ".msh": "gmsh",
    ".nas": "nastran", ".obj": "obj", ".off": "off", ".ply": "ply", ".post": "permas", ".stl": "stl", ".su2": "su2",
    ".tec": "tecplot", ".ugrid": "ugrid", ".vol": "netgen", ".vtk": "vtk", ".vtu": "vtu", ".wkt": "wkt",
}  # fmt: skip
"""Endings of meshes in one file, and meshio's name of the format; `.msh` may be one of Ansys too."""
NEEDS = f"meshes need meshio and scikit-fem; {install('mesh')}"
_BRICK_MIDDLES = {"hexahedron20", "hexahedron27"}
_INCLUDES = {
    "abaqus": re.compile(
        rb"(?:\A|[\r\n])[ \t]*\*(?:[ \t]*INCLUDE\b|[^*\r\n]"
        rb"(?:[^\r\n]*,[ \t]*\r?\n(?![ \t]*\*))*[^\r\n]*\bINPUT[ \t]*=)[^\r\n]*",
        re.IGNORECASE,
    ),
    "nastran": re.compile(rb"(?:\A|[\r\n])[ \t]*INCLUDE\b[^\r\n]*", re.IGNORECASE),
}
"""Lines by which a file has part of its content in another; those of Abaqus go on behind a comma at their end."""
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
    """Read a mesh; a closed surface is filled with tetrahedra of about `size` (its unit)."""
    name, kind = Path(path).name, Path(path).suffix.lower()
    if kind not in MESH_FORMATS:
        raise ModelError(
            f"{name}: got {kind or 'no ending'}, expected a mesh in one file, {', '.join(MESH_FORMATS)}; "
            f"`meshio convert {name} {Path(path).stem or 'mesh'}.vtu` makes one"
        )
    raw = read_input(path, MOST_BYTES)
    form = "ansys" if kind == ".msh" and raw[:100].lstrip().startswith(b"(") else MESH_FORMATS[kind]
    check_one_file(raw, form, name)
    found = in_process(
        "mesh", len(raw), wrong=lambda words: f"{name}: cannot be read as {kind} ({form}): {words}",
        missing=lambda _: NEEDS, remedy="is it damaged?", files=[str(path)], format=form,
    )  # fmt: skip
    return _solid(found, name, size)


def check_one_file(raw: bytes, form: str, name: str) -> None:
    """Refuse a file of Abaqus, CalculiX or Nastran that has part of its content in another."""
    line = _INCLUDES[form].search(raw) if form in _INCLUDES else None
    if line is not None:
        words = " ".join(line[0].decode("utf-8", "replace").split())[:80]
        raise ModelError(f"{name}: `{words}` names another file, which is not opened; write all into one file")


def _solid(found: Arrays, name: str, size: float | None) -> SolidMesh:
    points = found["points"]
    if points.ndim != 2 or points.shape[1] != 3:
        raise ModelError(f"{name}: expected points in three dimensions, got shape {points.shape}")
    if not (np.abs(points) < LARGEST_PLACE).all():
        raise ModelError(f"{name}: has a point that is no number or beyond {LARGEST_PLACE:.0e}")
    blocks = {key.removeprefix("cells "): cells for key, cells in found.items() if key.startswith("cells ")}
    solid = [kind for kind in blocks if kind in KINDS]
    other = [kind for kind in blocks if kind.startswith(("wedge", "pyramid", "tetra", "hexa")) and kind not in KINDS]
    if other or len(solid) > 1:
        kinds = ", ".join([*solid, *other])
        raise ModelError(f"{name}: got elements {kinds}; expected one kind, tetrahedra or hexahedra")
    for kind, cells in blocks.items():
        if kind in KINDS or kind == "triangle":
            _check_cells(cells, len(points), name)
    if not solid:
        return _from_surface(points, blocks, name, size)
    kind = solid[0]
    cells = blocks[kind][:, :8] if kind in _BRICK_MIDDLES else blocks[kind]
    groups = {key.removeprefix("group "): nodes for key, nodes in found.items() if key.startswith("group ")}
    groups = {key: nodes for key, nodes in groups.items() if len(nodes)}
    return SolidMesh(points, cells, groups, f"{name}: {len(cells)} {_WORDS[kind]}")


def _check_cells(cells: Indices, count: int, name: str) -> None:
    if cells.size == 0 or cells.min() < 0 or cells.max() >= count:
        raise ModelError(f"{name}: elements name points that are not there")


_WORDS = {
    "tetra": "tetrahedra", "tetra10": "quadratic tetrahedra", "hexahedron": "hexahedra",
    "hexahedron20": "hexahedra (edges straight)", "hexahedron27": "hexahedra (edges straight)",
}  # fmt: skip


def _from_surface(points: Array, blocks: dict[str, Indices], name: str, size: float | None) -> SolidMesh:
    if "triangle" not in blocks:
        kinds = ", ".join(blocks) or "nothing"
        raise ModelError(f"{name}: got {kinds}, expected tetrahedra, hexahedra, or a closed surface of triangles")
    vertices, triangles = closed_surface(points, blocks["triangle"], name)
    nodes, cells = filled(vertices, triangles, name, size)
    return SolidMesh(nodes, cells, {}, f"{name}: surface filled with {len(cells)} tetrahedra")
