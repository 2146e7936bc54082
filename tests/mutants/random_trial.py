"""Random bugs, tried: the quick tests that ran the changed line, then all that depend on it, then the large ones."""

from __future__ import annotations

import ast
import compileall
import difflib
import functools
import json
import re
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.planting import ROOT, SOURCE, Mutant
from mutants.recording import Recorded, files_of_results
from mutants.trial import Bench

FIRST, DAILY, LARGE = 8.0, 60.0, 120.0
"""Processor seconds, as recorded, of the first tests, and of the daily ones; processor seconds of the large ones."""
FILES = 6
"""Files of the first tests at most: each takes its time to be read."""
SLOWER, START = 5.0, 20.0
"""A bug that takes so many times as long as its tests without it, and the seconds of a start, has no end."""
UNKNOWN = 20.0
"""Processor seconds that are taken for a file of tests that was not recorded."""
CLOSE = 0.3
"""Scores above which the names that a file of tests has in common with a module are no accident."""
QUICK, LATER = "not full and not slow and not long", "(full or slow) and not long"
LOOPS = {
    "integrators": (
        "tests/integrators/", "tests/control/sensing/test_compiled_ticks.py",
        "tests/physics/drives/test_play_events.py", "tests/physics/contacts/", "tests/simulation/stepper/",
        "tests/simulation/batch/",
    ),
    "compute.nmpc": ("tests/compute/nmpc/", "tests/control/controllers/test_predictive"),
}  # fmt: skip
"""What runs the loops of rooms that run as machine code, which nothing records."""
NONE_CHOSEN = 5
"""The code of pytest where no test has the marks that are asked for."""


@dataclass(frozen=True)
class Fate:
    """What became of a bug: `killed` by daily tests, `late` by large ones alone, `survived`, or `unreached`."""

    name: str
    room: str
    fate: str
    by: str
    seconds: float
    tests: int
    diff: str

    @property
    def test(self) -> str:
        """The test that noticed it, if one did."""
        node = self.by.split(" - ")[0]
        return node if "::" in node else ""

    def line(self) -> str:
        return f"{self.fate:9s} {self.seconds:5.1f} s {self.tests:4d} tests  {self.name:110s} {self.by}"


def choose(mutant: Mutant, recorded: Recorded, limit: float = DAILY) -> tuple[list[str], list[str]]:
    """First tests and the others: those that ran the changed lines as recorded (of loops, which run as machine code,
    those of the room), and files of tests that name what the module defines, as far as they are not recorded."""
    place, first, last = mutant_lines(mutant)
    ran = recorded.tests(mutant.file, first, last, all_of_it=place is None)
    home = LOOPS.get(mutant.room, (home_of(mutant.room),))
    if not ran or mutant.room in LOOPS:
        ran |= {node for node in recorded.seconds if node.startswith(home)}
    by_file: dict[str, list[str]] = {}
    for node in sorted(ran, key=lambda node: (recorded.seconds[node], node)):
        by_file.setdefault(node.split("::")[0], []).append(node)
    near = sorted(
        by_file, key=lambda file: (not file.startswith(home_of(mutant.room)), recorded.seconds[by_file[file][0]])
    )
    begin = _by_turns([by_file[file] for file in near[:FILES]], recorded, FIRST)
    rest = _by_turns([[node for node in by_file[file] if node not in set(begin)] for file in near], recorded, limit)
    left = limit - sum(recorded.seconds[node] for node in rest)
    others: dict[str, list[str]] = {}  # what a test has in common with those before it is seen to run in these alone
    for node in sorted(recorded.seconds.keys() - ran, key=lambda node: (recorded.seconds[node], node)):
        if node.split("::")[0] in by_file or node.startswith(home):
            others.setdefault(node.split("::")[0], []).append(node)
    rest = _by_file(rest + _by_turns(others.values(), recorded, left, 0))
    files = [file for file in naming(mutant, place) if file not in recorded.files]
    count = 0 if begin else 2
    return begin + files[:count], rest + files[count : count + int(limit / UNKNOWN)]


def home_of(room: str) -> str:
    """Folder of the tests of a room."""
    return f"tests/{room.replace('.', '/')}/"


def mutant_lines(mutant: Mutant) -> tuple[str | None, int, int]:
    """The function (or method) that is changed, if any, and the first and last line that are."""
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    first = text[: text.index(mutant.old)].count("\n") + 1
    old, new = mutant.old.splitlines(), mutant.new.splitlines()
    changed = [k for k, line in enumerate(old) if k >= len(new) or line != new[k]]
    first, last = first + changed[0], first + changed[-1]
    inside = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
              and node.lineno <= first <= (node.end_lineno or 0)]  # fmt: skip
    return (max(inside, key=lambda node: node.lineno).name if inside else None), first, last


@functools.cache
def words() -> dict[str, frozenset[str]]:
    """Names in the files of tests."""
    return {
        path.relative_to(ROOT).as_posix(): frozenset(re.findall(r"[A-Za-z_]\w{3,}", path.read_text(encoding="utf-8")))
        for path in files_of_results()
    }


