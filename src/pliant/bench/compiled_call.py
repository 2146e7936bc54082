"""A kernel alone: called by its address from a compiled loop, no Python in between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pliant.model import Model

CALLS = 2000


def kernel_loop(model: Model, *inputs: NDArray[np.float64]) -> Callable[[], NDArray[np.float64]]:
    """A function that evaluates the forward dynamics `CALLS` times at one state and returns the accelerations."""
    from numba import njit

    from pliant.integrate.compiled import call, doubles  # the steppers' own way into a kernel

    kernel = model.kernel("forward_dynamics")
    given, out = np.concatenate(inputs), np.zeros(model.n)

    @njit
    def loop(address, given, out, count):  # type: ignore[no-untyped-def]
        for _ in range(count):
            call(address, doubles(given), doubles(out))  # type: ignore[call-arg]

    def run() -> NDArray[np.float64]:
        loop(kernel.address, given.ctypes.data, out.ctypes.data, CALLS)
        return out

    return run
