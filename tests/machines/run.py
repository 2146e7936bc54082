"""The command: prepare a variant, run the tests there, count; then the next."""

from __future__ import annotations

import argparse
import datetime
import os
import random
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from machines import selection
from machines.place import BUILD, Broken, Machine, Missing, fresh
from machines.variants import VARIANTS, Variant, surroundings

LIMIT = 3600.0
"""Seconds after which a variant has failed; the slowest takes a quarter of that."""


@dataclass(frozen=True)
class Outcome:
    """How one variant did. `note` is the reason where it did not run or did not end, else what computed."""

    name: str
    verdict: str
    seconds: float
    note: str
    processor: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def line(self) -> str:
        counts = f"{self.passed:6d} {self.failed:6d} {self.skipped:7d}" if self.passed or self.failed else " " * 21
        return f"{self.name:20s} {self.verdict:8s} {counts} {self.seconds:6.0f} s {self.processor:6.0f} s  {self.note}"


HEAD = f"{'variant':20s} {'verdict':8s} {'passed':>6s} {'failed':>6s} {'skipped':>7s} {'time':>8s} {'of CPU':>8s}"


def main(arguments: Sequence[str] | None = None, variants: Sequence[Variant] = VARIANTS) -> int:
    """Exit code 1 if any variant failed; one that cannot run here is skipped with its reason and fails nothing."""
    asked = _parser(variants).parse_args(arguments)
    if asked.list:
        for variant in variants:
            print(f"{variant.name:20s} {variant.what}")
        return 0
    chosen = [variant for variant in variants if not asked.only or variant.name in asked.only]
    if asked.seed is not None:
        quick = [variant for variant in chosen if variant.quick]
        chosen = [random.Random(asked.seed).choice(quick)]
        print(f"one of {len(quick)} quick variants, by seed {asked.seed}: {chosen[0].name}")
    outcomes = []
    for variant in chosen:
        print(f"{variant.name}: {variant.what} ...", flush=True)
        outcomes.append(attempt(variant))
        print(outcomes[-1].line(), flush=True)
    print("\n".join(["", HEAD, *(outcome.line() for outcome in outcomes)]))
    return int(any(outcome.verdict == "FAILED" for outcome in outcomes))


def attempt(variant: Variant) -> Outcome:
    """Prepare and run one variant."""
    start = time.perf_counter()
    try:
        machine = variant.prepare()
        said = surroundings(machine)
        print(f"  ready after {time.perf_counter() - start:.0f} s", flush=True)
        start, before = time.perf_counter(), processor_time()
        passed, failed, skipped = tests(variant.name, machine)
    except Missing as reason:
        return Outcome(variant.name, "skipped", time.perf_counter() - start, str(reason))
    except Broken as reason:
        return Outcome(variant.name, "FAILED", time.perf_counter() - start, str(reason))
    verdict = "FAILED" if failed or not passed else "passed"
    note = ", ".join([said["machine"], *(f"{name} {version}" for name, version in said["versions"].items())])
    used = processor_time() - before
    return Outcome(variant.name, verdict, time.perf_counter() - start, note, used, passed, failed, skipped)


def processor_time() -> float:
    """Seconds that processes started from here have computed, however busy the machine is with other things."""
    used = os.times()
    return used.children_user + used.children_system


def tests(name: str, machine: Machine) -> tuple[int, int, int]:
    """Run the core tests, or the smoke set, on a machine: passed, failed, skipped."""
    folder = fresh(BUILD / name / "work" / "report")
    report = folder / "tests.xml"
    marker = "smoke" if machine.smoke else "core"
    share = () if machine.smoke else ("-n", "2", "--dist", "worksteal")
    options = ("-p", "no:cacheprovider", "-ra", "--basetemp", machine.inside(folder / "tmp"))
    asked = ("-m", marker, *share, *options, f"--junitxml={machine.inside(report)}", *selection.files(machine.smoke))
    code, said = machine.run("-m", "pytest", *asked, limit=LIMIT)
    (folder / "log.txt").write_text(said, encoding="utf-8")
    for line in said.splitlines():
        if line.startswith(("FAILED", "ERROR", "SKIPPED")):
            print(f"  {line}")
    if not report.exists():
        raise Broken(f"pytest ended with {code} and no report: see {folder / 'log.txt'}")
    return counts(report)


def counts(report: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped tests of a report."""
    passed = failed = skipped = 0
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        total, bad, left = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped"))
        bad += int(suite.get("errors", 0))
        passed, failed, skipped = passed + total - bad - left, failed + bad, skipped + left
    return passed, failed, skipped


def _parser(variants: Sequence[Variant]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/machines", description=sys.modules["machines"].__doc__)
    parser.add_argument("--list", action="store_true", help="name the variants and end")
    names = [variant.name for variant in variants]
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help="this variant (may be given again)"
    )
    parser.add_argument("--seed", type=_seed, help="one quick variant, drawn by this number or by `today`")
    return parser


def _seed(text: str) -> int:
    return int(datetime.date.today().strftime("%Y%m%d")) if text == "today" else int(text)
