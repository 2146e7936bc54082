"""Seeded damage to files of any kind: bits, cuts, lost and doubled blocks, sizes, includes and paths.

Archives are damaged outside, and inside behind their checksums: unpacked, one part damaged, packed again.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pliant.robot.files.yaml import read_yaml

from .damage import NUMBERS, TAGS, WORDS, damaged_tree, torn

Damage = Callable[[random.Random, bytes], bytes]

COUNTS = [-1, 0, 1, 2**15, 2**31 - 1, 2**31, 10**9, -(2**31), 2**62, -(2**63)]
"""Sizes that a header may declare."""
TEXT_COUNTS = [*map(str, COUNTS), "1" + "0" * 400, "1e9", "-0", "0x7fffffff", "nan", "1e400", "", "7.5", "1_0", "٣"]
PATHS = [
    "/etc/passwd", "../secret.txt", "pipe", "/dev/zero", ".", "", "..", "file:///etc/passwd", "x" * 5000, "a\0b",
    "package://x/../../secret.txt", "..%2fsecret.txt", "~nobody/x", "http://localhost:9/x", "//host/share/x",
    "inside", "link/secret.txt", "nowhere/x.npz", "C:\\x", "\ud800", "☃.stl",
]  # fmt: skip
"""Other files: outside the folder, above it, a pipe in it, a device, a folder, names that no file can have."""
INCLUDES = [
    "*INCLUDE, INPUT=../secret.txt\n", "*INCLUDE, INPUT=pipe\n", "*INCLUDE,INPUT=/dev/zero\n", "INCLUDE 'pipe'\n",
    "INCLUDE '../secret.txt'\n", "mtllib /dev/zero\nmtllib pipe\n", '<!ENTITY x SYSTEM "file:///etc/passwd">\n',
    '<xi:include href="pipe"/>\n', '<DataItem Format="HDF" Dimensions="2 2">../secret.txt:/x</DataItem>\n',
    '<Piece Source="../secret.txt"/>\n', "Merge '../secret.txt';\n", "!include ../secret.txt\n", "$Include pipe\n",
]  # fmt: skip
"""Lines by which one format or another has another file read in."""
_NAME = re.compile(rb"[\w/.%:-]*\.(?:stl|obj|csv|gz|npz|yaml|nc|urdf|inp|bdf|op4|h5|dof|sti|mas)\b")
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?![\w.])")


def _is_text(raw: bytes) -> bool:
    return b"\0" not in raw and sum(byte < 9 or byte > 126 for byte in raw[:2000]) <= len(raw[:2000]) // 10


def bits(rng: random.Random, raw: bytes) -> bytes:
    """One to fifty bits, anywhere or in the head."""
    found = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 5, 50]) if raw else 0):
        end = len(found) if rng.random() < 0.7 else min(len(found), 200)
        found[rng.randrange(end)] ^= 1 << rng.randrange(8)
    return bytes(found)


def cut(rng: random.Random, raw: bytes) -> bytes:
    """The end is missing, or the beginning, or nearly everything."""
    place = rng.randrange(len(raw) + 1)
    return rng.choice([raw[:place], raw[:place], raw[place:], raw[: min(place, 60)], b""])


def _block(rng: random.Random, raw: bytes) -> tuple[int, int]:
    start, size = rng.randrange(len(raw) + 1), rng.choice([1, 8, 64, 512, 4096])
    if _is_text(raw) and rng.random() < 0.5:  # whole lines
        start = raw.rfind(b"\n", 0, start) + 1
        size = raw.find(b"\n", min(len(raw), start + size)) + 1 - start
    return start, min(len(raw), start + max(size, 1))


def lost(rng: random.Random, raw: bytes) -> bytes:
    """A block is zeros, another's content, or is not there."""
    a, b = _block(rng, raw)
    c, d = _block(rng, raw)
    return raw[:a] + rng.choice([b"", bytes(b - a), rng.randbytes(b - a), raw[c:d]]) + raw[b:]


