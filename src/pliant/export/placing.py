"""Target of an export: nothing is overwritten without `force`, and a new folder appears whole or not at all.

A folder that an export wrote carries a manifest of its files. With `force` these files are replaced or removed; all
others in the folder stay.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pliant.errors import ModelError, PliantError
from pliant.reading import read_input
from pliant.writing import atomic_write, unfinished

MANIFEST = "pliant-export.json"
"""File of an exported folder that lists the files of the export."""


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
    """A temporary folder beside `target` whose files go there when the block ends well, and vanish when not."""
    require_free(target, force)
    work = unfinished(target, folder=True)
    try:
        if target.exists():
            _listed(target)
        work.chmod(0o755)
        yield work
        _list(work, _names(work))
        require_free(target, force)
        if target.exists():
            _replace(work, target)
        else:
            os.rename(work, target)
    except OSError as error:
        raise PliantError(f"{target}: could not be written ({error})") from error
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


def _replace(work: Path, target: Path) -> None:
    """Put the files of `work` in the place of those that an export wrote to `target`; all others stay."""
    new, old = _names(work) - {MANIFEST}, _listed(target)
    for name in sorted(new):
        path = target / name
        folders = [folder for folder in path.parents if folder != target and target in folder.parents]
        if name not in old and (path.exists() or path.is_symlink()):
            raise ModelError(f"{path}: was not written by an export and stays; move it, or choose another place")
        if path.is_dir() or any(folder.is_symlink() or (folder.exists() and not folder.is_dir()) for folder in folders):
            raise ModelError(f"{path}: a file of the export cannot stand there; choose another place")
    _list(target, new | old)  # so that an export that is interrupted from here on can be repeated
    for name in sorted(new):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(work / name, target / name)
    for name in sorted(old - new):
        (target / name).unlink(missing_ok=True)
        with suppress(OSError):  # it holds something else
            (target / name).parent.rmdir()
    _list(target, new)


def _names(folder: Path) -> set[str]:
    """Files of a folder and below, as paths in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _list(folder: Path, names: set[str]) -> None:
    """Write the manifest."""
    with atomic_write(folder / MANIFEST) as part:
        part.write_text(json.dumps({"format": 1, "files": sorted(names)}, indent=1) + "\n", encoding="utf-8")


def _listed(target: Path) -> set[str]:
    """Files that an export wrote to a folder, by its manifest; none in an empty folder."""
    if not target.is_dir():
        raise ModelError(f"{target}: is a file, expected a folder of an export; choose another place")
    if not any(target.iterdir()):
        return set()
    remedy = "choose another place, or remove it"
    if not (target / MANIFEST).exists():
        raise ModelError(f"{target}: is a folder that no export wrote (it has no {MANIFEST}); {remedy}")
    try:
        names = json.loads(read_input(target / MANIFEST, 1 << 20))["files"]
        paths = [Path(name) for name in names]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelError(f"{target / MANIFEST}: is not the list of an export; {remedy}") from None
    if any(path.is_absolute() or ".." in path.parts or not path.parts for path in paths):
        raise ModelError(f"{target / MANIFEST}: names files outside its folder; {remedy}")
    return {path.as_posix() for path in paths}
