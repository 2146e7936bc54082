"""What may come out of wrong input: a result or a `PliantError` with words in it, soon, and no stray files."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pliant.errors import PliantError

with contextlib.suppress(ImportError):
    import dask.array  # noqa: F401  (xarray imports it at its first use, which may take longer than the watchdog waits)

PATIENCE = 10.0
"""Seconds of processor time that any wrong input may take."""
WAITING = 6
"""Times that many of the clock: other work on the machine is nobody's fault, waiting for ever is."""
LONGEST_MESSAGE = 4000


class Hung(BaseException):
    """Passes every `except Exception` on its way out."""


@contextlib.contextmanager
def watchdog(seconds: float = PATIENCE) -> Iterator[None]:
    """Ends what takes too long: Python by a signal, machine code that never returns with the whole process."""

    def bark(*_: Any) -> None:
        raise Hung(f"still running after {seconds:g} s")

    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before = {number: signal.signal(number, bark) for number in timers}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WAITING * seconds)
    faulthandler.dump_traceback_later(2 * WAITING * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        for number, timer in timers.items():
            signal.setitimer(timer, 0.0)
            signal.signal(number, before[number])


def verdict(attempt: Callable[[], Any], seconds: float = PATIENCE) -> str | None:
    """None if all is well, else what is wrong with the way the attempt ended."""
    try:
        with watchdog(seconds):
            attempt()
    except PliantError as error:
        return message_fault(str(error))
    except Hung as error:
        return f"hang: {error}\n{_last_lines(error)}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}\n{_last_lines(error)}"
    return None


def message_fault(text: str) -> str | None:
    """A message has words, and not too many."""
    if len(text.strip()) < 10:
        return f"a message that says nothing: {text!r}"
    return None if len(text) <= LONGEST_MESSAGE else f"a message of {len(text)} characters: {text[:300]!r}..."


def _last_lines(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__)[-4:])


def snapshot(*folders: Path) -> dict[str, tuple[int, int, int]]:
    """Size, time and inode of every file below some folders."""
    found = {}
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                stat = os.lstat(path)
                found[path] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return found
