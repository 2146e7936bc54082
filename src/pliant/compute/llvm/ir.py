"""LLVM IR of functions, for the compiler when there is no object code yet."""

from __future__ import annotations

import casadi as ca

from pliant.compute.llvm import emit_calls, entry, llvm
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import Machine
from pliant.compute.tape import columns
from pliant.compute.tape.call_plan import lowered
from pliant.compute.tape.columns import ColumnFunction
from pliant.compute.tape.tape import Tape


def function_source(f: ca.Function | ColumnFunction, kind: str, target: Machine) -> str:
    """LLVM IR of a function with the entry point for one state (`"single"`) or for many (`"batch"`)."""
    if isinstance(f, ColumnFunction):
        return columns.source(f, kind, target, llvm.PART_LENGTH)
    return source(Tape.from_function(f, calls=True), kind, target)


def source(instructions: Tape, kind: str, target: Machine) -> str:
    """LLVM IR of one tape with its entry point."""
    pack = Lanes(1) if kind == "single" else target.pack(len(instructions))
    angles = target.width if kind == "single" and target.fma else 1
    program = lowered(instructions, target.fma, llvm.PART_LENGTH, angles)
    text = emit_calls.body(program, pack, target.fma, angles)
    if kind == "single":
        text += entry.single(program.work_size)
    else:
        text += entry.batch(program.work_size, instructions.in_sizes, instructions.out_sizes, pack)
    return text + target.attributes
