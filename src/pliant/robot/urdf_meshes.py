"""Meshes that a URDF file names: where their files are, how they are scaled and placed.

`urdf_visuals.py` reads what is drawn; whoever wants all of them, collisions too, asks here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pliant.errors import ModelError
from pliant.reading import read_input
from pliant.robot.urdf_text import VECTOR, numbers_of, read_urdf

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MOST_BYTES = 8 << 20
_NONE = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class UrdfMesh:
    """A mesh of a link: its file, its scale along the axes of the file, and its place in the frame of the link.

    Attributes
    ----------
    link : str
        Name of the link in the URDF.
    role : str
        "visual" or "collision".
    file : Path
        Where it is.
    scale : (3,) tuple
        Factors; a file in millimetres has 0.001.
    xyz, rpy : (3,) tuples
        m and rad, Rz Ry Rx.
    """

    link: str
    role: str
    file: Path
    scale: tuple[float, ...]
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]


def urdf_meshes(path: str | os.PathLike[str]) -> list[UrdfMesh]:
    """The meshes that a URDF file names, of visuals and collisions.

    A `package://NAME/...` is looked for in the folders of ROS_PACKAGE_PATH, under `share` of those of
    AMENT_PREFIX_PATH, and in the folders above the file, one of which may be the package; other names are those of
    files, `file://` or not, from the folder of the URDF on.

    Parameters
    ----------
    path : path
        The URDF file.

    Returns
    -------
    list of UrdfMesh
        In the order of the file.

    Raises
    ------
    ModelError
        A file is not there, or what is read is no URDF.

    Examples
    --------
    >>> _ = pliant.load("two-link").to_urdf("arm.urdf")
    >>> pliant.robot.urdf_meshes("arm.urdf")
    []
    """
    from xml.etree import ElementTree

    source = Path(path)
    raw = read_input(source, _MOST_BYTES, "no robot file is that large: is it the right file?")
    read_urdf(raw, source.name)  # refuses what is none, and entities
    root = ElementTree.fromstring(raw)
    return [mesh for link in root.iter("link") for mesh in _of_link(link, source)]


def _of_link(link: Element, source: Path) -> Iterator[UrdfMesh]:
    name = link.get("name", "")
    for part in link:
        mesh = part.find("geometry/mesh")
        if part.tag not in ("visual", "collision") or mesh is None:
            continue
        where = f"{source.name}: link `{name}`: {part.tag}"
        origin = part.find("origin")
        xyz, rpy = ((None if origin is None else origin.get(key)) for key in ("xyz", "rpy"))
        file, scale = mesh_file(mesh.get("filename", ""), source, where), _three(mesh.get("scale"), (1.0,) * 3, where)
        yield UrdfMesh(name, part.tag, file, scale, _three(xyz, _NONE, where), _three(rpy, _NONE, where))


def _three(text: str | None, otherwise: tuple[float, ...], where: str) -> tuple[float, ...]:
    found = otherwise if text is None else numbers_of(text, 3)
    if found is None:
        raise ModelError(f"{where}: got {text!r}, expected {VECTOR}")
    return found


def mesh_file(name: str, source: Path, where: str) -> Path:
    """The file of a mesh."""
    kind, _, rest = name.partition("://")
    if not rest:
        kind, rest = "file", name
    if kind == "package":
        package, _, inside = rest.partition("/")
        places = [folder / unquote(inside) for folder in package_folders(package, source)]
    elif kind == "file":
        places = [source.absolute().parent / unquote(rest)]
    else:
        raise ModelError(f"{where}: got {name!r}, expected a file, file://... or package://...")
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(place) for place in places) or "no folder of that package"
    raise ModelError(
        f"{where}: no mesh {name!r} (looked at {looked}); put it there, or set ROS_PACKAGE_PATH or AMENT_PREFIX_PATH"
    )


def package_folders(package: str, source: Path) -> list[Path]:
    """Folders that may be a ROS package, those that are there, in the order in which they are asked."""
    asked = []
    for entry in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        asked += [Path(entry) / package, *([Path(entry)] if Path(entry).name == package else [])]
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    asked += [Path(entry) / "share" / package for entry in prefixes]
    for folder in source.absolute().parents:
        asked += [*([folder] if folder.name == package else []), folder / package]
    return [folder for folder in asked if folder.is_dir()]
