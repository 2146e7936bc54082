"""Reading of untrusted files by libraries, in the process that `library_process` starts for it.

A reader of one of forty formats may loop for ever on a damaged file, take all memory, end its process, or open other
files that the file names. Here it has bounded time and memory, and may open only the files that it was given.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from inspect import currentframe
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.base.array_files import check_hdf5

if TYPE_CHECKING:
    from types import ModuleType

AnyArray = NDArray[Any]
"""Numbers or text."""
Arrays = dict[str, AnyArray]
FAILED, LARGE, MISSING = "failed", "large", "missing"
"""Names under which a message stands in place of a result: wrong input, too large a result, a library not there."""


class OtherFile(Exception):
    """A reader was about to open a file that it was not given."""


def as_bytes(arrays: Mapping[str, object]) -> bytes:
    """Return arrays of numbers and text as bytes, first their names."""
    out = io.BytesIO()
    for array in (np.array([*arrays], dtype=str), *arrays.values()):
        np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def from_bytes(raw: bytes) -> Arrays:
    """Return the arrays that `as_bytes` packed."""
    file = io.BytesIO(raw)
    names = np.lib.format.read_array(file, allow_pickle=False)
    return {str(name): np.lib.format.read_array(file, allow_pickle=False) for name in names}


def serve(task: str, seconds: int, memory: int, most: int) -> None:
    """Take arrays from standard input, do a task of `TASKS`, and write its result, `most` bytes, to standard output.

    Processor time is bounded in seconds and memory in bytes where the system can do it; the parent bounds the clock.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to answer
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries print
    load, work = TASKS[task]
    given, said = from_bytes(sys.stdin.buffer.read()), io.StringIO()
    try:
        libraries = load()
    except (ImportError, AttributeError) as error:  # one that is too old for another breaks while it is imported
        out.write(as_bytes({MISSING: str(error)}))
        return
    _bound(seconds, memory)
    sys.addaudithook(_only([os.path.abspath(str(path)) for path in given.get("files", np.zeros(0))]))
    try:
        with redirect_stdout(said), redirect_stderr(said):
            found = work(libraries, **given)
    except OtherFile as error:
        found = {FAILED: np.array(str(error))}
    except MemoryError:
        found = {LARGE: np.array(True)}
    except (Exception, SystemExit) as error:  # readers of forty formats, each with errors of its own
        words = " ".join((said.getvalue() if isinstance(error, SystemExit) else str(error)).split())
        found = {FAILED: np.array(words[:200] or type(error).__name__)}
    if sum(np.asarray(array).nbytes for array in found.values()) > most:
        found = {LARGE: np.array(True)}
    out.write(as_bytes(found))
    out.flush()


def _bound(seconds: int, memory: int) -> None:
    """Bound processor time, and memory beyond what is taken already, where the system has such bounds."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        spent = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(spent.ru_utime + spent.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
        with open("/proc/self/statm", encoding="ascii") as table:  # of Linux, whose bound is one of addresses
            taken = int(table.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + memory, taken + memory))


def _only(files: list[str]) -> Callable[[str, tuple[Any, ...]], None]:
    """Hook that refuses to open all files but these; modules may be imported."""

    def look(event: str, given: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(given[0], int) or os.path.abspath(os.fsdecode(given[0])) in files:
            return
        frame = currentframe()
        opener = frame.f_back if frame is not None else None
        if opener is None or not opener.f_code.co_filename.startswith("<frozen importlib"):
            raise OtherFile(f"asks for another file, {os.path.basename(os.fsdecode(given[0]))!r}")

    return look


# --------------------------------------------------------------------------------------------------------- meshio


def _load_meshio() -> Any:
    import meshio

    with suppress(ImportError):  # which opens files of its own while it is imported; `.med` alone needs it
        import h5py  # noqa: F401

    return meshio


def _mesh(meshio: ModuleType, files: AnyArray, format: AnyArray) -> Arrays:
    """Points, elements by kind and named sets of points of a mesh."""
    path, kind = str(files[0]), str(format)
    if kind == "med":
        check_hdf5(path)
    raw = meshio.read(path, kind)
    points = np.asarray(raw.points, dtype=float)
    blocks: dict[str, list[AnyArray]] = {}
    for block in raw.cells:
        blocks.setdefault(block.type, []).append(np.asarray(block.data, dtype=np.int64))
    cells = {f"cells {kind}": np.concatenate(parts) for kind, parts in blocks.items()}
    return {"points": points, **cells, **{f"group {name}": nodes for name, nodes in _groups(raw, len(points)).items()}}


def _groups(raw: Any, count: int) -> Arrays:
    """Points of named sets of points, of named sets of cells, and of Gmsh's physical groups."""
    found: Arrays = {str(key): np.asarray(value, dtype=int) for key, value in raw.point_sets.items()}
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


