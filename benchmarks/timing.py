"""Times that mean something on a noisy machine."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(function: Callable[[], object], seconds: float = 0.5, inner: int = 1) -> float:
    """Smallest time of one call, over repeats that fill `seconds`; `inner` calls per repeat."""
    function()
    smallest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(inner):
            function()
        smallest = min(smallest, (time.perf_counter() - begin) / inner)
    return smallest


def alternating(functions: dict[str, Callable[[], object]], rounds: int = 5, inner: int = 200) -> dict[str, float]:
    """Smallest time of one call of each, taken in turns so that a slow spell of the machine meets all."""
    found = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            found[name] = min(found[name], best(function, 0.1, inner))
    return found
