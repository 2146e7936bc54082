"""Documents in files: YAML text read, checked against a description, faults with their lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from pliant.base.reading import read_input
from pliant.errors import ModelError
from pliant.robot.files.error_messages import Entries, Place, describe
from pliant.robot.files.file_paths import FilePaths
from pliant.robot.files.yaml import MOST_BYTES, read_yaml
from pliant.robot.parts.fields import Document

RIGHT = "no robot file is that large: is it the right file?"
Lines = dict[Place, int]
"""Lines of the places in a file."""
D = TypeVar("D", bound=Document)


def read_document(path: Path, content: str) -> tuple[Entries, Lines]:
    """The mapping in a YAML file, and the lines of its places; `content` says what such a file has at least."""
    if not os.path.exists(path):
        raise ModelError(f"{path}: no such file; {content}")
    return read_mapping(read_text(path), path.name, content)


def read_mapping(text: str, source: str, content: str) -> tuple[Entries, Lines]:
    """The mapping in the text of a YAML file, and the lines of its places."""
    try:
        data, lines = read_yaml(text)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from None
    if data is None:
        raise ModelError(f"{source}: the file is empty; {content}")
    if not isinstance(data, dict):
        raise ModelError(f"{source}: expected a mapping, got {type(data).__name__}; {content}")
    return data, lines


def validated(
    kind: type[D], data: Entries, lines: Mapping[Place, int], source: str, paths: FilePaths | None = None
) -> D:
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
