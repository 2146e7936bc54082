"""Any kernel on a graphics processor, one thread a state: arrays of rows in and out, where they are, without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from pliant.errors import UnsupportedModel
from pliant.kernels.cuda import BLOCK, choose
from pliant.kernels.cuda_device import cupy, shared_bytes
from pliant.kernels.cuda_program import nodes_of
from pliant.kernels.cuda_steps import CudaKernel
from pliant.kernels.cuda_text import DOUBLE, CudaOperations
from pliant.kernels.rows import Shape, Signature
from pliant.kernels.tape import Tape

NAME = "rows"


def emit_rows(f: ca.Function, memory: int) -> tuple[str, int]:
    """CUDA source of a kernel over rows, and the bytes of shared memory that a block of it takes."""
    tape = Tape.from_function(_flat(f))
    n = tape.in_sizes[1]
    operations = CudaOperations(nodes_of(tape), DOUBLE, (n, 0, 0))
    chosen = choose(operations.nodes, n, DOUBLE)
    slots = 0
    if chosen.strategy != "registers":
        slots = max(0, memory // chosen.blocks // (BLOCK * DOUBLE.size) - 1 - n)
    writer = CudaKernel(operations, slots > 0, chosen.values, slots, BLOCK, chosen.blocks)
    sizes = [f.numel_in(k) for k in range(f.n_in())], [f.numel_out(k) for k in range(f.n_out())]
    return writer.rows(NAME, *sizes), writer.shared_values * BLOCK * DOUBLE.size


def _flat(f: ca.Function) -> ca.Function:
    """All inputs as one column x, row by row, all outputs likewise: (t, x, nothing, nothing) to y."""
    sizes = [f.size_in(k) for k in range(f.n_in())]
    x, place, given = ca.SX.sym("x", sum(rows * columns for rows, columns in sizes)), 0, []
    for rows, columns in sizes:
        given.append(ca.reshape(x[place : place + rows * columns], columns, rows).T)
        place += rows * columns
    y = ca.veccat(*[ca.densify(out).T for out in f.call(given)])
    nothing = ca.SX.sym("w", 0), ca.SX.sym("p", 0)
    return ca.Function(f.name(), [ca.SX.sym("t"), x, *nothing], [y])


class DeviceRows:
    """A kernel on the current CUDA device."""

    def __init__(self, f: ca.Function, signature: Signature) -> None:
        self.cp = cp = cupy()
        self.signature = signature
        text, self.bytes = emit_rows(f, shared_bytes())
        try:
            self.kernel = cp.RawModule(code=text, options=("--std=c++17",)).get_function(NAME)
        except Exception as error:
            raise UnsupportedModel(f"The GPU code of {signature.name} could not be compiled: {error}") from error
        if self.bytes:
            self.kernel.max_dynamic_shared_size_bytes = self.bytes

    def __call__(self, arrays: Sequence[Any], lead: Shape) -> list[Any]:
        """Outputs (*lead, ...) of CuPy arrays (*lead, ...) of float64, or of arrays of one state that all share."""
        cp, count = self.cp, math.prod(lead)
        outputs = [cp.empty(lead + shape) for shape in self.signature.out_shapes]
        given: list[Any] = []
        for x, shape in zip(arrays, self.signature.in_shapes):
            alone = math.prod(x.shape[: x.ndim - len(shape)]) == 1
            laid = cp.ascontiguousarray(x if alone else cp.broadcast_to(x, lead + shape))
            given += [laid, np.int64(0 if alone else math.prod(shape))]
        if count:
            grid = (-(-count // BLOCK),), (BLOCK,)
            self.kernel(*grid, (*given, *outputs, np.int64(count)), shared_mem=self.bytes)
        return outputs
