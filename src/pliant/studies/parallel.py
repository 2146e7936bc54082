"""Several studies at a time, each in a process of its own that tells its progress through a queue."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from pathlib import Path
from queue import Empty
from typing import Any

from pliant.studies import Listener, run_study
from pliant.studies.checks import Check

POLL = 0.1
"""Seconds between two looks at the queue."""


def run_together(
    names: Sequence[str], target: Path, quick: bool, tell: Listener | None, jobs: int
) -> dict[str, list[Check]]:
    """Run the studies on `jobs` processes; the first error ends the rest and is raised here."""
    context = multiprocessing.get_context("spawn")  # a forked child would share the threads of compiled kernels
    with context.Manager() as manager:
        queue: Any = manager.Queue()
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            futures = {name: pool.submit(_child, name, target, quick, queue) for name in names}
            try:
                _listen(list(futures.values()), queue, tell)
                return {name: future.result() for name, future in futures.items()}
            except BaseException:
                pool.shutdown(cancel_futures=True)  # before the queue goes: a child may be waiting for its turn
                raise


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


def _child(name: str, target: Path, quick: bool, queue: Any) -> list[Check]:
    return run_study(name, target, quick, lambda *step: queue.put(step))
