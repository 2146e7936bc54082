"""Robot files: find, read, check, write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pliant.errors import ModelError
from pliant.base.reading import read_input
from pliant.robot.files.error_messages import describe, short_key, suggestion
from pliant.robot.parts.fields import Document
from pliant.robot.files.file_paths import FilePaths, SearchPaths
from pliant.robot.parts.imported_body import beside
from pliant.robot.robot import Robot
from pliant.robot.files.yaml import MOST_BYTES, read_yaml, write_yaml
from pliant.base.signatures import checked
from pliant.base.writing import atomic_write

_MOST_URDF_BYTES = 8 << 20
RIGHT = "no robot file is that large: is it the right file?"
CONTENT = "a robot file has at least `name` and `links`"
D = TypeVar("D", bound=Document)


def arms() -> list[str]:
    """Names of the bundled arms; `load` takes them in place of a file.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> "two-link" in pliant.arms()
    True
    """
    folder = resources.files("pliant").joinpath("arms")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load(
    source: str | os.PathLike[str],
    flexible: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    tip: str | None = None,
    floating: bool = False,
    *,
    search_paths: SearchPaths | None = None,
) -> Robot:
    """Read a robot file (YAML), a bundled arm by name, or a URDF file.

    Meshes and bodies that the file names are read beside it and below, in the ROS package that it lies in, in those of
    ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and in `search_paths`; paths that lead elsewhere are refused.

    Parameters
    ----------
    source : path or str
        A file, one of `arms()`, or the text of a URDF file, which begins with `<`.
    flexible : path or mapping, optional
        For URDF: the side file that makes chosen links flexible.
    tip : str, optional
        For URDF: the link at the end of a chain; the whole tree by default.
    floating : bool
        For URDF: whether the root link is a free base.
    search_paths : mapping, optional
        Further folders that the file may read, by name: `{"my_arm": "/ws/src/my_arm"}`. `package://my_arm/...` leads
        there.

    Returns
    -------
    Robot

    Raises
    ------
    ModelError
        With the file, the place in it, what was given and expected, and a remedy; several faults at once.

    Examples
    --------
    >>> pliant.load("two-link").name
    'two-link elastic arm'
    >>> pliant.load("two-lin")
    Traceback (most recent call last):
    pliant.errors.ModelError: no file and no bundled arm `two-lin`, did you mean `two-link`?
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        paths = FilePaths.of_text(search_paths)
        return _load_urdf(source, "URDF text", _side(flexible), tip, floating, paths)
    path = _find(source)
    paths = FilePaths.of_file(path, search_paths)
    return load_file(path, paths, flexible, tip, floating)


def load_file(
    path: Path,
    paths: FilePaths,
    side: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    tip: str | None = None,
    floating: bool = False,
) -> Robot:
    """The robot of a file that is there; `paths` says what it may read."""
    if path.suffix.lower() == ".urdf":
        raw = read_input(path, _MOST_URDF_BYTES, RIGHT)
        return _load_urdf(raw, path.name, _side(side), tip, floating, paths)
    if side is not None or tip is not None or floating:
        raise ModelError(
            f"{path.name}: `flexible`, `tip` and `floating` are for URDF files; edit this robot file itself"
        )
    data, lines = _mapping(read_text(path), path.name, CONTENT)
    return validated(Robot, data, lines, path.name, paths)


def bundled(name: str) -> Robot:
    """A bundled arm, whatever files have its name."""
    path = Path(str(resources.files("pliant").joinpath("arms", f"{name}.yaml")))
    return load_file(path, FilePaths.of_file(path))


def _load_urdf(
    raw: bytes | str, name: str, side: dict[str, Any], tip: str | None, floating: bool, paths: FilePaths
) -> Robot:
    from pliant.robot.files.urdf import from_urdf

    if isinstance(raw, str):
        raw = raw.lstrip("\ufeff \t\r\n")  # nothing may stand before a declaration
        if len(raw) > _MOST_URDF_BYTES:
            raise ModelError(f"{name}: {len(raw)} characters; {RIGHT}")
    return from_urdf(raw, side, tip, source=name, floating=floating, paths=paths)


