"""Libraries that read untrusted files, each call in a process of its own with bounded time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

from pliant.errors import ModelError, PliantError
from pliant.mechanics.bodies.library_tasks import FAILED, LARGE, MISSING, Arrays, as_bytes, from_bytes

SECONDS, SECONDS_PER_BYTE = 10, 10e-6
"""Processor time of a call, and for each byte of its file: text is read at 1 MB/s or faster."""
MEMORY, MEMORY_PER_BYTE = 1 << 30, 60
"""Bytes beyond what the library itself takes: numbers of a text become objects of 32 bytes and more."""
RESULT, RESULT_PER_BYTE = 256 << 20, 20
"""Bytes of a result; packed files have more content than size."""
WAITING = 6
"""Time by the clock over processor time: other programs may use the machine too."""


def in_process(
    task: str, size: int, wrong: Callable[[str], str], missing: Callable[[str], str], remedy: str, **given: object
) -> Arrays:
    """Return the arrays that a task of `library_tasks` gives.

    Parameters
    ----------
    task : str
        Name in `library_tasks.TASKS`.
    size : int
        Bytes of the input, by which time and memory are bounded.
    wrong, missing : callables
        Message for wrong input and for a library that is not there, from the words of the library.
    remedy : str
        What to do about input that takes too much.
    **given
        Arrays, numbers and texts for the task.

    Returns
    -------
    dict of str to arrays

    Raises
    ------
    ModelError
        The input is wrong, or takes too much time or memory.
    PliantError
        The library is not installed.
    """
    seconds = SECONDS + int(SECONDS_PER_BYTE * size)
    limits = seconds, MEMORY + MEMORY_PER_BYTE * size, RESULT + RESULT_PER_BYTE * size
    code = f"from pliant.mechanics.bodies.library_tasks import serve; serve({task!r}, *{limits})"
    paths = os.pathsep.join(path for path in sys.path if path)
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each takes addresses, of which there are few
    slow = f"takes more than {seconds} s of processor time; {remedy}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], input=as_bytes(given), capture_output=True, timeout=WAITING * seconds,
            env=os.environ | {"PYTHONPATH": paths} | threads, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ModelError(wrong(slow)) from None
    try:
        found = from_bytes(done.stdout)
    except ValueError:  # it ended in the middle: by its bound of time, or a fault of the library
        late = -done.returncode in (getattr(signal, "SIGXCPU", None), getattr(signal, "SIGKILL", None))
        raise ModelError(wrong(slow if late else f"the library broke down over it; {remedy}")) from None
    if MISSING in found:
        raise PliantError(missing(str(found[MISSING])))
    if LARGE in found:
        raise ModelError(wrong(f"takes more than {limits[1] >> 20} MiB of memory; {remedy}"))
    if FAILED in found:
        raise ModelError(wrong(str(found[FAILED])))
    return found
