"""Fresh processes, in turns: how long until an engine gives its first result, and the memory it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.bench import first_result
from pliant.bench.arms import arm, rigid_chain
from pliant.bench.findings import Report, Start
from pliant.errors import PliantError
from pliant.robot import load
from pliant.timing import Effort, Timings

PART = "start"
NAMES = {
    "pinocchio": "Pinocchio", "mujoco": "MuJoCo", "exudyn": "Exudyn", "roboticstoolbox": "Robotics Toolbox",
    "sympy": "SymPy mechanics",
}  # fmt: skip
ON_PUMA = ("roboticstoolbox", "sympy")
PATIENCE = 300.0
"""Seconds after which a process counts as hung."""


@dataclass(frozen=True)
class _Case:
    label: str
    engine: str
    arm: str
    cache: str  # "cold", "warm" or "" for peers, which compile nothing that they keep


def measure(report: Report, effort: Effort) -> None:
    """Fill in the first results."""
    ours = {"pliant": "rigid 6R"} if effort.quick else {"pliant": "rigid 6R", "flexible pliant": "two-link, flexible"}
    cases = [_Case(f"pliant, {c} cache", engine, name, c) for engine, name in ours.items() for c in ("cold", "warm")]
    for module, name in NAMES.items():
        if not report.lacks(name, module) and not (effort.quick and module in ON_PUMA):  # seconds each
            cases.append(_Case(name, module, "PUMA" if module in ON_PUMA else "rigid 6R", ""))
            if f"flexible {module}" in first_result.ENGINES and not effort.quick:
                cases.append(_Case(f"{name}, pliant imported too", f"flexible {module}", "two-link, flexible", ""))
    with tempfile.TemporaryDirectory(prefix="pliant-bench-") as folder:
        _describe(Path(folder))
        found: dict[_Case, list[dict[str, Any]]] = {case: [] for case in cases}
        for _ in range(effort.processes):
            for case in list(found):
                report.tell(f"{PART}: {case.label} ...")
                try:
                    found[case].append(_process(case, Path(folder)))
                except PliantError as error:
                    report.failures.append(f"{PART}: {case.label} FAILED, {error}")
                    del found[case]
    report.starts += [_start(case, rounds) for case, rounds in found.items()]


def _describe(folder: Path) -> None:
    """The arms, as their processes read them."""
    for name, robot in (("rigid 6R", arm(6)), ("PUMA", load("puma"))):
        place = folder / name
        place.mkdir()
        robot.save(place / "arm.yaml")
        (place / "chain.json").write_text(rigid_chain(robot).to_json(), encoding="utf-8")


def _process(case: _Case, folder: Path) -> dict[str, Any]:
    cache = tempfile.mkdtemp(dir=folder) if case.cache == "cold" else str(folder / f"cache {case.engine}")
    if case.cache == "warm" and not Path(cache).exists():
        _run(case, folder, cache)  # fills the cache
    return _run(case, folder, cache)


def _run(case: _Case, folder: Path, cache: str) -> dict[str, Any]:
    env = {**os.environ, "PLIANT_CACHE_DIR": cache}
    command = [sys.executable, "-P", first_result.__file__, case.engine, str(folder / case.arm)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=env, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise PliantError(f"no answer within {PATIENCE:g} s") from None
    wall = time.perf_counter() - begin
    if done.returncode:
        raise PliantError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return {**json.loads(done.stdout.splitlines()[-1]), "process": wall}


def _start(case: _Case, rounds: list[dict[str, Any]]) -> Start:
    def samples(name: str) -> Timings:
        return Timings(tuple(r[name] for r in rounds))

    def known(name: str) -> Timings | None:
        return samples(name) if rounds[0][name] is not None else None

    return Start(
        case.label, case.arm, samples("imports"), samples("build"),
        known("run"), samples("process"), known("memory"),
    )  # fmt: skip
