"""Robot files: find, read, check, write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pliant.arguments import checked
from pliant.errors import ModelError
from pliant.replacing import replacing
from pliant.robot.description import Robot
from pliant.robot.faults import describe, short_key, suggestion
from pliant.robot.yaml_text import MOST_BYTES, read_yaml, write_yaml

_MOST_URDF_BYTES = 8 << 20


def arms() -> list[str]:
    """Names of the bundled arms; `load` takes them in place of a file."""
    folder = resources.files("pliant").joinpath("arms")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load(
    source: str | os.PathLike[str],
    flexible: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    tip: str | None = None,
) -> Robot:
    """Read a robot file (YAML), a bundled arm by name, or a URDF file.

    Parameters
    ----------
    source : path or str
        A file, or one of `arms()`.
    flexible : path or mapping, optional
        For URDF: the side file that makes chosen links flexible.
    tip : str, optional
        For URDF: the link at the end of the chain, where the tree has several ends.

    Raises
    ------
    ModelError
        With the file, the place in it, what was given and expected, and a remedy; several faults at once.
    """
    path = _find(source)
    if path.suffix.lower() == ".urdf":
        from pliant.robot.urdf import from_urdf

        return from_urdf(read_text(path, _MOST_URDF_BYTES), _side(flexible), tip, source=path.name)
    if flexible is not None or tip is not None:
        raise ModelError(f"{path.name}: `flexible` and `tip` are for URDF files; edit this robot file itself")
    return parse(read_text(path), source=path.name)


@checked
def parse(text: str, source: str = "robot") -> Robot:
    """A robot from the text of a robot file."""
    data, lines = read_mapping(text, source)
    try:
        return Robot.model_validate(data)
    except ValidationError as error:
        raise ModelError(describe(error, Robot, data, source, lines)) from None


def read_mapping(text: str, source: str) -> tuple[dict[str, Any], Any]:
    """The mapping in a YAML text, and the lines of its places."""
    try:
        data, lines = read_yaml(text)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from None
    if data is None:
        raise ModelError(f"{source}: the file is empty; a robot file has at least `name` and `links`")
    if not isinstance(data, dict):
        raise ModelError(f"{source}: expected a mapping with `name` and `links`, got {type(data).__name__}")
    return data, lines


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file of sensible size in UTF-8."""
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(raw) > most:
        raise ModelError(f"{path.name}: larger than {most >> 20} MiB, which no robot file is; is it the right file?")
    if b"\0" in raw:
        raise ModelError(f"{path.name}: a binary file, expected text in UTF-8; is it the right file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ModelError(f"{path.name}: line {line} is not UTF-8; save the file as UTF-8") from None


@checked
def save(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write a robot file that `load` reads back as an equal robot."""
    with replacing(Path(path)) as partial:
        partial.write_text(write_yaml(robot.to_dict()), encoding="utf-8")


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
    if flexible is None or isinstance(flexible, Mapping):
        return dict(flexible or {})
    path = Path(flexible)
    return read_mapping(read_text(path), path.name)[0]
