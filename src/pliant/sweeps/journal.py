"""The journal of a sweep: a line for the points that finished together, written at once, so that nothing is lost.

The first line names the study. A line that a crash cut short is dropped when the journal is read. Every line has a
checksum, and reading raises an error if one does not match.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pliant.base.reading import open_input
from pliant.errors import ModelError, PliantError
from pliant.sweeps.points import Outcomes

NAME = "points.jsonl"
FORMAT = 2
DIGITS = 16
"""Digits of a checksum."""
_BEGINNING = b'{"format": '


def is_journal(path: Path) -> bool:
    """Return whether a file begins like a journal, even one that a crash cut short."""
    if path.is_symlink() or not path.exists():
        return False
    with open_input(path) as file:
        head = file.read(len(_BEGINNING))
    return _BEGINNING.startswith(head)


class Journal:
    """Outcomes in their order, and the points that have one; `record` puts them on disk before it returns."""

    def __init__(self, folder: Path, digest: str, metrics: list[str], total: int, retry: bool = False) -> None:
        self.path = folder / NAME
        self.head: dict[str, Any] = {"format": FORMAT, "study": digest, "metrics": metrics, "points": total}
        self.outcomes: list[Outcomes] = []
        if self.path.is_symlink():
            raise ModelError(f"{self.path}: got a link, expected a regular file; remove it, or choose another folder")
        size = self._read() if self.path.exists() else 0
        if retry:
            self.outcomes = [replace(o, failed={}) for o in self.outcomes]
        self.known = {point for o in self.outcomes for point in o.of}
        try:
            self._file = self.path.open("r+b" if size else "wb")
            self._file.truncate(size)  # without the line that a crash cut short
            self._file.seek(size)
            if not size:
                self._write(self.head)
        except OSError as error:
            raise PliantError(f"{self.path}: cannot be written ({error.strerror or error})") from error

    def _read(self) -> int:
        """Read the outcomes of an existing journal; return the size of its sound part."""
        size = 0
        with open_input(self.path) as file:
            for number, raw in enumerate(file):
                torn = not raw.endswith(b"\n")
                if torn and (number or _line(self.head).startswith(raw)):
                    break
                try:
                    if torn:
                        raise ValueError("it is not that of a sweep")
                    entry = json.loads(raw)
                    if entry.pop("check") != _checksum(entry):
                        raise ValueError("it does not match its checksum")
                    if number == 0:
                        self._check_head(entry)
                    else:
                        self.outcomes.append(_outcomes(entry, self.head["points"]))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise ModelError(
                        f"{self.path}: line {number + 1} is damaged ({error}); pass --force to begin anew"
                    ) from None
                size += len(raw)
        return size

    def _check_head(self, entry: object) -> None:
        if entry != self.head:
            raise ModelError(
                f"{self.path}: belongs to another study (or other metrics); choose another folder, or pass --force to "
                "begin anew"
            )

    def record(self, outcomes: Outcomes) -> None:
        """Write the outcomes of points that have none yet."""
        new = outcomes.without(self.known)
        if new.of:
            self._write({"points": new.points, "metrics": new.metrics, "failed": new.failed})
            self.outcomes.append(new)
            self.known.update(new.of)

    def _write(self, entry: dict[str, Any]) -> None:
        place = self._file.tell()
        try:
            self._file.write(_line(entry))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # the next reader drops the torn line
                os.ftruncate(self._file.fileno(), place)
            raise PliantError(
                f"{self.path}: could not be written ({error.strerror or error}); what was finished before is kept, run "
                "the same command again to go on"
            ) from error

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # what could not be flushed has been reported
            self._file.close()


def _line(entry: dict[str, Any]) -> bytes:
    return f"{json.dumps({**entry, 'check': _checksum(entry)})}\n".encode()


def _checksum(entry: dict[str, Any]) -> str:
    """Checksum of the content of a line."""
    return hashlib.sha256(json.dumps(entry).encode()).hexdigest()[:DIGITS]


def _outcomes(entry: Any, total: int) -> Outcomes:
    """Outcomes in a line; faults raise ValueError, KeyError, TypeError or AttributeError."""
    found = Outcomes(
        [int(point) for point in entry["points"]],
        {str(name): [float(value) for value in column] for name, column in entry["metrics"].items()},
        {int(point): str(why) for point, why in entry["failed"].items()},
    )
    if any(len(column) != len(found.points) for column in found.metrics.values()):
        raise ValueError("columns of unequal length")
    if not all(0 <= point < total for point in found.of):
        raise ValueError("a point that the study has not")
    return found
