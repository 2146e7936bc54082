"""Opening of input files: only regular files of limited size, so that nothing waits for a pipe or a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pliant.errors import ModelError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PIECE = 1 << 20


def open_input(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading. The check is made on the open file, so that nobody can exchange it meanwhile.

    Raises
    ------
    ModelError
        The file is missing, may not be read, or is a folder, a pipe, a socket or a device.
    """
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        raise ModelError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the name, or letters that the file system does not allow
        raise ModelError(f"{os.fspath(path)!r}: cannot be read: {error}") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise ModelError(not_regular(path, mode) + ("" if stat.S_ISDIR(mode) else "; copy what it gives into one"))
    return os.fdopen(handle, "rb")


def read_input(path: str | os.PathLike[str], most: int, remedy: str = "is it the right file?") -> bytes:
    """Return the bytes of a regular file; raise `ModelError` if there are more than `most`."""
    with open_input(path) as file:
        try:
            raw = read_at_most(file.read, most + 1, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise ModelError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    if len(raw) > most:
        size = f"{most >> 30} GiB" if most >= 1 << 30 else f"{most >> 20} MiB"
        raise ModelError(f"{Path(path).name}: larger than {size}; {remedy}")
    return raw


def read_at_most(read: Callable[[int], bytes], most: int, expected: int = 0) -> bytes:
    """Return at most `most` bytes of an open file by its `read`. Memory grows with the bytes that arrive."""
    pieces = [read(min(expected, most))]
    while piece := read(min(_PIECE, most - sum(map(len, pieces)))):
        pieces.append(piece)
    return b"".join(pieces)


def require_regular(path: str | os.PathLike[str], folder: bool = False) -> None:
    """Check that a library may open a path: a regular file, or with `folder` a folder of these, without links."""
    if not folder:
        open_input(path).close()
        return
    for root, folders, names in os.walk(path):
        for name in (*folders, *names):
            entry = os.path.join(root, name)
            if os.path.islink(entry):
                raise ModelError(f"{entry}: got a link, expected a regular file; copy the file that it names")
            if name in names:
                open_input(entry).close()


def not_regular(path: str | os.PathLike[str], mode: int) -> str:
    """Error message for a path that is not a regular file."""
    kind = next((words for test, words in _KINDS if test(mode)), "something else")
    return f"{os.fspath(path)}: got {kind}, expected a regular file"


def plain_number(text: str) -> float:
    """Number of a file: no digits of other scripts and no underscores, which Python would accept."""
    require_plain(text)
    return float(text)


def whole_number(text: str) -> int:
    """Whole number of a file, with the same rules as `plain_number`."""
    require_plain(text)
    return int(text)


def require_plain(text: str | bytes) -> None:
    """Check that text which is read as numbers is ASCII and has no underscore."""
    if not text.isascii() or (b"_" in text if isinstance(text, bytes) else "_" in text):
        raise ValueError(f"{text[:40]!r} is no number")
