"""The journal of a sweep: one line for each finished point, written as it finishes, so that nothing is lost.

The first line says which study it belongs to. A line that a crash cut short is dropped when the journal is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pliant.errors import ModelError, PliantError
from pliant.sweeps.points import Outcome

NAME = "points.jsonl"
FORMAT = 1


class Journal:
    """Outcomes by point; `record` puts them on disk before it returns."""

    def __init__(self, folder: Path, digest: str, metrics: list[str], retry: bool = False) -> None:
        self.path = folder / NAME
        self.head = {"format": FORMAT, "study": digest, "metrics": metrics}
        self.outcomes: dict[int, Outcome] = {}
        size = self._read() if self.path.exists() else 0
        if retry:
            self.outcomes = {k: o for k, o in self.outcomes.items() if o.status == "finished"}
        try:
            self._file = self.path.open("r+b" if size else "wb")
            self._file.truncate(size)  # without the line that a crash cut short
            self._file.seek(size)
            if not size:
                self._write([self.head])
        except OSError as error:
            raise PliantError(f"{self.path}: cannot be written ({error.strerror or error})") from error

    def _read(self) -> int:
        """Take over what is there; returns the size of its sound part."""
        size = 0
        with self.path.open("rb") as file:
            for number, raw in enumerate(file):
                if not raw.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(raw)
                    if number == 0:
                        self._check_head(entry)
                    else:
                        outcome = Outcome(int(entry["point"]), entry["status"], entry["metrics"], entry["message"])
                        self.outcomes[outcome.point] = outcome
                except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
                    raise ModelError(
                        f"{self.path}: line {number + 1} is damaged ({error}); pass --force to begin anew"
                    ) from None
                size += len(raw)
        return size

    def _check_head(self, entry: Any) -> None:
        if not isinstance(entry, dict) or entry != self.head:
            raise ModelError(
                f"{self.path}: belongs to another study (or other metrics); choose another folder, or pass --force to "
                "begin anew"
            )

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Write finished points; a point that is there already is not written twice."""
        new = [o for o in outcomes if o.point not in self.outcomes]
        self._write([{"point": o.point, "status": o.status, "metrics": o.metrics, "message": o.message} for o in new])
        self.outcomes |= {o.point: o for o in new}

    def _write(self, entries: list[dict[str, Any]]) -> None:
        if not entries:
            return
        place = self._file.tell()
        try:
            self._file.write("".join(json.dumps(entry) + "\n" for entry in entries).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._undo(place)
            raise PliantError(
                f"{self.path}: could not be written ({error.strerror or error}); what was finished before is kept, run "
                "the same command again to go on"
            ) from error

    def _undo(self, place: int) -> None:
        try:
            os.ftruncate(self._file.fileno(), place)
        except OSError:
            return  # the next reader drops the torn line

    def close(self) -> None:
        """Let go of the file."""
        try:
            self._file.close()
        except OSError:
            return  # what could not be flushed has been reported


__all__ = ["NAME", "Journal"]
