"""Surfaces out of STL and OBJ files, as triangles: light enough to be drawn at every frame, and to be carried along."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
from array import array
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.reading import read_input, require_plain
from pliant.base.writing import atomic_write
from pliant.errors import ModelError

MOST_BYTES = 64 << 20
LARGEST = 1e12
"""Largest coordinate that is read: products of numbers of single precision stay finite."""
MOST_FACES = 8_000
"""Triangles that are kept of a mesh; finer ones are made coarser."""
MOST_READ = MOST_BYTES // 50
"""Triangles that are read: as many as a binary STL of so many bytes has."""
_LONGEST_LINE = 1 << 20
_VERTEX = re.compile(rb"(?:^|\s)vertex(?:\s+(\S+))?(?:\s+(\S+))?(?:\s+(\S+))?")
Triangles = tuple[Array, NDArray[np.int64]]
"""Points (P, 3), and which three of them make each triangle (K, 3)."""


_RECORD = np.dtype([("floats", "<f4", (12,)), ("attribute", "<u2")])
"""A triangle in binary STL: its normal, then its corners."""
_HEAD = 8
"""Bytes at the beginning of the text of a mesh: the number of points and that of triangles."""


@dataclass(frozen=True, eq=False)
class MeshContent:
    """Triangles of a mesh file, kept with the robot; empty if no mesh was read.

    Attributes
    ----------
    points : (P, 3) array of float32
        In the unit of the file.
    faces : (K, 3) array of int32
        Which three of them make each triangle.
    """

    points: NDArray[np.float32]
    faces: NDArray[np.int32]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Triangles of a file."""
        points, faces = read_mesh(path)
        if np.abs(points).max() > np.finfo(np.float32).max:
            raise ModelError(f"{path.name}: got coordinates beyond 3e38, expected a mesh")
        return cls(points.astype("<f4"), faces.astype("<i4"))

    @classmethod
    def none(cls) -> Self:
        """Return an empty mesh."""
        return cls(np.zeros((0, 3), "<f4"), np.zeros((0, 3), "<i4"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read triangles from the text that `text` returned."""
        try:
            raw = base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raw = b""
        count, triangles = (int.from_bytes(raw[k : k + 4], "little") for k in (0, 4))
        if len(raw) != _HEAD + 12 * (count + triangles):
            raise ModelError("content: not the text of a mesh")
        points = np.frombuffer(raw, "<f4", 3 * count, _HEAD).reshape(-1, 3)
        faces = np.frombuffer(raw, "<i4", 3 * triangles, _HEAD + 12 * count).reshape(-1, 3)
        if not np.isfinite(points).all() or faces.min(initial=0) < 0 or faces.max(initial=-1) >= count:
            raise ModelError("content: not the text of a mesh")
        return cls(points, faces)

    def text(self) -> str:
        """Encode points and triangles as text, the same on every machine."""
        head = b"".join(len(each).to_bytes(4, "little") for each in (self.points, self.faces))
        return base64.b64encode(head + self.points.tobytes() + self.faces.tobytes()).decode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its numbers."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    @property
    def triangles(self) -> Triangles:
        """Points and triangles in double precision, as `read_mesh` returns them."""
        return self.points.astype(float), self.faces.astype(np.int64)

    def save(self, path: Path) -> None:
        """Write it as OBJ where the name ends so, as binary STL otherwise."""
        if path.suffix.lower() == ".obj":
            lines = [*("v {:.9g} {:.9g} {:.9g}".format(*p) for p in self.points.tolist())]
            lines += ["f {} {} {}".format(*face) for face in (self.faces + 1).tolist()]
            raw = "\n".join([*lines, ""]).encode()
        else:
            rows = np.zeros(len(self.faces), _RECORD)
            rows["floats"][:, 3:] = self.points[self.faces].reshape(-1, 9)
            raw = bytes(80) + len(rows).to_bytes(4, "little") + rows.tobytes()
        with atomic_write(path) as partial:
            partial.write_bytes(raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshContent) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<mesh of {len(self.faces)} triangles>"


def read_mesh(path: Path) -> Triangles:
    """The triangles of an STL or OBJ file, points that are alike made one, coarsened where they are many.

    Raises ModelError where the file is not there or is not what it says.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such mesh")
    now = path.stat()
    return _read(path, now.st_mtime_ns, now.st_size)


class _TooLarge(Exception):
    """A line, or the number of points or triangles, is larger than what is read."""


@lru_cache(maxsize=64)
def _read(path: Path, *_: int) -> Triangles:
    raw = read_input(path, MOST_BYTES, "no mesh that is drawn is that large")
    try:
        points, faces = _obj(raw) if path.suffix.lower() == ".obj" else _stl(raw)
    except _TooLarge as error:
        raise ModelError(f"{path.name}: got more than {error}; no mesh that is drawn is that large") from None
    except (ValueError, IndexError, OverflowError):
        points, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    if not len(faces) or faces.min() < 0 or faces.max() >= len(points) or not (np.abs(points) < LARGEST).all():
        raise ModelError(f"{path.name}: got no triangles, expected a mesh in {path.suffix.lower().strip('.').upper()}")
    kept, merged = coarser(points, faces, MOST_FACES)
    if not len(merged):
        raise ModelError(f"{path.name}: none of its {len(faces)} triangles has an area; is its scale right?")
    return points[kept], merged


def coarser(points: Array, faces: NDArray[np.int64], most: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Coarsen a mesh to at most `most` triangles; return the numbers of the points that are kept, and the triangles."""
    low, cells = points.min(axis=0), 1 << 20
    box = low, float((points.max(axis=0) - low).max()) or 1.0
    kept, found = _merged(points, faces, cells, *box)
    some = points[faces[:: max(1, len(faces) // (4 * most))]].reshape(-1, 3)  # where these are too many, all are
    three = np.arange(len(some)).reshape(-1, 3)
    while len(found) > most and cells > 1:
        cells = min(cells // 2, 512)
        if len(_distinct(_merged(some, three, cells, *box)[1])) <= most:
            kept, found = _merged(points, faces, cells, *box)
            found = _distinct(found)
    return kept, found


def _distinct(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Triangles that lie upon one another, the same side up, made one."""
    first = np.argmin(faces, axis=1)[:, None]
    a, b, c = np.take_along_axis(faces, (first + np.arange(3)) % 3, axis=1).T
    count = faces.max(initial=0) + 1
    edge = np.unique(a * count + b, return_inverse=True)[1]
    return faces[np.sort(np.unique(edge.reshape(-1) * count + c, return_index=True)[1])]


def _stl(raw: bytes) -> Triangles:
    count = int.from_bytes(raw[80:84], "little")
    if len(raw) == 84 + 50 * count:  # binary; a header of text may begin with `solid` too
        corners = np.frombuffer(raw, _RECORD, count, 84)["floats"][:, 3:].astype(float).reshape(-1, 3)
    else:
        found = array("d")
        for vertex in _VERTEX.finditer(raw):
            require_plain(vertex[0])
            found.extend(float(word or b"") for word in vertex.groups())
            _require_small(len(found), 9)
        corners = np.array(found).reshape(-1, 3)
    return corners, np.arange(len(corners) // 3 * 3, dtype=np.int64).reshape(-1, 3)


def _obj(raw: bytes) -> Triangles:
    points, faces = array("d"), array("q")
    for line in io.BytesIO(raw.replace(b"\r", b"\n")):
        if len(line) > _LONGEST_LINE:
            raise _TooLarge("1 MiB in a line")
        kind, *words = line.split() or [b""]
        if kind in (b"v", b"f"):
            require_plain(line)
        if kind == b"v":
            x, y, z = words[:3]
            points.extend((float(x), float(y), float(z)))
            _require_small(len(points), 9)
        elif kind == b"f":
            numbers = [int(word.split(b"/")[0]) for word in words]
            at = [number - 1 if number > 0 else len(points) // 3 + number for number in numbers]
            for b, c in pairwise(at[1:]):
                faces.extend((at[0], b, c))
            _require_small(len(faces), 3)
    return np.array(points).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _require_small(count: int, each: int) -> None:
    """Check the count of numbers that were read, `each` per triangle."""
    if count > each * MOST_READ:
        raise _TooLarge(f"{MOST_READ} triangles")


def _merged(
    points: Array, faces: NDArray[np.int64], cells: int, low: Array, size: float
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Points in one of `cells` cells along the longest edge of the mesh made one, triangles without area left out."""
    grid = np.round((points - low) / size * cells).astype(np.int64)
    cell = (grid[:, 0] << 42) + (grid[:, 1] << 21) + grid[:, 2]  # of at most 2^20 in each direction
    _, first, number = np.unique(cell, return_index=True, return_inverse=True)
    kept: NDArray[np.int64] = number.reshape(-1)[faces]
    sound = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    return first, kept[sound]
