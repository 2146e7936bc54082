"""Output of commands: tables and JSON on standard output, messages on standard error."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from pliant.errors import ModelError

LOG_SECONDS = 5.0
"""Seconds between lines of progress in a log."""
Facts = dict[str, Any]
"""Plain data by name, such as JSON can hold."""


def say(text: str) -> None:
    """Print a message to the user."""
    typer.echo(text, err=True)


def seldom(last: float) -> Callable[[str], None]:
    """Function that prints messages to a log, at most one in `LOG_SECONDS`; `last` is the time of the last message."""

    def speak(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            say(text)

    return speak


def print_json(data: object) -> None:
    """Print data as JSON."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, title: str = "") -> None:
    """Print a table; the first `left` columns are flush left, the others (numbers) flush right."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]

    def text(line: Sequence[str]) -> str:
        cells = (
            cell.ljust(width) if k < left else cell.rjust(width) for k, (cell, width) in enumerate(zip(line, widths))
        )
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    typer.echo("\n".join([*([title] if title else []), text(lines[0]), rule, *map(text, lines[1:])]))


def number(value: float | None, digits: int = 5) -> str:
    """Number as text, "-" for None."""
    return "-" if value is None else f"{value:.{digits}g}"


def megabytes(size: int) -> str:
    """Size in bytes as text."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def fresh_folder(folder: Path, force: bool) -> Path:
    """Make a folder and return it; it must be empty, unless `force` allows files in it."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"--out {folder}: a file of this name is in the way; choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ModelError(f"--out {folder}: there is something in it already; choose another folder, or pass --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"--out {folder}: cannot be made ({error.strerror}); choose another folder") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ModelError(f"--out {folder}: cannot be written to; choose another folder")
    return folder
