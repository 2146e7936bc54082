"""Object code on disk: one checked file per kernel, in the user's cache folder or in `PLIANT_CACHE_DIR`.

LLVM trusts object code blindly, so that a file is believed only if it carries the checksum of its own content and of
the key it was asked for. Files appear whole (written aside, then renamed), hence any number of threads and processes
may share the folder. A folder that cannot be written or read costs one warning and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import warnings
from pathlib import Path

MAGIC = b"pliant object 1\n"
SUFFIX = ".pliant"

_warned = False


def location() -> Path:
    """The folder of the cache, whether it exists yet or not."""
    chosen = os.environ.get("PLIANT_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "pliant"


def entries() -> int:
    """Number of kernels in the cache."""
    return len(_files(SUFFIX))


def size() -> int:
    """Bytes that the cache takes."""
    return sum(_size(path) for path in _files(SUFFIX))


def clear() -> int:
    """Remove every kernel from disk, and say how many there were; those in memory go on."""
    removed = 0
    for path in _files(SUFFIX) + _files(".tmp"):
        with contextlib.suppress(OSError):
            path.unlink()
            removed += path.suffix == SUFFIX
    return removed


def read(key: str) -> bytes | None:
    """The object code stored under `key`, or None if there is none that can be trusted."""
    try:
        content = _path(key).read_bytes()
    except OSError:
        return None
    head, data = content[: len(MAGIC) + 32], content[len(MAGIC) + 32 :]
    return data if head == MAGIC + _checksum(key, data) else None


def write(key: str, data: bytes) -> None:
    """Store object code under `key`."""
    path = _path(key)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _checksum(key, data) + data)
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, RuntimeError) as error:
        _warn(error)


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).digest()


def _path(key: str) -> Path:
    return location() / f"{key}{SUFFIX}"


def _files(suffix: str) -> list[Path]:
    try:
        return [path for path in location().iterdir() if path.suffix == suffix]
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _warn(error: Exception) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"Compiled kernels cannot be kept in {location()} ({error}); they will be compiled anew in every process. "
            "Set PLIANT_CACHE_DIR to a folder that can be written.",
            stacklevel=2,
        )
