"""Object code, and records of it, on disk: checked files in a folder of their own in the user's cache folder or in
`PLIANT_CACHE_DIR`.

LLVM runs object code without any check, so that a file is used only if it carries the checksum of its content and its
key. A checksum detects damage, but no attack: folder and file have to belong to the user (or root), and nobody else may
be able to write them. (Windows keeps other users out of the user's folders by itself.) Writes are atomic (a temporary
file, then renamed), hence any number of threads and processes may share the folder. A folder that cannot be trusted,
written or read costs one warning and nothing else. Files are removed only from a folder that carries the marker of this
cache, and only those with its suffixes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

from pliant.errors import ModelError, warn_user

FOLDER = "pliant-kernels"
MAGIC = b"pliant object 1\n"
SUFFIX = ".pliant"
UNFINISHED = ".pliant-unfinished"
MARKER = "CACHEDIR.TAG"
"""Marker of the cache directory tagging specification; programs for backups leave out a folder with such a file."""
_MARK = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of Pliant: `pliant cache --clear`\n"
LIMIT = 2**30
"""Bytes of all files together; beyond it the oldest are removed, until a quarter is free."""
ABANDONED = 3600.0
"""Seconds after which an unfinished file counts as left behind by its process."""
_LOOK = LIMIT // 64
"""Bytes that a process writes between two checks of the size of the folder."""

_warned = False
_unseen = int.from_bytes(os.urandom(4), "little") % _LOOK
"""Bytes written since the last check. The random start lets some of many processes that write little check; that takes
0.2 s for 20,000 files."""


def location() -> Path:
    """The folder of the cache, whether it exists yet or not."""
    chosen = os.environ.get("PLIANT_CACHE_DIR")
    if chosen:
        return _expanded("PLIANT_CACHE_DIR", chosen) / FOLDER
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # as its specification says
            base = "~/.cache"
    return _expanded("home folder", base) / FOLDER


def _expanded(name: str, path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ModelError(
            f"{name}: got {path!r}, expected the home of a user that is known here; set PLIANT_CACHE_DIR to a full path"
        ) from None


def entries() -> int:
    """Number of kernels and records in the cache."""
    return sum(path.suffix == SUFFIX for path in _files())


def size() -> int:
    """Bytes that the cache takes, unfinished files included."""
    return sum(_facts(path)[1] for path in _files())


def clear() -> int:
    """Remove the files of the cache from disk and nothing else; return the number of kernels and records."""
    removed = 0
    for path in _files():
        with contextlib.suppress(OSError):
            path.unlink()
            removed += path.suffix == SUFFIX
    return removed


def distrust() -> str | None:
    """Reason why the folder of the cache is not used; None if it is used, or does not exist yet."""
    if location().is_symlink():
        return "the folder is a link"
    try:
        return _distrust(location().stat(), "the folder")
    except OSError:
        return None


def read(key: str) -> bytes | None:
    """Content stored under `key`, or None if there is no such file that can be trusted."""
    folder = _folder()
    if folder is None:
        return None
    try:
        content = _content(_path(folder, key))
    except OSError:
        return None
    head, data = content[: len(MAGIC) + 32], content[len(MAGIC) + 32 :]
    return data if head == MAGIC + _checksum(key, data) else None


def _content(path: Path) -> bytes:
    """Content of a file that can be trusted, else nothing: no pipe, which would wait for a writer, and no link."""
    handle = os.open(path, os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY"))
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LIMIT:
            return b""
        reason = _distrust(facts, path.name)
        if reason:
            _warn(reason)
            return b""
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def write(key: str, data: bytes) -> None:
    """Store object code, or a record, under `key`."""
    folder = _folder()
    if folder is None:
        return
    try:
        _make(folder)
        handle, name = tempfile.mkstemp(dir=folder, suffix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _checksum(key, data) + data)
            os.replace(name, _path(folder, key))
        except BaseException:  # Ctrl-C among them
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        _warn(str(error))
    else:
        _keep_small(len(data))


def _make(folder: Path) -> None:
    """Create the folder and its marker, if they are not there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(folder / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flag("O_BINARY"), 0o600)
    except FileExistsError:
        return
    with open(handle, "wb") as file:
        file.write(_MARK)


def _keep_small(written: int) -> None:
    """Once in a while, remove files that dead processes left, and the oldest files if the folder is too large."""
    global _unseen
    _unseen += written
    if _unseen < _LOOK:
        return
    _unseen = 0
    found = sorted((*_facts(path), path) for path in _files())
    total, now = sum(taken for _, taken, _ in found), time.time()
    free_until = 3 * LIMIT // 4 if total > LIMIT else total
    for changed, taken, path in found:
        if total > free_until or (path.suffix == UNFINISHED and now - changed > ABANDONED):
            total -= taken
            with contextlib.suppress(OSError):  # another process was quicker
                path.unlink()


def _folder() -> Path | None:
    """The folder, if files in it may be used; a `PLIANT_CACHE_DIR` that cannot be one is an error."""
    try:
        folder = location()
    except ModelError as error:
        if os.environ.get("PLIANT_CACHE_DIR"):
            raise
        _warn(str(error))
        return None
    reason = distrust()
    if reason:
        _warn(reason)
        return None
    return folder


def _distrust(facts: os.stat_result, name: str) -> str | None:
    """Reason why a file or folder cannot be trusted, its owner or its mode; None if it can."""
    if not hasattr(os, "geteuid"):
        return None
    if facts.st_uid not in (os.geteuid(), 0):
        return f"{name} belongs to user {facts.st_uid}"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write {name}, mode {stat.S_IMODE(facts.st_mode):04o}"
    return None


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))  # each system has its own


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).digest()


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}{SUFFIX}"


def _files() -> list[Path]:
    """Files of the cache; none in a folder without its marker, or behind a link."""
    try:
        if location().is_symlink() or _content(location() / MARKER) != _MARK:
            return []
        return [path for path in location().iterdir() if path.suffix in (SUFFIX, UNFINISHED) and not path.is_dir()]
    except OSError:
        return []


def _facts(path: Path) -> tuple[float, int]:
    """Time of the last change of a file, and its size; zeros if it is gone."""
    try:
        facts = path.lstat()
    except OSError:
        return 0.0, 0
    return facts.st_mtime, facts.st_size


def _warn(reason: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warn_user(
            f"Compiled kernels cannot be kept in {_named()} ({reason}); they will be compiled anew in every process. "
            "Set PLIANT_CACHE_DIR to a folder of your own that only you can write."
        )


def _named() -> str:
    try:
        return str(location())
    except ModelError:
        return "the home folder"