@checked
def parse(text: str, source: str = "robot", *, search_paths: SearchPaths | None = None) -> Robot:
    """A robot from the text of a robot file, which names files in packages and in `search_paths` only."""
    return validated(Robot, *_mapping(text, source, CONTENT), source, FilePaths.of_text(search_paths))


def read_document(path: Path, content: str) -> tuple[dict[str, Any], Any]:
    """The mapping in a YAML file, and the lines of its places; `content` says what such a file has at least."""
    if not os.path.exists(path):
        raise ModelError(f"{path}: no such file; {content}")
    return _mapping(read_text(path), path.name, content)


def _mapping(text: str, source: str, content: str) -> tuple[dict[str, Any], Any]:
    try:
        data, lines = read_yaml(text)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from None
    if data is None:
        raise ModelError(f"{source}: the file is empty; {content}")
    if not isinstance(data, dict):
        raise ModelError(f"{source}: expected a mapping, got {type(data).__name__}; {content}")
    return data, lines


def validated(kind: type[D], data: dict[str, Any], lines: Any, source: str, paths: FilePaths | None = None) -> D:
    """A document from what was read; all its faults in one error, with their lines."""
    try:
        return kind.model_validate(data, context=None if paths is None else {"files": paths})
    except ValidationError as error:
        raise ModelError(describe(error, kind, data, source, lines)) from None


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file of sensible size in UTF-8."""
    raw = read_input(path, most, RIGHT)
    if b"\0" in raw:
        raise ModelError(f"{path.name}: a binary file, expected text in UTF-8; is it the right file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ModelError(f"{path.name}: line {line} is not UTF-8; save the file as UTF-8") from None


@checked
def save(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write a robot file that `load` reads back as an equal robot; bodies and meshes from files stand beside it."""
    data = with_files(robot, Path(path).absolute().parent)
    with atomic_write(Path(path)) as partial:
        partial.write_text(write_yaml(data), encoding="utf-8")


def has_files(robot: Robot) -> bool:
    """Whether bodies or meshes come from files."""
    visuals = [*robot.base.visuals, *(visual for link in robot.links for visual in link.visuals)]
    return any(link.body is not None for link in robot.links) or any(visual.mesh is not None for visual in visuals)


def with_files(robot: Robot, folder: Path) -> dict[str, Any]:
    """Plain data of a robot as a file in a folder has it: bodies and meshes by the names of their files, which are put
    there."""
    data = robot.to_dict()
    looks = [(robot.base.visuals, data.get("base", {}))]
    for link, entry in zip(robot.links, data["links"]):
        looks.append((link.visuals, entry))
        if link.body is not None:
            assert link.body.content is not None
            own = {key: value for key, value in entry["body"].items() if key != "content"}
            name = Path(link.body.file or f"{link.name}.npz").name
            entry["body"] = own | {"file": beside(link.body.content, name, folder)}
    for visuals, entry in looks:
        for visual, drawn in zip(visuals, entry.get("visuals", ())):
            drawn.pop("content", None)
            if visual.mesh is not None and visual.content is not None and len(visual.content.faces):
                drawn["mesh"] = beside(visual.content, visual.mesh, folder)
    return data


def _find(source: str | os.PathLike[str]) -> Path:
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
        raise ModelError(f"expected a file name or one of the bundled arms {', '.join(arms())}; got {source!r}")
    path = Path(source)
    try:
        found = path.exists()
    except (OSError, ValueError):  # names too long or with a NUL
        found = False
    if found and not (path.is_dir() and str(source) in arms()):
        return path
    if str(source) in arms():
        return Path(str(resources.files("pliant").joinpath("arms", f"{source}.yaml")))
    raise ModelError(f"no file and no bundled arm `{short_key(str(source), 200)}`{suggestion(str(source), arms())}")


def _side(flexible: str | os.PathLike[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Flexible links of a URDF, from a side file or a mapping."""
    if flexible is None or isinstance(flexible, Mapping):
        return dict(flexible or {})
    return read_document(Path(flexible), "a side file says which links bend")[0]
