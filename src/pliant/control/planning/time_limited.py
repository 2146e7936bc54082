"""Searches that end in time, whatever takes the time: tracing and compiling, solvers, simulations.

A search looks at its clock between its own steps. What traces and compiles the functions of an arm for the first time
cannot be ended in between; so a search with a time limit whose functions are not known yet runs in a process of its
own, which is ended when the time is over. What it compiled until then is kept for the next call.
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
from typing import IO, Any

from pliant.compute.tape.trace_cache import is_recalled, recalled
from pliant.errors import PliantError, warn_user
from pliant.model.model import Model

GRACE = 0.5
"""Seconds that a process has beyond the limit to hand over what it found."""
TICK = 0.05
"""Seconds between looks at the clock."""
_began: list[float] = []
"""When the call began, in a process that was started for it."""


def clock() -> float:
    """Seconds of what searches are timed by: the same in all processes, whatever the clock of the system is set to."""
    return time.perf_counter()


@dataclass(frozen=True)
class Watch:
    """Time limit of a search, in seconds since the call `began`, and a function that is told the fraction done."""

    time_limit: float | None = None
    report: Callable[[float], None] | None = None
    began: float = field(default_factory=lambda: _began[0] if _began else clock())

    @property
    def late(self) -> bool:
        """True when the time is over."""
        return self.time_limit is not None and clock() - self.began > self.time_limit

    def part(self, share: float) -> Watch:
        """The same for a share of the time."""
        return self if self.time_limit is None else Watch(share * self.time_limit, self.report, self.began)


def prepared_for(model: Model, search: str) -> None:
    """Note that all functions of a search are compiled."""
    recalled(model.recipe and f"{model.recipe} prepared for {search}", lambda: True)


def needs_process(model: Model, search: str, watch: Watch) -> bool:
    """Return True if a search with a limit may have to be ended from outside."""
    if watch.time_limit is None or _began:
        return False
    return not is_recalled(model.recipe and f"{model.recipe} prepared for {search}")


def in_process(search: Callable[..., Any], given: tuple[Any, ...], watch: Watch, name: str) -> Any:
    """`search(*given, time_limit=, progress=)` in a process of its own, ended when its time is over.

    Raises
    ------
    PliantError
        The time is over; or what the search itself raises.
    """
    assert watch.time_limit is not None
    try:
        task = pickle.dumps((search, given, watch.time_limit, watch.began))
    except (pickle.PicklingError, AttributeError, TypeError):  # an arm of classes of somebody's own
        return search(*given, time_limit=watch.time_limit, progress=watch.report or False)
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}, start_new_session=os.name == "posix",
    )  # fmt: skip
    told: queue.Queue[tuple[str, Any]] = queue.Queue()
    listener = threading.Thread(target=_listen, args=(child, task, told), daemon=True)
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
                kind, what = told.get(timeout=TICK)
            except queue.Empty:
                continue
            if kind == "report" and watch.report is not None:
                watch.report(what)
            elif kind == "warning":
                warn_user(what)
            elif kind == "result":
                return what
            elif kind == "error":
                raise what
            elif kind == "end":
                raise PliantError(f"{name}: the process of the search ended without a result")
    finally:
        child.kill()
        child.wait()
        listener.join(GRACE)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None and not listener.is_alive():
                with suppress(OSError):  # what was not read is lost with it
                    pipe.close()


def _listen(child: subprocess.Popen[bytes], task: bytes, told: queue.Queue[tuple[str, Any]]) -> None:
    """Hand over the task, and what comes back."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(task)
        child.stdin.flush()  # it stays open: a process whose parent is gone ends
        while True:
            told.put(pickle.load(child.stdout))
    except (EOFError, OSError, pickle.UnpicklingError):
        told.put(("end", None))


def serve() -> None:
    """In the process of a search: take the task, and tell what happens."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whoever prints does so elsewhere
    search, given, limit, began = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_follow, daemon=True).start()
    _began.append(began)
    warnings.showwarning = lambda message, *rest, **more: _tell(out, "warning", str(message))
    try:
        found = search(*given, time_limit=limit, progress=lambda part: _tell(out, "report", part))
        _tell(out, "result", found)
    except BaseException as error:
        _tell(
            out, "error", error if isinstance(error, PliantError) else PliantError(f"{type(error).__name__}: {error}")
        )


def _follow() -> None:
    """End this process when the one that started it is gone."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def _tell(out: IO[bytes], kind: str, what: Any) -> None:
    out.write(pickle.dumps((kind, what)))
    out.flush()
