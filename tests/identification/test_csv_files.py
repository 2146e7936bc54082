"""Tables of measurements: packed by gzip in several members, of many columns, with cells that are no numbers."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.simulation.runs.files.csv_files import read_csv

TABLE = "time,upper\n0.0,0.5\n0.01,0.6\n"


def test_all_members_of_a_gzip_file_are_read(tmp_path) -> None:
    """A log that is packed hour by hour is one table; zeros that fill up a block stand behind it. Case is no matter."""
    path = tmp_path / "log.csv.GZ"
    parts = gzip.compress(TABLE.encode()), gzip.compress(b"0.02,0.7\n"), gzip.compress(b""), gzip.compress(b"0.03,0.8")
    path.write_bytes(b"".join(parts) + bytes(512))
    assert read_csv(path)["upper"].tolist() == [0.5, 0.6, 0.7, 0.8]
    path.write_bytes(parts[0] * 2)
    with pytest.raises(ModelError, match=r"log\.csv\.GZ: line 4, column `time`: got 'time', expected a number"):
        read_csv(path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda raw: raw + b"junk", "not a gzip file from its first byte to its last"),
        (lambda raw: raw + gzip.compress(b"0.02,0.7\n")[:-3], "cut short"),
        (lambda raw: raw + bytes(3) + b"\x1f", "not a gzip file from its first byte to its last"),
        (lambda raw: raw[:-8] + bytes(4) + raw[-4:], "not a gzip file from its first byte to its last"),
        (lambda raw: b"", "no header|the first line must name"),
    ],
)
def test_damaged_gzip_files_are_refused(tmp_path, damage, words) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(damage(gzip.compress(TABLE.encode())))
    with pytest.raises(ModelError, match=words):
        read_csv(path)


@pytest.mark.parametrize("cell", ["1_000", "\uff11\uff12", "\u0661", "1,5", "0x10", "1 2", "١e3"])
def test_cells_that_are_no_numbers(tmp_path, cell) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"time;upper\n0.0;{cell}\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"line 2, column `upper`: got .*, expected a number"):
        read_csv(path)


@pytest.mark.parametrize(("header", "place"), [("time,,upper", 2), (" ,time,upper", 1), ("time,upper,", 3)])
def test_columns_have_names(tmp_path, header, place) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n0,1,2\n")
    with pytest.raises(ModelError, match=f"column {place} has no name; name it, or remove it"):
        read_csv(path)


def test_a_table_of_many_columns_takes_time_in_proportion(tmp_path) -> None:
    """A name is compared a few times, not once for every other name."""
    compared = []

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            compared.append(1)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [f"channel{k}" for k in range(3000)]
    path = tmp_path / "log.csv"
    path.write_text(",".join(names) + "\n" + ",".join(map(str, range(3000))) + "\n")
    found = read_csv(path, [Name(name) for name in names])
    assert np.array_equal([found[name][0] for name in names], range(3000))
    assert len(compared) < 10 * len(names)


def _bomb(path: Path, piece: bytes, times: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(b"time,upper\n"), *(packer.compress(piece) for _ in range(times)), packer.flush()]
    path.write_bytes(b"".join(parts))


BOMBS: dict[str, tuple[bytes, int, str]] = {
    "zeros": (bytes(1 << 16), 100, r"more than 4 MiB inside; cut it"),
    "rows": (b"1,2\n" * 10_000, 110, r"more than 4 MiB inside; cut it"),
    "fewer rows": (b"1,2\n" * 10_000, 50, r"more than 100000 numbers; name the columns you need"),
    "old line ends": (b"1,2\r" * 10_000 + b"\n", 20, r"more than 100000 numbers; name the columns you need"),
    "a wide line": (b"," * 1000, 2, r"line 2 has more than 1000 cells"),
    "a long line": (b"1" * 1000, 500, r"line 2 is longer than 0 MiB"),
    "a record of many lines": (b'"a\n","b\n",', 2000, r"line \d+ has more than 1000 cells"),
    "letters": ("\N{GRINNING FACE}".encode() * 1000, 80, r"line 2 is longer than 0 MiB"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BOMBS)
def test_small_files_with_much_inside(tmp_path, monkeypatch, kind) -> None:
    """Memory stays below eight times what may be read, whatever is unpacked; here with bounds of a hundredth."""
    for name, most in (("MOST_BYTES", 4 << 20), ("MOST_NUMBERS", 100_000), ("MOST_CELLS", 1000),
                       ("LONGEST_LINE", 1 << 18)):  # fmt: skip
        monkeypatch.setattr(f"pliant.simulation.runs.files.csv_files.{name}", most)
    piece, times, words = BOMBS[kind]
    _bomb(tmp_path / "bomb.csv.gz", piece, times)
    assert (tmp_path / "bomb.csv.gz").stat().st_size < 50_000
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=rf"\Abomb\.csv\.gz: {words}[^\n]*\Z"):
            read_csv(tmp_path / "bomb.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


def test_lines_in_quotes_and_of_other_systems(tmp_path) -> None:
    """Line ends of three systems in one table, one inside quotes, empty lines; faults name the line of the file."""
    path = tmp_path / "log.csv"
    path.write_bytes(b'time,note,upper\r\n0,"a, b\nc",1\r1,x,2\n\n\r\n2,,3')
    assert read_csv(path, ["upper", "time"])["upper"].tolist() == [1, 2, 3]
    path.write_bytes(b'time,note,upper\r\n0,"a, b\nc",1\n1,x,2_0\n')
    with pytest.raises(ModelError, match="line 4, column `upper`: got '2_0', expected a number"):
        read_csv(path, ["upper"])
    path.write_bytes(b"time,upper\n0,1\n1,\xff\n")
    with pytest.raises(ModelError, match=r"not a CSV file in UTF-8 .line 3: "):
        read_csv(path)


def test_a_block_of_zeros_is_no_name_of_a_column(tmp_path) -> None:
    """As a disk leaves it at the beginning of a file."""
    (tmp_path / "log.csv").write_bytes(bytes(91) + b"time,upper\n0.0,0.1\n0.1,0.2\n")
    with pytest.raises(ModelError, match="bytes of zero"):
        read_csv(tmp_path / "log.csv")
