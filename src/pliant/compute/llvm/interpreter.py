"""Interpreter of plain tapes in machine code. It is compiled once per machine and runs every tape, at a fraction of the
speed of compiled functions."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm import llvm
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import Machine, machine
from pliant.compute.tape.plain_tape import OF_ONE, OF_TWO, PlainTape

NAME = "pliant_interpret"


def interpret(tape: PlainTape, inputs: Array) -> Array:
    """Return the outputs (N, n_out) of a tape for the inputs (N, n_in) of many states."""
    n_in, length = tape.n_in, len(tape.rows)
    first = n_in + len(tape.constants)
    values, found = np.empty(first + length), np.empty((len(inputs), len(tape.outputs)))
    values[n_in:first] = tape.constants
    given = np.ascontiguousarray(inputs, dtype=float)
    arrays = (tape.rows, values, tape.outputs, given, found)
    _interpreter()(*(array.ctypes.data for array in arrays), length, first, n_in, found.shape[1], len(found))
    return found


@functools.cache
def _interpreter() -> Callable[..., None]:
    """`void pliant_interpret(const int32 *rows, double *values, const int32 *outputs, const double *given,
    double *found, int64 length, int64 first, int64 n_in, int64 n_out, int64 states)`."""
    code = llvm.compile_loops(NAME, NAME, lambda: source(machine()), optimized=False)
    found = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 10)(code.address)
    found.code = code  # type: ignore[attr-defined]  # lives as long as the function
    return found


def source(target: Machine) -> str:
    """LLVM IR: for each state, copy its inputs; for each row, read two operands, jump to the operation, and write its
    result; then copy the outputs."""
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
    pointers = ", ".join(f"ptr %{name}" for name in ("rows", "values", "outputs", "given", "found"))
    numbers = ", ".join(f"i64 %{name}" for name in ("length", "first", "n_in", "n_out", "states"))
    lines = [
        f"define void @{NAME}({pointers}, {numbers}) #0 {{",
        "entry:", "%results = getelementptr double, ptr %values, i64 %first", "br label %state",
        "state:",
        "%s = phi i64 [0, %entry], [%s.after, %stored]",
        "%s.after = add i64 %s, 1",
        "%another = icmp slt i64 %s, %states",
        "br i1 %another, label %load, label %end",
        "load:",
        "%x.first = mul i64 %s, %n_in",
        "%x.row = getelementptr double, ptr %given, i64 %x.first",
        *_each("i", "%n_in", "load", [
            "%i.from = getelementptr double, ptr %x.row, i64 %i",
            "%i.value = load double, ptr %i.from, align 8",
            "%i.to = getelementptr double, ptr %values, i64 %i",
            "store double %i.value, ptr %i.to, align 8",
        ]),
        "br label %next",
        "next:",
        "%k = phi i64 [0, %i.end], [%after, %done]",
        "%more = icmp slt i64 %k, %length",
        "br i1 %more, label %row, label %store",
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
        "store:",
        "%y.first = mul i64 %s, %n_out",
        "%y.row = getelementptr double, ptr %found, i64 %y.first",
        *_each("j", "%n_out", "store", [
            "%j.place = getelementptr i32, ptr %outputs, i64 %j",
            "%j.at = load i32, ptr %j.place, align 4",
            "%j.from = getelementptr double, ptr %values, i32 %j.at",
            "%j.value = load double, ptr %j.from, align 8",
            "%j.to = getelementptr double, ptr %y.row, i64 %j",
            "store double %j.value, ptr %j.to, align 8",
        ]),
        "br label %stored",
        "stored:", "br label %state",
        "end:", "ret void", "}",
    ]  # fmt: skip
    library = sorted(writer.library)
    called = [*map(Lanes.library_declaration, library), one.declarations(), *map(one.library_wrapper, library)]
    return "".join(called) + "\n".join(lines) + "\n" + target.attributes


def _each(index: str, count: str, before: str, body: Sequence[str]) -> list[str]:
    """Lines that repeat `body` for an index from 0 to below `count`, behind the block `before`; they end in the block
    `<index>.end`."""
    i = f"%{index}"
    return [
        f"br label {i}.next",
        f"{index}.next:",
        f"{i} = phi i64 [0, %{before}], [{i}.after, {i}.body]",
        f"{i}.more = icmp slt i64 {i}, {count}",
        f"br i1 {i}.more, label {i}.body, label {i}.end",
        f"{index}.body:", *body,
        f"{i}.after = add i64 {i}, 1",
        f"br label {i}.next",
        f"{index}.end:",
    ]  # fmt: skip
