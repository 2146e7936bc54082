"""Ctrl-C without loss, time limits, and processes that end with the one that started them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pliant.errors import Interrupted, SimulationError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")
GENERATOR = 0x20
"""Flag of the code of a generator; the module `inspect`, which has its name, takes long to import."""
LOOK = 0.05
"""Seconds between two looks whether Ctrl-C waits."""


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

    Handlers that are not Python's own, nor ours, stay.
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
    """Whether Ctrl-C waits for the end of a block."""
    return _now is not None and _now.came and _in_main_thread()


@dataclass
class _Guard:
    """Of the main thread: whether it is in a call that Ctrl-C shall end, and whether it came."""

    inside: bool = False
    came: bool = False


_guard = _Guard()


def _insist(number: int, frame: Any) -> None:
    """The handler of the signal in such a call: a KeyboardInterrupt now, and again wherever pliant calls something,
    since one that CasADi meets while it reads an argument is lost: it takes it for a wrong type."""
    _guard.came = True
    sys.setprofile(_raise_again)
    signal.default_int_handler(number, frame)


def _raise_again(frame: Any, event: str, arg: Any) -> None:
    name = frame.f_globals.get("__name__", "")
    own = event in ("call", "c_call") and name.startswith("pliant.") and name != __name__
    code = frame.f_code
    if code.co_flags & GENERATOR or code.co_name == "__del__":
        return  # Python may be closing it, and would print what comes out of it and go on
    if own and sys.exc_info()[1] is None:  # else it is on its way, and what cleans up is left alone
        raise KeyboardInterrupt


@contextmanager
def interruptible(name: str) -> Iterator[None]:
    """A KeyboardInterrupt before there is a result becomes an `Interrupted` without one, wherever it came; a call
    inside another is part of it. Handlers that are not Python's own stay."""
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
    """The time limit of a call is over; no `Exception`, so that who catches errors to try something else does not."""


class _Own(threading.local):
    """Time limit of one thread."""

    limit: TimeLimit | None = None


_own = _Own()


@dataclass(frozen=True)
class TimeLimit:
    """Seconds of the clock that a call may take since this was made; None is no limit."""

    seconds: float | None
    began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def holds(self, name: str) -> Iterator[None]:
        """A block in which `require_time` raises once the time is over; without a result, that is an error."""
        if self.seconds is None:
            yield
            return
        before, _own.limit = _own.limit, self
        try:
            yield
        except TimeOver as over:
            raise SimulationError(
                f"{name}: {over} was over before there was a result; what was compiled is kept: call again, or allow "
                "more time"
            ) from None
        finally:
            _own.limit = before

    def require(self) -> None:
        """Raise `TimeOver` if the time is over."""
        if self.seconds is not None and time.perf_counter() - self.began > self.seconds:
            raise TimeOver(f"time limit of {self.seconds:g} s")


def time_limit() -> TimeLimit | None:
    """The time limit that holds in this thread."""
    return _own.limit


def require_time() -> None:
    """Raise `TimeOver` if a time limit holds in this thread and is over."""
    if _own.limit is not None:
        _own.limit.require()


class _Beside(Generic[T]):
    """Work that was begun in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._found: list[T] = []
        self._failed: list[BaseException] = []
        self._done = threading.Event()  # a thread whose `join` is interrupted may count as ended
        threading.Thread(target=self._run, name="pliant: work").start()

    def _run(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as error:  # raised again where it is waited for
            self._failed.append(error)
        self._done.set()

    def wait(self) -> None:
        """Wait for the end; raise after Ctrl-C, and when a time limit is over."""
        while not self._done.wait(LOOK):
            if pending():
                raise KeyboardInterrupt
            require_time()

    def result(self) -> T:
        """Wait for the end, whatever happens, and return what the work gave."""
        self._done.wait()
        if self._failed:
            raise self._failed[0]
        return self._found[0]


def abandonable(work: Callable[[], T]) -> T:
    """What `work` gives, which spends long in code that knows no signals: Ctrl-C, or the end of a time limit, ends the
    wait for it at once.

    What was begun then goes on by itself, and is waited for when Python ends. Other threads, which get no signals, do
    the work themselves where they have no time limit.
    """
    if not _in_main_thread() and _own.limit is None:
        return work()
    begun = _Beside(work)
    begun.wait()
    return begun.result()


def haltable(work: Callable[[], T], halt: Callable[[], None]) -> tuple[T, KeyboardInterrupt | TimeOver | None]:
    """Return what `work` gives, and what cut it short: after Ctrl-C, or when a time limit is over, `halt` is called,
    which makes it end soon with what it has."""
    if not _in_main_thread() and _own.limit is None:
        return work(), None
    with held_back():
        begun, reason = _Beside(work), None
        try:
            begun.wait()
        except (KeyboardInterrupt, TimeOver) as end:
            halt()
            reason = end
            _own.limit = None  # it has been told: what is left is done in peace, so that the result is kept
        return begun.result(), reason


class Lifeline:
    """Ends the processes of a pool when it is cut, or when the process that holds it is gone, however that ended.

    Parameters
    ----------
    context : multiprocessing context
        One that spawns: a forked child would hold the other end as well.
    """

    def __init__(self, context: Any) -> None:
        self.end, self._held = context.Pipe(duplex=False)
        self._others = {child.pid for child in _children()}

    def cut(self) -> None:
        """End the processes now, those among them that have only begun to load what they need as well."""
        self._held.close()
        for child in _children():
            if child.pid not in self._others:
                child.kill()


def _children() -> list[Any]:
    from multiprocessing import active_children  # which takes long to import, and most runs start no process

    return list(active_children())


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
