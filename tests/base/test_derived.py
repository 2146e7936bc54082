"""Expressions are made by one thread at a time: CasADi crashes the process where two compute with symbols at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import pliant
from pliant.base.derived import SYMBOLS, Derived, symbolic_property
from pliant.compute.tape import trace_cache as records
from pliant.model import building


class Watch:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(0.02)  # in which another thread would come in
            try:
                return function(*args, **kwargs)
            finally:
                self.inside -= 1

        return called


def in_threads(*calls: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.slow
def test_what_is_derived_and_traced_is_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several models at once: building, tracing of functions, what is derived, properties of a composition."""
    watch = Watch()
    for name in ("settled", "traced"):
        monkeypatch.setattr(building, name, watch.alone(getattr(building, name)))
    monkeypatch.setattr(records, "code_stamp", lambda: None)  # so that all is built
    arms = [pliant.load(name) for name in ("two-link", "rrp")]
    ready = [arm.model(stiffening="off") for arm in arms]

    class Parts:
        """Has one."""

        @symbolic_property
        def part(self) -> int:
            """A number."""
            return int(watch.alone(lambda: 3)())

    watch.most = 0
    in_threads(
        *(lambda arm=arm: arm.model("lagrange", stiffening="off") for arm in arms),
        *(lambda model=model: model.kernel("mass_matrix") for model in ready),
        *(lambda: Derived()("kind", 1, watch.alone(lambda: 1)) for _ in range(3)),
        *(lambda: Parts().part for _ in range(3)),
    )
    assert watch.most == 1


def test_a_fork_waits_for_the_lock() -> None:
    """A child is not born while another thread holds it: it would wait for ever."""
    os = pytest.importorskip("os")
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    held = threading.Event()

    def hold() -> None:
        with SYMBOLS:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(0 if SYMBOLS.acquire(timeout=5) else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
