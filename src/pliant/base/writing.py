"""Atomic writes: a file is written beside its target first, then takes its place."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from pliant.base.reading import not_regular
from pliant.errors import ModelError, PliantError

ABANDONED = 24 * 3600.0
"""Seconds after which an unfinished file of another machine counts as abandoned."""
_PART = re.compile(r"\.([0-9a-f]{8})-(\d+)-\w+\.part")
_swept: set[Path] = set()


def unfinished(target: Path, folder: bool = False) -> Path:
    """Create a temporary file (or folder) beside `target`. Its name contains the process.

    The first call for a folder removes the files of dead processes there.
    """
    prefix = f".{target.name[:60]}.{_here()}-{os.getpid()}-"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep_up(target.parent)
        if folder:
            return Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=target.parent))
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=target.parent)
    except (OSError, ValueError) as error:  # ValueError: letters that the file system does not allow
        reason = getattr(error, "strerror", "") or error
        raise PliantError(f"{target}: could not be written: cannot write there ({reason})") from error
    os.close(handle)
    return Path(name)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; raise `ModelError` if a link leads elsewhere."""
    path = folder / name
    if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(folder)):
        raise ModelError(f"{path}: leads out of {folder} by a link; remove the link, or choose another folder")
    return path


def sweep_up(folder: Path) -> None:
    """Remove unfinished files of dead processes from a folder."""
    place = folder.resolve()
    if place in _swept:
        return
    _swept.add(place)
    for path in place.glob(".*.part"):
        owner = _PART.search(path.name)
        with suppress(OSError):
            if owner is not None and _is_dead(owner[1], int(owner[2]), path):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _is_dead(place: str, process: int, path: Path) -> bool:
    if place != _here() or os.name == "nt":  # processes that cannot be queried from here
        return time.time() - path.lstat().st_mtime > ABANDONED
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


@functools.cache
def _here() -> str:
    """Identifier of this machine, or of this container: process numbers are unique within it."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbers = ""
    return hashlib.sha256(f"{platform.node()} {numbers}".encode()).hexdigest()[:8]


class atomic_write:
    """Temporary path beside the target. It replaces the target only if writing has succeeded.

    Parameters
    ----------
    target : Path
    room : int
        Bytes that will be written, if known: a disk that is too full fails at once. HDF5 notices a full disk late and
        prints many messages.
    """

    def __init__(self, target: Path, room: int = 0) -> None:
        self.target, self.room = target, room

    def __enter__(self) -> Path:
        if self.target.exists() and not self.target.is_file() and not self.target.is_dir():
            raise PliantError(not_regular(self.target, self.target.stat().st_mode))
        self.partial = unfinished(self.target)
        with self._removed_if_it_fails():
            if self.room and hasattr(os, "posix_fallocate"):
                with open(self.partial, "r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, self.room)
        return self.partial

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._removed_if_it_fails():
            if error is not None:
                raise error
            with open(self.partial, "r+b") as written:  # Windows flushes only what is open for writing
                os.fsync(written.fileno())
            mask = os.umask(0)
            os.umask(mask)
            self.partial.chmod(0o666 & ~mask)
            os.replace(self.partial, self.target)

    @contextmanager
    def _removed_if_it_fails(self) -> Iterator[None]:
        """Remove the unfinished file after any exception, Ctrl-C during a disk write included."""
        try:
            yield
        except BaseException as error:
            self.partial.unlink(missing_ok=True)
            if isinstance(error, OSError) or "write failed" in str(error):  # the second is HDF5
                raise PliantError(f"{self.target}: could not be written ({error}); nothing was changed") from error
            raise
