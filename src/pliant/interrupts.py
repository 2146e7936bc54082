"""Ctrl-C without loss, and processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from pliant.errors import Interrupted


@dataclass
class Waiting:
    """A stretch in which Ctrl-C is noted; a second one interrupts as it always does."""

    came: bool = False

    def note(self, number: int, frame: Any) -> None:
        """The handler of the signal."""
        if self.came:
            signal.default_int_handler(number, frame)
        self.came = True


_now: Waiting | None = None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()  # which alone gets signals


@contextmanager
def held_back() -> Iterator[Waiting]:
    """Ctrl-C waits until the block is over, so that what it does is whole; a block inside another is the same.

    Handlers that are not Python's own stay.
    """
    global _now
    if _now is not None and _in_main_thread():
        yield _now
    elif not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield Waiting()
    else:
        _now = Waiting()
        signal.signal(signal.SIGINT, _now.note)
        try:
            yield _now
        finally:
            _now = None
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pending() -> bool:
    """Whether Ctrl-C waits for the end of a block."""
    return _now is not None and _now.came and _in_main_thread()


@contextmanager
def interruptible(name: str) -> Iterator[None]:
    """A KeyboardInterrupt before there is a result becomes an `Interrupted` without one."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"{name}: interrupted before there was a result") from None


class Lifeline:
    """Ends the processes of a pool when it is cut, or when the process that holds it is gone, however that ended.

    Parameters
    ----------
    context : multiprocessing context
        One that spawns: a forked child would hold the other end as well.
    """

    def __init__(self, context: Any) -> None:
        self.end, self._held = context.Pipe(duplex=False)
        self._others = {child.pid for child in multiprocessing.active_children()}

    def cut(self) -> None:
        """End the processes now, those among them that have only begun to load what they need as well."""
        self._held.close()
        for child in multiprocessing.active_children():
            if child.pid not in self._others:
                child.kill()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that start in this block never hear Ctrl-C, which is their parent's to answer.

    (A child that is still loading its modules would tell of it at length.)
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hang_on(lifeline: Connection) -> None:
    """What a process of a pool does first."""
    if _in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # nothing of it is worth an orderly end
