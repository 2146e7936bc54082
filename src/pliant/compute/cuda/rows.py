"""CUDA source of any kernel, one thread for each state: arrays of rows are read and written in place."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from pliant.compute.cuda.device import shared_bytes
from pliant.compute.cuda.device_rows import ColumnsSource, DeviceColumns, DeviceRows, RowsSource
from pliant.compute.cuda.forms import BLOCK, choose
from pliant.compute.cuda.kernel_source import CudaKernel
from pliant.compute.cuda.program import nodes_of
from pliant.compute.cuda.text import DOUBLE, CudaOperations
from pliant.compute.tape.arguments import Signature
from pliant.compute.tape.columns import ColumnFunction
from pliant.compute.tape.tape import Tape

NAME = "rows"


def rows_source(f: ca.Function, signature: Signature, memory: int, repeats: tuple[int, ...] = ()) -> RowsSource:
    """Write a function for a device whose blocks may use `memory` bytes of shared memory. `repeats` says for each input
    how many states in a row share one row of it; 1 by default."""
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
    shared = writer.shared_values * BLOCK * DOUBLE.size
    return RowsSource(text=text, name=NAME, block=BLOCK, bytes=shared, signature=signature, repeats=repeats)


def _flat(f: ca.Function) -> ca.Function:
    """A function (t, x, nothing, nothing) -> y with all inputs in one column x and all outputs in one column y, row by
    row."""
    sizes = [f.size_in(k) for k in range(f.n_in())]
    x, place, given = ca.SX.sym("x", sum(rows * columns for rows, columns in sizes)), 0, []
    for rows, columns in sizes:
        given.append(ca.reshape(x[place : place + rows * columns], columns, rows).T)
        place += rows * columns
    y = ca.veccat(*[ca.densify(out).T for out in f.call(given)])
    nothing = ca.SX.sym("w", 0), ca.SX.sym("p", 0)
    return ca.Function(f.name(), [ca.SX.sym("t"), x, *nothing], [y])


def columns_source(f: ColumnFunction, signature: Signature, memory: int) -> ColumnsSource:
    """Write a function with groups of columns."""
    groups, first = len(f.seconds), f.first
    x = [ca.SX.sym(first.name_in(k), *first.size_in(k)) for k in range(first.n_in())]
    found = first.call(x)
    outputs = [*found[:-groups], *(block.T for block in found[-groups:])]  # a column is a row then
    counts = tuple(block.shape[0] for block in outputs[-groups:])
    shapes = tuple(tuple(y.shape) for y in outputs)
    turned = ca.Function(first.name(), x, outputs)
    names = replace(signature, out_shapes=shapes)
    seconds = []
    for second, count in zip(f.seconds, counts):
        in_shapes, out_shapes = ((second.numel_in(0),), (second.numel_in(1),)), ((second.numel_out(0),),)
        solving = Signature(second.name(), ("shared", "column"), in_shapes, out_shapes)
        seconds.append(rows_source(second, solving, memory, (count, 1)))
    return ColumnsSource(
        signature=signature, first=rows_source(turned, names, memory), seconds=tuple(seconds), counts=counts,
        places=f.places, widths=f.widths, order=f.order,
    )  # fmt: skip


def device_code(f: ca.Function | ColumnFunction, signature: Signature) -> DeviceRows | DeviceColumns:
    """Compile a function of rows for the current CUDA device."""
    if isinstance(f, ColumnFunction):
        return DeviceColumns(columns_source(f, signature, shared_bytes()))
    return DeviceRows(rows_source(f, signature, shared_bytes()))
