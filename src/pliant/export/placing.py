"""Target of an export: nothing is overwritten without `force`, and a new folder appears whole or not at all.

A folder that an export wrote carries a manifest of its files. With `force` these files are replaced or removed; all
others in the folder stay. A manifest may come from a stranger: its list is checked before a file is placed, and no link
is followed. The content of a single file shows that an export wrote it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pliant.base.reading import open_input, read_input
from pliant.base.writing import atomic_write, unfinished
from pliant.errors import ModelError, PliantError

MANIFEST = "pliant-export.json"
"""File of an exported folder that lists the files of the export."""
_MOST_NAME, _MOST_PATH = 255, 4096
"""Most bytes of a name and of a path that systems accept."""
_TEXT_MARK = re.compile(rb"<!--[^<>]*, written by pliant ")
_UNIT_MARK = re.compile(rb'generationTool="pliant ')
_HEAD = 1 << 16
"""First bytes of a file, in which the name of its writer is looked for."""


def require_free(target: Path, force: bool) -> None:
    """Raise `ModelError` if the target exists, unless `force`; with `force` only if no export wrote it."""
    if not (target.exists() or target.is_symlink()):
        return
    if not force:
        raise ModelError(f"{target}: exists already; choose another place, or pass force=True (--force) to replace it")
    if target.is_symlink() or not (target.is_dir() or target.is_file()):
        raise ModelError(f"{target}: is neither a file nor a folder of its own; choose another place")
    if target.is_file() and not _is_export(target):
        raise ModelError(f"{target}: was not written by an export and stays; move it, or choose another place")


def _is_export(path: Path) -> bool:
    """Return True if the content of a file shows that an export wrote it, or if it is empty."""
    try:
        with open_input(path) as file:
            head = file.read(_HEAD)
        if not head.startswith(b"PK"):
            return not head or _TEXT_MARK.search(head) is not None
        with zipfile.ZipFile(path) as archive, archive.open("modelDescription.xml") as inner:
            return _UNIT_MARK.search(inner.read(_HEAD)) is not None
    except ModelError:
        raise
    except Exception:  # whatever a damaged archive makes of zipfile
        return False


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder, by name."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@contextmanager
def placed(target: Path, force: bool) -> Iterator[Path]:
    """A temporary folder beside `target`; its files move there if the block succeeds, and are removed otherwise."""
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
    """A temporary path for a single file, which becomes `target` if the block succeeds."""
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
        if name not in old and os.path.lexists(path):
            raise ModelError(f"{path}: was not written by an export and stays; move it, or choose another place")
        if path.is_dir() or any(folder.exists() and not folder.is_dir() for folder in _folders(target, name)):
            raise ModelError(f"{path}: a file of the export cannot stand there; choose another place")
    for name in sorted(new | old):
        if any(folder.is_symlink() for folder in _folders(target, name)):
            raise ModelError(f"{target / name}: stands behind a link; remove the link, or choose another place")
    _list(target, new | old)  # so that an export that is interrupted from here on can be repeated
    for name in sorted(new):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(work / name, target / name)
    for path in (target / name for name in sorted(old - new)):
        if path.is_file() and not path.is_symlink():
            path.unlink()
            with suppress(OSError):  # it holds something else
                path.parent.rmdir()
    _list(target, new)


def _folders(target: Path, name: str) -> list[Path]:
    """Folders between `target` and a file in it."""
    return [target / folder for folder in Path(name).parents][:-1]


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
    if (target / MANIFEST).is_symlink():
        raise ModelError(f"{target / MANIFEST}: is a link, expected a file; {remedy}")
    try:
        names = json.loads(read_input(target / MANIFEST, 1 << 20))["files"]
    except (ValueError, TypeError, KeyError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(map(_is_name, names)):
        raise ModelError(f"{target / MANIFEST}: is not a list of files of this folder; {remedy}")
    return {Path(name).as_posix() for name in names} - {MANIFEST}


def _is_name(name: object) -> bool:
    """Whether it names a file of a folder or below, on every system."""
    if not isinstance(name, str) or not name.isprintable() or any(sign in name for sign in '\\:*?"<>|'):
        return False
    parts = name.split("/")
    short = len(name.encode()) <= _MOST_PATH and all(len(part.encode()) <= _MOST_NAME for part in parts)
    return short and not {"", ".", ".."} & set(parts)
