"""Meshes that a URDF file names: where their files are, how they are scaled and placed.

This module finds all meshes, those of collisions too. `urdf_visuals.py` reads only what is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.base.reading import read_input
from pliant.errors import ModelError
from pliant.robot.files.file_paths import FilePaths, SearchPaths
from pliant.robot.files.urdf_text import VECTOR, all_elements, numbers_of, read_urdf

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
        Path of the mesh file.
    scale : (3,) tuple
        Factors; a file in millimeters has 0.001.
    xyz, rpy : (3,) tuples
        m and rad, Rz Ry Rx.
    """

    link: str
    role: str
    file: Path
    scale: tuple[float, ...]
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]


def urdf_meshes(path: str | os.PathLike[str], *, search_paths: SearchPaths | None = None) -> list[UrdfMesh]:
    """The meshes that a URDF file names, of visuals and collisions.

    They are looked for as `pliant.load` does: below the folder of the file, in the ROS package that it lies in, in
    those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and in `search_paths`.

    Parameters
    ----------
    path : path
        The URDF file.
    search_paths : mapping, optional
        Further folders by name, as for `pliant.load`.

    Returns
    -------
    list of UrdfMesh
        In the order of the file.

    Raises
    ------
    ModelError
        A file is not there or lies elsewhere, or what is read is no URDF.

    Examples
    --------
    >>> _ = pliant.load("two-link").to_urdf("arm.urdf")
    >>> pliant.robot.files.urdf_meshes("arm.urdf")
    []
    """
    source = Path(path)
    raw = read_input(source, _MOST_BYTES, "no robot file is that large: is it the right file?")
    read_urdf(raw, source.name)  # refuses what is none, and entities
    root = all_elements(raw, source.name)
    paths = FilePaths.of_file(source, search_paths)
    return [mesh for link in root.iter("link") for mesh in _of_link(link, source.name, paths)]


def _of_link(link: Element, source: str, paths: FilePaths) -> Iterator[UrdfMesh]:
    name = link.get("name", "")
    for part in link:
        mesh = part.find("geometry/mesh")
        if part.tag not in ("visual", "collision") or mesh is None:
            continue
        where = f"{source}: link `{name}`: {part.tag}"
        origin = part.find("origin")
        xyz, rpy = ((None if origin is None else origin.get(key)) for key in ("xyz", "rpy"))
        try:
            file = paths.find(mesh.get("filename", ""), encoded=True)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        scale = _three(mesh.get("scale"), (1.0,) * 3, where)
        yield UrdfMesh(name, part.tag, file, scale, _three(xyz, _NONE, where), _three(rpy, _NONE, where))


def _three(text: str | None, otherwise: tuple[float, ...], where: str) -> tuple[float, ...]:
    found = otherwise if text is None else numbers_of(text, 3)
    if found is None:
        raise ModelError(f"{where}: got {text!r}, expected {VECTOR}")
    return found
