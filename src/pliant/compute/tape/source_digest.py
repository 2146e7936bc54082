"""The version of the code, exactly: a digest of Pliant's source and of the libraries whose numbers enter a trace.

Records of a trace are valid only under the digest that they were made under, so that a changed line anywhere is
noticed. Reading all files at every start would take longer than most starts: sizes, times and inodes of files tell
whether they have changed since they were read last, as in the index of Git.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from pliant.base.started import STARTED
from pliant.compute.llvm import cache

LIBRARIES = ("numpy", "scipy", "casadi", "pydantic")
ROOT = Path(__file__).parents[2]
COARSE = 100_000_000
"""Nanoseconds by which the times of files may lag behind the clock."""


@functools.cache
def code_stamp() -> str | None:
    """Digest of the code of this process; None if it is unknown, because the source is not in files or was changed
    after the process had begun to import it."""
    try:
        files = sorted(_files(ROOT))
        seen = [(name, *_facts(facts)) for name, facts in files]
        libraries = [_library(name) for name in LIBRARIES]
    except OSError:
        return None
    if any(max(facts.st_mtime_ns, facts.st_ctime_ns) > STARTED - COARSE for _, facts in files):
        return None
    key = hashlib.sha256(repr(("source", str(ROOT), seen)).encode()).hexdigest()
    known = cache.read(key)
    if known is None:
        known = source_digest([name for name, _ in files]).encode()
        cache.write(key, known)
    return hashlib.sha256(repr((known, libraries)).encode()).hexdigest()


def source_digest(names: list[str], root: Path = ROOT) -> str:
    """Digest of the content of files."""
    found = hashlib.sha256()
    for name in names:
        content = (root / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _files(folder: Path, inside: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Python files below a folder, with their paths relative to it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.name.endswith(".py"):
                yield name, entry.stat()
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(Path(entry.path), f"{name}/")


def _facts(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _library(name: str) -> tuple[object, ...]:
    """Name, place and file facts of an installed library, without importing it."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return (name,)
    return name, found.origin, *_facts(os.stat(found.origin))
