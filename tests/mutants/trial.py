"""One copy of the source in a temporary folder, and the tests run on it with a bug or without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.planting import ROOT, SOURCE, BrokenEntry, Mutant

LIMIT = 600.0
"""Seconds after which tests without a bug have failed; with one, ten times what they took without, 60 s at least."""

COMPILING = ("kernels", "integrate")
"""Rooms that make machine code: with a bug in one of them nothing compiled without it may be used again."""

OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line")


@dataclass(frozen=True)
class Verdict:
    """How one mutant fared: `killed`, `survived` or `broken`, and what says so."""

    mutant: Mutant
    fate: str
    seconds: float
    note: str = ""

    def line(self) -> str:
        return f"{self.fate:8s} {self.mutant.room:14s} {self.mutant.name:52s} {self.seconds:5.0f} s  {self.note}"


class Bench:
    """A copy of the package for one worker, with a folder of compiled code that lives as long as the copy.

    Kernels are kept under a key of their content, so those of the sound source serve the mutants of all rooms but
    `COMPILING`; which of the two is the only thing that decides where a run keeps its compiled code.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "pliant"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def try_mutant(self, mutant: Mutant, sound: float | str) -> Verdict:
        """Plant, test, restore. `sound`: seconds that the same tests took without the bug, or why they failed."""
        path = self.source / mutant.file
        before = path.stat()
        try:
            text = mutant.text(self.source)
            if isinstance(sound, str):
                raise BrokenEntry(f"{mutant.name}: its tests fail without it: {sound}")
        except BrokenEntry as error:
            return Verdict(mutant, "broken", 0.0, str(error))
        original = path.read_bytes()
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        start = time.perf_counter()
        try:
            code, said = self.run(mutant.selection, max(60.0, 10.0 * sound), fresh=mutant.room in COMPILING)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return Verdict(mutant, "survived" if code == 0 else "killed", time.perf_counter() - start, said)

    def sound(self, selection: tuple[str, ...]) -> float | str:
        """Seconds that tests take on the sound source, or the reason why they do not pass."""
        start = time.perf_counter()
        code, said = self.run(selection, LIMIT, write=True)
        return time.perf_counter() - start if code == 0 else said or f"pytest ended with {code}"

    def run(
        self, selection: Sequence[str], limit: float, fresh: bool = False, write: bool = False
    ) -> tuple[int | None, str]:
        """pytest's exit code (None: out of time) and the line that says what failed first."""
        compiled = self.folder / ("fresh" if fresh else "compiled")
        if fresh:
            shutil.rmtree(compiled, ignore_errors=True)
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(ROOT / "tests")]),
            "PLIANT_CACHE_DIR": str(compiled / "kernels"),
            "NUMBA_CACHE_DIR": str(compiled / "loops"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "examples"),
            "PYTHONDONTWRITEBYTECODE": "" if write else "1",
            "MPLBACKEND": "Agg",
        }
        surroundings.pop("PLIANT_TESTED", None)  # the wheel that make test-full tests is not what runs here
        command = [sys.executable, "-m", "pytest", *OPTIONS, f"--basetemp={self.folder / 'tmp'}", *selection]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None, f"no end after {limit:.0f} s"
        said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return done.returncode, said[0].removeprefix("FAILED ")[:160] if said else done.stderr.strip()[-160:]
