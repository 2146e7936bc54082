"""Full matrices that other programs wrote: plain `.npz`, CalculiX, Nastran."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from pliant.arrays import Array
from pliant.base.reading import open_input, plain_number, read_input, whole_number
from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.errors import ModelError, install
from pliant.mechanics.bodies.craig_bampton import UNITS
from pliant.mechanics.bodies.element_model import ElementModel, Indices, SparseMatrix
from pliant.mechanics.bodies.library_process import in_process
from pliant.mechanics.bodies.mesh_reading import check_one_file
from pliant.options import LengthUnit, MassUnit
from pliant.robot.parts.bodies.reduced_body import unpacked

Number = TypeVar("Number", float, str)
Matrices = str | os.PathLike[str] | None
"""File with the matrices of a model, where they are not in its own."""
MOST_BYTES = 4 << 30
UNPACKED_BASE, UNPACKED = 256 << 20, 50
"""Bytes that a packed file may hold, and so many for each byte of it."""
MOST_COPIES = 5_000_000
"""Nodes that sets of an input name by other sets and by ranges, beside as many as it has bytes."""
MASSES: dict[str, float] = {"kg": 1.0, "g": 1e-3, "t": 1e3, "lbf s2/in": 175.12683524647636}
PIECES = ("data", "indices", "indptr")
STIFFNESSES, MASS_MATRICES = ("KGG", "KAAX", "KAA", "K"), ("MGG", "MAAX", "MAA", "M")
"""Names of the matrices in files of Nastran, the first that is there."""


@work("read_model", "reading matrices")
@checked
def read_model(
    file: str | os.PathLike[str],
    matrices: str | os.PathLike[str] | None = None,
    *,
    unit: LengthUnit,
    mass_unit: MassUnit,
) -> ElementModel:
    """Stiffness, mass and nodes that another program wrote.

    Parameters
    ----------
    file : str or path
        `.npz` with the arrays `nodes` (n, 3), `K_data`, `K_indices`, `K_indptr`, `M_data`, `M_indices`, `M_indptr`
        (compressed rows of 3 n or 6 n), and where there are any `set_NAME` (indices of nodes) and `triangles` (of the
        surface). `.inp` of CalculiX, beside which `*FREQUENCY, SOLVER=MATRIXSTORAGE` left `.sti`, `.mas` and `.dof`.
        `.bdf`, `.dat` or `.nas` of Nastran, with its matrices of the g-set in `matrices`.
    matrices : str or path, optional
        `.op4` or `.op2` of Nastran with KGG and MGG.
    unit : 'm', 'cm', 'mm' or 'in'
        Of lengths.
    mass_unit : 'kg', 'g', 't' or 'lbf s2/in'
        Of masses; forces are in mass times length per second squared, as in a consistent system of units: with mm
        and t in newtons.

    Returns
    -------
    ElementModel

    Examples
    --------
    >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
    >>> model = pliant.bodies.mesh_model(bar, "steel", unit="m")
    >>> path = model.save("bar-matrices.npz")
    >>> pliant.bodies.read_model(path, unit="m", mass_unit="kg").size == model.size
    True
    """
    path = Path(file)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise ModelError(f"{path.name}: got {kind or 'no ending'}, expected one of {', '.join(READERS)}")
    if (matrices is not None) != (READERS[kind] is _nastran):
        raise ModelError(f"{path.name}: {'has its own matrices' if matrices else 'needs `matrices`, an .op4 or .op2'}")
    nodes, stiffness, mass, groups, triangles = READERS[kind](path, matrices)
    _check_shapes(path.name, nodes, stiffness, mass)
    length = UNITS[unit]
    scale = _scaled(len(nodes), stiffness.shape[0], MASSES[mass_unit], length)
    return ElementModel(
        nodes=length * nodes,
        stiffness=scale(stiffness),
        mass=scale(mass),
        groups=groups,
        triangles=triangles,
        about=f"{path.name}: {len(nodes)} nodes",
    )


Pieces = tuple[Array, SparseMatrix, SparseMatrix, dict[str, Indices], Indices]
"""Nodes, stiffness, mass, groups, triangles."""


def _check_shapes(name: str, nodes: Array, stiffness: SparseMatrix, mass: SparseMatrix) -> None:
    """Raise `ModelError` unless nodes and matrices have shapes that go together."""
    if nodes.ndim != 2 or nodes.shape[1] != 3:
        raise ModelError(f"{name}: nodes have shape {nodes.shape}, expected (n, 3)")
    for label, matrix in (("stiffness", stiffness), ("mass", mass)):
        if matrix.shape not in ((3 * len(nodes),) * 2, (6 * len(nodes),) * 2):
            raise ModelError(
                f"{name}: {label} has shape {matrix.shape}, expected 3 or 6 rows and columns for each of {len(nodes)} "
                "nodes"
            )
    if stiffness.shape != mass.shape:
        raise ModelError(f"{name}: mass has shape {mass.shape}, expected {stiffness.shape} as the stiffness")


def _scaled(n: int, size: int, mass: float, length: float) -> Callable[[SparseMatrix], SparseMatrix]:
    """Function that brings either matrix into SI units: the unit of mass, times that of length once for every rotation
    that an entry belongs to."""
    from scipy import sparse

    factor = np.ones(size)
    if size == 6 * n:
        factor.reshape(n, 6)[:, 3:] = length
    D = sparse.diags_array(factor)
    return lambda matrix: mass * (D @ matrix @ D)


def _arrays(path: Path, _: Matrices) -> Pieces:
    """Nodes, matrices, sets and surface of a file of plain arrays."""
    from scipy import sparse

    raw = read_input(path, MOST_BYTES)
    found = unpacked(raw, path.name, min(MOST_BYTES, UNPACKED_BASE + UNPACKED * len(raw)))
    needed = ["nodes", *(f"{letter}_{piece}" for letter in "KM" for piece in PIECES)]
    if lacking := [name for name in needed if name not in found]:
        raise ModelError(f"{path.name}: no array `{lacking[0]}`; expected {', '.join(needed)}")
    for key in needed:
        kinds, dimensions = ("biuf", 2) if key == "nodes" else ("biuf" if key.endswith("data") else "iu", 1)
        if found[key].dtype.kind not in kinds or found[key].ndim != dimensions:
            raise ModelError(
                f"{path.name}: `{key}` has {found[key].dtype} of shape {found[key].shape}, expected "
                f"{'numbers' if 'f' in kinds else 'whole numbers'} in {dimensions} dimension{'s' * (dimensions - 1)}"
            )
    nodes = np.asarray(found["nodes"], dtype=float)
    matrices = []
    for letter in "KM":
        data, indices, starts = (found[f"{letter}_{piece}"] for piece in PIECES)
        indices, starts = (
            indices.astype(np.int64),
            starts.astype(np.int64),
        )  # of unsigned ones no difference is negative
        rows = len(starts) - 1
        inside = not len(indices) or 0 <= indices.min() <= indices.max() < rows
        rising = rows > 0 and starts[0] == 0 and np.diff(starts).min() >= 0
        if not inside or not rising or not starts[-1] == len(indices) == len(data):
            raise ModelError(f"{path.name}: `{letter}` is no matrix of compressed rows")
        matrix = sparse.csr_array((data, indices, starts), shape=(rows, rows))
        whole = matrix.copy()
        whole.sum_duplicates()
        _check_once(path.name, f"`{letter}`", matrix.nnz - whole.nnz)
        matrices.append(matrix)
    groups = {name.removeprefix("set_"): _indices(path, name, value, len(nodes)).ravel()
              for name, value in found.items() if name.startswith("set_")}  # fmt: skip
    triangles = _indices(path, "triangles", found.get("triangles", np.zeros((0, 3), dtype=int)), len(nodes))
    if triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ModelError(f"{path.name}: `triangles` has shape {triangles.shape}, expected (t, 3)")
    return nodes, *matrices, groups, triangles


def _check_once(name: str, what: str, extra: int) -> None:
    """Refuse entries that stand twice: a matrix with all of them twice has twice the mass."""
    if extra:
        raise ModelError(f"{name}: {what} has {extra} entries that stand twice; is it two files in one?")


def _indices(path: Path, name: str, value: Indices, count: int) -> Indices:
    if value.dtype.kind not in "iu" or (value.size and not 0 <= value.min() <= value.max() < count):
        raise ModelError(f"{path.name}: `{name}`: expected indices of the {count} nodes, whole numbers from 0")
    return np.asarray(value, dtype=int)


# ------------------------------------------------------------------------------------------------------- CalculiX


def _calculix(path: Path, _: Matrices) -> Pieces:
    """Nodes and sets of the input, and the matrices beside it, of which one triangle is written."""
    from scipy import sparse

    labels, nodes, groups = _abaqus_nodes(path)
    place = {label: k for k, label in enumerate(labels)}
    dofs = _numbers(path.with_suffix(".dof"), 1, str)
    try:
        parts = [[whole_number(part) for part in word.split(".")] for (word,) in dofs]
        pairs = [(place[node], direction) for node, direction in parts]
    except (KeyError, ValueError):
        raise ModelError(
            f"{path.stem}.dof: names a node that {path.name} has not, or is no list of node.direction"
        ) from None
    if any(not 1 <= direction <= 3 for _, direction in pairs):
        raise ModelError(f"{path.stem}.dof: expected directions 1 to 3")
    at = np.array([3 * node + direction - 1 for node, direction in pairs])
    _check_once(f"{path.stem}.dof", "the list", len(at) - len(np.unique(at)))
    matrices = []
    for ending in (".sti", ".mas"):
        table: Array = np.array(_numbers(path.with_suffix(ending), 3, plain_number))
        places = table[:, :2]
        if not ((places >= 1) & (places <= len(at)) & (places == np.floor(places))).all():
            raise ModelError(f"{path.stem}{ending}: has rows that {path.stem}.dof has not")
        rows, columns = (places.astype(int) - 1).T
        _check_once(f"{path.stem}{ending}", "the matrix", len(rows) - len(np.unique(rows * len(at) + columns)))
        half = sparse.csr_array((table[:, 2], (at[rows], at[columns])), shape=(3 * len(nodes),) * 2)
        one_triangle = (rows >= columns).all() or (rows <= columns).all()
        matrices.append(half + half.T - sparse.diags_array(half.diagonal()) if one_triangle else half)
    return nodes, *matrices, groups, np.zeros((0, 3), dtype=int)


def _numbers(path: Path, columns: int, kind: Callable[[str], Number]) -> list[list[Number]]:
    """Lines of a file, each of so many words as `kind` reads them."""
    lines = read_input(path, MOST_BYTES).decode("ascii", "replace").splitlines()
    try:
        found = [[kind(word) for word in line.replace(",", " ").split()] for line in lines if line.strip()]
    except ValueError:
        found = []
    if not found or any(len(row) != columns for row in found):
        raise ModelError(f"{path.name}: expected lines of {columns} numbers")
    return found


def _abaqus_nodes(path: Path) -> tuple[list[int], Array, dict[str, Indices]]:
    """Labels and places of the nodes of an input, and its sets of nodes as indices."""
    labels: list[int] = []
    places: list[list[float]] = []
    sets: dict[str, set[int | range]] = {}
    copied = 0
    keyword, open_ended = "", False
    options: dict[str, str] = {}
    raw = read_input(path, MOST_BYTES)
    check_one_file(raw, "abaqus", path.name)
    try:
        for line in raw.decode("utf-8", "replace").splitlines():
            words = [word.strip() for word in line.strip().rstrip(",").split(",")]
            if line.startswith("**") or not line.strip():
                continue
            more = open_ended and not line.startswith("*") and not _begins_with_number(words[0])
            if line.startswith("*") or more:  # a line of a keyword that ends in a comma goes on in the next
                keyword, options = (keyword, options) if more else (words[0].upper(), {})
                named = (word.partition("=") for word in (words if more else words[1:]))
                options |= {k.strip().upper(): v.strip() for k, _, v in named}
                open_ended = line.rstrip().endswith(",")
                if keyword == "*NODE" and "NSET" in options:
                    sets.setdefault(options["NSET"], set())
                continue
            open_ended = False
            if keyword == "*NODE":
                labels.append(whole_number(words[0]))
                places.append([plain_number(word) for word in words[1:4]])
                if "NSET" in options:
                    sets[options["NSET"]].add(labels[-1])
            elif keyword == "*NSET":
                own = sets.setdefault(options.get("NSET", ""), set())
                numbers = [whole_number(word) for word in words if _begins_with_number(word)]
                if "GENERATE" in options:
                    step = numbers[2] if len(numbers) > 2 else 1
                    own.add(range(numbers[0], numbers[1] + (1 if step > 0 else -1), step))
                else:
                    own.update(numbers)
                for word in words:  # a set may hold others by name
                    if word in sets and sets[word] is not own:
                        copied += len(sets[word])
                        _check_copies(path, copied, len(raw))
                        own.update(sets[word])
    except (ValueError, IndexError) as error:
        raise ModelError(f"{path.name}: not an input of CalculiX or Abaqus: {error}") from None
    if not labels or any(len(row) != 3 for row in places):
        raise ModelError(f"{path.name}: has no *NODE lines with three places each")
    if len(set(labels)) < len(labels):
        label, times = Counter(labels).most_common(1)[0]
        raise ModelError(f"{path.name}: node {label} stands {times} times; each must have one place")
    number, rising = {label: k for k, label in enumerate(labels)}, sorted(labels)
    groups = {}
    for name, held in sets.items():
        chosen = {number[k] for k in held if k in number}
        for part in held:
            if isinstance(part, range) and part:
                first, last = sorted((part[0], part[-1]))
                between = rising[bisect_left(rising, first) : bisect_right(rising, last)]
                copied += len(between)
                _check_copies(path, copied, len(raw))
                chosen.update(number[k] for k in between if k in part)
        groups[name] = np.array(sorted(chosen), dtype=int)
    return labels, np.array(places), groups


def _begins_with_number(word: str) -> bool:
    return word.lstrip("+-")[:1].isdecimal()


def _check_copies(path: Path, copied: int, size: int) -> None:
    """Refuse sets that name sets or ranges so often that a small file becomes a large one."""
    if copied > MOST_COPIES + size:
        raise ModelError(
            f"{path.name}: its sets name {copied} nodes and more by other sets and GENERATE; are they right?"
        )


# -------------------------------------------------------------------------------------------------------- Nastran


def _nastran(path: Path, matrices: Matrices) -> Pieces:
    """Grids in the order of their numbers, and the matrices of all their degrees of freedom (g-set)."""
    from scipy import sparse

    assert matrices is not None
    files = [path, Path(matrices)]
    size = 0
    for each in files:
        with open_input(each) as file:
            size += os.fstat(file.fileno()).st_size
    names = f"{path.name}, {files[1].name}"
    found = in_process(
        "nastran", size, wrong=lambda words: f"{names}: cannot be read: {words}",
        missing=lambda words: f"{path.name}: files of Nastran need pyNastran ({words}); {install('nastran')}",
        remedy="are they damaged?", files=[*map(str, files)], matrices=[[*STIFFNESSES], [*MASS_MATRICES]],
    )  # fmt: skip
    full = []
    for letter in "KM":
        pieces = tuple(found[f"{letter}_{piece}"] for piece in PIECES)
        matrix = sparse.csr_array(pieces, shape=tuple(found[f"{letter}_shape"]))
        triangle = sparse.triu(matrix, 1).nnz == 0 or sparse.tril(matrix, -1).nnz == 0
        whole = matrix + matrix.T - sparse.diags_array(matrix.diagonal()) if triangle else matrix
        full.append(sparse.csr_array(whole))
    groups = {key.removeprefix("group "): nodes for key, nodes in found.items() if key.startswith("group ")}
    return found["nodes"], *full, groups, np.zeros((0, 3), dtype=int)


READERS: dict[str, Callable[[Path, Matrices], Pieces]] = {
    ".npz": _arrays, ".inp": _calculix, ".bdf": _nastran, ".dat": _nastran, ".nas": _nastran,
}  # fmt: skip
