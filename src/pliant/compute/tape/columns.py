"""Functions whose last step solves many columns with shared numbers: one tape, and others run per pack of columns.

Unrolled, the columns would repeat the same operations dozens of times. They would take most of the time to compile, and
their code would fit no instruction cache. Here a first tape gives numbers that all columns share and the columns
themselves, in groups; each group has a tape that takes the shared numbers and one column. For one state, lanes are
columns; in a batch, lanes are states and columns come one after the other. Each column goes through the same operations
either way, so that the bits are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from pliant.compute.llvm import emit, entry
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.target import Machine
from pliant.compute.tape import lower
from pliant.compute.tape.tape import Tape

REGISTERS = (2, 3)
"""Numbers of vectors of columns that are solved side by side, each of which waits only for its own products; more would
leave too few registers. The one that solves the fewest columns twice is taken."""
COLUMN_PART = 150
"""Steps of a column's tape in one function; shorter parts compile faster and run as fast. A step is one instruction for
each register."""


@dataclass(frozen=True, eq=False)
class ColumnFunction:
    """`first(inputs)` gives outputs, then shared numbers (s,), then a block (m, K) of columns for each group;
    `seconds[g](shared, column)` gives x (r,), with the same r for all.

    Attributes
    ----------
    name : str
    first : casadi.Function
    seconds : tuple of casadi.Function
        One for each group.
    places : tuple of int
        The solved columns, numbered group after group, in the order that outputs have them.
    widths : tuple of int
        Number of solved columns in each output behind those of `first`; their sum is the number of columns.
    order : tuple of tuples of int
        The outputs of the whole function, each of one or more rows of blocks: numbers of outputs of `first`, then of
        outputs of solved columns.
    """

    name: str
    first: ca.Function
    seconds: tuple[ca.Function, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]

    @cached_property
    def function(self) -> ca.Function:
        """The whole as one CasADi function, which runs on its virtual machine and can be unrolled into one tape."""
        f, groups = self.first, len(self.seconds)
        given = [ca.MX.sym(f.name_in(k), *f.size_in(k)) for k in range(f.n_in())]
        found = f.call(given)
        own, shared, blocks = found[: -groups - 1], found[-groups - 1], found[-groups:]
        solved = [second(shared, b) for second, block in zip(self.seconds, blocks) for b in ca.horzsplit(block)]
        ordered = iter([solved[place] for place in self.places])
        both = [*own, *(ca.horzcat(*itertools.islice(ordered, width)) for width in self.widths)]
        outputs = [ca.vertcat(*(both[k] for k in blocks)) for blocks in self.order]
        names = [f.name_in(k) for k in range(f.n_in())], [f"{self.name}_{k}" for k in range(len(outputs))]
        return ca.Function(self.name, given, outputs, *names)

    def n_instructions(self) -> int:
        """Instructions of all tapes."""
        return int(sum(f.n_instructions() for f in (self.first, *self.seconds)))

    def serialized(self) -> str:
        """Text that differs between different functions."""
        texts = [f.serialize() for f in (self.first, *self.seconds)]
        return "\n".join([*texts, repr((self.places, self.widths, self.order))])

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        seconds = tuple(f.serialize() for f in self.seconds)
        return _rebuild, (self.name, self.first.serialize(), seconds, self.places, self.widths, self.order)


def _rebuild(
    name: str, first: str, seconds: tuple[str, ...], places: tuple[int, ...], widths: tuple[int, ...],
    order: tuple[tuple[int, ...], ...],
) -> ColumnFunction:  # fmt: skip
    return ColumnFunction(
        name=name, first=ca.Function.deserialize(first), seconds=tuple(map(ca.Function.deserialize, seconds)),
        places=places, widths=widths, order=order,
    )  # fmt: skip


def source(f: ColumnFunction, kind: str, target: Machine, part_length: int) -> str:
    """LLVM IR, with the entry point for one state (`"single"`) or for many (`"batch"`)."""
    tapes = [Tape.from_function(each) for each in (f.first, *f.seconds)]
    alone = kind == "single"
    pack = Lanes(1) if alone else target.pack(sum(map(len, tapes)))
    angles = target.width if alone and target.fma else 1
    first = lower.lower(tapes[0], target.fma, part_length, angles)
    programs = [lower.lower(each, target.fma, COLUMN_PART, 1) for each in tapes[1:]]
    counts = [columns for _, columns in tapes[0].out_shapes[-len(programs) :]]
    lanes = [_lanes(count, target) if alone else (pack, 1) for count in counts]
    layout = ColumnLayout(f, tapes, [p.work_size for p in (first, *programs)], pack, lanes)
    writers: dict[str, emit.BodyWriter] = {"first": emit.BodyWriter(first, pack, angles)}
    for g, program in enumerate(programs):
        writers[f"second{g}_"] = ColumnWriter(program, layout, g)
    text = emit.bodies(writers, target.fma) + layout.body()
    if alone:
        return text + entry.single(layout.work_size) + target.attributes
    whole = f.function
    in_sizes, out_sizes = ([size(k) for k in range(count)] for size, count in (
        (whole.numel_in, whole.n_in()), (whole.numel_out, whole.n_out())
    ))  # fmt: skip
    return text + entry.batch(layout.work_size, in_sizes, out_sizes, pack) + target.attributes


def _lanes(count: int, target: Machine) -> tuple[Lanes, int]:
    """Columns in a register, and registers of columns that are solved side by side: the last one may have more lanes
    than columns are left, but none is idle."""
    width = target.width
    while width // 2 >= count:
        width //= 2
    fitting = [number for number in REGISTERS if (number - 1) * width < count] or [1]
    return Lanes(width), min(fitting, key=lambda number: -(-count // (number * width)) * number)


class ColumnLayout:
    """Places in the work buffer, counted in packs of states: outputs of the first tape (own outputs, shared numbers,
    columns of each group), the solved columns, work of the tapes. `lanes` of a step solve columns.

    Where a step has more lanes than its group has columns, the spare lanes read beyond the columns. They write where
    later columns are solved, or behind the end of a row: the distance `apart` of rows of solved columns leaves room.
    """

    def __init__(
        self,
        f: ColumnFunction,
        tapes: list[Tape],
        work: list[int],
        pack: Lanes,
        lanes: list[tuple[Lanes, int]],
    ) -> None:
        self.f, self.pack = f, pack
        self.lanes, self.registers = zip(*lanes, strict=True)
        first, *seconds = tapes
        sizes, groups = first.out_sizes, len(seconds)
        self.own, self.n_shared, blocks = sizes[: -groups - 1], sizes[-groups - 1], sizes[-groups:]
        self.counts = [columns for _, columns in first.out_shapes[-groups:]]
        self.count, self.rows = sum(self.counts), seconds[0].n_out
        self.shared = sum(self.own)
        self.columns = [self.shared + self.n_shared + sum(blocks[:g]) for g in range(groups)]
        self.solved = self.columns[-1] + blocks[-1]
        steps = [self.step(g) for g in range(groups)]
        ends = [start + step for start, step in zip(itertools.accumulate(self.counts, initial=0), steps, strict=False)]
        self.apart = max(self.count, *ends)
        self.first_work = self.solved + self.rows * self.apart
        self.second_work = self.first_work + work[0]
        self.work_size = self.second_work + max(size * step for size, step in zip(work[1:], steps, strict=True))

    @property
    def splat(self) -> bool:
        """Whether lanes are columns, which share the numbers of one state."""
        return self.pack.width == 1

    def step(self, group: int) -> int:
        """Number of columns of a group that are solved at once."""
        return self.lanes[group].width * self.registers[group] if self.splat else 1

    def body(self) -> str:
        """`void @body(in, out, work)`: the first tape, all packs of columns, and the outputs."""
        T = self.pack.type
        lines = ["define internal void @body(ptr %in, ptr %out, ptr %work) #0 {", "entry:"]
        lines += [
            f"%{name} = getelementptr {T}, ptr %work, i64 {getattr(self, name)}"
            for name in ("shared", "solved", "first_work", "second_work")
        ]
        lines += ["call void @first(ptr %in, ptr %work, ptr %first_work)", "br label %group0"]
        for g in range(len(self.counts)):
            lines += self._group(g)
        return "\n".join([*lines, f"group{len(self.counts)}:", *self._outputs(), "ret void", "}"]) + self._copies()

    def _group(self, g: int) -> Iterator[str]:
        """All columns of a group; the last pack may solve some columns again."""
        T, step, count = self.pack.type, self.step(g), self.counts[g]
        yield from (
            f"group{g}:",
            f"%columns{g} = getelementptr {T}, ptr %work, i64 {self.columns[g]}",
            f"%solved{g} = getelementptr {T}, ptr %solved, i64 {sum(self.counts[:g])}",
            f"br label %next{g}",
            f"next{g}:",
            f"%j{g} = phi i64 [0, %group{g}], [%after{g}, %next{g}]",
            f"%from{g} = getelementptr {T}, ptr %columns{g}, i64 %j{g}",
            f"%to{g} = getelementptr {T}, ptr %solved{g}, i64 %j{g}",
            f"call void @second{g}_(ptr %shared, ptr %from{g}, ptr %to{g}, ptr %second_work)",
            f"%ahead{g} = add i64 %j{g}, {step}",
            f"%fits{g} = icmp sle i64 %ahead{g}, {count - step}",
            f"%after{g} = select i1 %fits{g}, i64 %ahead{g}, i64 {count - step}",
            f"%more{g} = icmp slt i64 %ahead{g}, {count}",
            f"br i1 %more{g}, label %next{g}, label %group{g + 1}",
        )

    def _outputs(self) -> Iterator[str]:
        T, place = self.pack.type, 0
        starts = [sum(sizes[:k]) for sizes in (self.own, self.f.widths) for k in range(len(sizes))]
        for k in itertools.chain.from_iterable(self.f.order):
            is_own = k < len(self.own)
            rows, width = (1, self.own[k]) if is_own else (self.rows, self.f.widths[k - len(self.own)])
            if rows * width:
                yield f"%out{k} = getelementptr {T}, ptr %out, i64 {place}"
                if is_own:
                    yield f"%own{k} = getelementptr {T}, ptr %work, i64 {starts[k]}"
                    yield f"call void @copy(ptr %own{k}, ptr %out{k}, i64 {width})"
                else:
                    yield f"call void @gather{k}(ptr %solved, ptr %out{k})"
            place += rows * width

    def _copies(self) -> str:
        """Functions that copy own outputs, and gather the solved columns of each output in a loop over rows."""
        T, texts, start = self.pack.type, [COPY.format(T=self.pack.type)], 0
        for k, width in enumerate(self.f.widths, len(self.own)):
            cells = []
            for j, place in enumerate(self.f.places[start : start + width]):
                cells += [
                    f"%from{j} = getelementptr {T}, ptr %x, i64 {place}",
                    f"%to{j} = getelementptr {T}, ptr %y, i64 {j}",
                    f"%v{j} = load {T}, ptr %from{j}, align 8",
                    f"store {T} %v{j}, ptr %to{j}, align 8",
                ]
            text = "\n".join(cells)
            texts.append(GATHER.format(T=T, k=k, cells=text, apart=self.apart, width=width, rows=self.rows))
            start += width
        return "".join(texts)


COPY = """
define internal void @copy(ptr noalias %from, ptr noalias %to, i64 %width) noinline #0 {{
entry:
br label %cell
cell:
%j = phi i64 [0, %entry], [%j.next, %cell]
%x.p = getelementptr {T}, ptr %from, i64 %j
%y.p = getelementptr {T}, ptr %to, i64 %j
%v = load {T}, ptr %x.p, align 8
store {T} %v, ptr %y.p, align 8
%j.next = add i64 %j, 1
%j.more = icmp slt i64 %j.next, %width
br i1 %j.more, label %cell, label %end
end:
ret void
}}
"""
GATHER = """
define internal void @gather{k}(ptr noalias %from, ptr noalias %to) noinline #0 {{
entry:
br label %row
row:
%i = phi i64 [0, %entry], [%i.next, %row]
%a = mul i64 %i, {apart}
%b = mul i64 %i, {width}
%x = getelementptr {T}, ptr %from, i64 %a
%y = getelementptr {T}, ptr %to, i64 %b
{cells}
%i.next = add i64 %i, 1
%i.more = icmp slt i64 %i.next, {rows}
br i1 %i.more, label %row, label %end
end:
ret void
}}
"""


class ColumnWriter(emit.BodyWriter):
    """Write the tape of a group as a function of `%shared`, `%in`, `%out` and `%work`: the elements of a column stand
    in rows of all columns.

    Each step is written for all registers before the next one, so that no instruction waits for the one before. If one
    vector filled several registers, the compiler would make one long chain of instructions after the other.
    """

    pointers = ("shared", "in", "out", "work")

    def __init__(self, program: lower.Program, layout: ColumnLayout, group: int) -> None:
        super().__init__(program, layout.lanes[group], 1)
        self.layout, self.group, self.outputs_apart = layout, group, layout.apart
        self.count = layout.registers[group]

    def _begin(self) -> None:
        super()._begin()
        self._values: list[dict[int, str]] = [{} for _ in range(self.count)]
        self._shared: dict[int, str] = {}
        self._register = 0

    def _registers(self) -> Iterator[int]:
        self._shared = {}
        for register, known in enumerate(self._values):
            self._register, self._known = register, known
            yield register

    def _operand(self, value: int) -> str:
        """Name of a value; a shared number is loaded anew for each step, since columns need the registers."""
        kind, content = self.program.leaves.get(value, ("", 0))
        if kind == "input" and content < self.layout.n_shared and self.layout.splat:
            return self._load("in", int(content))
        return super()._operand(value)

    def _load(self, buffer: str, index: int) -> str:
        if buffer != "in":
            return super()._load(buffer, index)
        if index >= self.layout.n_shared:
            return super()._load("in", (index - self.layout.n_shared) * self.layout.counts[self.group])
        if not self.layout.splat:
            return super()._load("shared", index)
        if index not in self._shared:
            self._shared[index] = self._splat(index)
        return self._shared[index]

    def _splat(self, index: int) -> str:
        """A shared number in every lane."""
        number = self._let(f"load double, ptr {self._address('shared', index)}, align 8")
        if self.lanes.width == 1:
            return number
        T = self.lanes.type
        one = self._let(f"insertelement {T} undef, double {number}, i32 0")
        return self._let(f"shufflevector {T} {one}, {T} undef, <{self.lanes.width} x i32> zeroinitializer")

    def _store(self, buffer: str, index: int, value: str) -> None:
        super()._store(buffer, index * self.outputs_apart if buffer == "out" else index, value)

    def _address(self, buffer: str, index: int) -> str:
        if buffer == "work":
            index = index * self.count + self._register
        elif buffer != "shared":
            index += self.lanes.width * self._register if self.layout.splat else 0
        return super()._address(buffer, index)

    def _element(self, buffer: str) -> str:
        """Type of a buffer's elements: columns hold numbers where lanes are columns, else packs; work holds lanes."""
        return "double" if self.layout.splat and buffer != "work" else self.lanes.type
