"""LLVM IR of a lowered tape: arithmetic for one state or for a pack of states, without fast-math flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pliant.compute.llvm import sincos
from pliant.compute.llvm.lanes import LIBRARY_BINARY, LIBRARY_UNARY, Lanes
from pliant.compute.tape.lower import Block, Instruction, Program
from pliant.errors import UnsupportedModel

COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
INTRINSICS = {"sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "copysign": "copysign"}
ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}

#: Outputs that are inputs, constants or zeros and are written by one function.
MOST_FILLED = 500


class BodyWriter:
    """Write the steps of one part as the body of a function of `%in`, `%out` and `%work`."""

    pointers: tuple[str, ...] = ("in", "out", "work")
    outputs_apart = 1

    def __init__(self, program: Program, lanes: Lanes, angle_width: int) -> None:
        self.program, self.lanes, self.angle_width = program, lanes, angle_width
        self.packs: set[Lanes] = {lanes}
        self.lines: list[str] = []
        self.library: set[str] = set()
        self._known: dict[int, str] = {}
        self._temporaries = 0

    def function(self, name: str, part: Block, zeros: bool) -> str:
        """The whole text of `void @name(in, out, work)`; with `zeros` it stores leaves and structural zeros too."""
        self._begin()
        for value, slot in part.reads.items():
            for _ in self._registers():
                self._known[value] = self._load("work", slot)
        for step in part.steps:
            for _ in self._registers():
                self._step(step)
                for value in step.results:
                    if value in part.writes:
                        self._store("work", part.writes[value], self._known[value])
                    self._outputs(value)
        for _ in self._registers() if zeros else ():
            for value in self.program.leaves:
                self._outputs(value)
            for place in self.program.zeros:
                self._store("out", place, self.lanes.constant(0.0))
        return self._closed(name)

    def _begin(self) -> None:
        """Forget all values."""
        self.lines, self._known = [], {}

    def _registers(self) -> Iterable[int]:
        """Turns in which each step is written, one for each of several registers of lanes."""
        return (0,)

    def filling(self, name: str, places: list[tuple[int, int]]) -> str:
        """The text of a function that stores outputs which are inputs or constants, given as (value, place)."""
        self._begin()
        for _ in self._registers():
            for value, place in places:
                self._store("out", place, self._operand(value))
        return self._closed(name)

    def clearing(self, name: str, count: int) -> str:
        """The text of a function that sets `count` outputs to zero, in a loop."""
        T, element, apart = self.lanes.type, self._element("out"), self.outputs_apart
        self.lines = [
            "entry:", "br label %next", "next:", "%i = phi i64 [0, %entry], [%j, %next]",
            f"%at = mul i64 %i, {apart}", f"%place = getelementptr {element}, ptr %out, i64 %at",
            f"store {T} {self.lanes.constant(0.0)}, ptr %place, align 8",
            "%j = add i64 %i, 1", f"%more = icmp slt i64 %j, {count}", "br i1 %more, label %next, label %end", "end:",
        ]  # fmt: skip
        return self._closed(name)

    def _closed(self, name: str) -> str:
        pointers = ", ".join(f"ptr noalias nocapture %{p}" for p in self.pointers)
        return f"define internal void @{name}({pointers}) noinline #0 {{\n" + "\n".join(self.lines) + "\nret void\n}\n"

    def _outputs(self, value: int) -> None:
        for place in self.program.outputs.get(value, ()):
            self._store("out", place, self._operand(value))

    def _operand(self, value: int) -> str:
        """The name of a value; inputs are loaded at their first use, constants are literals."""
        if value not in self._known:
            kind, content = self.program.leaves[value]
            if kind == "const":
                self._known[value] = self.lanes.constant(content)
            else:
                self._known[value] = self._load("in" if kind == "input" else "work", int(content))
        return self._known[value]

    def _new(self) -> str:
        self._temporaries += 1
        return f"%t{self._temporaries}"

    def _let(self, expression: str) -> str:
        name = self._new()
        self.lines.append(f"{name} = {expression}")
        return name

    def _load(self, buffer: str, index: int) -> str:
        return self._let(f"load {self.lanes.type}, ptr {self._address(buffer, index)}, align 8")

    def _store(self, buffer: str, index: int, value: str) -> None:
        self.lines.append(f"store {self.lanes.type} {value}, ptr {self._address(buffer, index)}, align 8")

    def _address(self, buffer: str, index: int) -> str:
        return self._let(f"getelementptr {self._element(buffer)}, ptr %{buffer}, i64 {index}")

    def _element(self, buffer: str) -> str:
        return self.lanes.type

    def _call(self, function: str, *arguments: str) -> str:
        T = self.lanes.type
        return self._let(f"call {T} {function}({', '.join(f'{T} {a}' for a in arguments)})")

    def _select(self, condition: str, yes: str, no: str) -> str:
        T = self.lanes.type
        return self._let(f"select {self.lanes.bool_type} {condition}, {T} {yes}, {T} {no}")

    def _compare(self, predicate: str, x: str, y: str) -> str:
        return self._let(f"fcmp {predicate} {self.lanes.type} {x}, {y}")

    def _step(self, step: Instruction) -> None:
        operands = [self._operand(value) for value in step.operands]
        if step.name == "sincos":
            for value, name in zip(step.results, self._sincos(operands)):
                self._known[value] = name
        else:
            self._known[step.results[0]] = self.operation(step.name, *operands)

    def _sincos(self, angles: list[str]) -> list[str]:
        """Sine and cosine of each angle; several angles of one state go through one pack."""
        self.library |= {"sin", "cos"}
        pack = self.lanes if len(angles) == 1 else Lanes(self.angle_width)
        self.packs.add(pack)
        T = pack.type
        argument = angles[0]
        if len(angles) > 1:
            argument = "undef"
            for lane in range(pack.width):
                angle = angles[min(lane, len(angles) - 1)]
                argument = self._let(f"insertelement {T} {argument}, double {angle}, i32 {lane}")
        both = self._let(f"call {{{T}, {T}}} @sincos_{pack.suffix}({T} {argument})")
        sine, cosine = (self._let(f"extractvalue {{{T}, {T}}} {both}, {k}") for k in range(2))
        if len(angles) == 1:
            return [sine, cosine]
        return [self._let(f"extractelement {T} {x}, i32 {k}") for k in range(len(angles)) for x in (sine, cosine)]

    def operation(self, name: str, x: str, y: str = "", z: str = "") -> str:
        """Write an operation on these operands; return the name of its result."""
        T, c = self.lanes.type, self.lanes.constant
        if name in ARITHMETIC:
            return self._let(f"{ARITHMETIC[name]} {T} {x}, {y}")
        if name in ("fma", "fms", "fnma"):
            return self._fused(name, x, y, z)
        if name in INTRINSICS:
            return self._call(self.lanes.intrinsic(INTRINSICS[name]), x, *([y] if y else []))
        if name in LIBRARY_UNARY or name in LIBRARY_BINARY:
            self.library.add(name)
            return self._call(f"@lanes_{name}_{self.lanes.suffix}", x, *([y] if y else []))
        if name in COMPARISONS:
            return self._select(self._compare(COMPARISONS[name], x, y), c(1.0), c(0.0))
        if name.startswith("power:"):
            return self._power(x, int(name.removeprefix("power:")))
        simple = {
            "neg": lambda: self._let(f"fneg {T} {x}"),
            "sq": lambda: self._let(f"fmul {T} {x}, {x}"),
            "twice": lambda: self._let(f"fadd {T} {x}, {x}"),
            "inv": lambda: self._let(f"fdiv {T} {c(1.0)}, {x}"),
            "not": lambda: self._select(self._compare("oeq", x, c(0.0)), c(1.0), c(0.0)),
            "and": lambda: self._select(self._logical("and", x, y), c(1.0), c(0.0)),
            "or": lambda: self._select(self._logical("or", x, y), c(1.0), c(0.0)),
            "if_else_zero": lambda: self._select(self._compare("une", x, c(0.0)), y, c(0.0)),
            "sign": lambda: self._sign(x),
            "fmin": lambda: self._extreme("olt", x, y),
            "fmax": lambda: self._extreme("ogt", x, y),
        }
        if name not in simple:
            raise UnsupportedModel(f"There is no machine code for the operation {name}. Use backend='vm'.")
        return simple[name]()

    def _fused(self, name: str, x: str, y: str, z: str) -> str:
        """x y + z, x y - z, z - x y, each rounded once."""
        T = self.lanes.type
        if name == "fms":
            z = self._let(f"fneg {T} {z}")
        if name == "fnma":
            x = self._let(f"fneg {T} {x}")
        return self._call(self.lanes.fma, x, y, z)

    def _logical(self, name: str, x: str, y: str) -> str:
        zero = self.lanes.constant(0.0)
        left, right = self._compare("une", x, zero), self._compare("une", y, zero)
        return self._let(f"{name} {self.lanes.bool_type} {left}, {right}")

    def _sign(self, x: str) -> str:
        c = self.lanes.constant
        negative = self._select(self._compare("olt", x, c(0.0)), c(-1.0), x)
        return self._select(self._compare("ogt", x, c(0.0)), c(1.0), negative)

    def _extreme(self, predicate: str, x: str, y: str) -> str:
        """fmin and fmax: the other operand where one is NaN."""
        better = self._select(self._compare(predicate, x, y), x, y)
        return self._select(self._compare("uno", y, y), x, better)

    def _power(self, x: str, exponent: int) -> str:
        """x^n by repeated squaring."""
        T, n = self.lanes.type, abs(exponent)
        result, square = "", x
        while n:
            if n & 1:
                result = self._let(f"fmul {T} {result}, {square}") if result else square
            n >>= 1
            if n:
                square = self._let(f"fmul {T} {square}, {square}")
        return result if exponent > 0 else self._let(f"fdiv {T} {self.lanes.constant(1.0)}, {result}")


def body(program: Program, lanes: Lanes, fma: bool, angle_width: int, linkage: str = "internal") -> str:
    """All parts, the functions that they call, and `void @body(in, out, work)` that runs the parts in order."""
    return bodies({"body": BodyWriter(program, lanes, angle_width)}, fma, linkage)


def bodies(
    writers: Mapping[str, BodyWriter], fma: bool, linkage: str = "internal", others: Sequence[BodyWriter] = ()
) -> str:
    """Code of several tapes, by the names of the functions that run them; with the functions that `others` call, which
    have written their code already."""
    functions = [_function(name, writer, linkage) for name, writer in writers.items()]  # which note what they call
    return _callees([*writers.values(), *others], fma) + "".join(functions)


def _function(name: str, writer: BodyWriter, linkage: str) -> str:
    program = writer.program
    still = [(value, place) for value in program.leaves for place in program.outputs.get(value, ())]
    few = len(still) + len(program.zeros) <= MOST_FILLED
    functions = {} if few else _fillings(name, writer, still)
    for k, part in enumerate(program.parts):
        functions[f"{name}_part{k}"] = writer.function(f"{name}_part{k}", part, zeros=few and k == 0)
    given = ", ".join(f"ptr %{p}" for p in writer.pointers)
    calls = "\n".join(f"call void @{function}({given})" for function in functions)
    return "".join(functions.values()) + f"define {linkage} void @{name}({given}) #0 {{\n{calls}\nret void\n}}\n"


def _fillings(name: str, writer: BodyWriter, still: list[tuple[int, int]]) -> dict[str, str]:
    """Functions that clear all outputs and write those that are inputs or other constants.

    In one function with the first part, LLVM's time for them would grow with the square of their number.
    """
    program = writer.program
    places = [*program.zeros, *(place for places in program.outputs.values() for place in places)]
    written = [(value, place) for value, place in still if program.leaves[value] != ("const", 0.0)]
    fills = [written[k : k + MOST_FILLED] for k in range(0, len(written), MOST_FILLED)]
    clear = {f"{name}_clear": writer.clearing(f"{name}_clear", 1 + max(places))}
    return clear | {f"{name}_fill{k}": writer.filling(f"{name}_fill{k}", part) for k, part in enumerate(fills)}


def _callees(writers: list[BodyWriter], fma: bool) -> str:
    """Declarations and functions that the parts call."""
    library = set().union(*(writer.library for writer in writers))
    called: dict[Lanes, set[str]] = {}
    for writer in writers:
        for pack in writer.packs:
            names = writer.library if pack == writer.lanes else writer.library & {"sin", "cos"}
            called[pack] = called.get(pack, set()) | names
    texts = [Lanes.library_declaration(name) for name in sorted(library)]
    for pack, names in sorted(called.items(), key=lambda item: item[0].width):
        texts += [pack.declarations(), *(pack.library_wrapper(name) for name in sorted(names))]
        if "sin" in names:
            texts.append(sincos.definition(pack, fma))
    return "".join(texts)
