"""The command: choose mutants, try each with its tests, count by room."""

from __future__ import annotations

import argparse
import datetime
import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants.planting import ROOT, Mutant, mutants
from mutants.random_mutants import ROOMS, drawn
from mutants.random_trial import DAILY, LARGE, judge_random, table_of
from mutants.recording import FOLDER, record
from mutants.trial import Bench, Verdict

WORKERS = 2
SHARE = 0.9
"""Of all mutants tried at least this share has to die."""
PAGE = ROOT / "docs" / "measurements.md"
MARKS = ("<!-- mutants: begin -->", "<!-- mutants: end -->")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if fewer than 90 % die, or any entry is broken."""
    asked = _parser().parse_args(arguments)
    if asked.record is not None:
        return record(asked.record, asked.jobs)
    if asked.random is not None:
        return random_bugs(asked)
    chosen = [
        mutant
        for mutant in mutants()
        if (not asked.room or mutant.room in asked.room) and (not asked.only or mutant.name in asked.only)
    ]
    if asked.sample is not None:
        chosen = random.Random(asked.seed).sample(chosen, min(asked.sample, len(chosen)))
        print(f"{len(chosen)} mutants by seed {asked.seed}")
    if asked.list:
        print("\n".join(f"{mutant.room:14s} {mutant.name:52s} {mutant.file}" for mutant in chosen))
        return 0
    if not chosen:
        print("no mutant has that room and name; --list shows them")
        return 1
    start = time.perf_counter()
    verdicts = judge(chosen, asked.jobs)
    for verdict in verdicts:
        if verdict.fate != "killed":
            print(verdict.line())
    print("\n".join(["", *table(verdicts), "", f"{time.perf_counter() - start:.0f} s on {asked.jobs} workers"]))
    if asked.write_table:
        write_table(verdicts)
    killed = sum(verdict.fate == "killed" for verdict in verdicts)
    return int(killed < SHARE * len(verdicts) or any(verdict.fate == "broken" for verdict in verdicts))


def random_bugs(asked: argparse.Namespace) -> int:
    """Bugs that nobody chose. Exit code 1 if one was not killed by daily tests."""
    chosen = drawn(asked.random, asked.seed, tuple(asked.room or ROOMS))
    if asked.only:
        chosen = [mutant for mutant in chosen if any(mutant.name.startswith(place) for place in asked.only)]
    print(f"{len(chosen)} random bugs by seed {asked.seed}")
    if asked.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    out = Path(asked.out or FOLDER / f"random-{asked.seed}.json")
    fates = judge_random(chosen, asked.jobs, out, asked.daily, asked.large, asked.minutes)
    print(
        "\n".join(["", *table_of(fates), "", *(f"{f.name}\n{f.diff}" for f in fates if f.fate != "killed"), str(out)])
    )
    return int(any(fate.fate != "killed" for fate in fates))


def judge(chosen: Sequence[Mutant], jobs: int) -> list[Verdict]:
    """Every named test once without a bug, then every mutant; each worker has a copy of the source."""
    with tempfile.TemporaryDirectory(prefix="pliant-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        free: SimpleQueue[Bench] = SimpleQueue()
        for worker in range(jobs):
            free.put(Bench(Path(folder) / str(worker)))
        named: dict[str, set[str]] = {}
        for name in (name for mutant in chosen for name in mutant.selection):
            named.setdefault(name.split("::")[0], set()).add(name)

        def sound(file: str) -> dict[str, float | str]:
            bench = free.get()
            try:
                return bench.sound(file, sorted(named[file]))
            finally:
                free.put(bench)

        took: dict[str, float | str] = {}
        for found in pool.map(sound, sorted(named)):
            took |= found
        print(f"{len(took)} tests of {len(named)} files without a bug, {len(chosen)} mutants to try", flush=True)

        def attempt(mutant: Mutant) -> Verdict:
            bench = free.get()
            try:
                verdict = bench.try_mutant(mutant, took)
            finally:
                free.put(bench)
            print(verdict.line(), flush=True)
            return verdict

        return list(pool.map(attempt, chosen))


def table(verdicts: Iterable[Verdict]) -> list[str]:
    """Rooms, their mutants and fates, as Markdown."""
    rooms: dict[str, list[str]] = {}
    for verdict in verdicts:
        rooms.setdefault(verdict.mutant.room, []).append(verdict.fate)
    rooms["**all**"] = [fate for fates in rooms.values() for fate in fates]
    lines = ["| room | mutants | killed | survived | broken |", "|---|---|---|---|---|"]
    for room, fates in rooms.items():
        name = room if room.startswith("*") else f"`{room}`"
        counts = " | ".join(str(fates.count(fate)) for fate in ("killed", "survived", "broken"))
        lines.append(f"| {name} | {len(fates)} | {counts} |")
    return lines


def write_table(verdicts: Sequence[Verdict], page: Path = PAGE) -> None:
    """Put the table, with date and survivors, between its marks on the page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    today = datetime.date.today()
    alive = [f"`{verdict.mutant.name}`" for verdict in verdicts if verdict.fate == "survived"]
    said = [f"Measured on {today.day} {today:%B %Y} (`make mutants`):", "", *table(verdicts), ""]
    said += [f"Survivors: {', '.join(alive) or 'none'}."]
    page.write_text(f"{before}{MARKS[0]}\n" + "\n".join(said) + f"\n{MARKS[1]}{after}", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/mutants", description="Plant bugs, one at a time, and see the tests fail.")
    parser.add_argument("--list", action="store_true", help="name the mutants and end")
    parser.add_argument("--room", action="append", metavar="ROOM", help="those of this room (may be given again)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this mutant (may be given again)")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn by the seed")
    parser.add_argument("--seed", type=_seed, default=0, help="a number, or `today`")
    parser.add_argument("--jobs", type=int, default=WORKERS, metavar="N", help="at a time")
    parser.add_argument("--random", type=int, metavar="N", help="N bugs that nobody chose, drawn by the seed")
    parser.add_argument("--record", nargs="*", metavar="TESTS", help="record which test runs which line, for --random")
    parser.add_argument("--daily", type=float, default=DAILY, metavar="S", help="daily tests of a random bug, s")
    parser.add_argument("--large", type=float, default=LARGE, metavar="S", help="large tests of one that survived, s")
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no further random bug is tried")
    parser.add_argument("--out", metavar="FILE", help="of random bugs: the table and all fates as JSON")
    parser.add_argument("--write-table", action="store_true", help="write the table into docs/measurements.md")
    return parser


def _seed(text: str) -> int:
    return int(datetime.date.today().strftime("%Y%m%d")) if text == "today" else int(text)
