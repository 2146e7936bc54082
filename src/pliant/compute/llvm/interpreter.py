"""Interpreter of plain tapes in machine code. It is compiled once per machine and runs every tape, at a fraction of the
speed of compiled functions."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm import llvm
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import Machine, machine
from pliant.compute.tape.plain_tape import OF_ONE, OF_TWO, PlainTape

NAME = "pliant_interpret"


def interpret(tape: PlainTape, inputs: Array) -> Array:
    """Return the outputs (N, n_out) of a tape for the inputs (N, n_in) of many states."""
    run, n_in, length = _interpreter(), tape.n_in, len(tape.rows)
    first = n_in + len(tape.constants)
    values, outputs = np.empty(first + length), np.empty((len(inputs), len(tape.outputs)))
    values[n_in:first] = tape.constants
    places = tape.rows.ctypes.data, length, values.ctypes.data, values.ctypes.data + 8 * first
    for given, found in zip(inputs, outputs):
        values[:n_in] = given
        run(*places)
        values.take(tape.outputs, out=found)
    return outputs


@functools.cache
def _interpreter() -> Callable[[int, int, int, int], None]:
    """`void pliant_interpret(const int32 *rows, int64 length, const double *values, double *results)`."""
    code = llvm.compile_loops(NAME, NAME, lambda: source(machine()), optimized=False)
    found = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(code.address)
    found.code = code  # type: ignore[attr-defined]  # lives as long as the function
    return found


def source(target: Machine) -> str:
    """LLVM IR: for each row, read two operands, jump to the operation, and write its result."""
    from pliant.compute.llvm.emit import BodyWriter
    from pliant.compute.tape.lower import Program

    one = Lanes(1)
    writer = BodyWriter(Program(parts=[], leaves={}, outputs={}, zeros=[], work_size=0), one, angle_width=1)
    cases, results = list[str](), list[str]()
    for number, name in enumerate((*OF_ONE, *OF_TWO)):
        writer.lines = [f"op{number}:"]
        results.append(f"[{writer.operation(name, '%x', *(['%y'] if name in OF_TWO else []))}, %op{number}]")
        cases += [*writer.lines, "br label %done"]
    labels = " ".join(f"i32 {number}, label %op{number}" for number in range(len(results)))
    head = f"define void @{NAME}(ptr %rows, i64 %length, ptr %values, ptr %results) #0 {{"
    lines = [
        head, "entry:", "br label %next",
        "next:",
        "%k = phi i64 [0, %entry], [%after, %done]",
        "%more = icmp slt i64 %k, %length",
        "br i1 %more, label %row, label %end",
        "row:",
        "%row.at = getelementptr [3 x i32], ptr %rows, i64 %k",
        "%a.at = getelementptr i32, ptr %row.at, i64 1",
        "%b.at = getelementptr i32, ptr %row.at, i64 2",
        *(f"%{name} = load i32, ptr %{name}.at, align 4" for name in ("a", "b")),
        "%number = load i32, ptr %row.at, align 4",
        *(f"%{x}.at = getelementptr double, ptr %values, i32 %{a}" for x, a in ("xa", "yb")),
        *(f"%{x} = load double, ptr %{x}.at, align 8" for x in ("x", "y")),
        f"switch i32 %number, label %done [{labels}]",
        *cases,
        "done:",
        f"%result = phi double [0.0, %row], {', '.join(results)}",
        "%result.at = getelementptr double, ptr %results, i64 %k",
        "store double %result, ptr %result.at, align 8",
        "%after = add i64 %k, 1",
        "br label %next",
        "end:", "ret void", "}",
    ]  # fmt: skip
    library = sorted(writer.library)
    called = [*map(Lanes.library_declaration, library), one.declarations(), *map(one.library_wrapper, library)]
    return "".join(called) + "\n".join(lines) + "\n" + target.attributes
