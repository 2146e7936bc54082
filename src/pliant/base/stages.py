"""Messages about work that takes long: building, tracing, compiling, and other calls of seconds.

Most starts find everything in the cache and show nothing. Work of more than a second is shown in a terminal or a
notebook, or passed to a listener: the page of sliders shows it. Nothing is written to a redirected standard error. A
long run has a bar in a terminal after the first seconds, else it is a stage with its time (`reporter`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pliant.base.interrupts import interruptible, require_time

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds after which the first message appears."""
EVERY = 0.5
"""Seconds between two messages."""
WIDTH = 100
"""Letters of the line, which each message overwrites."""
BEFORE_BAR = 1.5
"""Seconds after which the bar of a run appears."""

Listener = Callable[[str], None]
"""Function that is called with the present work, and an empty text at the end, from a thread of its own."""


class _Own(threading.local):
    """State of this thread: texts of its stages, outermost first; its listeners, of which the last counts; the number
    of preparations that it is in, and the seconds that it has spent on them."""

    def __init__(self) -> None:
        self.doing: list[str] = []
        self.listeners: list[Listener | None] = []
        self.preparing, self.prepared = 0, 0.0


_own = _Own()


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Block that may take long. The innermost stage is the one that is shown. No stage begins when a time limit of
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
    """Call of the user that may take long: it is shown, and Ctrl-C ends it. Also a decorator."""
    with interruptible(name), stage(text):
        yield


def say(text: str) -> None:
    """Replace the text of the innermost stage, for example by how far it is."""
    if _own.doing:
        _own.doing[-1] = text


@contextmanager
def preparation(text: str) -> Iterator[None]:
    """Stage of building, tracing or compiling. Its time does not count as time of a run; see `prepared`."""
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
    """Return the seconds that this thread has spent on preparations."""
    return _own.prepared


def working_time() -> float:
    """Return the time in seconds of a clock that stops during preparations of this thread."""
    return time.perf_counter() - _own.prepared


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send messages about this thread to this listener only; None for no messages."""
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
    """Return whether messages about the stages of this thread go anywhere."""
    return _listener() is not None


def _surroundings() -> Listener | None:
    """Return the line of a terminal or notebook; None if standard error is neither."""
    return _line if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules) else None


def _line(text: str) -> None:
    sys.stderr.write(f"\r{(f'pliant: {text}' if text else '')[:WIDTH]:<{WIDTH}}\r")
    sys.stderr.flush()


@contextmanager
def reporter(
    progress: bool | Callable[[float], None] | None, t_end: float, doing: str = "simulating", unit: str = " s"
) -> Iterator[Callable[[float], None] | None]:
    """Yield a function of the time reached, or None. It calls `progress` with the fraction done, or updates a bar on
    standard error or a stage."""
    if callable(progress):
        given = progress
        yield lambda t: given(min(t / t_end, 1.0))
    elif progress is False or (progress is None and not (sys.stderr.isatty() or heard())):
        yield None
    elif progress is None and not sys.stderr.isatty():
        with stage(doing):
            yield lambda t: say(f"{doing}: {t:.3g} of {t_end:.3g}{unit}")
    else:
        bar = _Bar(t_end, 0.0 if progress else BEFORE_BAR, doing, unit)
        try:
            yield bar.update
        finally:
            bar.close()


class _Bar:
    def __init__(self, total: float, patience: float, doing: str, unit: str) -> None:
        self.doing, self.unit = doing, unit
        self.total, self.patience, self.begin = total, patience, time.perf_counter()
        self.display: Progress | None = None
        self.task: TaskID

    def update(self, t: float) -> None:
        if self.display is None:
            if time.perf_counter() - self.begin < self.patience:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn(self.doing),
                BarColumn(),
                TextColumn("{task.completed:.3g} of {task.total:.3g}" + self.unit),
                TimeRemainingColumn(),
            )
            self.display = Progress(*columns, console=Console(stderr=True), transient=True)
            self.display.start()
            self.task = self.display.add_task("run", total=self.total)
        self.display.update(self.task, completed=t)

    def close(self) -> None:
        if self.display is not None:
            self.display.stop()
