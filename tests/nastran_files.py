"""Files of Nastran for tests: pyNastran reads matrices of OP2 files, and writes none."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def write_op2(path: Path, matrices: Mapping[str, np.ndarray]) -> None:
    """Square matrices in double precision as `OUTPUT2` of Nastran writes them: records of 32 bits, between markers."""
    out = [_marker(3), _block(struct.pack("<3i", 11, 18, 26)), _marker(7), _block(b"NASTRAN FORT TAPE ID CODE - "),
           _marker(2), _block(b"XXXXXXXX"), _marker(-1), _marker(0)]  # fmt: skip
    for number, (name, matrix) in enumerate(matrices.items()):
        n, label = len(matrix), f"{name:8s}".encode()
        form, double = 6, 2  # symmetric, of numbers of 64 bits
        trailer = struct.pack("<7i", 101 + number, n, n, form, double, 2 * n, 10000)
        out += [_marker(2), _block(label), _marker(-1), _marker(7), _block(trailer), _marker(-2), _marker(1),
                _marker(0), _marker(4), _block(label + struct.pack("<2i", 170, 170))]  # fmt: skip
        for j, column in enumerate(matrix.T):
            out += [_marker(-3 - j), _marker(1), _marker(1)]
            for row in np.split(np.flatnonzero(column), np.flatnonzero(np.diff(np.flatnonzero(column)) > 1) + 1):
                if len(row):  # a string: its first row, and what follows it without a gap
                    out += [_marker(2 * len(row)), _block(struct.pack("<i", row[0] + 1) + column[row].tobytes())]
        out += [_marker(-3 - n), _marker(1), _marker(0), _marker(0)]
    path.write_bytes(b"".join([*out, _marker(0)]))


def _marker(value: int) -> bytes:
    return _block(struct.pack("<i", value))


def _block(data: bytes) -> bytes:
    length = struct.pack("<i", len(data))
    return length + data + length
