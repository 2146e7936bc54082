"""Paths to all numbers of a robot, such as `links.upper.beam.EI_z`: links by name (or index), other lists by index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from pliant.errors import ModelError
from pliant.robot.files.error_messages import Entries, suggestion
from pliant.robot.files.mesh_files import MeshContent
from pliant.robot.parts.bodies.reduced_body import ReducedBody


def numbers(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Every float in a description with its path, in the order of the file."""
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, BaseModel):
        for name in () if getattr(value, "only_drawn", False) else type(value).model_fields:
            yield from numbers(getattr(value, name), join(path, name))
    elif isinstance(value, tuple):
        for index, entry in enumerate(value):
            yield from numbers(entry, join(path, key_of(entry, index, path)))


def join(path: str, key: str) -> str:
    """Path to an entry of the part at `path`."""
    return f"{path}.{key}" if path else key


def key_of(entry: Any, index: int, path: str) -> str:
    """Key of an entry of a list: the name of a link, the number of anything else."""
    return str(entry.name) if path == "links" else str(index)


def canonical(path: str, names: list[str]) -> str:
    """The path with a link's index replaced by its name."""
    if not isinstance(path, str):
        raise ModelError(f"a path is text such as links.{names[0]}.beam.EI_z, got {path!r}")
    parts = path.split(".")
    if (
        len(parts) > 1
        and parts[0] == "links"
        and parts[1].isascii()
        and parts[1].isdigit()
        and int(parts[1]) < len(names)
    ):
        parts[1] = names[int(parts[1])]
    return ".".join(parts)


def unknown(path: str, known: Mapping[str, object] | list[str]) -> ModelError:
    """The error for a path that leads nowhere."""
    return ModelError(f"the robot has no number `{path}`{suggestion(path, known)}")


def plain(value: object, full: bool = False) -> Any:
    """Plain mappings, lists and numbers, as in a file. Entries that equal their defaults are left out unless `full`,
    which leaves the content of bodies and meshes as it is."""
    if isinstance(value, BaseModel):
        short = getattr(value, "short_form", None)
        if short is not None and not full and (text := short()) is not None:
            return text
        return {
            name: plain(entry, full)
            for name, field in type(value).model_fields.items()
            if (entry := getattr(value, name)) is not None or full
            if full or field.is_required() or entry != field.get_default(call_default_factory=True)
        }
    if isinstance(value, ReducedBody | MeshContent) and not full:
        return value.text()
    return [plain(entry, full) for entry in value] if isinstance(value, tuple) else value


def put(tree: Entries, path: str, value: object, known: Mapping[str, object]) -> None:
    """Set one entry of a full plain tree, in place."""
    *steps, last = path.split(".")
    node: Any = tree
    for step in steps:
        node = _child(node, step, path, known)
    _child(node, last, path, known)
    if isinstance(node, list):
        node[_index(node, last)] = value
    else:
        node[last] = value


def _child(node: object, key: str, path: str, known: Mapping[str, object]) -> Any:
    if node is None:
        raise ModelError(f"`{path}` leads through a part that the robot does not have; replace that part as a whole")
    if isinstance(node, dict) and key in node:
        return node[key]
    if isinstance(node, list) and (index := _index(node, key)) >= 0:
        return node[index]
    raise unknown(path, known)


def _index(node: list[object], key: str) -> int:
    """Place of a named link or of a counted entry, or -1."""
    for index, entry in enumerate(node):
        if isinstance(entry, dict) and entry.get("name") == key:
            return index
    return int(key) if key.isascii() and key.isdigit() and int(key) < len(node) else -1
