"""Which test runs which line: a plugin of pytest that records it, and what was recorded, read.

    python tests/mutants --record dynamics physics control ...

One process for each folder or file of tests; what it saw is kept in `build/mutants`, where `--random` finds it. Traces
of earlier runs are not used meanwhile, so that lines which only write expressions are seen to run. Machine code, which
is found by its content, is shared by all processes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import coverage
import pytest
from coverage.sqldata import CoverageData

from mutants.planting import ROOT, SOURCE, TESTS
from mutants.trial import ONE_THREAD

FOLDER = ROOT / "build" / "mutants"
ELSEWHERE = ("learning", "machines", "mutants", "bench", "viewer", "figures", "studio", "cli", "reliability")
TEXTS = re.compile(
    r"test_(interrupts|release|docs|documentation|readme|recipes|examples|notebooks|public|layers|package\w*|reference)$"
)
"""Folders of tests that hold other things than results, and files that run examples or read texts."""
WANTED = "PLIANT_RECORD"
"""The variable that names the file to write; without it the plugin does nothing."""


class Recorder:
    """Lines by test, and the processor time of each test."""

    def __init__(self, path: Path) -> None:
        self.told = path.with_suffix(".recorded.json")
        for old in (path, self.told):
            old.unlink(missing_ok=True)
        self.cover = coverage.Coverage(str(path), source=[str(SOURCE)], config_file=False)
        self.seconds: dict[str, float] = {}
        self.idle: set[str] = set()
        self.cover.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One that is skipped or fails tells nothing of a bug."""
        if not report.passed:
            self.idle.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.cover.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self.cover.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self.cover.stop()
        self.cover.save()
        stamps = {str(path.relative_to(SOURCE)): stamp(path) for path in sorted(SOURCE.rglob("*.py"))}
        self.seconds = {node: took for node, took in self.seconds.items() if node not in self.idle}
        told = {"seconds": self.seconds, "stamps": stamps}
        self.told.write_text(json.dumps(told), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if WANTED in os.environ:
        from pliant.compute.tape import trace_cache

        trace_cache.code_stamp = lambda: None
        config.pluginmanager.register(Recorder(Path(os.environ[WANTED])))


def record(tests: Sequence[str], jobs: int) -> int:
    """Record the quick tests of these folders and files below tests/, or of all that hold results, one process each;
    by several jobs file by file, the largest first."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    asked = [TESTS / name for name in tests] if tests else files_of_results()
    if jobs > 1:
        files = {path for place in asked for path in ([place] if place.is_file() else place.rglob("test_*.py"))}
        asked = sorted(files, key=lambda path: -path.stat().st_size)

    def one(place: Path) -> int:
        name = place.relative_to(TESTS).as_posix()
        path = FOLDER / f"{name.removesuffix('.py').replace('/', '.')}.coverage"
        surroundings = {
            **os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(TESTS)]), WANTED: str(path),
            "PLIANT_CACHE_DIR": str(FOLDER / "cache"), "MPLBACKEND": "Agg", **ONE_THREAD,
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "mutants.recording", "-p", "no:cacheprovider", "-q"]
        return subprocess.run([*command, str(place)], cwd=ROOT, env=surroundings, check=False).returncode

    with ThreadPoolExecutor(jobs) as pool:
        return max(pool.map(one, asked))


def files_of_results() -> list[Path]:
    """Files of tests that hold what is computed."""
    found = sorted(TESTS.rglob("test_*.py"))
    return [
        path for path in found if not TEXTS.match(path.stem) and not {*ELSEWHERE} & {*path.relative_to(TESTS).parts}
    ]


def stamp(path: Path) -> str:
    """Of the text of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Recorded:
    """What was recorded, of all folders of tests."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.seconds: dict[str, float] = {}
        self._parts: list[tuple[CoverageData, dict[str, str]]] = []
        for path in sorted(folder.glob("*.recorded.json")):
            place = TESTS / path.name.removesuffix(".recorded.json").replace(".", "/")
            if not place.is_dir() and not place.with_suffix(".py").exists():
                continue  # recorded before the file was moved
            told = json.loads(path.read_text(encoding="utf-8"))
            self.seconds |= told["seconds"]
            data = CoverageData(str(path.with_suffix("").with_suffix(".coverage")))
            data.read()
            self._parts.append((data, told["stamps"]))

    @functools.cached_property
    def files(self) -> set[str]:
        """Files of tests that were recorded."""
        return {node.split("::")[0] for node in self.seconds}

    def tests(self, file: str, first: int, last: int, all_of_it: bool = False) -> set[str]:
        """Those that ran one of these lines; of a file that was changed since, or of lines that run when it is
        imported, those that ran any line of it."""
        found: set[str] = set()
        for data, stamps in self._parts:
            measured = next((name for name in data.measured_files() if Path(name).match(file)), None)
            if measured is None:
                continue
            whole = all_of_it or stamps.get(file) != stamp(SOURCE / file)
            for line, contexts in data.contexts_by_lineno(measured).items():
                if whole or first <= line <= last:
                    found.update(contexts)
        return found & self.seconds.keys()