def doubled(rng: random.Random, raw: bytes) -> bytes:
    """A block stands twice, many times, or the whole file does."""
    a, b = _block(rng, raw)
    return raw + raw if rng.random() < 0.1 else raw[:b] + raw[a:b] * rng.choice([1, 1, 1, 2, 30]) + raw[b:]


def sizes(rng: random.Random, raw: bytes) -> bytes:
    """A number that may be a count is another: absurd, negative, or no count."""
    if _is_text(raw):
        found = list(_NUMBER.finditer(raw))
        if not found:
            return raw + rng.choice(TEXT_COUNTS).encode()
        chosen = rng.choice(found if rng.random() < 0.5 else found[:20])
        return raw[: chosen.start()] + rng.choice(TEXT_COUNTS).encode() + raw[chosen.end() :]
    form = rng.choice(["<i", ">i", "<q", ">q", "<H"])
    width = struct.calcsize(form)
    value = rng.choice(COUNTS) & (1 << 8 * width) - 1
    end = max(1, len(raw) - width)
    place = rng.randrange(min(end, 200)) if rng.random() < 0.5 else rng.randrange(end)
    return raw[:place] + value.to_bytes(width, "big" if form[0] == ">" else "little") + raw[place + width :]


def includes(rng: random.Random, raw: bytes) -> bytes:
    """A line that has another file read in."""
    place = raw.rfind(b"\n", 0, rng.randrange(len(raw) + 1)) + 1
    return raw[:place] + rng.choice(INCLUDES).encode() + raw[place:]


def paths(rng: random.Random, raw: bytes) -> bytes:
    """A name of a file is that of another one."""
    found = list(_NAME.finditer(raw))
    name = rng.choice(PATHS).encode("utf-8", "surrogatepass")
    if not found:
        place = rng.randrange(len(raw) + 1)
        return raw[:place] + name + raw[place:]
    chosen = rng.choice(found)
    return raw[: chosen.start()] + name + raw[chosen.end() :]


def values(rng: random.Random, raw: bytes) -> bytes:
    """Another value in a mapping or list (JSON, lines of JSON, YAML), or a word in text."""
    try:
        if raw[:1] == b"{" and raw.count(b"\n") > 1:
            lines = raw.splitlines(keepends=True)
            k = rng.randrange(len(lines))
            lines[k] = json.dumps(damaged_tree(rng, json.loads(lines[k]))).encode() + b"\n"
            return b"".join(lines)
        tree = json.loads(raw) if raw[:1] in b"{[" else read_yaml(raw.decode())[0] if len(raw) < 20_000 else None
        if isinstance(tree, dict | list):
            return json.dumps(damaged_tree(rng, tree)).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # an integer that Python does not print among them
        pass
    if not _is_text(raw):
        return torn(rng, raw)
    words = list(re.finditer(rb"[^\s,;\"'<>=]+", raw)) or [re.match(rb"", raw)]
    chosen = rng.choice(words)
    assert chosen is not None
    numbers = [repr(x) for x in NUMBERS if abs(x) != 10**400]
    word = rng.choice([*numbers, *WORDS, *TAGS]).encode("utf-8", "surrogatepass")
    return raw[: chosen.start()] + word + raw[chosen.end() :]


DAMAGE: dict[str, Damage] = {
    f.__name__: f for f in (bits, cut, lost, doubled, sizes, includes, paths, values)
}  # fmt: skip


# ------------------------------------------------------------------------------------------------- in archives


