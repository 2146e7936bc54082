"""A kernel alone: called by its address from a compiled loop, no Python in between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pliant.compute.compiled_loops.primitives import call, doubles
from pliant.compute.llvm.llvm import compiled_loop
from pliant.model.model import Model
from pliant.options import FunctionName

CALLS = 2000


def repeat(address: int, given: int, out: int, count: int) -> int:
    """Call the flat function at an address `count` times on the same arrays."""
    for _ in range(count):
        call(address, doubles(given), doubles(out))
    return count


def kernel_loop(
    model: Model, *inputs: NDArray[np.float64], function: FunctionName = "forward_dynamics"
) -> Callable[[], NDArray[np.float64]]:
    """Return a function that evaluates the forward dynamics, or another function, `CALLS` times at one state and
    returns the result."""
    kernel, loop = model.kernel(function), compiled_loop(repeat)
    given, out = np.concatenate(inputs), np.zeros(sum(kernel.signature.out_sizes))

    def run() -> NDArray[np.float64]:
        loop(kernel.address, given.ctypes.data, out.ctypes.data, CALLS)
        return out

    return run
