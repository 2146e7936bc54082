"""Several studies at a time, each in its own process, which reports its progress through a queue."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING

from pliant.base.interrupts import Lifeline, deaf_children, hang_on
from pliant_studies import Listener, run_study
from pliant_studies.checks import Check

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    Steps = Queue[tuple[str, str]]
    """Studies and their steps, as they begin."""

POLL = 0.1
"""Seconds between two readings of the queue."""


def run_together(
    names: Sequence[str], target: Path, quick: bool, tell: Listener | None, jobs: int
) -> dict[str, list[Check]]:
    """Run studies on `jobs` processes; the first error ends the others and is raised here."""
    context = multiprocessing.get_context("spawn")  # a forked child would share the threads of compiled kernels
    queue: Steps = context.Queue()
    lifeline = Lifeline(context)
    pool = ProcessPoolExecutor(jobs, context, _begin, (lifeline.end, queue))
    try:
        with deaf_children():
            futures = {name: pool.submit(_child, name, target, quick) for name in names}
        _listen(list(futures.values()), queue, tell)
        found = {name: future.result() for name, future in futures.items()}
        pool.shutdown()
        return found
    finally:
        lifeline.cut()  # also of children in the middle of a study
        pool.shutdown(wait=False, cancel_futures=True)


def _listen(futures: Sequence[Future[list[Check]]], queue: Steps, tell: Listener | None) -> None:
    """Pass steps on until all studies are done."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=POLL)
        for future in done:
            future.result()
        while True:
            try:
                name, step = queue.get_nowait()
            except Empty:
                break
            if tell:
                tell(name, step)


_steps: Steps
"""Queue of a child for its progress."""


def _begin(lifeline: Connection, queue: Steps) -> None:
    """Prepare a child process."""
    global _steps
    hang_on(lifeline)
    _steps = queue


def _child(name: str, target: Path, quick: bool) -> list[Check]:
    return run_study(name, target, quick, lambda *step: _steps.put(step))