def _packed_array(array: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.lib.format.write_array(packed, array, allow_pickle=True)
    return packed.getvalue()


def _other_array(rng: random.Random, raw: bytes) -> bytes:
    """Another array in place of one: of another shape, kind or size, or with other numbers in it."""
    try:
        array = np.lib.format.read_array(io.BytesIO(raw), allow_pickle=False)
    except ValueError:
        return torn(rng, raw)
    kind = rng.randrange(12)
    if kind < 4 and array.size and array.dtype.kind in "if":
        array = array.copy()
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = (
                rng.choice([0, -1, 7, 10**9]) if array.dtype.kind == "i"
                else rng.choice([np.nan, np.inf, -1.0, 0.0, 1e300, -1e-300, 1e-9, -array.flat[0], 2.0])
            )  # fmt: skip
        return _packed_array(array)
    if kind == 4 and array.dtype.kind in "if":
        return _packed_array(array * rng.choice([-1, 0, 2, 1000]))
    if kind == 5:
        head = raw.index(b"(", 60) if b"(" in raw[60:] else 10
        shape = rng.choice(["(1000000000,)", "(-1,)", "(99999, 99999, 99999)", "()", "(0,)", "(2, 3", "(1e3,)"])
        return raw[:head] + shape.encode() + raw[head + len(shape) :]
    made = [
        lambda: array[..., :-1] if array.ndim else array, lambda: array.ravel(), lambda: array.T, lambda: array[None],
        lambda: np.array("text"), lambda: np.array(3.5), lambda: np.zeros((0, 3)), lambda: np.zeros((2, 2, 2)),
        lambda: array.astype("U"), lambda: array.astype(complex) if array.dtype.kind in "if" else array,
        lambda: np.zeros(2, dtype=[("a", float)]), lambda: np.array([{"a": 1}], dtype=object), lambda: array[:0] * 1,
        lambda: np.repeat(array.reshape(-1), 2), lambda: np.array(["a", "b"]), lambda: np.array([True, False]),
        lambda: np.array("2001-01-01", dtype="datetime64[s]"), lambda: np.zeros(5, dtype="S3"),
    ]  # fmt: skip
    try:
        return _packed_array(rng.choice(made)())
    except (IndexError, TypeError, ValueError):
        return _packed_array(np.array(1.0))


def in_zip(rng: random.Random, raw: bytes) -> bytes:
    """One entry of an archive damaged, lost, renamed, exchanged, or there twice; checksums are right."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    k = rng.randrange(len(entries))
    name, content = entries[k]
    kind = rng.randrange(10)
    if kind < 6:
        entries[k] = name, _other_array(rng, content)
    elif kind == 6:
        entries[k] = name, rng.choice([*DAMAGE.values()])(rng, content)
    elif kind == 7:
        del entries[k]
    elif kind == 8:
        entries[k] = rng.choice(["x.npy", "../x.npy", "", "set_x.npy", f"{name}x", "/etc/x.npy", "a/b"]), content
    else:
        entries.insert(rng.randrange(len(entries)), (rng.choice([name, "more.npy"]), rng.choice(entries)[1]))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def in_gzip(rng: random.Random, raw: bytes) -> bytes:
    """The content damaged, in one member or several; or junk behind the end."""
    content = damaged(rng, gzip.decompress(raw), "table.csv")
    place = rng.randrange(len(content) + 1)
    members = rng.choice([[content], [content[:place], content[place:]], [content, b""], [b"", content]])
    return b"".join(gzip.compress(part, 1, mtime=0) for part in members) + rng.choice([b"", b"", b"\0" * 9, b"junk"])


def damaged(rng: random.Random, raw: bytes, name: str, inside: bool = True) -> bytes:
    """A file with one damage, drawn; `inside` also behind the checksums of an archive."""
    if inside and rng.random() < 0.7:
        if name.endswith(".npz"):
            return in_zip(rng, raw)
        if name.endswith(".gz"):
            return in_gzip(rng, raw)
    return DAMAGE[rng.choice(list(DAMAGE))](rng, raw)


def hostile_surroundings(folder: Path) -> None:
    """What paths may lead to: a file above the folder, and in it a pipe, where the system has such, and a folder."""
    import os

    folder.parent.joinpath("secret.txt").write_text("1.0 2.0 3.0\n", encoding="utf-8")
    folder.joinpath("inside").mkdir(exist_ok=True)
    if hasattr(os, "mkfifo") and not folder.joinpath("pipe").exists():
        os.mkfifo(folder / "pipe")
