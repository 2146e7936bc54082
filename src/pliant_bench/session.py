"""The parts of the bench, run one after the other; the table is written after each, so that Ctrl-C keeps the rest."""

from __future__ import annotations

import importlib
import json
import os
import platform
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pliant.base.writing import atomic_write
from pliant.errors import ModelError
from pliant.version import installed
from pliant_bench.findings import Report
from pliant_bench.markdown import markdown
from pliant_bench.part_names import PARTS
from pliant_bench.timing import QUICK, Effort

TABLE, DATA, FIGURE = "bench.md", "bench.json", "work_precision.png"
IDLE = 0.7  # load average of a machine that does nothing else
PEERS = ("pin", "mujoco", "exudyn", "roboticstoolbox-python", "sympy", "scipy", "numpy", "do-mpc")


def chosen(parts: Sequence[str]) -> list[str]:
    """Parts asked for, or all if none are, in the order of the table. Raise `ModelError` for an unknown part."""
    for part in parts:
        if part not in PARTS:
            raise ModelError(f"part: got {part!r}, expected some of {', '.join(PARTS)}")
    return [part for part in PARTS if part in parts or not parts]


def bench(
    folder: Path, parts: Sequence[str], quick: bool = False, tell: Callable[[str], None] = lambda _: None
) -> tuple[Report, dict[str, Any]]:
    """Run parts and write `bench.md`, `bench.json` and the plot into a folder that exists.

    Returns
    -------
    report : Report
    data : dict
        What `bench.json` holds.
    """
    facts = _facts(parts, quick)
    report = Report(facts["machine"], tell=tell)
    if facts["load"] is not None and facts["load"] > IDLE:
        report.note(
            f"BUSY MACHINE: load average {facts['load']:.1f} at the start. Long tasks are interrupted, short ones slip "
            "through, and the ratio then flatters the shorter: take these numbers again when nothing else runs"
        )
    done: list[str] = []
    try:
        for part in parts:
            importlib.import_module(f"pliant_bench.{part}").measure(report, QUICK if quick else Effort())
            done.append(part)
            _write(folder, report, facts, done)
    finally:  # interrupted or not, what was measured stays
        data = _write(folder, report, facts, done)
    return report, data


def _facts(parts: Sequence[str], quick: bool) -> dict[str, Any]:
    """The day, the machine, the versions and the command."""
    from pliant.compute.llvm.target import machine

    return {
        "date": date.today().isoformat(),
        "machine": machine().summary,
        "system": f"{platform.system()}, {os.cpu_count()} cores",
        "python": f"Python {platform.python_version()}",
        "command": " ".join(["pliant bench", *parts, *(["--quick"] if quick else [])]),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {name: installed(name) for name in ("pliant", *PEERS)},
        "quick": quick,
    }


def _write(folder: Path, report: Report, facts: dict[str, Any], done: list[str]) -> dict[str, Any]:
    data = {"format": 1, **facts, "parts": list(done), **report.to_dict()}
    for name, text in ((DATA, json.dumps(data, indent=1, allow_nan=False)), (TABLE, markdown(report, facts))):
        with atomic_write(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    if report.points:
        from pliant_bench.figure import draw

        draw(report.points, folder / FIGURE)
    return data
