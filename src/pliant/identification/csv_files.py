"""Tables of measurements from CSV files: a header of names, then numbers; every fault is told with its line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.reading import read_at_most, read_input
from pliant.robot.faults import suggestion
from pliant.runs.digest import without_comment
from pliant.signatures import checked

MOST_BYTES = 1 << 30


@checked
def read_csv(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, gaps: bool = False
) -> dict[str, Array]:
    r"""Columns of a CSV file by name.

    Parameters
    ----------
    path : path
        Comma, semicolon or tab separated, with names in the first line; also packed by gzip (`.csv.gz`), whose members
        are read one after another. A table that `Result.to_csv` wrote has a line with its digest above them, and has
        to match it.
    columns : iterable of str, optional
        Those wanted; all by default.
    gaps : bool
        Let empty cells and `nan` be NaN (a slow sensor in the table of a fast one) instead of a fault.

    Returns
    -------
    dict of (N,) array
        By the names in the first line.

    Raises
    ------
    ModelError
        With the file and the line: no file, no header, a column without a name, a missing column, a cell that is no
        number, a short line.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("log.csv").write_text("time,upper\n0.0,0.1\n0.01,0.2") > 0
    True
    >>> print(pliant.identification.read_csv("log.csv")["upper"])
    [0.1 0.2]
    """
    source = Path(path)
    header, rows = _rows(source)
    wanted = list(header) if columns is None else list(dict.fromkeys(columns))
    place_of = {name: place for place, name in enumerate(header)}
    for name in wanted:
        if name not in place_of:
            raise ModelError(f"{source.name}: no column `{name}`{suggestion(name, header)}")
    places = [place_of[name] for name in wanted]
    table = np.empty((len(rows), len(wanted)))
    for k, (line, cells) in enumerate(rows):
        if len(cells) != len(header):
            raise ModelError(f"{source.name}: line {line} has {len(cells)} cells, the header has {len(header)}")
        for j, place in enumerate(places):
            table[k, j] = _number(cells[place], source.name, line, wanted[j], gaps)
    return {name: np.ascontiguousarray(table[:, j]) for j, name in enumerate(wanted)}


def _rows(source: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    raw = read_input(source, MOST_BYTES, "cut it, or give arrays in Python")
    if source.suffix == ".gz":
        raw = _unpacked(raw, source.name)
    if b"\0" in raw:
        raise ModelError(f"{source.name}: not a CSV file in UTF-8 (it has bytes of zero); damaged, or another format")
    try:
        text = without_comment(raw.removeprefix(codecs.BOM_UTF8), source.name).decode()
        above = raw.count(b"\n") - text.count("\n")  # lines of a comment
        first, _, rest = text.partition("\n")
        separator = max(",;\t", key=first.count)
        header = [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]
        reader = csv.reader(io.StringIO(rest, newline=""), delimiter=separator)
        rows = [(reader.line_num + 1 + above, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ModelError(f"{source.name}: not a CSV file in UTF-8 ({error})") from None
    if not header or all(_is_number(cell) for cell in header):
        raise ModelError(f"{source.name}: the first line must name the columns, such as time,upper,tip.x")
    if "" in header:
        raise ModelError(f"{source.name}: column {header.index('') + 1} has no name; name it, or remove it")
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise ModelError(f"{source.name}: column `{name}` is there twice")
    if not rows:
        raise ModelError(f"{source.name}: no rows below the header")
    return header, rows


def _unpacked(raw: bytes, name: str) -> bytes:
    """Contents of all members of a gzip file, up to the size that is read."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            found = read_at_most(file.read, MOST_BYTES + 1)
    except EOFError:
        raise ModelError(f"{name}: cut short, the end of the gzip file is missing; copy it again") from None
    except (OSError, zlib.error) as error:
        raise ModelError(f"{name}: not a gzip file from its first byte to its last ({error})") from None
    if len(found) > MOST_BYTES:
        raise ModelError(f"{name}: more than {MOST_BYTES >> 20} MB inside; cut it, or give arrays in Python")
    return found


def _number(cell: str, file: str, line: int, column: str, gaps: bool) -> float:
    text = cell.strip()
    if not text and gaps:
        return math.nan
    try:
        value = _value(text)
    except ValueError:
        raise ModelError(f"{file}: line {line}, column `{column}`: got {cell!r}, expected a number") from None
    if math.isinf(value) or (math.isnan(value) and not gaps):
        raise ModelError(
            f"{file}: line {line}, column `{column}`: got {cell.strip()}, expected a finite number; remove the row, or "
            "allow gaps"
        )
    return value


def _is_number(text: str) -> bool:
    try:
        _value(text)
    except ValueError:
        return False
    return True


def _value(text: str) -> float:
    """Number as tables write it: without the digits of other scripts and the underscores that Python takes."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return float(text)
