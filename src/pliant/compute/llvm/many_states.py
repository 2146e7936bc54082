"""Many states at once: rows of states in packs, packs in blocks, blocks in threads."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm import entry, llvm, threads
from pliant.compute.tape.arguments import Shape, Signature, rows
from pliant.errors import PliantError

#: Operations (states times length of the tape) below which a second thread costs more than it saves.
LEAST_SHARED = 1_000_000
#: States that a thread takes at least: whole packs, whatever their width.
GRAIN = 8
#: Bytes to which scratch memory is aligned.
ALIGNMENT = 64

_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)


class BatchCode:
    """Machine code for batches of one kernel."""

    def __init__(self, code: llvm.Code, signature: Signature, tape_length: int) -> None:
        self._code = code
        self._function = _TYPE(code.address)  # releases the interpreter's lock while it runs
        self._signature = signature
        self._scratch_size = code.number(entry.SCRATCH)
        self._tape_length = tape_length

    def __call__(self, arrays: Sequence[Array], leading: Shape) -> tuple[list[Array], bool]:
        """Outputs of all states, and whether all inputs were finite."""
        count = math.prod(leading)
        try:
            outputs = [np.empty(leading + shape) for shape in self._signature.out_shapes]
        except (MemoryError, ValueError) as error:  # NumPy has both words for more than there can be
            raise PliantError(
                f"{self._signature.name}: the answers for {count} states do not fit into memory; give fewer at a time"
            ) from error
        if count == 0:
            return outputs, True
        laid = [rows(array, shape, leading) for array, shape in zip(arrays, self._signature.in_shapes)]
        sources = np.array([array.ctypes.data for array, _ in laid], dtype=np.int64)
        strides = np.array([stride for _, stride in laid], dtype=np.int64)
        targets = np.array([output.ctypes.data for output in outputs], dtype=np.int64)
        tables = (sources.ctypes.data, strides.ctypes.data, targets.ctypes.data)
        many = count * self._tape_length >= LEAST_SHARED
        call = functools.partial(self._function, *tables)
        return outputs, in_blocks(call, self._scratch_size, count, GRAIN, threads.get_threads() if many else 1)


def in_blocks(call: Callable[..., int], size: int, count: int, grain: int, most: int) -> bool:
    """Run `call(scratch, start, stop)` for all blocks, with aligned scratch memory of `size` doubles for each thread;
    return whether all results were zero."""
    refused: list[bool] = []

    def work(next_block: Callable[[], tuple[int, int] | None]) -> None:
        memory = np.empty(size + ALIGNMENT // 8)
        scratch = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
        while block := next_block():
            if call(scratch, *block):
                refused.append(True)

    threads.share(work, count, grain, most)
    return not refused
