"""One copy of the source in a temporary folder, and the tests run on it with a bug or without."""

from __future__ import annotations

import ast
import functools
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mutants.limited import SAID
from mutants.planting import ROOT, SOURCE, BrokenEntry, Mutant

LIMIT = 600.0
"""Seconds after which tests without a bug have failed; with one, 120 s and ten times what they took without."""

COMPILING = (
    "compute.tape",
    "compute.llvm",
    "compute.cuda",
    "compute.compiled_loops",
    "integrators.cuda",
    "integrators.packs",
)
"""Rooms that make machine code: with a bug in them nothing compiled without it may be used again. Loops of other
rooms are kept under their translation, and traces under the whole source."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
PATIENCE = 20.0
"""So many times the limit of its processor time a run may take by the clock of a busy machine."""

OPTIONS = ("-q", "-p", "no:cacheprovider", "--no-header", "--tb=line")
DAILY_MARKS = ("-m", "not full and not long")


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
        self.source = folder / "src"
        shutil.copytree(SOURCE, self.source)  # with what is compiled: times of files go along

    def try_mutant(self, mutant: Mutant, sound: Mapping[str, float | str]) -> Verdict:
        """Plant, test, restore. `sound`: seconds that each test took without the bug, or why it did not pass."""
        took = [sound[name] for name in mutant.selection]
        try:
            mutant.text(self.source)
            for reason in took:
                if isinstance(reason, str):
                    raise BrokenEntry(f"{mutant.name}: its tests do not pass without it: {reason}")
        except BrokenEntry as error:
            return Verdict(mutant, "broken", 0.0, str(error))
        limit, start = 120.0 + 10.0 * sum(float(part) for part in took), time.perf_counter()
        with self.planted(mutant) as fresh:
            code, said = 0, ""
            for marks, names in calls_for(mutant.selection):
                if code == 0:
                    code, said = self.run([*marks, "-x", *names], limit, fresh=fresh)
        return Verdict(mutant, "survived" if code == 0 else "killed", time.perf_counter() - start, said)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[bool]:
        """The bug in this copy, and whether nothing that was compiled without it may be used."""
        path, text = self.source / mutant.file, mutant.text(self.source)
        before, original = path.stat(), path.read_bytes()
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        try:
            yield mutant.room in COMPILING
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def sound(self, file: str, selection: Sequence[str]) -> dict[str, float | str]:
        """What tests of one file do on the sound source: seconds of those that pass, the reason of those that do not.

        An entry may name the file, a test in it, or one case of a test.
        """
        report = self.folder / "report.xml"
        cases: dict[str, float | str] = {}
        for marks, names in calls_for(selection):
            report.unlink(missing_ok=True)
            code, said = self.run([*marks, *names, f"--junitxml={report}"], LIMIT, write=True)
            if not report.exists():
                return dict.fromkeys(selection, said or f"pytest ended with {code}")
            for case in ElementTree.parse(report).getroot().iter("testcase"):
                bad = [part for part in case if part.tag in ("failure", "error", "skipped")]
                cases[f"{file}::{case.get('name')}"] = (
                    f"{bad[0].tag}: {bad[0].get('message', '')[:120]}" if bad else float(case.get("time", 0.0))
                )
        return {name: _of_cases(name, cases) for name in selection}

    def run(
        self, asked: Sequence[str], limit: float, fresh: bool = False, write: bool = False
    ) -> tuple[int | None, str]:
        """pytest's exit code (None: out of time) and the line that says what failed first."""
        code, said, _ = self._pytest(["-m", "pytest", *OPTIONS, *asked], limit, fresh, write)
        return code, said

    def limited(self, asked: Sequence[str], limit: float, fresh: bool) -> tuple[int | None, str, float]:
        """Likewise with marks of its own, a limit in processor time, and the processor time that it took.

        Plugins that these tests do without take as long to import as many tests to run."""
        given = ["-m", "mutants.limited", str(limit), *OPTIONS, *asked]
        code, said, out = self._pytest(
            given, PATIENCE * limit, fresh, False, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **ONE_THREAD
        )
        told = [line for line in out.splitlines() if line.startswith(SAID)]
        return code, said, float(told[-1].removeprefix(SAID)) if told else limit

    def failing(self, nodes: Sequence[str]) -> list[str]:
        """Those of these tests that fail on the sound source."""
        _, _, out = self._pytest(["-m", "pytest", *OPTIONS, *DAILY_MARKS, *nodes], 20 * LIMIT, False, False)
        return [line.split()[1] for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]

    def _pytest(
        self, asked: Sequence[str], limit: float, fresh: bool, write: bool, **more: str
    ) -> tuple[int | None, str, str]:
        """The exit code, what failed first, and all that was said."""
        compiled = self.folder / ("fresh" if fresh else "compiled")
        if fresh:
            shutil.rmtree(compiled, ignore_errors=True)
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.source), str(ROOT / "tests")]),
            "PLIANT_CACHE_DIR": str(compiled / "kernels"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "examples"),
            "PYTHONDONTWRITEBYTECODE": "" if write else "1",
            "MPLBACKEND": "Agg",
            **more,
        }
        surroundings.pop("PLIANT_TESTED", None)  # the wheel that make test-full tests is not what runs here
        command = [sys.executable, *asked, f"--basetemp={self.folder / 'tmp'}"]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None, f"no end after {limit:.0f} s", ""
        said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        first = said[0].removeprefix("FAILED ")[:160] if said else done.stderr.strip()[-160:]
        return done.returncode, first, done.stdout


def calls_for(selection: Sequence[str]) -> list[tuple[tuple[str, ...], list[str]]]:
    """Calls of pytest that run the named tests, each with its marks: daily cases of files and of most tests. A case
    that is named and a test all of whose cases belong to the full set run as they stand."""
    large = [name for name in selection if "[" in name or name.partition("::")[2] in _large_tests(name.split("::")[0])]
    daily = [name for name in selection if name not in large]
    return [(marks, names) for marks, names in ((DAILY_MARKS, daily), ((), large)) if names]


@functools.cache
def _large_tests(file: str) -> frozenset[str]:
    """Functions of a file of tests with the mark `full` or `long` on all of their cases."""
    functions = (node for node in ast.parse((ROOT / file).read_text("utf-8")).body if isinstance(node, ast.FunctionDef))
    return frozenset(
        node.name
        for node in functions
        if any(ast.unparse(mark) in ("pytest.mark.full", "pytest.mark.long") for mark in node.decorator_list)
    )


def _of_cases(name: str, cases: dict[str, float | str]) -> float | str:
    """Seconds of all cases that an entry names, or the first reason against them."""
    own = [found for case, found in cases.items() if name in (case, case.split("[")[0], case.split("::")[0])]
    bad = [found for found in own if isinstance(found, str)]
    if bad:
        return bad[0]
    return sum(found for found in own if isinstance(found, float)) if own else f"{name} names no test"