def naming(mutant: Mutant, place: str | None) -> list[str]:
    """Files of tests that name what the module defines, those first that few others name; then those of the room."""
    tree = ast.parse((SOURCE / mutant.file).read_text(encoding="utf-8"))
    own = [*tree.body, *(part for node in tree.body if isinstance(node, ast.ClassDef) for part in node.body)]
    defined = {node.name for node in own if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    weights: dict[str, float] = {Path(mutant.file).stem: 1.0}
    for name in defined - {"__init__", "__post_init__"}:
        weights[name] = 3.0 if name == place else 1.0
    heard = {name: sum(name in found for found in words().values()) for name in weights}
    scores = {
        file: sum(weight / heard[name] for name, weight in weights.items() if name in found)
        + 0.05 * file.startswith(home_of(mutant.room))
        for file, found in words().items()
    }
    return [file for file in sorted(scores, key=lambda file: -scores[file]) if scores[file] > CLOSE]


def _by_turns(queues: Iterable[list[str]], recorded: Recorded, limit: float, least: int = 1) -> list[str]:
    """A test of each file, then a second of each, and so on, cheapest first, as far as the time goes."""
    out, spent = [], 0.0
    waiting = [list(queue) for queue in queues if queue]
    while waiting:
        for queue in waiting:
            spent += recorded.seconds[queue[0]]
            if spent > limit and len(out) >= least:
                return _by_file(out)
            out.append(queue.pop(0))
        waiting = [queue for queue in waiting if queue]
    return _by_file(out)


def _by_file(nodes: list[str]) -> list[str]:
    """Files in the order of their first tests; pytest reads each once."""
    order = list(dict.fromkeys(node.split("::")[0] for node in nodes))
    return sorted(nodes, key=lambda node: order.index(node.split("::")[0]))


class Unsound:
    """Tests that fail without a bug, as far as they were met: the trials of all workers leave them out."""

    def __init__(self, recorded: Recorded) -> None:
        self.passing, self.failing = set(recorded.seconds), set[str]()

    def holds(self, node: str, bench: Bench) -> bool:
        """Whether a test that found a bug passes without it, on the sound copy."""
        if node not in self.passing | self.failing:
            (self.failing if bench.failing([node]) else self.passing).add(node)
        return node in self.passing


def attempt(bench: Bench, mutant: Mutant, recorded: Recorded, unsound: Unsound, daily: float, large: float) -> Fate:
    """Plant, test, restore."""
    before, after = (text.splitlines() for text in (mutant.old, mutant.new))
    diff = "\n".join(list(difflib.unified_diff(before, after, mutant.file, mutant.file, lineterm="", n=2))[2:])
    spent, tried = 0.0, 0
    begin, rest = choose(mutant, recorded, daily)
    files = sorted({node.split("::")[0] for node in begin + rest})
    stages = [(begin, QUICK), (rest, QUICK), (files if large else [], LATER)]
    while stages:
        nodes, marks = stages[0]
        known = sum(recorded.seconds.get(node, 0.0) for node in nodes)
        whole = any("::" not in node for node in nodes)
        limit = large if marks == LATER else START + SLOWER * known + 2 * UNKNOWN * sum("::" not in n for n in nodes)
        if nodes:
            out = [f"--deselect={node}" for node in sorted(unsound.failing)]
            with bench.planted(mutant) as fresh:
                code, said, took = bench.limited(["-x", "-m", marks, *out, *nodes], limit, fresh)
            spent, tried = spent + took, tried + (0 if marks == LATER else len(nodes))
            ended = code is None or code < 0
            if code not in (0, NONE_CHOSEN) and not (ended and whole):  # whole files may take long without a bug
                fate = Fate(
                    mutant.name, mutant.room, "late" if marks == LATER else "killed", "no end" if ended else said,
                    round(spent, 1), tried, diff,
                )  # fmt: skip
                if not fate.test or unsound.holds(fate.test, bench):
                    return fate
                if f"--deselect={fate.test}" not in out:
                    continue  # once more without the test
        del stages[0]
    return Fate(mutant.name, mutant.room, "survived" if tried else "unreached", "", round(spent, 1), tried, diff)


def judge_random(
    chosen: Sequence[Mutant], jobs: int, out: Path, daily: float, large: float, minutes: float
) -> list[Fate]:
    """All of them, as far as the minutes go; fates are written after each, and those in the file are taken from it."""
    recorded, end = Recorded(), time.monotonic() + 60 * minutes
    unsound = Unsound(recorded)
    fates = [Fate(**told) for told in json.loads(out.read_text("utf-8"))["bugs"]] if out.exists() else []
    chosen = [mutant for mutant in chosen if mutant.name not in {fate.name for fate in fates}]
    lock = threading.Lock()
    compileall.compile_dir(SOURCE, quiet=2)  # each of many processes would compile what it imports
    with tempfile.TemporaryDirectory(prefix="pliant-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        free: SimpleQueue[Bench] = SimpleQueue()
        for worker in range(jobs):
            free.put(Bench(Path(folder) / str(worker)))

        def one(mutant: Mutant) -> None:
            if time.monotonic() > end:
                return
            bench = free.get()
            try:
                fate = attempt(bench, mutant, recorded, unsound, daily, large)
            finally:
                free.put(bench)
            with lock:
                fates.append(fate)
                print(fate.line(), flush=True)
                write(fates, out)

        list(pool.map(one, chosen))
    return fates


def write(fates: Sequence[Fate], out: Path) -> None:
    """The table by room, and all fates, survivors first."""
    order = ("survived", "unreached", "late", "killed")
    said = sorted(map(asdict, fates), key=lambda fate: (order.index(fate["fate"]), fate["room"], fate["name"]))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"table": table_of(fates), "bugs": said}, indent=1), encoding="utf-8")


def table_of(fates: Sequence[Fate]) -> list[str]:
    """Rooms, their bugs and fates, as Markdown."""
    lines = ["| room | bugs | killed | by large tests alone | survived | processor s |", "|---|---|---|---|---|---|"]
    for room in [*sorted({fate.room for fate in fates}), "**all**"]:
        own = [fate for fate in fates if room in (fate.room, "**all**")]
        counts = [
            sum(fate.fate in names for fate in own) for names in (("killed",), ("late",), ("survived", "unreached"))
        ]
        lines.append(f"| {room} | {len(own)} | {' | '.join(map(str, counts))} | {sum(f.seconds for f in own):.0f} |")
    return lines
