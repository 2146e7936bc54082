"""Where an export goes: nothing is overwritten without `force`, and nothing half-written is ever left."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pliant.errors import ModelError, PliantError
from pliant.writing import atomic_write, unfinished


def require_free(target: Path, force: bool) -> None:
    """Raises where something stands already, unless `force`; a link or a device is never replaced."""
    if not (target.exists() or target.is_symlink()):
        return
    if not force:
        raise ModelError(f"{target}: exists already; choose another place, or pass force=True (--force) to replace it")
    if target.is_symlink() or not (target.is_dir() or target.is_file()):
        raise ModelError(f"{target}: is neither a file nor a folder of its own; choose another place")


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Files of a folder by name."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@contextmanager
def placed(target: Path, force: bool) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its place when the block ends well, and vanishes when not."""
    require_free(target, force)
    work = unfinished(target, folder=True)
    try:
        work.chmod(0o755)
        yield work
        _swap(work, target, force)
    except OSError as error:
        raise PliantError(f"{target}: could not be written ({error}); nothing was changed") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def placed_file(target: Path, force: bool) -> Iterator[Path]:
    """The same for a single file: write to the path given, it becomes `target`."""
    with tempfile.TemporaryDirectory() as folder:
        require_free(target, force)
        inner = Path(folder) / f"written{target.suffix}"
        yield inner
        require_free(target, force)
        if target.is_dir():
            raise ModelError(f"{target}: is a folder, expected a file name; choose another place")
        with atomic_write(target) as part:
            shutil.copyfile(inner, part)


def _swap(work: Path, target: Path, force: bool) -> None:
    """Put `work` where `target` was; the old one is gone only when the new one stands."""
    require_free(target, force)
    if not target.exists():
        os.rename(work, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent)) / target.name
    os.rename(target, old)
    try:
        os.rename(work, target)
    except OSError:
        os.rename(old, target)
        raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)
