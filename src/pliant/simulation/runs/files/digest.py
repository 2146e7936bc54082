"""Digests of files of runs, so that damage is noticed: SHA-256 over attributes and arrays.

Arrays may come whole or slice by slice along their first axis; the digest is the same. Numbers count by their bits,
texts by their characters, however the format stores them.

A NetCDF file is sealed besides: a digest of all its bytes follows its end, where other programs do not see it. HDF5
itself may loop for ever in a damaged file, so that such a file has to be refused before HDF5 opens it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from pliant.base.reading import open_input
from pliant.errors import ModelError

if TYPE_CHECKING:
    import xarray as xr

NAME = "digest"
PIECE = 1 << 26
"""Bytes of an array that are read at once."""


class ContentDigest:
    """Digest of a dataset: takes arrays by name, then the attributes."""

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def add(self, name: str, values: ArrayLike) -> None:
        """Add an array, or its next slice along the first axis."""
        a = np.asarray(values)
        if a.dtype.kind in "OUS":
            raw = "".join(f"{json.dumps(str(text))}\n" for text in a.ravel()).encode()
        else:
            raw = np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")).tobytes()
        before = self._shapes.get(name)
        rows = a.shape if before is None or not a.shape else (before[0] + a.shape[0], *a.shape[1:])
        self._shapes[name] = rows
        self._hashes.setdefault(name, hashlib.sha256()).update(raw)

    def text(self, attributes: Mapping[str, object]) -> str:
        """The digest, 64 hexadecimal digits."""
        arrays = {name: [list(self._shapes[name]), found.hexdigest()] for name, found in self._hashes.items()}
        texts = {key: str(value) for key, value in attributes.items() if key != NAME}
        return hashlib.sha256(json.dumps([texts, arrays], sort_keys=True).encode()).hexdigest()


def digest(data: xr.Dataset) -> str:
    """Digest of a dataset in memory or on disk; no more than a piece of it is read at once."""
    found = ContentDigest()
    for name in data.variables:
        for values in _pieces(data.variables[name]):
            found.add(str(name), values)
    return found.text(data.attrs)


def _pieces(variable: xr.Variable) -> Iterator[ArrayLike]:
    """Values whole where they are few (xarray then keeps them), else by whole chunks of the file."""
    if variable.nbytes <= PIECE or not variable.ndim:
        yield variable.values
        return
    row = variable.nbytes // variable.shape[0]
    chunk = (variable.encoding.get("chunksizes") or variable.encoding.get("chunks") or (1,))[0]
    rows = max(chunk, PIECE // row // chunk * chunk)
    for first in range(0, variable.shape[0], rows):
        yield variable[first : first + rows].values


SEAL = b"\npliant seal sha256 "
_SEAL_BYTES = len(SEAL) + 64 + 1


def seal(path: Path) -> None:
    """Append to a file the digest of its bytes."""
    with open(path, "r+b") as file:
        file.write(SEAL + _file_digest(file, path.stat().st_size) + b"\n")


def sealed(path: Path) -> bool:
    """Return whether a file has a seal. Raise `ModelError` if the seal does not match."""
    with open_input(path) as file:
        size = path.stat().st_size - _SEAL_BYTES
        file.seek(max(0, size))
        end = file.read()
        if not end.startswith(SEAL):
            return False
        file.seek(0)
        if end != SEAL + _file_digest(file, size) + b"\n":
            raise ModelError(f"{path}: the content does not match its digest; the file is damaged, or was changed")
        return True


def _file_digest(file: BinaryIO, size: int) -> bytes:
    """Digest of the next `size` bytes of a file, which are read."""
    found = hashlib.sha256()
    while size and (piece := file.read(min(size, PIECE))):
        found.update(piece)
        size -= len(piece)
    return found.hexdigest().encode()


CSV_FORMAT = 2
_COMMENT = re.compile(rb"# pliant format (\S+) sha256 ([0-9a-f]{64})\s*")


def csv_comment(content: bytes) -> bytes:
    """First line of a table: a comment with the digest of the rest."""
    return f"# pliant format {CSV_FORMAT} sha256 {_lines_digest(content)}\n".encode()


def without_comment(raw: bytes, source: str) -> bytes:
    """A table without its comment with a digest, if it has one; raises `ModelError` if the digest does not match."""
    if not raw.startswith(b"# pliant"):
        return raw
    first, _, content = raw.partition(b"\n")
    comment = _COMMENT.fullmatch(first)
    if comment is None:
        raise ModelError(
            f"{source}: line 1: a comment of pliant without its digest; the file is damaged, or was changed"
        )
    if comment[1] != b"%d" % CSV_FORMAT:
        given = comment[1].decode("utf-8", "replace")
        raise ModelError(f"{source}: format: got {given}, expected {CSV_FORMAT}; update pliant, or the file is damaged")
    if comment[2].decode() != _lines_digest(content):
        raise ModelError(
            f"{source}: the content does not match its digest; the file is damaged, or was changed: delete line 1 if "
            "you changed it yourself"
        )
    return content


def _lines_digest(content: bytes) -> str:
    """Digest of a table; both kinds of line ends give the same."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
