"""A flexible body as numbers: mass integrals of its shapes, stiffness, frames and surface, and the file of them.

A point X of the undeformed body, seen from the root frame, is at X + sum phi_j(X) c_j: the displacement is linear in
the k coordinates c, and every shape phi_j leaves the root where it is. So all that the equations of motion take of a
body are integrals over its mass; where they come from (a mesh, a finite-element program, a beam) is not asked.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.reading import read_input
from pliant.writing import atomic_write

FORMAT = 1
MOST_BYTES = 256 << 20
"""Of a file, and of what is packed in it."""
ROOT, TIP = "root", "tip"
_SYMMETRY = 1e-9


@dataclass(frozen=True, eq=False)
class ReducedBody:
    """What is known of a flexible body of k coordinates, in SI units, in the axes of its root frame.

    Attributes
    ----------
    mass : float
        kg.
    first : (3,) array
        int X dm, kg m.
    second : (3, 3) array
        int X X^T dm, kg m^2.
    eps : (3, k) array
        int phi_j dm.
    arms : (k, 3, 3) array
        int X phi_j^T dm.
    products : (k, k, 3, 3) array
        int phi_i phi_j^T dm.
    gram : (k, k) array
        Mass matrix of the coordinates: the traces of `products`, and what turning nodes add.
    stiffness : (k, k) array
        Of the coordinates.
    damping : (k, k) array
        Of the coordinates.
    names : tuple of str
        Of the coordinates, "mode.1" say.
    frames : tuple of str
        Names of the interface frames; "root" is the first and "tip" the second.
    places : (f, 3) array
        Origins of the frames, m.
    axes : (f, 3, 3) array
        Rotations of the frames: columns are their axes.
    shift, turn : (f, 3, k) arrays
        Displacement and small rotation of each frame per coordinate.
    spin : (3, k) array
        int j theta_j of nodes with rotary inertia; zero for solids.
    vertices : (v, 3) array
        Points of the surface, m.
    triangles : (t, 3) array
        Of the surface, as indices of vertices.
    moves : (v, 3, k) array
        Shapes at the vertices.
    stress : (v, 6, k) array
        Pa per coordinate at the vertices: xx, yy, zz, yz, xz, xy.
    about : str
        Where it comes from: file, material, elements, interfaces, cut-off.
    """

    mass: float
    first: Array
    second: Array
    eps: Array
    arms: Array
    products: Array
    gram: Array
    stiffness: Array
    damping: Array
    names: tuple[str, ...]
    frames: tuple[str, ...]
    places: Array
    axes: Array
    shift: Array
    turn: Array
    spin: Array = field(default_factory=lambda: np.zeros((3, 0)))
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: Array = field(default_factory=lambda: np.zeros((0, 3)))
    moves: Array = field(default_factory=lambda: np.zeros((0, 3, 0)))
    stress: Array = field(default_factory=lambda: np.zeros((0, 6, 0)))
    about: str = ""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.names)

    def __post_init__(self) -> None:
        k = self.size
        if self.spin.shape == (3, 0) and k:
            object.__setattr__(self, "spin", np.zeros((3, k)))
        for name, shape in _shapes(k, len(self.frames), len(self.vertices), len(self.triangles)).items():
            value = np.asarray(getattr(self, name), dtype=int if name == "triangles" else float)
            if value.size == 0 and name in ("moves", "stress"):
                value = np.zeros((0, *shape[1:]))
            elif value.shape != shape:
                raise ModelError(f"body: `{name}` has shape {value.shape}, expected {shape}")
            if not np.isfinite(value).all():
                raise ModelError(f"body: `{name}` has numbers that are not finite")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not (np.isfinite(self.mass) and self.mass > 0):
            raise ModelError(f"body: mass must be above 0, got {self.mass:g}")
        if self.frames[:2] != (ROOT, TIP) or len(set(self.frames)) < len(self.frames):
            raise ModelError(f"body: frames must begin with root and tip and differ, got {', '.join(self.frames)}")
        if self.places[0].any() or self.shift[0].any() or self.turn[0].any() or (self.axes[0] != np.eye(3)).any():
            raise ModelError("body: the root frame must be the origin, and no shape may move it")
        for name in ("second", "gram", "stiffness", "damping"):
            value = getattr(self, name)
            if value.size and np.abs(value - value.T).max() > _SYMMETRY * np.abs(value).max():
                raise ModelError(f"body: `{name}` is not symmetric")
        if self.size and np.linalg.eigvalsh(self.gram)[0] <= 0:
            raise ModelError("body: the mass matrix of its coordinates is not positive: shapes depend on each other")
        if self.size and np.linalg.eigvalsh(self.stiffness)[0] <= 0:
            raise ModelError("body: its stiffness is singular: a shape that costs no energy, is the root held?")
        if self.triangles.size and not 0 <= self.triangles.min() <= self.triangles.max() < len(self.vertices):
            raise ModelError("body: a triangle names a vertex that is not there")

    @property
    def digest(self) -> str:
        """SHA-256 of its numbers: equal bodies have equal digests, on every machine."""
        made = hashlib.sha256()
        for name, value in self._entries().items():
            kind = "<i8" if value.dtype.kind == "i" else value.dtype.str if value.dtype.kind == "U" else "<f8"
            made.update(f"{name} {value.shape} ".encode() + np.ascontiguousarray(value, dtype=kind).tobytes())
        return made.hexdigest()

    def _entries(self) -> dict[str, Array]:
        return {own.name: np.asarray(getattr(self, own.name)) for own in fields(self)}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as `.npz`: its attributes by name, `format` and `digest`."""
        packed = io.BytesIO()
        np.savez_compressed(packed, format=FORMAT, digest=self.digest, **self._entries())
        with atomic_write(Path(path)) as beside:
            beside.write_bytes(packed.getvalue())
        return Path(path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """A body from the file that `save` wrote, or that another program wrote with the same entries.

        A file without `digest` is taken as it is.
        """
        name = Path(path).name
        entries = unpacked(read_input(path, MOST_BYTES), name)
        known = {own.name for own in fields(cls)}
        version, digest = entries.pop("format", None), entries.pop("digest", None)
        if version is None or version.shape != () or version != FORMAT:
            raise ModelError(f"{name}: `format` is {version}, expected {FORMAT}: a body that `pliant body` wrote?")
        if stray := sorted(set(entries) - known):
            raise ModelError(f"{name}: unknown entry `{stray[0]}`")
        needed = {own.name for own in fields(cls)} - {"spin", "vertices", "triangles", "moves", "stress", "about"}
        if lacking := sorted(needed - set(entries)):
            raise ModelError(f"{name}: no entry `{lacking[0]}`")
        words = {key: tuple(map(str, entries.pop(key).ravel())) for key in ("names", "frames")}
        about = str(entries.pop("about", ""))
        try:
            body = cls(float(entries.pop("mass")), **entries, **words, about=about)  # type: ignore[arg-type]
        except (ModelError, ValueError, TypeError) as error:
            raise ModelError(f"{name}: {error}") from None
        if digest is not None and str(digest) != body.digest:
            raise ModelError(f"{name}: damaged: its numbers are not those that were written")
        return body


def _shapes(k: int, frames: int, vertices: int, triangles: int) -> dict[str, tuple[int, ...]]:
    return {
        "first": (3,), "second": (3, 3), "eps": (3, k), "arms": (k, 3, 3), "products": (k, k, 3, 3), "gram": (k, k),
        "stiffness": (k, k), "damping": (k, k), "places": (frames, 3), "axes": (frames, 3, 3),
        "shift": (frames, 3, k), "turn": (frames, 3, k), "spin": (3, k), "vertices": (vertices, 3),
        "triangles": (triangles, 3), "moves": (vertices, 3, k), "stress": (vertices, 6, k),
    }  # fmt: skip


def unpacked(raw: bytes, name: str, most: int = MOST_BYTES) -> dict[str, Array]:
    """Arrays of an `.npz`, none of which may hold Python objects."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > most:
                raise ModelError(f"{name}: larger than {most >> 20} MiB unpacked; is it the right file?")
            return {key.removesuffix(".npy"): _array(archive.read(key)) for key in archive.namelist()}
    except ModelError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise ModelError(f"{name}: not a file of arrays (.npz): {error}") from None


def _array(raw: bytes) -> Array:
    found: Array = np.lib.format.read_array(io.BytesIO(raw), allow_pickle=False)
    return found
