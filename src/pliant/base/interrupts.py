"""Ctrl-C without loss of results, time limits, and child processes that end with their parent."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Generic, TypeVar

from pliant.errors import Interrupted, SimulationError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext
    from multiprocessing.process import BaseProcess

T = TypeVar("T")
GENERATOR = 0x20
"""Flag of the code of a generator. The module `inspect`, which defines its name, takes long to import."""
LOOK = 0.05
"""Seconds between two checks for a waiting Ctrl-C."""


@dataclass
class Waiting:
    """Block in which the first Ctrl-C is noted only. A second one interrupts as usual."""

    came: bool = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.came:
            signal.default_int_handler(number, frame)
        self.came = True


_now: Waiting | None = None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()  # which alone gets signals


@contextmanager
def held_back() -> Iterator[Waiting]:
    """Let Ctrl-C wait until the block is over, so that its work is complete. A block inside another is part of it.

    Handlers other than Python's own and pliant's stay in place.
    """
    global _now
    before = signal.getsignal(signal.SIGINT)
    if _now is not None and _in_main_thread():
        yield _now
    elif not _in_main_thread() or before not in (signal.default_int_handler, _insist):
        yield Waiting()
    else:
        _now = Waiting()
        signal.signal(signal.SIGINT, _now.note)
        try:
            yield _now
        finally:
            _now = None
            signal.signal(signal.SIGINT, before)


def pending() -> bool:
    """Return whether Ctrl-C waits for the end of a block."""
    return _now is not None and _now.came and _in_main_thread()


@dataclass
class _Guard:
    """State of the main thread: whether it is in a call that Ctrl-C shall end, and whether Ctrl-C came."""

    inside: bool = False
    came: bool = False


_guard = _Guard()


def _insist(number: int, frame: FrameType | None) -> None:
    """Handle the signal in such a call: raise a KeyboardInterrupt now, and again wherever pliant calls something.

    CasADi loses an interrupt that comes while it reads an argument: it takes it for a wrong type.
    """
    _guard.came = True
    sys.setprofile(_raise_again)
    signal.default_int_handler(number, frame)


def _raise_again(frame: FrameType, event: str, arg: object) -> None:
    name = frame.f_globals.get("__name__", "")
    own = event in ("call", "c_call") and name.startswith("pliant.") and name != __name__
    code = frame.f_code
    if code.co_flags & GENERATOR or code.co_name == "__del__":
        return  # Python may be closing it, and would print the exception and go on
    if own and sys.exc_info()[1] is None:  # else it is on its way: do not interrupt the code that cleans up
        raise KeyboardInterrupt


@contextmanager
def interruptible(name: str) -> Iterator[None]:
    """Turn a KeyboardInterrupt that comes before there is a result into an `Interrupted` without one.

    A call inside another is part of it. Handlers other than Python's own stay in place.
    """
    if _guard.inside and _in_main_thread():
        yield
        return
    lost, profile = Interrupted(f"{name}: interrupted before there was a result"), sys.getprofile()
    guards = _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if guards:
        _guard.inside, _guard.came = True, False
        signal.signal(signal.SIGINT, _insist)
    try:
        yield
        if guards and _guard.came:
            raise lost
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise lost from None
    finally:
        if guards:
            _guard.inside = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if _guard.came:
                sys.setprofile(profile if callable(profile) else None)  # that of cProfile cannot be set again


class TimeOver(BaseException):
    """The time limit of a call is over. It is no `Exception`, so that `except Exception` does not catch it."""


class _Own(threading.local):
    """Time limit of this thread."""

    limit: TimeLimit | None = None


_own = _Own()


@dataclass(frozen=True)
class TimeLimit:
    """Wall-clock seconds that a call may take, counted from now; None is no limit."""

    seconds: float | None
    began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def holds(self, name: str) -> Iterator[None]:
        """Block in which `require_time` raises once the time is over. Without a result that is a `SimulationError`."""
        if self.seconds is None:
            yield
            return
        before, _own.limit = _own.limit, self
        try:
            yield
        except TimeOver as over:
            raise SimulationError(
                f"{name}: {over} was over before there was a result; compiled code is kept: call again, or allow more "
                "time"
            ) from None
        finally:
            _own.limit = before

    def require(self) -> None:
        """Raise `TimeOver` if the time is over."""
        if self.seconds is not None and time.perf_counter() - self.began > self.seconds:
            raise TimeOver(f"time limit of {self.seconds:g} s")


def time_limit() -> TimeLimit | None:
    """Return the time limit of this thread."""
    return _own.limit


def require_time() -> None:
    """Raise `TimeOver` if this thread has a time limit that is over."""
    if _own.limit is not None:
        _own.limit.require()


class _Beside(Generic[T]):
    """Work in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._found: list[T] = []
        self._failed: list[BaseException] = []
        self._done = threading.Event()  # a thread whose `join` is interrupted may count as ended
        threading.Thread(target=self._run, name="pliant: work").start()

    def _run(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as error:  # `result` raises it again
            self._failed.append(error)
        self._done.set()

    def wait(self) -> None:
        """Wait for the end; raise after Ctrl-C, and when a time limit is over."""
        while not self._done.wait(LOOK):
            if pending():
                raise KeyboardInterrupt
            require_time()

    def result(self) -> T:
        """Wait for the end, whatever happens, and return the result of the work."""
        self._done.wait()
        if self._failed:
            raise self._failed[0]
        return self._found[0]


def abandonable(work: Callable[[], T]) -> T:
    """Return the result of `work`, which may spend long in code that handles no signals.

    Ctrl-C, or the end of a time limit, ends the wait at once. The work then goes on in its thread, and Python waits for
    it at exit. Other threads than the main one get no signals: without a time limit they do the work themselves.
    """
    if not _in_main_thread() and _own.limit is None:
        return work()
    begun = _Beside(work)
    begun.wait()
    return begun.result()


def haltable(work: Callable[[], T], halt: Callable[[], None]) -> tuple[T, KeyboardInterrupt | TimeOver | None]:
    """Return the result of `work`, and the exception that cut it short, if any.

    After Ctrl-C, or when a time limit is over, `halt` is called, which makes the work end soon with a partial result.
    """
    if not _in_main_thread() and _own.limit is None:
        return work(), None
    with held_back():
        begun, reason = _Beside(work), None
        try:
            begun.wait()
        except (KeyboardInterrupt, TimeOver) as end:
            halt()
            reason = end
            _own.limit = None  # the work has been told to end: let it finish, so that the result is kept
        return begun.result(), reason


class Lifeline:
    """Ends the processes of a pool when it is cut, or when the process that holds it has ended in any way.

    Parameters
    ----------
    context : multiprocessing context
        A context that spawns: a forked child would hold the other end as well.
    """

    def __init__(self, context: SpawnContext) -> None:
        self.end, self._held = context.Pipe(duplex=False)
        self._others = {child.pid for child in _children()}

    def cut(self) -> None:
        """End the processes now, even those that are still loading modules."""
        self._held.close()
        for child in _children():
            if child.pid not in self._others:
                child.kill()


def _children() -> list[BaseProcess]:
    from multiprocessing import active_children  # takes long to import, and most runs start no process

    return active_children()


@contextmanager
def deaf_children() -> Iterator[None]:
    """Block Ctrl-C in processes that start in this block: their parent handles it.

    A child that is still loading its modules would print a long traceback.
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
    """Initialize a process of a pool: ignore Ctrl-C, and end with the lifeline."""
    if _in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # it has nothing to save
