"""What commands print: tables and JSON on standard output, messages on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer

LOG_SECONDS = 5.0
"""Between lines of progress in a log."""


def say(text: str) -> None:
    """A message to the user."""
    typer.echo(text, err=True)


def seldom(last: float) -> Callable[[str], None]:
    """`say`, for a log: nothing within `LOG_SECONDS` of what was said before, at first of the moment `last`."""

    def speak(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            say(text)

    return speak


def print_json(data: Any) -> None:
    """Pure JSON."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, title: str = "") -> None:
    """A table of text; the first `left` columns are flush left, the rest (numbers) flush right."""
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
    """A number for a table, a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def megabytes(size: int) -> str:
    """A size in bytes as text."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
