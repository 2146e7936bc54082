"""Functions whose last step solves for many columns with one factor: two tapes, the second run per pack of columns.

Unrolled, the columns would repeat the same operations dozens of times: most of the compile, and code that no cache of
instructions holds. Here a first tape gives numbers that all columns share and the columns themselves; a second one
takes the shared numbers and one column. For one state, lanes are columns; in a batch, lanes are states and columns come
one after the other. Each column goes through the same operations either way, so that the bits are the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from pliant.kernels import emit, entry, lower
from pliant.kernels.lanes import Lanes
from pliant.kernels.tape import Tape
from pliant.kernels.target import Machine

REGISTERS = (4, 2)
"""Vectors of columns that are solved side by side: each waits for its own products alone. Of these numbers the one that
solves the fewest columns twice."""


@dataclass(frozen=True, eq=False)
class ColumnFunction:
    """`first(inputs)` gives outputs, then shared numbers (s,), then columns (n, K); `second(shared, b)` gives x (r,).

    Attributes
    ----------
    name : str
    first, second : casadi.Function
    widths : tuple of int
        Into how many columns each output behind those of `first` is cut; their sum is K.
    order : tuple of tuples of int
        The outputs of the whole, each of one or more rows of blocks: numbers of outputs of `first`, then of the cut
        columns.
    """

    name: str
    first: ca.Function
    second: ca.Function
    widths: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]

    @cached_property
    def function(self) -> ca.Function:
        """The whole as one CasADi function, which runs on its virtual machine and can be unrolled into one tape."""
        f = self.first
        given = [ca.MX.sym(f.name_in(k), *f.size_in(k)) for k in range(f.n_in())]
        *own, shared, columns = f.call(given)
        solved = ca.horzcat(*(self.second(shared, b) for b in ca.horzsplit(columns)))
        starts = [sum(self.widths[:k]) for k in range(len(self.widths) + 1)]
        both = [*own, *ca.horzsplit(solved, starts)]
        outputs = [ca.vertcat(*(both[k] for k in blocks)) for blocks in self.order]
        names = [f.name_in(k) for k in range(f.n_in())], [f"{self.name}_{k}" for k in range(len(outputs))]
        return ca.Function(self.name, given, outputs, *names)

    def n_instructions(self) -> int:
        """Instructions of both tapes."""
        return int(self.first.n_instructions() + self.second.n_instructions())

    def serialized(self) -> str:
        """Text that is another where the function is another."""
        return "\n".join([self.first.serialize(), self.second.serialize(), repr((self.widths, self.order))])

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _rebuild, (self.name, self.first.serialize(), self.second.serialize(), self.widths, self.order)


def _rebuild(name: str, first: str, second: str, widths: tuple[int, ...], order: Any) -> ColumnFunction:
    return ColumnFunction(name, ca.Function.deserialize(first), ca.Function.deserialize(second), widths, order)


def source(f: ColumnFunction, kind: str, target: Machine, part_length: int) -> str:
    """LLVM IR, with the entry point for one state (`"single"`) or for many (`"batch"`)."""
    tapes = Tape.from_function(f.first), Tape.from_function(f.second)
    alone = kind == "single"
    pack = Lanes(1) if alone else target.pack(sum(map(len, tapes)))
    angles = target.width if alone and target.fma else 1
    programs = [lower.lower(tape, target.fma, part_length, width) for tape, width in zip(tapes, (angles, 1))]
    layout = ColumnLayout(f, tapes, programs, pack, _lanes(sum(f.widths), target) if alone else pack)
    writers = {"first": emit.BodyWriter(programs[0], pack, angles), "second": ColumnWriter(programs[1], layout)}
    text = emit.bodies(writers, target.fma) + layout.body()
    if alone:
        return text + entry.single(layout.work_size) + target.attributes
    whole = f.function
    in_sizes, out_sizes = ([size(k) for k in range(count)] for size, count in (
        (whole.numel_in, whole.n_in()), (whole.numel_out, whole.n_out())
    ))  # fmt: skip
    return text + entry.batch(layout.work_size, in_sizes, out_sizes, pack) + target.attributes


def _lanes(count: int, target: Machine) -> Lanes:
    """Columns that are solved side by side, no more than there are."""
    width = min((registers * target.width for registers in REGISTERS), key=lambda width: -(-count // width) * width)
    while width > count:
        width //= 2
    return Lanes(width)


class ColumnLayout:
    """Where things stand in the work buffer, in packs of states: what the first tape gives (own outputs, shared
    numbers, columns), the solved columns, work of both tapes. `lanes` of a step solve columns."""

    def __init__(
        self, f: ColumnFunction, tapes: tuple[Tape, Tape], programs: list[lower.Program], pack: Lanes, lanes: Lanes
    ) -> None:
        self.f, self.pack, self.lanes = f, pack, lanes
        *self.own, self.n_shared, cells = tapes[0].out_sizes
        self.count, self.rows = tapes[0].out_shapes[-1][1], tapes[1].n_out
        self.shared = sum(self.own)
        self.columns = self.shared + self.n_shared
        self.solved = self.columns + cells
        self.first_work = self.solved + self.rows * self.count
        self.second_work = self.first_work + programs[0].work_size
        self.work_size = self.second_work + programs[1].work_size * self.step

    @property
    def splat(self) -> bool:
        """Whether lanes are columns, which share numbers of one state."""
        return self.pack.width == 1

    @property
    def step(self) -> int:
        """Columns that are solved at once."""
        return self.lanes.width if self.splat else 1

    def body(self) -> str:
        """`void @body(in, out, work)`: the first tape, all packs of columns, and the outputs."""
        T, last = self.pack.type, self.count - self.step
        places = ("shared", "columns", "solved", "first_work", "second_work")
        lines = ["define internal void @body(ptr %in, ptr %out, ptr %work) #0 {", "entry:"]
        lines += [f"%{name} = getelementptr {T}, ptr %work, i64 {getattr(self, name)}" for name in places]
        lines += [
            "call void @first(ptr %in, ptr %work, ptr %first_work)",
            "br label %next",
            "next:",
            "%j = phi i64 [0, %entry], [%after, %next]",
            f"%from = getelementptr {T}, ptr %columns, i64 %j",
            f"%to = getelementptr {T}, ptr %solved, i64 %j",
            "call void @second(ptr %shared, ptr %from, ptr %to, ptr %second_work)",
            f"%ahead = add i64 %j, {self.step}",
            f"%fits = icmp sle i64 %ahead, {last}",
            f"%after = select i1 %fits, i64 %ahead, i64 {last}",  # the last pack may solve some columns again
            f"%more = icmp slt i64 %ahead, {self.count}",
            "br i1 %more, label %next, label %copy",
            "copy:",
        ]
        shapes = [(1, size) for size in self.own] + [(self.rows, width) for width in self.f.widths]
        sources = ["work"] * len(self.own) + ["solved"] * len(self.f.widths)
        starts = [sum(sizes[:k]) for sizes in (self.own, self.f.widths) for k in range(len(sizes))]
        place = 0
        for k in itertools.chain.from_iterable(self.f.order):
            rows, width = shapes[k]
            if rows * width:
                lines += [
                    f"%from{k} = getelementptr {T}, ptr %{sources[k]}, i64 {starts[k]}",
                    f"%to{k} = getelementptr {T}, ptr %out, i64 {place}",
                    f"call void @copy(ptr %from{k}, ptr %to{k}, i64 {rows}, i64 {width})",
                ]
            place += rows * width
        return "\n".join([*lines, "ret void", "}"]) + COPY.format(T=T, count=self.count)


COPY = """
define internal void @copy(ptr noalias %from, ptr noalias %to, i64 %rows, i64 %width) noinline #0 {{
entry:
br label %row
row:
%i = phi i64 [0, %entry], [%i.next, %row.end]
%a = mul i64 %i, {count}
%b = mul i64 %i, %width
%x = getelementptr {T}, ptr %from, i64 %a
%y = getelementptr {T}, ptr %to, i64 %b
br label %cell
cell:
%j = phi i64 [0, %row], [%j.next, %cell]
%x.p = getelementptr {T}, ptr %x, i64 %j
%y.p = getelementptr {T}, ptr %y, i64 %j
%v = load {T}, ptr %x.p, align 8
store {T} %v, ptr %y.p, align 8
%j.next = add i64 %j, 1
%j.more = icmp slt i64 %j.next, %width
br i1 %j.more, label %cell, label %row.end
row.end:
%i.next = add i64 %i, 1
%i.more = icmp slt i64 %i.next, %rows
br i1 %i.more, label %row, label %end
end:
ret void
}}
"""
"""`void @copy(from, to, rows, width)`: parts of rows of all columns become rows of `width`."""


class ColumnWriter(emit.BodyWriter):
    """Writes the second tape as a function of `%shared`, `%in`, `%out` and `%work`: the elements of a column stand in
    rows of all columns."""

    pointers = ("shared", "in", "out", "work")

    def __init__(self, program: lower.Program, layout: ColumnLayout) -> None:
        super().__init__(program, layout.lanes, 1)
        self.layout = layout

    def _load(self, buffer: str, index: int) -> str:
        if buffer != "in":
            return super()._load(buffer, index)
        if index >= self.layout.n_shared:
            return super()._load("in", (index - self.layout.n_shared) * self.layout.count)
        if not self.layout.splat:
            return super()._load("shared", index)
        number = self._let(f"load double, ptr {self._address('shared', index)}, align 8")
        if self.lanes.width == 1:
            return number
        T = self.lanes.type
        one = self._let(f"insertelement {T} undef, double {number}, i32 0")
        return self._let(f"shufflevector {T} {one}, {T} undef, <{self.lanes.width} x i32> zeroinitializer")

    def _store(self, buffer: str, index: int, value: str) -> None:
        super()._store(buffer, index * self.layout.count if buffer == "out" else index, value)

    def _address(self, buffer: str, index: int) -> str:
        """Buffers of columns hold numbers where lanes are columns, packs of states otherwise; work holds lanes."""
        element = "double" if self.layout.splat and buffer != "work" else self.lanes.type
        return self._let(f"getelementptr {element}, ptr %{buffer}, i64 {index}")
