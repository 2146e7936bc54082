"""Full matrices that other programs wrote: plain `.npz`, CalculiX, Nastran."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.bodies.craig_bampton import UNITS
from pliant.bodies.element_model import ElementModel, Indices
from pliant.errors import ModelError, install
from pliant.options import LengthUnit, MassUnit
from pliant.reading import read_input, require_regular
from pliant.robot.reduced_body import unpacked
from pliant.signatures import checked
from pliant.stages import work

MOST_BYTES = 4 << 30
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


Pieces = tuple[Array, Any, Any, dict[str, Indices], Indices]
"""Nodes, stiffness, mass, groups, triangles."""


def _scaled(n: int, size: int, mass: float, length: float) -> Callable[[Any], Any]:
    """Both matrices into SI: mass, times the length once for every rotation that an entry belongs to."""
    from scipy import sparse

    factor = np.ones(size)
    if size == 6 * n:
        factor.reshape(n, 6)[:, 3:] = length
    D = sparse.diags_array(factor)
    return lambda matrix: mass * (D @ matrix @ D)


def _arrays(path: Path, _: Any) -> Pieces:
    from scipy import sparse

    found = unpacked(read_input(path, MOST_BYTES), path.name, MOST_BYTES)
    needed = ["nodes", *(f"{letter}_{piece}" for letter in "KM" for piece in PIECES)]
    if lacking := [name for name in needed if name not in found]:
        raise ModelError(f"{path.name}: no array `{lacking[0]}`; expected {', '.join(needed)}")
    nodes = np.asarray(found["nodes"], dtype=float)
    matrices = []
    for letter in "KM":
        rows = len(found[f"{letter}_indptr"]) - 1
        try:
            matrix = sparse.csr_array(tuple(found[f"{letter}_{piece}"] for piece in PIECES), shape=(rows, rows))
            matrix.check_format()
        except (ValueError, TypeError) as error:
            raise ModelError(f"{path.name}: `{letter}` is no matrix of compressed rows: {error}") from None
        matrices.append(matrix)
    groups = {name.removeprefix("set_"): _indices(path, name, value, len(nodes))
              for name, value in found.items() if name.startswith("set_")}  # fmt: skip
    triangles = _indices(path, "triangles", found.get("triangles", np.zeros((0, 3), dtype=int)), len(nodes))
    if triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ModelError(f"{path.name}: `triangles` has shape {triangles.shape}, expected (t, 3)")
    return nodes, *matrices, groups, triangles


def _indices(path: Path, name: str, value: Indices, count: int) -> Indices:
    if value.dtype.kind not in "iu" or (value.size and not 0 <= value.min() <= value.max() < count):
        raise ModelError(f"{path.name}: `{name}`: expected indices of the {count} nodes, whole numbers from 0")
    return np.asarray(value, dtype=int)


# ------------------------------------------------------------------------------------------------------- CalculiX


def _calculix(path: Path, _: Any) -> Pieces:
    """Nodes and sets of the input, and the matrices beside it, of which one triangle is written."""
    from scipy import sparse

    labels, nodes, groups = _abaqus_nodes(path)
    place = {label: k for k, label in enumerate(labels)}
    dofs = _numbers(path.with_suffix(".dof"), 1, str)
    try:
        pairs = [(place[int(word.split(".")[0])], int(word.split(".")[1])) for (word,) in dofs]
    except (KeyError, ValueError, IndexError):
        raise ModelError(
            f"{path.stem}.dof: names a node that {path.name} has not, or is no list of node.direction"
        ) from None
    if any(not 1 <= direction <= 3 for _, direction in pairs):
        raise ModelError(f"{path.stem}.dof: expected directions 1 to 3")
    at = np.array([3 * node + direction - 1 for node, direction in pairs])
    matrices = []
    for ending in (".sti", ".mas"):
        table = np.array(_numbers(path.with_suffix(ending), 3, float))
        rows, columns = (table[:, k].astype(int) - 1 for k in (0, 1))
        if rows.min() < 0 or max(rows.max(), columns.max()) >= len(at) or columns.min() < 0:
            raise ModelError(f"{path.stem}{ending}: has rows that {path.stem}.dof has not")
        half = sparse.csr_array((table[:, 2], (at[rows], at[columns])), shape=(3 * len(nodes),) * 2)
        one_triangle = (rows >= columns).all() or (rows <= columns).all()
        matrices.append(half + half.T - sparse.diags_array(half.diagonal()) if one_triangle else half)
    return nodes, *matrices, groups, np.zeros((0, 3), dtype=int)


def _numbers(path: Path, columns: int, kind: type) -> list[list[Any]]:
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
    sets: dict[str, list[int]] = {}
    keyword, options = "", {}
    try:
        for line in read_input(path, MOST_BYTES).decode("utf-8", "replace").splitlines():
            words = [word.strip() for word in line.strip().rstrip(",").split(",")]
            if line.startswith("**") or not line.strip():
                continue
            if line.startswith("*"):
                keyword = words[0].upper()
                options = {k.strip().upper(): v.strip() for k, _, v in (word.partition("=") for word in words[1:])}
                if keyword == "*NODE" and "NSET" in options:
                    sets.setdefault(options["NSET"], [])
            elif keyword == "*NODE":
                labels.append(int(words[0]))
                places.append([float(word) for word in words[1:4]])
                if "NSET" in options:
                    sets[options["NSET"]].append(labels[-1])
            elif keyword == "*NSET":
                numbers = [int(word) for word in words if word.lstrip("+").isdigit()]
                if "GENERATE" in options:
                    numbers = list(range(numbers[0], numbers[1] + 1, numbers[2] if len(numbers) > 2 else 1))
                for word in words:  # a set may hold others by name
                    numbers += sets.get(word, [])
                sets.setdefault(options.get("NSET", ""), []).extend(numbers)
    except (ValueError, IndexError) as error:
        raise ModelError(f"{path.name}: not an input of CalculiX or Abaqus: {error}") from None
    if not labels or any(len(row) != 3 for row in places):
        raise ModelError(f"{path.name}: has no *NODE lines with three places each")
    number = {label: k for k, label in enumerate(labels)}
    groups = {name: np.array(sorted({number[k] for k in held if k in number}), dtype=int)
              for name, held in sets.items()}  # fmt: skip
    return labels, np.array(places), groups


# -------------------------------------------------------------------------------------------------------- Nastran


def _nastran(path: Path, matrices: Any) -> Pieces:
    """Grids in the order of their numbers, and the matrices of all their degrees of freedom (g-set)."""
    other = Path(matrices)
    for each in (path, other):
        require_regular(each)
    try:
        from pyNastran.bdf.bdf import BDF
        from pyNastran.op2.op2 import OP2
        from pyNastran.op4.op4 import read_op4
    except (ImportError, AttributeError) as error:  # it asks for older versions of NumPy, and breaks with newer ones
        raise ModelError(f"{path.name}: files of Nastran need pyNastran ({error}); {install('nastran')}") from None
    try:
        deck = BDF(debug=None)
        deck.read_bdf(str(path), punch="BEGIN BULK" not in path.read_text(encoding="utf-8", errors="replace").upper())
        labels = sorted(deck.nodes)
        nodes = np.array([deck.nodes[label].get_position() for label in labels])
        number = {label: k for k, label in enumerate(labels)}
        groups = {f"SET1 {key}": np.array([number[k] for k in one.ids if k in number], dtype=int)
                  for key, one in deck.sets.items() if hasattr(one, "ids")}  # fmt: skip
        if other.suffix.lower() == ".op2":
            results = OP2(debug=None)
            results.read_op2(str(other))
            found = results.matrices
        else:
            found = read_op4(str(other))
    except Exception as error:  # readers of many cards, each with errors of its own
        raise ModelError(f"{path.name}, {other.name}: cannot be read: {' '.join(str(error).split())[:200]}") from None
    stiffness, mass = (_named(found, names, other.name) for names in (STIFFNESSES, MASS_MATRICES))
    return nodes, stiffness, mass, groups, np.zeros((0, 3), dtype=int)


def _named(found: dict[str, Any], names: tuple[str, ...], file: str) -> Any:
    from scipy import sparse

    for name in names:
        if name in found:
            entry = found[name]
            matrix = sparse.csr_array(getattr(entry, "data", entry))
            triangle = sparse.triu(matrix, 1).nnz == 0 or sparse.tril(matrix, -1).nnz == 0
            full = matrix + matrix.T - sparse.diags_array(matrix.diagonal()) if triangle else matrix
            return sparse.csr_array(full)
    raise ModelError(f"{file}: has no matrix {names[0]}; it has {', '.join(sorted(found)) or 'none'}")


READERS: dict[str, Callable[[Path, Any], Pieces]] = {
    ".npz": _arrays, ".inp": _calculix, ".bdf": _nastran, ".dat": _nastran, ".nas": _nastran,
}  # fmt: skip
