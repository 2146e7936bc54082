"""Robot files: find, read, check, write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pliant.base.reading import read_input
from pliant.base.signatures import checked
from pliant.base.writing import atomic_write
from pliant.errors import ModelError
from pliant.robot.description import AnyRobot, RobotDescription
from pliant.robot.files.documents import RIGHT, read_document, read_mapping, read_text, validated
from pliant.robot.files.error_messages import Entries, short_key, suggestion
from pliant.robot.files.file_paths import FilePaths, SearchPaths
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.bodies.imported_body import beside

_MOST_URDF_BYTES = 8 << 20
CONTENT = "a robot file has at least `name` and `links`"


def arms() -> list[str]:
    """Names of the bundled arms; `load` takes them in place of a file.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> "two-link" in pliant.robot.arms()
    True
    """
    folder = resources.files("pliant.robot").joinpath("arms")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def read_source(
    kind: type[AnyRobot], source: str | os.PathLike[str], search_paths: SearchPaths | None, **urdf: Any
) -> AnyRobot:
    """A robot from a file, the name of a bundled arm, or the text of a URDF file; `urdf` holds `flexible`, `tip` and
    `floating`."""
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return _read_urdf(kind, source, "URDF text", FilePaths.of_text(search_paths), **urdf)
    path = _find(source)
    return read_file(kind, path, FilePaths.of_file(path, search_paths), **urdf)


def read_file(
    kind: type[AnyRobot],
    path: Path,
    paths: FilePaths,
    flexible: str | os.PathLike[str] | Mapping[str, object] | None = None,
    tip: str | None = None,
    floating: bool = False,
) -> AnyRobot:
    """Read a robot from a file that exists; `paths` has the folders that the file may read."""
    if path.suffix.lower() == ".urdf":
        raw = read_input(path, _MOST_URDF_BYTES, RIGHT)
        return _read_urdf(kind, raw, path.name, paths, flexible, tip, floating)
    if flexible is not None or tip is not None or floating:
        raise ModelError(
            f"{path.name}: `flexible`, `tip` and `floating` are for URDF files; edit this robot file itself"
        )
    data, lines = read_mapping(read_text(path), path.name, CONTENT)
    return validated(kind, data, lines, path.name, paths)


def bundled_file(name: str) -> Path:
    """File of a bundled arm."""
    return Path(str(resources.files("pliant.robot").joinpath("arms", f"{name}.yaml")))


def _read_urdf(
    kind: type[AnyRobot],
    raw: bytes | str,
    name: str,
    paths: FilePaths,
    flexible: str | os.PathLike[str] | Mapping[str, object] | None,
    tip: str | None,
    floating: bool,
) -> AnyRobot:
    from pliant.robot.files.urdf import from_urdf

    if isinstance(raw, str):
        raw = raw.lstrip("\ufeff \t\r\n")  # nothing may stand before a declaration
        if len(raw) > _MOST_URDF_BYTES:
            raise ModelError(f"{name}: {len(raw)} characters; {RIGHT}")
    return from_urdf(kind, raw, _side(flexible), tip, source=name, floating=floating, paths=paths)


def read_text_of(kind: type[AnyRobot], text: str, source: str, search_paths: SearchPaths | None) -> AnyRobot:
    """A robot from the text of a robot file, which names files in packages and in `search_paths` only."""
    return validated(kind, *read_mapping(text, source, CONTENT), source, FilePaths.of_text(search_paths))


@checked
def save(robot: RobotDescription, path: str | os.PathLike[str]) -> None:
    """Write a robot file that `load` reads back as an equal robot, and beside it bodies and meshes from files."""
    data = with_files(robot, Path(path).absolute().parent)
    with atomic_write(Path(path)) as partial:
        partial.write_text(write_yaml(data), encoding="utf-8")


def has_files(robot: RobotDescription) -> bool:
    """Return True if a body or a mesh of the robot comes from a file."""
    visuals = [*robot.base.visuals, *(visual for link in robot.links for visual in link.visuals)]
    return any(link.body is not None for link in robot.links) or any(visual.mesh is not None for visual in visuals)


def with_files(robot: RobotDescription, folder: Path) -> Entries:
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
        return bundled_file(str(source))
    raise ModelError(f"no file and no bundled arm `{short_key(str(source), 200)}`{suggestion(str(source), arms())}")


def _side(flexible: str | os.PathLike[str] | Mapping[str, object] | None) -> Entries:
    """Flexible links of a URDF, from a side file or a mapping."""
    if flexible is None or isinstance(flexible, Mapping):
        return dict(flexible or {})
    return read_document(Path(flexible), "a side file says which links bend")[0]
