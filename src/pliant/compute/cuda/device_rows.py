"""Functions of rows on a CUDA device: launches of the code that `cuda.rows` writes, and arrays that stay there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.compute.cuda.device import DeviceArray, cupy
from pliant.compute.tape.arguments import Shape, Signature
from pliant.errors import UnsupportedModel

SLICE = 32_768
"""States whose columns are kept in memory at once: 0.7 GB for an arm of 24 coordinates."""


@dataclass(frozen=True)
class RowsSource:
    """A kernel with one thread for each state: its `name` in the text, threads of a block and their shared memory.
    `repeats` says for each input how many states in a row share one row of it."""

    text: str
    name: str
    block: int
    bytes: int
    signature: Signature
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class ColumnsSource:
    """Kernels of a function with groups of columns (`compute/tape/columns.py`): the first gives own outputs, shared
    numbers and, for each group, columns as rows; the others solve them."""

    signature: Signature
    first: RowsSource
    seconds: tuple[RowsSource, ...]
    counts: tuple[int, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]


class DeviceRows:
    """A function on the current device."""

    def __init__(self, source: RowsSource) -> None:
        self.cp, self.source = cupy(), source
        try:
            module = self.cp.RawModule(code=source.text, options=("--std=c++17",))
            self.kernel = module.get_function(source.name)
        except Exception as error:
            name = source.signature.name
            raise UnsupportedModel(f"The GPU code of {name} could not be compiled: {error}") from error
        if source.bytes:
            self.kernel.max_dynamic_shared_size_bytes = source.bytes

    def __call__(self, arrays: Sequence[DeviceArray], lead: Shape) -> list[DeviceArray]:
        """Outputs (*lead, ...) of CuPy arrays (*lead, ...) of float64, or of arrays of one state that all share; an
        input with `repeats` above 1 has one row for so many states, and one leading axis."""
        cp, count, source = self.cp, math.prod(lead), self.source
        outputs = [cp.empty(lead + shape) for shape in source.signature.out_shapes]
        given: list[DeviceArray | np.int64] = []
        for x, shape, repeated in zip(arrays, source.signature.in_shapes, source.repeats):
            alone = _alone(x, shape)
            laid = cp.ascontiguousarray(x if alone or repeated > 1 else cp.broadcast_to(x, lead + shape))
            given += [laid, np.int64(0 if alone else math.prod(shape))]
        if count:
            grid = (-(-count // source.block),), (source.block,)
            self.kernel(*grid, (*given, *outputs, np.int64(count)), shared_mem=source.bytes)
        return outputs


class DeviceColumns:
    """A function with groups of columns on the current device: one thread for each state, then one for each column."""

    def __init__(self, source: ColumnsSource) -> None:
        self.cp, self.source = cupy(), source
        self.first, self.seconds = DeviceRows(source.first), [DeviceRows(each) for each in source.seconds]
        self.places = self.cp.asarray(source.places)

    def __call__(self, arrays: Sequence[DeviceArray], lead: Shape) -> list[DeviceArray]:
        """Outputs (*lead, ...) of CuPy arrays (*lead, ...) of float64, or of arrays of one state that all share."""
        cp, count, signature = self.cp, math.prod(lead), self.source.signature
        outputs = [cp.empty((count, *shape)) for shape in signature.out_shapes]
        flat = []
        for x, shape in zip(arrays, signature.in_shapes):
            flat.append(
                x.reshape(1, *shape) if _alone(x, shape) else cp.broadcast_to(x, lead + shape).reshape(count, *shape)
            )
        for start in range(0, count, SLICE):
            part = slice(start, min(start + SLICE, count))
            found = self._some([x if len(x) == 1 else x[part] for x in flat], part.stop - start)
            for out, some in zip(outputs, found):
                out[part] = some.reshape(-1, *out.shape[1:])
        return [out.reshape(lead + shape) for out, shape in zip(outputs, signature.out_shapes)]

    def _some(self, arrays: Sequence[DeviceArray], count: int) -> list[DeviceArray]:
        cp, source = self.cp, self.source
        found = self.first(arrays, (count,))
        groups = len(source.counts)
        own, shared, blocks = found[: -groups - 1], found[-groups - 1].reshape(count, -1), found[-groups:]
        rows = []
        for second, block, columns in zip(self.seconds, blocks, source.counts):
            (x,) = second([shared, block.reshape(count * columns, -1)], (count * columns,))
            rows.append(x.reshape(count, columns, -1))
        solved = cp.concatenate(rows, axis=1)[:, self.places].transpose(0, 2, 1)
        ends = itertools.accumulate(source.widths, initial=0)
        both = [*own, *(solved[:, :, low:high] for low, high in itertools.pairwise(ends))]
        return [cp.concatenate([both[k] for k in blocks], axis=1) for blocks in source.order]


def _alone(array: DeviceArray, shape: Shape) -> bool:
    """Whether an array holds one state, which all share."""
    return bool(math.prod(array.shape[: array.ndim - len(shape)]) == 1)
