"""LLVM IR of whole functions: of tapes that call others, with a loop over the rows of their table, and entry points."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from pliant.compute.llvm import emit, entry
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import Machine
from pliant.compute.tape import columns
from pliant.compute.tape.call_plan import CONSTANTS, COPY, IN, OUT, WORK, CallPlan, lowered
from pliant.compute.tape.columns import ColumnFunction
from pliant.compute.tape.lower import Program
from pliant.compute.tape.tape import Tape

if TYPE_CHECKING:
    import casadi as ca

BASES = {IN: "in", OUT: "out", WORK: "work", CONSTANTS: "constants"}


def function_source(f: ca.Function | ColumnFunction, kind: str, target: Machine, part_length: int) -> str:
    """LLVM IR of a function, in parts of so many steps, with the entry point for one state (`"single"`) or for many
    (`"batch"`)."""
    if isinstance(f, ColumnFunction):
        return columns.source(f, kind, target, part_length)
    return source(Tape.from_function(f, calls=True), kind, target, part_length)


def source(instructions: Tape, kind: str, target: Machine, part_length: int) -> str:
    """LLVM IR of one tape with its entry point."""
    pack = Lanes(1) if kind == "single" else target.pack(len(instructions))
    angles = target.width if kind == "single" and target.fma else 1
    program = lowered(instructions, target.fma, part_length, angles)
    text = body(program, pack, target.fma, angles)
    if kind == "single":
        text += entry.single(program.work_size)
    else:
        text += entry.batch(program.work_size, instructions.in_sizes, instructions.out_sizes, pack)
    return text + target.attributes


class CalleeWriter(emit.BodyWriter):
    """Write a function of one pointer for each run of its arguments, `%out` and `%work`."""

    def __init__(self, program: Program, starts: tuple[int, ...], lanes: Lanes, angle_width: int) -> None:
        super().__init__(program, lanes, angle_width)
        self.starts = starts
        self.pointers = (*(f"run{k}" for k in range(len(starts))), "out", "work")

    def _load(self, buffer: str, index: int) -> str:
        if buffer != "in":
            return super()._load(buffer, index)
        run = bisect_right(self.starts, index) - 1
        return super()._load(f"run{run}", index - self.starts[run])


def body(program: Program | CallPlan, lanes: Lanes, fma: bool, angle_width: int, linkage: str = "internal") -> str:
    """All functions, and `void @body(in, out, work)` that runs them in order."""
    if isinstance(program, Program):
        return emit.body(program, lanes, fma, angle_width, linkage)
    plan, main = program, emit.BodyWriter(program.main, lanes, angle_width)
    writers = {
        f"called{k}": CalleeWriter(callee, starts, lanes, angle_width)
        for k, (callee, starts) in enumerate(zip(plan.callees, plan.starts))
    }
    parts = [main.function(f"own{k}", part, zeros=False) for k, part in enumerate(plan.main.parts)]
    called = emit.bodies(writers, fma, others=[main])
    return called + "".join(parts) + _tables(plan, lanes) + _loop(plan, lanes, linkage)


def _tables(plan: CallPlan, lanes: Lanes) -> str:
    width = _width(plan)
    rows = [place for row in plan.rows for place in (*row, *[0] * (width - len(row)))]
    copies = [place for pair in plan.copies for place in pair]
    numbers = ", ".join(f"{lanes.type} {lanes.constant(x)}" for x in plan.constants)
    text = f"@constants = internal constant [{len(plan.constants)} x {lanes.type}] [{numbers}], align 64\n"
    for name, table in (("rows", rows), ("copies", copies)):
        numbers = ", ".join(f"i64 {place}" for place in table)
        text += f"@{name} = internal constant [{len(table)} x i64] [{numbers}]\n"
    return text


def _width(plan: CallPlan) -> int:
    return max(map(len, plan.rows))


def _loop(plan: CallPlan, lanes: Lanes, linkage: str) -> str:
    T, parts = lanes.type, len(plan.main.parts)
    count = parts + len(plan.callees)
    lines = [
        f"define {linkage} void @body(ptr %in, ptr %out, ptr %work) #0 {{", "entry:", "%bases = alloca [4 x ptr]",
        *(f"%base{k} = getelementptr ptr, ptr %bases, i64 {k}" for k in BASES),
        *(f"store ptr {'@' if k == CONSTANTS else '%'}{name}, ptr %base{k}" for k, name in BASES.items()),
        f"%callee_work = getelementptr {T}, ptr %work, i64 {plan.callee_work}",
        "br label %row",
        "row:",
        "%i = phi i64 [0, %entry], [%i.next, %next]",
        f"%start = mul i64 %i, {_width(plan)}",
        "%here = getelementptr i64, ptr @rows, i64 %start",
        "%first = getelementptr i64, ptr %here, i64 1",
        "%second = getelementptr i64, ptr %here, i64 2",
        "%kind = load i64, ptr %here",
        "switch i64 %kind, label %next ["
        + " ".join(f"i64 {k}, label %kind{k}" for k in range(count + 1)) + "]",
    ]  # fmt: skip
    lines += _copying(lanes)
    for k in range(parts):
        lines += [f"kind{1 + k}:", f"call void @own{k}(ptr %in, ptr %out, ptr %work)", "br label %next"]
    for k, starts in enumerate(plan.starts):
        kind, pointers = f"kind{1 + parts + k}", []
        lines.append(f"{kind}:")
        for run in range(len(starts) + 1):  # the place of the results first
            name = f"%{kind}.{run}"
            lines += [
                f"{name}.at = getelementptr i64, ptr %here, i64 {1 + run}", f"{name}.place = load i64, ptr {name}.at",
                *_resolved(name, T),
            ]  # fmt: skip
            pointers.append(f"ptr {name}")
        given = ", ".join([*pointers[1:], pointers[0], "ptr %callee_work"])
        lines += [f"call void @called{k}({given})", "br label %next"]
    lines += [
        "next:", "%i.next = add i64 %i, 1", f"%more = icmp slt i64 %i.next, {len(plan.rows)}",
        "br i1 %more, label %row, label %end", "end:", "ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _copying(lanes: Lanes) -> list[str]:
    T = lanes.type
    return [
        f"kind{COPY}:",
        "%copy = load i64, ptr %first", "%count = load i64, ptr %second",
        "%copy.end = add i64 %copy, %count",
        "br label %copying",
        "copying:",
        f"%c = phi i64 [%copy, %kind{COPY}], [%c.next, %copying]",
        "%c.twice = shl i64 %c, 1",
        "%from.at = getelementptr i64, ptr @copies, i64 %c.twice",
        "%to.at = getelementptr i64, ptr %from.at, i64 1",
        "%from.place = load i64, ptr %from.at", "%to.place = load i64, ptr %to.at",
        *_resolved("%from", T), *_resolved("%to", T),
        f"%copied = load {T}, ptr %from, align 8", f"store {T} %copied, ptr %to, align 8",
        "%c.next = add i64 %c, 1", "%c.more = icmp slt i64 %c.next, %copy.end",
        "br i1 %c.more, label %copying, label %next",
    ]  # fmt: skip


def _resolved(name: str, T: str) -> list[str]:
    """Lines that set the pointer `name` to the place `name`.place of the table."""
    return [
        f"{name}.base = and i64 {name}.place, 3", f"{name}.from = getelementptr ptr, ptr %bases, i64 {name}.base",
        f"{name}.pointer = load ptr, ptr {name}.from", f"{name}.far = ashr i64 {name}.place, 2",
        f"{name} = getelementptr {T}, ptr {name}.pointer, i64 {name}.far",
    ]  # fmt: skip
