"""One function in C: its declaration, its lines, and the memory that it takes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pliant.arrays import Array
from pliant.compute.tape.rounding import wide_values
from pliant.compute.tape.tape import Tape
from pliant.export.c.memory import FRAME, in_places, stack_bytes
from pliant.export.c.text import DOUBLE, CReal, room
from pliant.export.statements import Statements, write

LONGEST_FUNCTION = 600
"""Most assignments in one C function; a longer one is cut in parts of `PART`, and keeps its values in an array."""

PART = 150
"""Assignments in a part: compilers need time that grows with the square of a block of code."""

ALLOWED, AIM = 2e-6, 1e-6
"""Error of single precision, relative to the largest result, that is accepted, and that to which operations in double
precision reduce a larger one; the largest of many states is some three times as much."""


def c_prototype(name: str, inputs: Mapping[str, int], outputs: Mapping[str, tuple[int, ...]], real: CReal) -> str:
    """Declaration of a function without the semicolon."""
    given = [f"const {real.name} {x}[{max(size, 1)}]" for x, size in inputs.items()]
    given += [f"{real.name} {x}[{room(shape)}]" for x, shape in outputs.items()]
    return f"void {name}({', '.join(given)})"


@dataclass(frozen=True)
class CFunction:
    """A function in C; its caller lends it `work` numbers, and it needs `stack` bytes of stack."""

    prototype: str
    lines: list[str]
    stack: int
    work: int
    lent: CReal = DOUBLE

    @classmethod
    def of(
        cls, prototype: str, tape: Tape, outputs: Sequence[str] | Mapping[str, object], labels: dict[str, str],
        real: CReal = DOUBLE, lent: bool = True, states: Array | None = None,
    ) -> CFunction:  # fmt: skip
        """Write a tape as a function. A very long one is cut in parts, whose values are in an array: of the caller if
        `lent`, or its own.

        In single precision, values that its rounding would spoil at typical `states` are computed in double.
        """
        wide = (
            wide_values(tape, states, ALLOWED, AIM) if real is not DOUBLE and states is not None else frozenset[int]()
        )
        body = write(tape, real.language, elements(tape), labels, wide, DOUBLE.language)
        outputs, kept = list(outputs), DOUBLE if body.wide else real
        if len(body.assignments) <= LONGEST_FUNCTION:
            kinds = {name: "double" if name in body.wide else real.name for name, _ in body.assignments}
            lines = [f"    const {kinds[name]} {name} = {text};" for name, text in body.assignments]
            read = {text.split("[")[0] for text in body.used}
            unused = [x for x in (*tape.in_names, *_empty(tape, outputs)) if x not in read]
            marks = [f"    (void){x};" for x in unused]
            lines = [prototype, "{", *lines, *marks, *_results(tape, body, outputs), "}"]
            return cls(prototype, lines, stack_bytes(body, real.bytes), 0)
        placed, work = in_places(body, "work", real.name)
        stack = FRAME + stack_bytes(body, kept.bytes, PART) + (0 if lent else work * kept.bytes)
        whole = f"{prototype[:-1]}, {kept.name} work[{_size(prototype)}])" if lent else prototype
        own = [] if lent else [f"    {kept.name} work[{work}];"]
        lines = _in_parts(prototype, whole, tape, placed, outputs, real, kept, own)
        return cls(whole, lines, stack, work if lent else 0, kept)

    @property
    def name(self) -> str:
        """Name of the function."""
        return _name(self.prototype)

    @property
    def size(self) -> str:
        """Name of the constant that says how many numbers `work` has."""
        return _size(self.prototype)

    def declaration(self, what: str) -> list[str]:
        """Lines of the header; `what` describes the function."""
        size = [f"#define {self.size} {self.work}"] if self.work else []
        return [f"/* {what}. At most {self.stack} bytes of stack. */", *size, f"{self.prototype};", ""]


def definition(prototype: str, tape: Tape, outputs: Sequence[str], labels: dict[str, str]) -> list[str]:
    """Lines of a function that needs nothing of its caller."""
    return CFunction.of(prototype, tape, outputs, labels, lent=False).lines


def elements(tape: Tape) -> list[list[str]]:
    """Elements of each input as C writes them: q[0], q[1], ..."""
    return [[f"{name}[{k}]" for k in range(size)] for name, size in zip(tape.in_names, tape.in_sizes)]


def _name(prototype: str) -> str:
    return prototype.split("(")[0].split()[-1]


def _size(prototype: str) -> str:
    return f"{_name(prototype).upper()}_WORK"


def _in_parts(
    prototype: str, whole: str, tape: Tape, body: Statements, outputs: Sequence[str], real: CReal, kept: CReal,
    own: list[str],
) -> list[str]:  # fmt: skip
    """Static functions of bounded length that share one array of temporaries.

    They are called through a table: a compiler would otherwise put them back together.
    """
    name, arguments = _name(prototype), prototype.split("(")[1].removesuffix(")")
    inputs = [x for x in arguments.split(", ") if x.startswith("const ")]
    assignments = [f"    {target} = {text};" for target, text in body.assignments]
    lines: list[str] = []
    starts = range(0, len(assignments), PART)
    for k, start in enumerate(starts):
        lines += [f"static void {name}_{k + 1}({', '.join([*inputs, f'{kept.name} *restrict work'])})", "{"]
        lines += [f"    (void){x};" for x in tape.in_names]
        lines += [*assignments[start : start + PART], "}", ""]
    parts = ", ".join(f"{name}_{k + 1}" for k in range(len(starts)))
    types = ", ".join([*[f"const {real.name} *"] * len(inputs), f"{kept.name} *restrict"])
    return [
        *lines,
        f"static void (*const {name}_parts[{len(starts)}])({types}) = {{",
        *textwrap.wrap(parts, 110, initial_indent="    ", subsequent_indent="    "),
        "};",
        "",
        whole,
        "{",
        *own,
        "    int k;",
        f"    for (k = 0; k < {len(starts)}; k++) {{",
        f"        {name}_parts[k]({', '.join([*tape.in_names, 'work'])});",
        "    }",
        *(f"    (void){name};" for name in _empty(tape, outputs)),
        *_results(tape, body, outputs),
        "}",
    ]


def _empty(tape: Tape, outputs: Sequence[str]) -> list[str]:
    return [name for name, size in zip(outputs, tape.out_sizes) if not size]


def _results(tape: Tape, body: Statements, outputs: Sequence[str]) -> list[str]:
    values = iter(body.outputs)
    return [f"    {x}[{k}] = {next(values)};" for x, size in zip(outputs, tape.out_sizes) for k in range(size)]
