"""Paths in files: resolved against the folder of the file, and refused where they lead elsewhere.

A file may read files in its own folder and below, and in folders that the user named (`search_paths=`, `--package`).
The nearest folder above it with a `package.xml`, and the packages on ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, count as
named. Links are resolved before the check. Nothing outside is touched, so that no message reveals what exists there.

Paths that users give themselves, on the command line or in a call, are not checked here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Self, TypeAlias
from urllib.parse import unquote

from pliant.base.reading import read_input
from pliant.errors import ModelError
from pliant.robot.files.error_messages import short, short_key

SearchPaths = Mapping[str, str | os.PathLike[str]]
"""Folders by the names under which files ask for them: `{"my_arm": "/ws/src/my_arm"}`."""
Folders: TypeAlias = dict[str, "Folders"]
"""Folders by their names, one in the other."""
REMEDY = "if you trust the file, name its folder by --package NAME=FOLDER, in Python search_paths={'NAME': 'FOLDER'}"
_NAME = re.compile(r"\w[\w.\-]*")
_TITLE = re.compile(rb"<name>\s*([\w.\-]+)\s*</name>")
_PACKAGE = "package.xml"
_MOST_BYTES = 1 << 20
_MOST_LINKS = 40  # on the way to a file, as systems have it
_MOST_NAME, _MOST_PATH = 255, 4096  # bytes, as systems have it


@dataclass
class _Found:
    """Folders found while a file is read, so that many names in it ask the system once for each folder.

    Attributes
    ----------
    below : dict of dict
        Folders by the path of the one that holds them, then by their names, one in the other; none of them is a link.
    homes : dict of dict
        Places that may be read by the package that they belong to, and where they really are.
    called : dict of list
        Folders of a file and above it by that of the file, each with what it is called.
    entries : list, optional
        Folders of the environment that hold packages.
    """

    below: dict[str, Folders] = field(default_factory=dict)
    homes: dict[Path | None, dict[str, str]] = field(default_factory=dict)
    called: dict[Path | None, list[tuple[Path, set[str | None]]]] = field(default_factory=dict)
    entries: list[tuple[Path, bool]] | None = None


@dataclass(frozen=True)
class FilePaths:
    """Folders that the paths of a file may lead into.

    Attributes
    ----------
    folder : Path, optional
        Where relative paths begin; None for a text without a folder.
    roots : tuple of Path
        Folders that may be read, with all below them.
    packages : tuple of (str, Path)
        Further folders, which `package://NAME/...` finds by name.
    environment : bool
        Whether packages on ROS_PACKAGE_PATH and AMENT_PREFIX_PATH may be read as well.
    remedy : str
        Advice in messages about a path that leads elsewhere.
    """

    folder: Path | None = None
    roots: tuple[Path, ...] = ()
    packages: tuple[tuple[str, Path], ...] = ()
    environment: bool = True
    remedy: str = REMEDY
    _found: _Found = field(default_factory=_Found, compare=False, repr=False)

    @classmethod
    def of_file(cls, path: str | os.PathLike[str], search_paths: SearchPaths | None = None) -> Self:
        """Paths of a file that the user named."""
        folders = [_absolute(path).parent, _real(path).parent]
        above = [package for folder in folders if (package := _package_above(folder)) is not None]
        return cls(folders[0], (*folders, *above), _named(search_paths))

    @classmethod
    def of_text(cls, search_paths: SearchPaths | None = None) -> Self:
        """Paths of a text, which lies nowhere: only packages are found."""
        return cls(packages=_named(search_paths))

    @classmethod
    def within(cls, root: Path, remedy: str) -> Self:
        """Paths of files that others may have written, with one folder to read and no package."""
        return cls(_absolute(root), (_absolute(root),), environment=False, remedy=remedy)

    def beside(self, path: Path) -> FilePaths:
        """Paths of a further file, which one of these files named: others may not be read for that."""
        return replace(self, folder=_absolute(path).parent)

    def find(self, name: str, encoded: bool = False) -> Path:
        """Return the file of that name. If `encoded`, sequences such as `%20` are decoded, as in every URI.

        Raises
        ------
        ModelError
            It leads outside, or is not there.
        """
        found = self.look_for(name, encoded)
        if found is None:
            raise ModelError(f"{short_key(name)}: cannot be read: no such file")
        return found

    def look_for(self, name: str, encoded: bool = False) -> Path | None:
        """Return the file of that name as `find` does, or None if there is no such file."""
        scheme, uri, rest = name.partition("://")
        if not uri:
            scheme, rest = "file", name
        package, _, inner = rest.partition("/") if scheme == "package" else ("", "", rest)
        if scheme not in ("file", "package"):
            raise ModelError(f"got {short(name)}, expected a file, file://... or package://...")
        inner = unquote(inner) if uri or encoded else inner
        if not inner.strip() or not _is_name(inner):
            raise ModelError(f"got {short(name)}, expected the name of a file")
        places: list[tuple[Path, Path | None]] = [(self.folder or Path("/"), None)]
        if scheme == "package":
            known = _NAME.fullmatch(package) is not None
            places = [(folder, folder) for folder in (self._packages_called(package) if known else ())]
            places += [(folder, None) for folder in (self._folders_called(package) if known else ())]
            if not places:
                remedy = self.remedy.replace("NAME", package if known else "NAME")
                raise ModelError(f"no folder of the package of {short(name)}; {remedy}")
        found = [(_absolute(folder / inner), of) for folder, of in places]
        allowed = [place for place, of in found if self._may_read(place, of)]
        if not allowed:
            raise ModelError(f"{short(name)} lies outside {self._inside()}; {self.remedy}")
        return next((place for place in allowed if os.path.exists(place)), None)

    def _inside(self) -> str:
        return "all named folders" if self.folder is None else "the folder of the file that names it"

    def _may_read(self, place: Path, package: Path | None) -> bool:
        """Whether a place may be read. Links are followed one by one up to one that leads outside: nothing there is
        touched."""
        homes = self._homes(None)
        for folder in (*([] if package is None else [package]), *self._packages_around(place)):
            homes = homes | self._homes(folder)
        way = os.fspath(place)
        for _ in range(_MOST_LINKS):
            home = next((home for home in homes if _lies_in(way, home)), None)
            if home is None:
                return False
            below = way[len(home) :].lstrip(os.sep)
            way = os.path.join(homes[home], below) if below else homes[home]
            link = self._first_link(homes[home], below)
            if link is None:  # what has been exchanged since a folder was found is seen here
                return not os.path.lexists(way) or any(_lies_in(os.path.realpath(way), home) for home in homes)
            rest = way[len(link) :].lstrip(os.sep)
            way = os.path.abspath(os.path.join(os.path.dirname(link), os.readlink(link), rest))
        return False

    def _first_link(self, home: str, below: str) -> str | None:
        """The first link on a way below a folder; None where there is none, or nothing any more."""
        known, parts = self._found.below.setdefault(home, {}), below.split(os.sep) if below else []
        for number, part in enumerate(parts, 1):
            if part not in known:
                at = os.path.join(home, *parts[:number])
                try:
                    mode = os.lstat(at).st_mode
                except OSError:
                    return None
                if stat.S_ISLNK(mode):
                    return at
                known[part] = {}
            known = known[part]
        return None

    def _homes(self, package: Path | None) -> dict[str, str]:
        """Places that may be read with a package, without one those that always may, and where they really are."""
        found = self._found.homes
        if package not in found:
            places = _homes(package) if package else [*self.roots, *(folder for _, folder in self.packages)]
            real = {os.fspath(place): os.path.realpath(place) for place in places}
            found[package] = real | {place: place for place in real.values()}
        return found[package]

    def _packages_called(self, name: str) -> Iterator[Path]:
        """Existing folders that the user gave this name, by search paths or by the environment."""
        yield from (folder for own, folder in self.packages if own == name)
        for entry, several in self._entries():
            yield from [entry / name] if os.path.isdir(entry / name) else []
            yield from [entry] if several and entry.name == name and os.path.isdir(entry) else []

    def _folders_called(self, name: str) -> Iterator[Path]:
        """Folders that may be read and have this name, or whose package has it."""
        for folder, names in self._names_of_folders():
            yield from [folder] if name in names else []
            yield from [folder / name] if self._may_read(folder / name, None) and os.path.isdir(folder / name) else []

    def _names_of_folders(self) -> list[tuple[Path, set[str | None]]]:
        """The folder of the file and those above it that may be read, with what they are called."""
        found = self._found.called
        if self.folder not in found:
            above = [] if self.folder is None else [self.folder, *self.folder.parents]
            inside = takewhile(lambda folder: any(folder.is_relative_to(root) for root in self.roots), above)
            may = self._may_read
            found[self.folder] = [(f, {f.name, _title(f) if may(f / _PACKAGE, None) else None}) for f in inside]
        return found[self.folder]

    def _packages_around(self, place: Path) -> Iterator[Path]:
        """Packages of the environment that a path leads into."""
        for entry, _ in self._entries():
            if _lies_in(os.fspath(place), os.fspath(entry)):
                for part in (*place.relative_to(entry).parts[:-1], None):
                    if os.path.isfile(entry / _PACKAGE):
                        yield entry
                    if part is None or not os.path.isdir(entry := entry / part):
                        break

    def _entries(self) -> list[tuple[Path, bool]]:
        """Folders of the environment that have packages, and whether they may be one themselves."""
        if self._found.entries is None:
            ros, ament = (os.environ.get(name, "") for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"))
            found = [(_absolute(entry), True) for entry in filter(None, ros.split(os.pathsep))]
            found += [(_absolute(entry) / "share", False) for entry in filter(None, ament.split(os.pathsep))]
            self._found.entries = found if self.environment else []
        return self._found.entries


@dataclass(frozen=True)
class _Anywhere(FilePaths):
    """Paths that users write in Python: all of them may be read."""

    def beside(self, path: Path) -> FilePaths:
        return FilePaths.of_file(path)

    def _may_read(self, place: Path, package: Path | None) -> bool:
        return True


@dataclass(frozen=True)
class _Nowhere(FilePaths):
    """Paths in files that hold all that they need, such as saved runs: no file is looked for."""

    def look_for(self, name: str, encoded: bool = False) -> Path | None:
        return None


NOWHERE = _Nowhere()
"""Paths of robots that are read from saved runs."""


def paths_of(context: Mapping[str, object] | None) -> FilePaths:
    """Paths that a file may read, from the context of a validator. Without any, the user wrote the paths in Python, as
    seen from the working directory."""
    found = (context or {}).get("files")
    return found if isinstance(found, FilePaths) else _Anywhere(Path())


def _named(search_paths: SearchPaths | None) -> tuple[tuple[str, Path], ...]:
    if not isinstance(search_paths, Mapping | None):
        raise ModelError(f"search_paths: got {short(search_paths)}, expected a mapping, {{'NAME': 'FOLDER'}}")
    found = {name: _absolute(folder) for name, folder in (search_paths or {}).items()}
    for name, folder in found.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ModelError(f"search_paths: got the name {short(name)}, expected letters, digits, _, . and -")
        if not os.path.isdir(folder):
            raise ModelError(f"search_paths: {name}: got {folder}, expected a folder")
    return tuple(found.items())


def _absolute(path: str | os.PathLike[str]) -> Path:
    """Absolute path without `..`; links stay as they are."""
    return Path(os.path.abspath(path))


def _lies_in(way: str, folder: str) -> bool:
    """Whether an absolute path is a folder or leads into it."""
    way, folder = os.path.normcase(way), os.path.normcase(folder)
    return way == folder or way.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _is_name(text: str) -> bool:
    """Whether a system may have a file of this name: no NUL, no letters that file names have not, and not too long."""
    try:
        raw = os.fsencode(text)
    except ValueError:
        return False
    return b"\0" not in raw and len(raw) <= _MOST_PATH and max(map(len, raw.split(b"/"))) <= _MOST_NAME


def _real(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _package_above(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if os.path.isfile(each / _PACKAGE)), None)


def _homes(package: Path) -> list[Path]:
    """A package, and where it comes from if it was installed by links (`colcon build --symlink-install`)."""
    origin = _real(package / _PACKAGE)
    return [package, *([origin.parent] if origin.name == _PACKAGE and os.path.isfile(origin) else [])]


def _title(folder: Path) -> str | None:
    """Name of a package by its own file."""
    if not os.path.isfile(folder / _PACKAGE):
        return None
    found = _TITLE.search(read_input(folder / _PACKAGE, _MOST_BYTES))
    return None if found is None else found[1].decode()
