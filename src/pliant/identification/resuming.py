"""Progress of a fit in a file, so that the same fit can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.arrays import Array
from pliant.base.content import content
from pliant.base.reading import read_input
from pliant.base.writing import atomic_write
from pliant.errors import ModelError
from pliant.identification.recording import Recording
from pliant.identification.unknowns import Unknowns

MOST_BYTES = 1 << 24


class FitProgress:
    """Progress of a fit: the attempt, the stage of growing records, the round on the whole one, the scaled values `u`
    and the noise; and `best`, the result of an earlier attempt. Without a `path` nothing is written."""

    def __init__(self, path: str | os.PathLike[str] | None, fit: str, size: int) -> None:
        self.path, self.fit = None if path is None else Path(path), fit
        self.attempt = self.stage = self.round = 0
        self.u: Array | None = None
        self.noise: list[list[float]] | None = None
        self.best: tuple[float, list[list[float]], Array, str] | None = None
        if self.path is not None and self.path.exists():
            self._read(size)

    def _read(self, size: int) -> None:
        assert self.path is not None
        try:
            kept = json.loads(read_input(self.path, MOST_BYTES))
            if kept.pop("check") != _checksum(kept):
                raise ValueError("it does not match its checksum")
            fit, self.attempt, self.stage, self.round = (kept[key] for key in ("fit", "attempt", "stage", "round"))
            self.u = None if kept["u"] is None else np.array(kept["u"], dtype=float)
            self.noise, best = kept["noise"], kept["best"]
            self.best = None if best is None else (best[0], best[1], np.array(best[2], dtype=float), best[3])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise ModelError(
                f"{self.path}: damaged, or no record of a fit ({error}); remove it to begin anew"
            ) from None
        if fit != self.fit or any(u is not None and u.shape != (size,) for u in (self.u, self.best and self.best[2])):
            raise ModelError(
                f"{self.path}: belongs to another fit (other data, numbers or settings); choose another file, or "
                "remove it to begin anew"
            )

    def reached(self, u: Array | None, noise: list[list[float]] | None, **where: int) -> None:
        """Note the progress, on disk before anything else happens; `where` has new values of attempt, stage, round."""
        self.u, self.noise = u, noise
        for name, value in where.items():
            setattr(self, name, value)
        if self.path is None:
            return
        best = None if self.best is None else [self.best[0], self.best[1], self.best[2].tolist(), self.best[3]]
        state = {
            "format": 2, "fit": self.fit, "attempt": self.attempt, "stage": self.stage, "round": self.round,
            "u": None if u is None else u.tolist(), "noise": noise, "best": best,
        }  # fmt: skip
        with atomic_write(self.path) as partial:
            partial.write_text(json.dumps({**state, "check": _checksum(state)}), encoding="utf-8")

    def finished(self) -> None:
        """Remove the file of a finished fit."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _checksum(state: dict[str, object]) -> str:
    """Digest of the content of a record."""
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def fit_digest(fitted: Unknowns, recordings: Sequence[Recording], *settings: object) -> str:
    """Digest of the inputs of a fit, except for functions in sensors."""
    found = hashlib.sha256(repr((fitted.names, fitted.robot.to_dict(), settings)).encode())
    for array in (fitted.start, fitted.lower, fitted.upper, fitted.prior):
        found.update(np.ascontiguousarray(array).tobytes())
    for recording in recordings:
        found.update(repr((recording.name, dict(recording.calibration), recording.free_start)).encode())
        found.update(str(content(recording.torque, recording.motion, recording.q0, recording.qd0)).encode())
        for channel in recording.channels:
            for array in recording.reading(channel):
                found.update(channel.encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
