"""CUDA C++ of single operations, in double or single precision; the same text compiles as C++ for the processor.

Memory is read through macros that each kernel defines: `XS(j)` the state, `HELD(j)` and `OWN(j)` the other inputs,
`NOW` the time, `SLOT(j)` and `FAR(j)` stored values, `CROSS(j)` values of an earlier kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pliant.compute.cuda.allocate import Action, Allocation, Reload, Store
from pliant.compute.cuda.program import Node, Nodes
from pliant.compute.llvm.lanes import LIBRARY_BINARY, LIBRARY_UNARY
from pliant.errors import UnsupportedModel

INFIX = {"add": "+", "sub": "-", "mul": "*"}
COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
UNARY = frozenset((*LIBRARY_UNARY, "sqrt", "floor", "ceil", "fabs"))
BINARY = frozenset((*LIBRARY_BINARY, "copysign", "fmin", "fmax"))
PROLOGUE = """
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
__device__ __forceinline__ double reciprocal(double a) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
  y = fma(fma(-a, y, 1.0), y, y);
  return fma(fma(-a, y, 1.0), y, y);
}
__device__ __forceinline__ float reciprocal(float a) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  return y;
}
// A zero that the compiler cannot see through: arrays indexed from it stay in memory, as planned, and out of registers.
__device__ __forceinline__ int hidden_zero() {
  int zero;
  asm volatile("mov.u32 %0, 0;" : "=r"(zero));
  return zero;
}
#else
inline int hidden_zero() { return 0; }
inline double reciprocal(double a) { return 1.0 / a; }
inline float reciprocal(float a) { return 1.0f / a; }
#endif
"""


@dataclass(frozen=True)
class Precision:
    """Numbers of a kernel."""

    name: str

    @property
    def type(self) -> str:
        return "double" if self.name == "double" else "float"

    @property
    def size(self) -> int:
        return 8 if self.name == "double" else 4

    @property
    def suffix(self) -> str:
        return "" if self.name == "double" else "f"

    def number(self, x: float) -> str:
        """A literal that keeps every digit."""
        if x != x or x in (float("inf"), float("-inf")):
            raise UnsupportedModel(f"The constant {x} stands in the equations; it cannot be compiled for a GPU.")
        return f"{x!r}{self.suffix}" if x >= 0 and not str(x).startswith("-") else f"({x!r}{self.suffix})"


DOUBLE = Precision("double")


def by_stage(values: Sequence[float], text: Callable[[float], str]) -> str:
    """C expression that chooses among values by `stage`; the value of the most stages needs no test."""
    *others, common = sorted(set(values), key=lambda v: (list(values).count(v), -v))
    tests = [" || ".join(f"stage == {k}" for k, v in enumerate(values) if v == other) for other in others]
    return "".join(f"{test} ? {text(v)} : " for test, v in zip(tests, others)) + text(common)


def expression(precision: Precision, name: str, x: str, y: str = "") -> str:
    """One operation in C++."""
    one, zero, f = precision.number(1.0), precision.number(0.0), precision.suffix
    if name in INFIX:
        return f"{x} {INFIX[name]} {y}"
    if name in COMPARE:
        return f"{x} {COMPARE[name]} {y} ? {one} : {zero}"
    if name in UNARY:
        return f"{name}{f}({x})"
    if name in BINARY:
        return f"{name}{f}({x}, {y})"
    if name.startswith("power:"):
        return _power(x, int(name.removeprefix("power:")))
    simple = {
        "neg": f"-{x}",
        "inv": f"reciprocal({x})",
        "not": f"{x} == {zero} ? {one} : {zero}",
        "and": f"({x} != {zero} && {y} != {zero}) ? {one} : {zero}",
        "or": f"({x} != {zero} || {y} != {zero}) ? {one} : {zero}",
        "if_else_zero": f"{x} != {zero} ? {y} : {zero}",
        "sign": f"{x} > {zero} ? {one} : ({x} < {zero} ? -{one} : {x})",
    }
    if name not in simple:
        raise UnsupportedModel(f"There is no GPU code for the operation {name}. Use device='cpu'.")
    return simple[name]


def _power(x: str, n: int) -> str:
    product = " * ".join([x] * abs(n))
    return product if n > 0 else f"reciprocal({product})"


class CudaOperations:
    """Write the operations of a list of nodes.

    Wide values of a kernel of single precision are stored as two numbers: the rounded value and the rest.
    """

    def __init__(
        self, nodes: Nodes, precision: Precision, sizes: tuple[int, int, int], quaternions: tuple[int, ...] = ()
    ) -> None:
        self.nodes, self.precision, self.quaternions = nodes, precision, quaternions
        self.n, self.held, self.own = sizes

    def normalized(self, read: str, scale: Sequence[str]) -> list[str]:
        """Lines that normalize quaternions: `read` names a component, each of `scale` divides one by LENGTH."""
        lines = []
        for first in self.quaternions:
            parts = [read.format(j) for j in range(first, first + 4)]
            square = " + ".join(f"{part} * {part}" for part in parts)
            lines.append(f"{{ const {self.precision.type} LENGTH = sqrt{self.precision.suffix}({square});")
            lines += [text.format(j) for j in range(first, first + 4) for text in scale]
            lines.append("}")
        return lines

    def input(self, value: int) -> str:
        """Text that reads an input; inputs are [t, x, w, p]."""
        place = self.nodes.inputs[value]
        for name, size in (("NOW", 1), ("XS", self.n), ("HELD", self.held), ("OWN", self.own)):
            if place < size:
                return name if name == "NOW" else f"{name}({place})"
            place -= size
        raise AssertionError(place)

    @property
    def reads_time(self) -> bool:
        return any(self.nodes.inputs.get(v) == 0 for v in self.nodes.uses) or any(
            self.nodes.inputs.get(v) == 0 for v in self.nodes.outputs
        )

    def of(self, value: int) -> Precision:
        """The precision of a value."""
        return DOUBLE if value in self.nodes.wide else self.precision

    def inside(self, node: Node) -> Precision:
        """The precision in which a node is computed: double where an operand or the result is wide."""
        return self.precision if self.nodes.wide.isdisjoint((*node.operands, *node.results)) else DOUBLE

    def operands(self, node: Node, names: tuple[str, ...]) -> list[str]:
        """Names of operands, converted to the precision in which the node is computed."""
        wanted = self.inside(node)
        return [
            wanted.number(self.nodes.constants[value])
            if not name
            else name
            if self.of(value) == wanted
            else f"({wanted.type}){name}"
            for name, value in zip(names, node.operands)
        ]

    def compute(self, node: Node, operands: list[str]) -> list[str]:
        """Lines that define the results of a node."""
        precision, T = self.inside(node), self.of(node.results[0]).type
        if node.name == "sincos":
            sine, cosine = (f"v{value}" for value in node.results)
            return [f"{T} {sine}, {cosine}; sincos{precision.suffix}({operands[0]}, &{sine}, &{cosine});"]
        value = expression(precision, node.name, *operands)
        return [f"const {T} v{node.results[0]} = {value};"]

    # -------------------------------------------------------------------------------- bodies

    def results(self, node: Node) -> list[str]:
        """Lines that store the results of a node which are outputs."""
        return [
            f"KS({place}) = {self.parts(value, f'v{value}')[0]};"
            for value in node.results
            for place in self.nodes.places.get(value, ())
        ]

    def copies(self) -> list[str]:
        """Lines that store outputs which no operation computes: inputs, constants and zeros."""
        zero, nodes, lines = self.precision.number(0.0), self.nodes, []
        for place, value in enumerate(nodes.outputs):
            if value in nodes.inputs:
                lines.append(f"KS({place}) = {self.input(value)};")
            elif value < 0 or value in nodes.constants:
                text = self.precision.number(nodes.constants[value]) if value >= 0 else zero
                lines.append(f"KS({place}) = {text};")
        return lines

    def parts(self, value: int, name: str) -> list[str]:
        """Stored parts of a value: the value itself, or a wide one as its rounded value and the rest."""
        T = self.precision.type
        return [f"({T}){name}", f"({T})({name} - ({T}){name})"] if value in self.nodes.wide else [name]

    def plain(self) -> list[str]:
        """Lines of every operation in order; the compiler decides where values live."""
        lines: list[str] = []
        for node in self.nodes.nodes:
            names = tuple(
                "" if v in self.nodes.constants else self.input(v) if v in self.nodes.inputs else f"v{v}"
                for v in node.operands
            )
            lines += self.compute(node, self.operands(node, names)) + self.results(node)
        return lines

    def allocated(self, allocation: Allocation, crossing: dict[int, tuple[int, ...]], fast_slots: int) -> list[str]:
        """Lines of operations with the planned stores and loads; `crossing` maps values to `CROSS` slots."""
        lines: list[str] = []
        for action in allocation.actions:
            lines += self._action(action, allocation, crossing, fast_slots)
        return lines

    def _action(
        self, action: Action, allocation: Allocation, crossing: dict[int, tuple[int, ...]], fast_slots: int
    ) -> list[str]:
        def slot(spill: int) -> str:
            number = allocation.slots[spill]
            return f"SLOT({number})" if number < fast_slots else f"FAR({number - fast_slots})"

        if isinstance(action, Store):
            return [
                f"{slot(spill)} = {part};" for spill, part in zip(action.spills, self.parts(action.value, action.name))
            ]
        if isinstance(action, Reload):
            places = [slot(spill) for spill in action.spills]
            places = places or [f"CROSS({place})" for place in crossing.get(action.value, ())]
            source = " + ".join(f"(double){place}" for place in places) if len(places) > 1 else "".join(places)
            return [f"const {self.of(action.value).type} {action.name} = {source or self.input(action.value)};"]
        node = self.nodes.nodes[action.index]
        lines = self.compute(node, self.operands(node, action.operands)) + self.results(node)
        for value in node.results:
            both = zip(crossing.get(value, ()), self.parts(value, f"v{value}"))
            lines += [f"SEND({place}, {part});" for place, part in both]
        return lines
