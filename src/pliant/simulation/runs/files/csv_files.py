"""Tables of measurements from CSV files: a header of names, then numbers; errors give the line number."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import os
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

from pliant.arrays import Array
from pliant.base.reading import plain_number, read_at_most, read_input
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.robot.files.error_messages import suggestion
from pliant.simulation.runs.files.digest import without_comment

MOST_BYTES = 256 << 20
"""Bytes of a table, unpacked, at most: with its numbers it takes less than 1 GiB of memory."""
MOST_NUMBERS = 1 << 25
MOST_CELLS = 100_000
"""Cells of a line, at most."""
LONGEST_LINE = 16 << 20
"""Bytes of a line, at most."""
REMEDY = "cut it, or give arrays in Python"


@checked
def read_csv(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, gaps: bool = False
) -> dict[str, Array]:
    r"""Columns of a CSV file by name.

    Parameters
    ----------
    path : path
        Comma, semicolon or tab separated, with names in the first line; also packed by gzip (`.csv.gz`), whose members
        are read one after another, zeros behind them left out. At most 256 MiB, unpacked. A table that `Result.to_csv`
        wrote has a line with its digest above them, and has to match it.
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
    content, above = _content(source)
    header, rows = _rows(content, above, source.name)
    wanted = list(header) if columns is None else list(dict.fromkeys(columns))
    place_of = {name: place for place, name in enumerate(header)}
    for name in wanted:
        if name not in place_of:
            raise ModelError(f"{source.name}: no column `{name}`{suggestion(name, header)}")
    named = [(name, place_of[name]) for name in wanted]
    numbers, read = array("d"), 0
    _check_numbers(content.count(b"\n") * len(wanted), source.name)
    for line, cells in rows:
        read += 1
        if len(cells) != len(header):
            raise ModelError(f"{source.name}: line {line} has {len(cells)} cells, the header has {len(header)}")
        numbers.extend([_number(cells[place], source.name, line, name, gaps) for name, place in named])
        _check_numbers(len(numbers), source.name)
    if not read:
        raise ModelError(f"{source.name}: no rows below the header")
    del content, rows  # which are as large as the numbers
    table = np.frombuffer(numbers).reshape(read, len(wanted))
    return {name: np.array(table[:, j]) for j, name in enumerate(wanted)}


def _check_numbers(count: int, name: str) -> None:
    if count > MOST_NUMBERS:
        raise ModelError(f"{name}: more than {MOST_NUMBERS} numbers; name the columns you need, or cut it")


def _content(source: Path) -> tuple[bytes, int]:
    """Bytes of a table, unpacked and without its comment, and the number of lines of the comment."""
    raw = read_input(source, MOST_BYTES, REMEDY)
    if source.suffix.lower() == ".gz":
        raw = _unpacked(raw, source.name)
    if b"\0" in raw:
        raise ModelError(f"{source.name}: not a CSV file in UTF-8 (it has bytes of zero); damaged, or another format")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    content = without_comment(raw, source.name)
    return content, raw[: len(raw) - len(content)].count(b"\n")


def _rows(content: bytes, above: int, file: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Names of the columns, and an iterator over the lines below them, each with its line number."""
    lines = _lines(content, above, file)
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    _check_cells(first.count(separator), file, above + 1)
    try:
        header = [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]
    except csv.Error as error:
        raise ModelError(f"{file}: not a CSV file in UTF-8 ({error})") from None
    if not header or all(_is_number(cell) for cell in header):
        raise ModelError(f"{file}: the first line must name the columns, such as time,upper,tip.x")
    if "" in header:
        raise ModelError(f"{file}: column {header.index('') + 1} has no name; name it, or remove it")
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise ModelError(f"{file}: column `{name}` is there twice")
    return header, _records(lines, separator, above, file)


def _records(lines: Iterator[str], separator: str, above: int, file: str) -> Iterator[tuple[int, list[str]]]:
    waiting = 0  # cells of lines that belong to one record, in which quotes may hold line ends

    def counted() -> Iterator[str]:
        nonlocal waiting
        for line in lines:
            for part in io.StringIO(line, newline="") if "\r" in line else (line,):
                waiting += part.count(separator) + 1
                _check_cells(waiting, file, reader.line_num + 2 + above)
                yield part

    reader = csv.reader(counted(), delimiter=separator)
    try:
        for cells in reader:
            waiting = 0
            if any(cell.strip() for cell in cells):
                yield reader.line_num + 1 + above, cells
    except csv.Error as error:
        raise ModelError(f"{file}: not a CSV file in UTF-8 ({error})") from None


def _check_cells(count: int, file: str, line: int) -> None:
    if count > MOST_CELLS:
        raise ModelError(f"{file}: line {line} has more than {MOST_CELLS} cells; is it a table of measurements?")


def _lines(content: bytes, above: int, file: str) -> Iterator[str]:
    """Lines as text, one at a time: one letter beyond ASCII would make the whole text four times as large."""
    source = io.BytesIO(content)
    for number in count(above + 1):
        if not (line := source.readline(LONGEST_LINE + 1)):
            return
        if len(line) > LONGEST_LINE:
            raise ModelError(f"{file}: line {number} is longer than {LONGEST_LINE >> 20} MiB; is it a table?")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"{file}: not a CSV file in UTF-8 (line {number}: {error})") from None


def _unpacked(raw: bytes, name: str) -> bytes:
    """Contents of all members of a gzip file, up to the size that is read; zeros after the last member are padding."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            found = read_at_most(file.read, MOST_BYTES + 1)
    except EOFError:
        raise ModelError(f"{name}: cut short, the end of the gzip file is missing; copy it again") from None
    except (OSError, zlib.error) as error:
        raise ModelError(f"{name}: not a gzip file from its first byte to its last ({error})") from None
    if len(found) > MOST_BYTES:
        raise ModelError(f"{name}: more than {MOST_BYTES >> 20} MiB inside; {REMEDY}")
    return found


def _number(cell: str, file: str, line: int, column: str, gaps: bool) -> float:
    text = cell.strip()
    if not text and gaps:
        return math.nan
    try:
        value = plain_number(text)
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
        plain_number(text)
    except ValueError:
        return False
    return True
