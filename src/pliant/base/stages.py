"""What takes long, told while it lasts: building, tracing, compiling, and calls that work for seconds.

Most starts find everything in the cache and say nothing. What takes longer than a second is told in a terminal or a
notebook, or to whoever listens: the page of sliders shows it. A file that takes the errors of a script stays clean.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pliant.base.interrupts import interruptible, require_time

PATIENCE = 1.0
"""Seconds after which something is told."""
EVERY = 0.5
"""Seconds between two words about it."""
WIDTH = 100
"""Letters of a line that is written over."""

Listener = Callable[[str], None]
"""Gets what is being done, and an empty text at the end; called from a thread of its own."""


class _Own(threading.local):
    """Of one thread: what it is doing, outermost first; who listens, last of all those that were asked for; how many
    preparations it is in, and the seconds that it has spent on them."""

    def __init__(self) -> None:
        self.doing: list[str] = []
        self.listeners: list[Listener | None] = []
        self.preparing, self.prepared = 0, 0.0


_own = _Own()


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Something that may take long; a stage inside another is told in its place. None begins when a time limit of
    `pliant.base.interrupts` is over."""
    require_time()
    doing = _own.doing
    doing.append(text)
    try:
        if len(doing) > 1:
            yield
            return
        listener = _listener()
        if listener is None:
            yield
            return
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=(doing, listener, done), daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
    finally:
        doing.pop()


@contextmanager
def work(name: str, text: str) -> Iterator[None]:
    """A call of the user's that may take long: it is told, and Ctrl-C ends it. It may stand before a function."""
    with interruptible(name), stage(text):
        yield


def say(text: str) -> None:
    """How far the innermost stage is, in place of its text."""
    if _own.doing:
        _own.doing[-1] = text


@contextmanager
def preparation(text: str) -> Iterator[None]:
    """A stage of building, tracing or compiling, whose time is no part of that of a run; see `prepared`."""
    begin = time.perf_counter()
    _own.preparing += 1
    try:
        with interruptible(text), stage(text):
            yield
    finally:
        _own.preparing -= 1
        if not _own.preparing:  # a preparation inside another is part of it
            _own.prepared += time.perf_counter() - begin


def prepared() -> float:
    """Seconds that this thread has spent on preparations."""
    return _own.prepared


def working_time() -> float:
    """A clock, in seconds, that stands still while this thread prepares something."""
    return time.perf_counter() - _own.prepared


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """What this thread does is told to this listener and to nobody else; None is silence."""
    _own.listeners.append(listener)
    try:
        yield
    finally:
        _own.listeners.pop()


def _watch(doing: list[str], listener: Listener, done: threading.Event) -> None:
    begin, wait, told = time.perf_counter(), PATIENCE, False
    while not done.wait(wait):
        wait, told = EVERY, True
        listener(f"{doing[-1]} ({time.perf_counter() - begin:.0f} s)")
    if told:
        listener("")


def _listener() -> Listener | None:
    return _own.listeners[-1] if _own.listeners else _surroundings()


def heard() -> bool:
    """Whether anybody is told of the stages of this thread."""
    return _listener() is not None


def _surroundings() -> Listener | None:
    """A line that is written over, where somebody sees it."""
    return _line if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules) else None


def _line(text: str) -> None:
    sys.stderr.write(f"\r{(f'pliant: {text}' if text else '')[:WIDTH]:<{WIDTH}}\r")
    sys.stderr.flush()
