"""Wrong files by the hundred, in a process of its own whose memory and processor time the system bounds.

    PYTHONPATH=src:tests python -m reliability.trials mesh 0 300

A file that is read beyond a bound, in machine code too, ends the process; the files behind it are tried in a new one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from .judge import PATIENCE

MEMORY = 1 << 30
"""Bytes that reading a file may take beside what the process has before."""
GRACE = 5.0
"""Seconds of processor time after which the system ends what did not let Python end it."""
_TESTS = Path(__file__).parents[1]
_NO_ROOM = re.compile(r"MemoryError|[Uu]nable to allocate|[Cc]annot allocate memory|out of memory|bad_alloc")


def faults_of(kind: str, seeds: range) -> dict[int, str]:
    """What is wrong with the way in which each of the files was read; those with nothing wrong are not in it."""
    import pliant

    places = [str(Path(pliant.__file__).parents[1]), str(_TESTS), os.environ.get("PYTHONPATH", "")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}
    found: dict[int, str] = {}
    first = seeds.start
    while first < seeds.stop:
        command = [sys.executable, "-m", "reliability.trials", kind, str(first), str(seeds.stop - first)]
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
        tried = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found |= {entry["seed"]: entry["fault"] for entry in tried if entry.get("fault")}
        begun = [entry["begin"] for entry in tried if "begin" in entry]
        if not begun:
            raise RuntimeError(f"{kind}: no file was tried: {done.stderr[-2000:]}")
        if done.returncode == 0:
            break
        first = begun[-1] + 1
        found[begun[-1]] = f"the process ended with {done.returncode}: {done.stderr[-600:]}"
    return found


def _bound_memory() -> None:
    """To what the process has now, and a gigabyte."""
    with contextlib.suppress(OSError, ValueError):  # a system that does not tell or does not bound
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _bound_time() -> None:
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + PATIENCE + GRACE) + 1, hard))


def beyond(rng: random.Random, folder: Path) -> None:
    """Stands for a reader that keeps no bound, so that a test can see them held."""
    if folder.name == "1":
        bytearray(2 * MEMORY)
    if folder.name == "3":
        sum(range(10**13))  # never looks for signals


def main(kind: str, first: int, count: int) -> None:
    """Try files one by one, each in a folder of its own; a line before and behind each."""
    from . import judge
    from .test_fuzz import READERS, one

    READERS.setdefault(beyond.__name__, beyond)

    messages: list[str] = []
    tell = judge.message_fault
    judge.message_fault = lambda text: messages.append(text) or tell(text)  # type: ignore[func-returns-value]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("warm", *map(str, range(first, first + count))):
            place = Path(folder) / name
            place.mkdir()
            os.chdir(place)
            if name == "warm":  # what is imported and compiled at the first file is not of that file
                for seed in range(-3, 0):
                    one(kind, seed, place)
                gc.collect()
                _bound_memory()
                continue
            _bound_time()
            messages.clear()
            print(json.dumps({"begin": int(name)}), flush=True)
            fault = one(kind, int(name), place)
            if fault is None and any(_NO_ROOM.search(message) for message in messages):
                fault = f"more than {MEMORY >> 30} GiB: {messages[-1][:300]}"
            print(json.dumps({"seed": int(name), "fault": fault}), flush=True)
            os.chdir(folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
