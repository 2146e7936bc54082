"""Fresh processes, in turns: the time to the first result of an engine, and the memory that it takes."""

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

from pliant.errors import PliantError
from pliant.model.robot import load
from pliant.robot.files.robot_files import arms
from pliant_bench import first_result
from pliant_bench.arms import arm as bench_arm
from pliant_bench.arms import rigid_chain
from pliant_bench.findings import Report, Start
from pliant_bench.timing import Effort, Timings

PART = "start"
NAMES = {
    "pinocchio": "Pinocchio", "mujoco": "MuJoCo", "exudyn": "Exudyn", "roboticstoolbox": "Robotics Toolbox",
    "sympy": "SymPy mechanics",
}  # fmt: skip
ON_PUMA = ("roboticstoolbox", "sympy")
PATIENCE = 300.0
"""Seconds after which a process counts as hung."""
FEWEST = 10
"""Processes of each kind, unless the run is a quick one."""
FIRST = "first order"
"""Label of the options of pliant 0.1, which followed beams to first order. The default now is second order."""
COLD = {"two-link": 10.0, "canadarm2": 20.0, "lab-arm": 20.0}
"""Arms that are also measured with a cold cache, and their targets in first results of Pinocchio."""
WARM, TWO_LINK = 3.5, 2.5
"""Targets with a warm cache, for any arm and for the two-link arm."""
IMPORT, INFO = 2.0, 4.0
"""Targets for `import pliant` and `pliant info two-link`, in imports of NumPy."""


@dataclass(frozen=True)
class _Case:
    label: str
    engine: str
    arm: str
    cache: str  # "cold", "warm" or "" for peers, which compile nothing that they keep
    asked: tuple[float, str] | None = None  # so many times the whole process of another engine


def measure(report: Report, effort: Effort) -> None:
    """Fill in the first results."""
    cases = _own(effort.quick)
    for module, name in NAMES.items():
        if not report.lacks(name, module) and not (effort.quick and module in ON_PUMA):  # seconds each
            cases.append(_Case(name, module, "PUMA" if module in ON_PUMA else "rigid 6R", ""))
            if f"flexible {module}" in first_result.ENGINES and not effort.quick:
                cases.append(_Case(f"{name}, pliant imported too", f"flexible {module}", "two-link, flexible", ""))
    with tempfile.TemporaryDirectory(prefix="pliant-bench-") as folder:
        _describe(Path(folder))
        found: dict[_Case, list[dict[str, Any]]] = {case: [] for case in cases}
        for _ in range(effort.processes if effort.quick else max(effort.processes, FEWEST)):
            for case in list(found):
                report.tell(f"{PART}: {case.label}, {case.arm} ...")
                try:
                    found[case].append(_process(case, Path(folder)))
                except PliantError as error:
                    report.failures.append(f"{PART}: {case.label} FAILED, {error}")
                    del found[case]
    made = {case: _start(case, rounds) for case, rounds in found.items()}
    report.starts += made.values()
    report.verdicts += _verdicts(made)


def _own(quick: bool) -> list[_Case]:
    """First results of Pliant itself, and the processes with which its start is compared."""
    cases = [_Case("NumPy", "numpy", "import alone", "")]
    cases += [_Case("pliant", "import pliant", "import alone", "", (IMPORT, "NumPy"))]
    cases += [_Case(f"pliant, {c} cache", "pliant", "rigid 6R", c) for c in ("cold", "warm")]
    if quick:
        return cases
    cases += [_Case("pliant info two-link, warm cache", "info", "two-link", "warm", (INFO, "NumPy"))]
    for name in arms():
        for arm in (name, f"{name}, {FIRST}"):
            most = TWO_LINK if name == "two-link" else WARM
            cases.append(_Case("pliant, warm cache", "first run", arm, "warm", (most, "Pinocchio")))
            if name in COLD:
                cases.append(_Case("pliant, cold cache", "first run", arm, "cold", (COLD[name], "Pinocchio")))
    return cases + [_Case(f"pliant, {c} cache", "flexible pliant", "two-link, flexible", c) for c in ("cold", "warm")]


def _verdicts(made: dict[_Case, Start]) -> list[tuple[str, bool]]:
    """Targets for whole processes, as ratios of medians."""
    whole = {case.label: start.process for case, start in made.items() if case.asked is None}
    found = []
    for case, start in made.items():
        if case.asked is not None and case.asked[1] in whole:
            most, other = case.asked
            ratio = start.process.over(whole[other]).median
            found.append((f"at most {most:g} x {other}, {case.arm}, {case.label}: {ratio:.2g} x", ratio <= most))
    return found


def _describe(folder: Path) -> None:
    """The arms, as their processes read them."""
    for name, robot in (("rigid 6R", bench_arm(6)), ("PUMA", load("puma"))):
        place = folder / name
        place.mkdir()
        robot.save(place / "arm.yaml")
        (place / "chain.json").write_text(rigid_chain(robot).to_json(), encoding="utf-8")
    for name in arms():
        for arm, options in ((name, {}), (f"{name}, {FIRST}", {"stiffening": "off"})):
            (folder / arm).mkdir()
            (folder / arm / "arm.json").write_text(json.dumps({"arm": name, "options": options}), encoding="utf-8")


def _process(case: _Case, folder: Path) -> dict[str, Any]:
    cache = tempfile.mkdtemp(dir=folder) if case.cache == "cold" else str(folder / f"cache {case.engine} {case.arm}")
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
