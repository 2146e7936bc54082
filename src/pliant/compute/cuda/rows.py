"""CUDA source of any kernel, one thread a state: arrays of rows in and out, where they are, without a copy."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from pliant.compute.cuda.device import shared_bytes
from pliant.compute.cuda.device_rows import ColumnsSource, DeviceColumns, DeviceRows, RowsSource
from pliant.compute.cuda.program import nodes_of
from pliant.compute.cuda.source import BLOCK, choose
from pliant.compute.cuda.steps import CudaKernel
from pliant.compute.cuda.text import DOUBLE, CudaOperations
from pliant.compute.tape.arguments import Signature
from pliant.compute.tape.columns import ColumnFunction
from pliant.compute.tape.tape import Tape

NAME = "rows"


def rows_source(f: ca.Function, signature: Signature, memory: int, repeats: tuple[int, ...] = ()) -> RowsSource:
    """Of a function, for a device whose blocks may have so many bytes of shared memory; so many states in a row as
    `repeats` says share a row of an input."""
    repeats = repeats or (1,) * f.n_in()
    tape = Tape.from_function(_flat(f))
    n = tape.in_sizes[1]
    operations = CudaOperations(nodes_of(tape), DOUBLE, (n, 0, 0))
    chosen = choose(operations.nodes, n, DOUBLE)
    slots = 0
    if chosen.strategy != "registers":
        slots = max(0, memory // chosen.blocks // (BLOCK * DOUBLE.size) - 1 - n)
    writer = CudaKernel(operations, slots > 0, chosen.values, slots, BLOCK, chosen.blocks)
    sizes = [f.numel_in(k) for k in range(f.n_in())], [f.numel_out(k) for k in range(f.n_out())]
    text = writer.rows(NAME, *sizes, repeats)
    return RowsSource(text, NAME, BLOCK, writer.shared_values * BLOCK * DOUBLE.size, signature, repeats)


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


def columns_source(f: ColumnFunction, signature: Signature, memory: int) -> ColumnsSource:
    """Of a function with groups of columns."""
    groups, first = len(f.seconds), f.first
    x = [ca.SX.sym(first.name_in(k), *first.size_in(k)) for k in range(first.n_in())]
    found = first.call(x)
    outputs = [*found[:-groups], *(block.T for block in found[-groups:])]  # a column is a row then
    counts = tuple(block.shape[0] for block in outputs[-groups:])
    shapes = tuple(tuple(y.shape) for y in outputs)
    turned = ca.Function(first.name(), x, outputs)
    names = replace(signature, out_shapes=shapes)
    seconds = tuple(
        rows_source(second, _columns_of(second), memory, (count, 1)) for second, count in zip(f.seconds, counts)
    )
    return ColumnsSource(signature, rows_source(turned, names, memory), seconds, counts, f.places, f.widths, f.order)


def _columns_of(second: ca.Function) -> Signature:
    shapes = tuple((second.numel_in(k),) for k in range(2))
    return Signature(second.name(), ("shared", "column"), shapes, ((second.numel_out(0),),))


def device_code(f: ca.Function | ColumnFunction, signature: Signature) -> DeviceRows | DeviceColumns:
    """A function of rows on the current CUDA device."""
    if isinstance(f, ColumnFunction):
        return DeviceColumns(columns_source(f, signature, shared_bytes()))
    return DeviceRows(rows_source(f, signature, shared_bytes()))
