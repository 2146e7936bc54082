"""A pool of threads that share the states of a batch, in blocks; kernels run without the interpreter's lock."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.errors import ModelError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Operations (states times length of the tape) below which a second thread costs more than it saves.
LEAST_SHARED = 1_000_000
#: States that a thread takes at least: whole packs, whatever their width.
GRAIN = 8
#: Bytes to which scratch memory is aligned.
ALIGNMENT = 64
#: Blocks of states for each thread, so that an interrupted thread does not delay the others much.
BLOCKS_PER_THREAD = 4

_lock = threading.Lock()
_chosen: int | None = None
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def set_threads(n: int | None) -> None:
    """Use `n` threads for batches; None goes back to `PLIANT_THREADS` or else to the processors of this process."""
    global _chosen
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ModelError(f"threads: got {n!r}, expected a whole number of at least 1")
    _chosen = n


def get_threads() -> int:
    """Number of threads that batches use."""
    if _chosen is not None:
        return _chosen
    given = os.environ.get("PLIANT_THREADS")
    if not given:
        return processors()
    if not given.isdigit() or int(given) < 1:
        raise ModelError(f"PLIANT_THREADS: got {given!r}, expected a whole number of at least 1")
    return int(given)


def processors() -> int:
    """Number of processors that this process may use; where the system does not tell, of all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[Callable[[], tuple[int, int] | None]], None], count: int, grain: int, threads: int) -> None:
    """Run `work(next_block)` in several threads; `next_block()` hands out ranges of `range(count)` until it gives None.

    All blocks but the last are multiples of `grain`.
    """
    size = max(1, -(-count // (grain * threads * (BLOCKS_PER_THREAD if threads > 1 else 1)))) * grain
    counter = itertools.count()

    def next_block() -> tuple[int, int] | None:
        start = next(counter) * size
        return (start, min(start + size, count)) if start < count else None

    helpers = [_executor(threads - 1).submit(work, next_block) for _ in range(threads - 1)]
    try:
        work(next_block)
    finally:
        for helper in helpers:
            helper.result()


def _executor(workers: int) -> ThreadPoolExecutor:
    """The pool of threads, made anew when it is too small and in a forked child."""
    from concurrent.futures import ThreadPoolExecutor  # not at every start

    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < workers:
            _pool, _pool_size = ThreadPoolExecutor(workers, thread_name_prefix="pliant"), workers
        return _pool


def _forget() -> None:
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def in_blocks(call: Callable[..., int], size: int, count: int, grain: int, most: int) -> bool:
    """Run `call(scratch, start, stop)` for all blocks, with aligned scratch memory of `size` doubles for each thread;
    return whether all results were zero."""
    refused: list[bool] = []

    def work(next_block: Callable[[], tuple[int, int] | None]) -> None:
        memory = np.empty(size + ALIGNMENT // 8)
        scratch = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
        while block := next_block():
            if call(scratch, *block):
                refused.append(True)

    share(work, count, grain, most)
    return not refused
