"""Time limits of searches, which hold for tracing and compiling, solvers and simulations alike.

A search looks at the clock between its own steps. Tracing and compiling the functions of an arm cannot be stopped in
between. So a search with a time limit whose functions are not compiled yet runs in a process of its own, which is
killed when the time is over. Functions that it compiled until then are kept for the next call.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TypeVar, cast

from pliant.compute.tape.trace_cache import is_recalled, recalled
from pliant.errors import PliantError, warn_user
from pliant.model.model import Model

GRACE = 0.5
"""Seconds beyond the limit in which a process may hand over its result."""
TICK = 0.05
"""Seconds between looks at the clock."""
_began: list[float] = []
"""Start of the call on the clock, in a process that was started for it."""

Found = TypeVar("Found")
Message = tuple[str, object]
"""From the process of a search: its kind ("report", "warning", "result", "error" or "end"), and its content."""


def clock() -> float:
    """Return seconds of a clock that is the same in all processes and never set."""
    return time.perf_counter()


@dataclass(frozen=True)
class Watch:
    """Time limit of a search, in seconds since the call `began`, and a listener that gets the fraction done."""

    time_limit: float | None = None
    report: Callable[[float], None] | None = None
    began: float = field(default_factory=lambda: _began[0] if _began else clock())

    @property
    def late(self) -> bool:
        """True when the time is over."""
        return self.time_limit is not None and clock() - self.began > self.time_limit

    def part(self, share: float) -> Watch:
        """Return a watch for a share of the time."""
        return self if self.time_limit is None else Watch(share * self.time_limit, self.report, self.began)


def prepared_for(model: Model, search: str) -> None:
    """Note that all functions of the search with this name are compiled."""
    recalled(model.recipe and f"{model.recipe} prepared for {search}", lambda: True)


def needs_process(model: Model, search: str, watch: Watch) -> bool:
    """Return True if a search with a time limit has functions to compile, so that it runs in a process."""
    if watch.time_limit is None or _began:
        return False
    return not is_recalled(model.recipe and f"{model.recipe} prepared for {search}")


def in_process(search: Callable[..., Found], given: tuple[object, ...], watch: Watch, name: str) -> Found:
    """Return `search(*given, time_limit=, progress=)`, run in a process that is killed when its time is over.

    Raises
    ------
    PliantError
        The time is over, or the search itself raised it.
    """
    assert watch.time_limit is not None
    try:
        task = pickle.dumps((search, given, watch.time_limit, watch.began))
    except (pickle.PicklingError, AttributeError, TypeError):  # an arm with classes of the user
        return search(*given, time_limit=watch.time_limit, progress=watch.report or False)
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}, start_new_session=os.name == "posix",
    )  # fmt: skip
    messages: queue.Queue[Message] = queue.Queue()
    listener = threading.Thread(target=_listen, args=(child, task, messages), daemon=True)
    listener.start()
    try:
        while True:
            if clock() - watch.began > watch.time_limit + GRACE:
                raise PliantError(
                    f"{name}: nothing found within time_limit {watch.time_limit:g} s, most of which went into tracing "
                    "and compiling the functions of this arm; ask again, since what was compiled is kept, or allow "
                    "more time"
                )
            try:
                kind, content = messages.get(timeout=TICK)
            except queue.Empty:
                continue
            if kind == "report" and watch.report is not None:
                watch.report(cast("float", content))
            elif kind == "warning":
                warn_user(str(content))
            elif kind == "result":
                return cast("Found", content)
            elif kind == "error":
                raise cast("PliantError", content)
            elif kind == "end":
                raise PliantError(f"{name}: the process of the search ended without a result")
    finally:
        child.kill()
        child.wait()
        listener.join(GRACE)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None and not listener.is_alive():
                with suppress(OSError):  # unread messages are lost
                    pipe.close()


def _listen(child: subprocess.Popen[bytes], task: bytes, messages: queue.Queue[Message]) -> None:
    """Send the task to the process, and put its messages into the queue."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(task)
        child.stdin.flush()  # the pipe stays open: the process ends when it closes
        while True:
            messages.put(pickle.load(child.stdout))
    except (EOFError, OSError, pickle.UnpicklingError):
        messages.put(("end", None))


def serve() -> None:
    """Run a search in its process: read the task from standard input, write messages to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints go to standard error
    search, given, limit, began = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_follow, daemon=True).start()
    _began.append(began)
    warnings.showwarning = lambda message, *rest, **more: _tell(out, "warning", str(message))
    try:
        found = search(*given, time_limit=limit, progress=lambda part: _tell(out, "report", part))
        _tell(out, "result", found)
    except BaseException as error:
        known = isinstance(error, PliantError)
        _tell(out, "error", error if known else PliantError(f"{type(error).__name__}: {error}"))


def _follow() -> None:
    """End this process when the one that started it has ended."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def _tell(out: IO[bytes], kind: str, content: object) -> None:
    """Write a message to the process that started this one."""
    out.write(pickle.dumps((kind, content)))
    out.flush()
