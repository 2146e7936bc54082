"""Several studies at a time, each in a process of its own that tells its progress through a queue."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty
from typing import Any

from pliant.base.interrupts import Lifeline, deaf_children, hang_on
from pliant_studies import Listener, run_study
from pliant_studies.checks import Check

POLL = 0.1
"""Seconds between two looks at the queue."""


def run_together(
    names: Sequence[str], target: Path, quick: bool, tell: Listener | None, jobs: int
) -> dict[str, list[Check]]:
    """Run the studies on `jobs` processes; the first error ends the rest and is raised here."""
    context = multiprocessing.get_context("spawn")  # a forked child would share the threads of compiled kernels
    queue, lifeline = context.Queue(), Lifeline(context)
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


def _listen(futures: Sequence[Future[list[Check]]], queue: Any, tell: Listener | None) -> None:
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


_steps: Any = None
"""Of a child: where it tells its progress."""


def _begin(lifeline: Connection, queue: Any) -> None:
    global _steps
    hang_on(lifeline)
    _steps = queue


def _child(name: str, target: Path, quick: bool) -> list[Check]:
    return run_study(name, target, quick, lambda *step: _steps.put(step))
