"""Files written whole or not at all: beside the target first, then in its place."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from pliant.errors import PliantError
from pliant.reading import not_regular


def unwritable(target: Path, error: Exception) -> PliantError:
    """The error for a place where nothing can be written, or a name that the system cannot have."""
    return PliantError(
        f"{target}: could not be written: cannot write there ({getattr(error, 'strerror', '') or error})"
    )


class atomic_write:
    """A temporary path beside the target that takes its place when, and only when, writing it has succeeded.

    Parameters
    ----------
    target : Path
    room : int
        Bytes that will be written, where that is known: a disk without them refuses at once. (HDF5 meets a full disk
        late, and is not quiet about it.)
    """

    def __init__(self, target: Path, room: int = 0) -> None:
        self.target, self.room = target, room

    def __enter__(self) -> Path:
        if self.target.exists() and not self.target.is_file() and not self.target.is_dir():
            raise PliantError(not_regular(self.target, self.target.stat().st_mode))
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self.target.name}.", suffix=".part", dir=self.target.parent)
        except (OSError, ValueError) as error:  # ValueError: letters that the system's file names have not
            raise unwritable(self.target, error) from error
        self.partial = Path(name)
        try:
            if self.room and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, self.room)
        except OSError as error:
            self._give_up(error)
        finally:
            os.close(handle)
        return self.partial

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._put_in_place()
        elif isinstance(error, OSError) or "write failed" in str(error):  # the second is HDF5
            self._give_up(error)
        else:
            self.partial.unlink(missing_ok=True)

    def _put_in_place(self) -> None:
        try:
            with open(self.partial, "r+b") as written:  # Windows flushes only what is open for writing
                os.fsync(written.fileno())
            mask = os.umask(0)
            os.umask(mask)
            self.partial.chmod(0o666 & ~mask)
            os.replace(self.partial, self.target)
        except OSError as error:  # a folder of this name, a disk that fills at the last moment
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.partial.unlink(missing_ok=True)
        raise PliantError(f"{self.target}: could not be written ({error}); nothing was changed") from error