# --------------------------------------------------------------------------------------------------------- TetGen


def _load_tetgen() -> Any:
    import tetgen

    return tetgen


def _filled(tetgen: ModuleType, points: AnyArray, triangles: AnyArray, volume: AnyArray) -> Arrays:
    """Points and tetrahedra inside a closed surface, none larger than a volume above 0."""
    made = tetgen.TetGen(points, triangles.astype(np.int32))
    options = {"fixedvolume": True, "maxvolume": float(volume)} if volume > 0 else {}
    nodes, cells, *_ = made.tetrahedralize(order=1, mindihedral=10.0, minratio=1.5, **options)
    return {"nodes": np.asarray(nodes, dtype=float), "cells": np.asarray(cells, dtype=np.int64)}


# ------------------------------------------------------------------------------------------------------ pyNastran


def _load_nastran() -> tuple[Any, Any, Any]:
    from pyNastran.bdf.bdf import BDF
    from pyNastran.op2.op2 import OP2
    from pyNastran.op4.op4 import read_op4

    return BDF, OP2, read_op4


def _nastran(libraries: tuple[Any, Any, Any], files: AnyArray, matrices: AnyArray) -> Arrays:
    """Grids in the order of their numbers, sets of them, and the first matrix of every row of names."""
    BDF, OP2, read_op4 = libraries
    path, other = map(str, files)
    with open(path, encoding="utf-8", errors="replace") as file:
        punch = "BEGIN BULK" not in file.read().upper()
    deck = BDF(debug=None)
    deck.read_bdf(path, punch=punch)
    labels = sorted(deck.nodes)
    nodes = np.array([deck.nodes[label].get_position() for label in labels])
    number = {label: k for k, label in enumerate(labels)}
    found: Arrays = {"nodes": nodes}
    for key, one in deck.sets.items():
        if hasattr(one, "ids"):
            found[f"group SET1 {key}"] = np.array([number[k] for k in one.ids if k in number], dtype=int)
    if other.lower().endswith(".op2"):
        results = OP2(debug=None)
        results.read_op2(other)
        read = results.matrices
    else:
        read = read_op4(other)
    for letter, names in zip("KM", matrices):
        found |= _matrix(letter, read, [str(name) for name in names if name])
    return found


def _matrix(letter: str, read: Mapping[str, object], names: Iterable[str]) -> Arrays:
    """Compressed rows of the first matrix that is there, under names that begin with a letter."""
    from scipy import sparse

    names = [*names]
    chosen = next((name for name in names if name in read), None)
    if chosen is None:
        raise ValueError(f"has no matrix {names[0]}; it has {', '.join(sorted(read)) or 'none'}")
    entry = read[chosen]
    matrix = sparse.csr_array(getattr(entry, "data", entry))
    return {
        **{f"{letter}_{piece}": getattr(matrix, piece) for piece in ("data", "indices", "indptr")},
        f"{letter}_shape": np.array(matrix.shape),
    }


Task = tuple[Callable[[], object], Callable[..., Arrays]]
TASKS: dict[str, Task] = {
    "mesh": (_load_meshio, _mesh), "fill": (_load_tetgen, _filled), "nastran": (_load_nastran, _nastran),
}  # fmt: skip
"""Import of the library, and the work with it."""
