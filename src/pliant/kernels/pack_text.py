"""A small writer of LLVM IR for loops over packs: names, loops, loads and stores, and nothing that a tape needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pliant.kernels.lanes import Lanes


class Text:
    """One function under construction. Values are names; loops carry nothing but their index, the rest is memory."""

    def __init__(self, lanes: Lanes, fma: bool) -> None:
        self.lanes, self.has_fma = lanes, fma
        self.lines: list[str] = ["entry:"]
        self._block, self._count = "entry", 0

    def new(self, hint: str = "v") -> str:
        self._count += 1
        return f"%{hint}{self._count}"

    def let(self, expression: str) -> str:
        """A new name for the result of an instruction."""
        name = self.new()
        self.lines.append(f"{name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(instruction)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self._block = name

    @contextmanager
    def loop(self, count: str | int) -> Iterator[str]:
        """`for i in range(count)`; gives the name of i."""
        self._count += 1
        name = f"loop{self._count}"
        before = self._block
        self.do(f"br label %{name}")
        self.label(name)
        self.do(f"%{name}.i = phi i64 [0, %{before}], [%{name}.next, %{name}.latch]")
        self.do(f"%{name}.go = icmp slt i64 %{name}.i, {count}")
        self.do(f"br i1 %{name}.go, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        yield f"%{name}.i"
        self.do(f"br label %{name}.latch")
        self.label(f"{name}.latch")
        self.do(f"%{name}.next = add i64 %{name}.i, 1")
        self.do(f"br label %{name}")
        self.label(f"{name}.end")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """`if condition:`"""
        self._count += 1
        name = f"if{self._count}"
        self.do(f"br i1 {condition}, label %{name}, label %{name}.end")
        self.label(name)
        yield
        self.do(f"br label %{name}.end")
        self.label(f"{name}.end")

    @contextmanager
    def forever(self) -> Iterator[str]:
        """`while True:`; gives the label to jump to, to leave."""
        self._count += 1
        name = f"ever{self._count}"
        self.do(f"br label %{name}")
        self.label(name)
        yield f"{name}.end"
        self.do(f"br label %{name}")
        self.label(f"{name}.end")

    def leave(self, condition: str, label: str) -> None:
        """Jump to `label` where the condition holds."""
        self._count += 1
        self.do(f"br i1 {condition}, label %{label}, label %stay{self._count}")
        self.label(f"stay{self._count}")

    # ------------------------------------------------------------------------------- memory

    def at(self, base: str, index: str | int, kind: str | None = None) -> str:
        """Address of an element; of a pack by default."""
        return self.let(f"getelementptr {kind or self.lanes.type}, ptr {base}, i64 {index}")

    def load(self, base: str, index: str | int = 0, kind: str | None = None) -> str:
        return self.let(f"load {kind or self.lanes.type}, ptr {self.at(base, index, kind)}, align 8")

    def store(self, value: str, base: str, index: str | int = 0) -> None:
        self.do(f"store {self.lanes.type} {value}, ptr {self.at(base, index)}, align 8")

    # --------------------------------------------------------------------------- arithmetic

    def splat(self, scalar: str) -> str:
        """A double in every lane."""
        if self.lanes.width == 1:
            return scalar
        T, w = self.lanes.type, self.lanes.width
        one = self.let(f"insertelement {T} undef, double {scalar}, i32 0")
        return self.let(f"shufflevector {T} {one}, {T} undef, <{w} x i32> zeroinitializer")

    def binary(self, operation: str, x: str, y: str) -> str:
        return self.let(f"{operation} {self.lanes.type} {x}, {y}")

    def fma(self, x: str, y: str, z: str) -> str:
        """x y + z."""
        T = self.lanes.type
        if not self.has_fma:
            return self.binary("fadd", self.binary("fmul", x, y), z)
        return self.let(f"call {T} {self.lanes.fma}({T} {x}, {T} {y}, {T} {z})")

    def unary(self, intrinsic: str, x: str) -> str:
        T = self.lanes.type
        return self.let(f"call {T} {self.lanes.intrinsic(intrinsic)}({T} {x})")

    def compare(self, predicate: str, x: str, y: str) -> str:
        return self.let(f"fcmp {predicate} {self.lanes.type} {x}, {y}")

    def select(self, condition: str, yes: str, no: str) -> str:
        T = self.lanes.type
        return self.let(f"select {self.lanes.bool_type} {condition}, {T} {yes}, {T} {no}")

    def larger(self, x: str, y: str) -> str:
        """The larger one; y where x is NaN."""
        return self.select(self.compare("ogt", x, y), x, y)

    def smaller(self, x: str, y: str) -> str:
        """The smaller one; y where x is NaN."""
        return self.select(self.compare("olt", x, y), x, y)

    def any(self, mask: str) -> str:
        name = self.new("any")
        self.lines += self.lanes.any(mask, name)
        return name

    def function(self, head: str) -> str:
        """The whole function; `head` is its signature."""
        return f"define {head} #0 {{\n" + "\n".join(self.lines) + "\n}\n"
