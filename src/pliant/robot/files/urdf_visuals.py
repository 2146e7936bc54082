"""Visuals of the links in a URDF file: meshes that exist, boxes, cylinders and spheres, with their colors.

Visuals change no number of the arm. Those that cannot be read or found are left out, with one warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from pliant.errors import ModelError, warn_user
from pliant.robot.files.error_messages import Entries
from pliant.robot.files.file_paths import FilePaths
from pliant.robot.files.mesh_files import MeshContent
from pliant.robot.files.urdf_text import all_elements, numbers_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Colors = dict[str | None, tuple[float, ...] | None]
"""Colors of the materials of a file by their names."""
READABLE = (".stl", ".obj")
"""Endings of mesh files that are drawn."""
_ZERO = (0.0, 0.0, 0.0)


def urdf_visuals(raw: bytes | str, source: str, paths: FilePaths) -> dict[str, list[Entries]]:
    """Visuals of each link as in a robot file, in the axes of the URDF; those of collisions where one is not drawn.
    `paths` says where meshes may be."""
    root = all_elements(raw, source)
    colors = {material.get("name"): _color(material) for material in root.findall("material")}
    lost: list[str] = []
    found = {}
    for link in root.iter("link"):
        drawn = [_visual(part, paths, colors, lost) for part in link.findall("visual")]
        if any(each is None for each in drawn):
            others = [_visual(part, paths, colors, []) for part in link.findall("collision")]
            drawn = others if others and all(others) else drawn
        if any(drawn):
            found[link.get("name", "")] = [each for each in drawn if each is not None]
    if lost:
        warn_user(f"{source}: {len(lost)} meshes are not drawn ({lost[0]}); links without one are, from their numbers")
    return found


def _visual(part: Element, paths: FilePaths, colors: Colors, lost: list[str]) -> Entries | None:
    shape = part.find("geometry/*")
    body = None if shape is None else _body(shape, paths, lost)
    if body is None:
        return None
    origin, material = part.find("origin"), part.find("material")
    xyz, rpy = (_numbers(None if origin is None else origin.get(key), 3) or _ZERO for key in ("xyz", "rpy"))
    color = None if material is None else _color(material) or colors.get(material.get("name"))
    return {**body, "origin": {"xyz": xyz, "rpy": rpy}, **({} if color is None else {"color": color})}


def _body(shape: Element, paths: FilePaths, lost: list[str]) -> Entries | None:
    if shape.tag == "box":
        return _known({"box": _numbers(shape.get("size"), 3)})
    if shape.tag == "sphere":
        return _known({"sphere": _one(shape.get("radius"))})
    if shape.tag == "cylinder":
        sizes = {"radius": _one(shape.get("radius")), "length": _one(shape.get("length"))}
        return None if _known(sizes) is None else {"cylinder": sizes}
    if shape.tag != "mesh":
        return None
    name = shape.get("filename", "")
    if not name.lower().endswith(READABLE):
        lost.append(f"{name}: only {' and '.join(READABLE)} are")
        return None
    try:
        content = MeshContent.read(paths.find(name, encoded=True))
    except ModelError as error:
        lost.append(str(error))
        return None
    scale = _numbers(shape.get("scale"), 3)
    return {"mesh": unquote(name), "content": content, **({} if scale is None else {"scale": scale})}


def _known(sizes: Entries) -> Entries | None:
    return None if any(size is None for size in sizes.values()) else sizes


def _numbers(text: str | None, count: int) -> tuple[float, ...] | None:
    return None if text is None else numbers_of(text, count)


def _one(text: str | None) -> float | None:
    found = _numbers(text, 1)
    return found[0] if found and found[0] > 0.0 else None


def _color(material: Element) -> tuple[float, ...] | None:
    color = material.find("color")
    rgba = None if color is None else _numbers(color.get("rgba"), 4)
    return None if rgba is None else tuple(min(max(part, 0.0), 1.0) for part in rgba[:3])
