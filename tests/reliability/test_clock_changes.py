"""Somebody sets the clock of the system back or forward: durations, limits and results do not notice."""

from __future__ import annotations

import ast
import itertools
import os
import re
import time
from pathlib import Path

import pytest

import pliant
from pliant.base import writing
from pliant.compute.llvm import cache
from sources import nodes, python_files, short

from .calls import model

WALL = {"time", "time_ns", "localtime", "gmtime", "ctime", "strftime"}
"""Functions of `time` that tell what the system's clock shows."""
TIMES = {"st_mtime", "st_mtime_ns", "st_ctime", "st_ctime_ns", "st_atime", "getmtime", "getctime"}
_SUSPECT = re.compile(r"\btime\.[tlgcs]|from time|st_[mca]time|get[mc]time|\bdate(time)?\b")
READ = {
    "pliant_bench/session.py": "the day of a measurement",
    "compute/llvm/cache.py": "which files of the cache are oldest or abandoned: one that goes too early is made anew",
    "compute/tape/trace_cache.py": "whether the source is what was read before: a new time only has it read again",
    "base/started.py": "when the process began, for the same",
    "robot/files/mesh_files.py": "whether a drawn mesh is what was read before",
    "base/writing.py": "unfinished files of other machines, which are removed after a day",
}
"""Files that look at the clock or at times of files, and what for; durations are none of it."""


def _looks_at_the_clock(path: Path) -> bool:
    if not _SUSPECT.search(path.read_text(encoding="utf-8")):  # parsing takes its time
        return False
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in TIMES or (owner == "time" and node.attr in WALL) or owner in ("datetime", "date"):
                return True
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
            return any(alias.name in WALL | {"datetime", "date"} for alias in node.names)
    return False


def test_durations_come_from_a_clock_that_nobody_sets() -> None:
    found = {short(path) for path in python_files() if _looks_at_the_clock(path)}
    assert found == set(READ), "use time.perf_counter or time.monotonic for durations, or say in READ what it is for"


@pytest.fixture
def leaping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is an hour, a day or ten years off at each look, forward and back."""
    now, leaps = time.time(), itertools.cycle([3600.0, -86400.0, 3e8, -3e8, 0.0])
    monkeypatch.setattr(time, "time", lambda: now + next(leaps))
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * (now + next(leaps))))


def test_a_run_is_the_same(leaping: None) -> None:
    """Its bits, and its progress, which never goes back."""
    first, second = (pliant.simulate(model(), 0.02, {"upper": 0.1}, progress=False) for _ in range(2))
    assert (first.q == second.q).all()
    assert 0 <= first.stats.wall < 600
    told: list[float] = []
    pliant.simulate(model(), 0.02, {"upper": 0.1}, progress=told.append)
    assert told == sorted(told)


def test_files_of_the_cache_from_the_future_or_the_past(
    leaping: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is found whatever its time is; the cache still keeps its size."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    for key, age in (("ab" * 32, -4e8), ("cd" * 32, 4e8)):
        cache.write(key, b"object code of a kernel")
        (path,) = (path for path in cache.location().glob("*") if path.stem == key)
        os.utime(path, (time.time() - age,) * 2)
        assert cache.read(key) == b"object code of a kernel"
    monkeypatch.setattr(cache, "LIMIT", 10)
    monkeypatch.setattr(cache, "_LOOK", 0)
    cache.write("ef" * 32, b"object code of a kernel")
    assert cache.entries() == 0


def test_what_this_machine_writes_is_never_taken_for_abandoned(leaping: None, tmp_path: Path) -> None:
    """Its process lives, whatever the time of the file says."""
    part = writing.unfinished(tmp_path / "run.nc")
    os.utime(part, (0, 0))
    writing._swept.clear()
    writing.sweep_up(tmp_path)
    assert part.exists()
