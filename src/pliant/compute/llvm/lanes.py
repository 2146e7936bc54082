"""Types, constants and calls in LLVM IR for one state (`double`) or for a pack of states (`<w x double>`)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

#: Functions of the C library, by operation; kernels call them under names of our own, so that LLVM recognizes and folds
#: none of them.
LIBRARY_UNARY = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "log1p", "expm1"),
)
LIBRARY_BINARY = ("pow", "fmod", "atan2", "hypot", "remainder")
PREFIX = "pliant_c_"

SHORT, SHORT_WIDTH = 1000, 4
"""Short tapes leave registers free: at least four lanes, in two registers where they hold two, run 20 % faster."""


@dataclass(frozen=True)
class Lanes:
    """A number of states that run side by side."""

    width: int

    @property
    def type(self) -> str:
        return "double" if self.width == 1 else f"<{self.width} x double>"

    @property
    def int_type(self) -> str:
        return "i64" if self.width == 1 else f"<{self.width} x i64>"

    @property
    def bool_type(self) -> str:
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        return "f64" if self.width == 1 else f"v{self.width}f64"

    def intrinsic(self, name: str) -> str:
        return f"@llvm.{name}.{self.suffix}"

    @property
    def fma(self) -> str:
        return self.intrinsic("fma")

    def constant(self, x: float) -> str:
        """The same number in every lane."""
        return self._splat("double", f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}")

    def int_constant(self, x: int) -> str:
        return self._splat("i64", str(x))

    def _splat(self, kind: str, literal: str) -> str:
        if self.width == 1:
            return literal
        return "<" + ", ".join([f"{kind} {literal}"] * self.width) + ">"

    def any(self, mask: str, result: str) -> list[str]:
        """Lines that set `result` (i1) where any lane of `mask` is true."""
        if self.width == 1:
            return [f"{result} = or i1 {mask}, false"]
        return [f"{result} = call i1 @llvm.vector.reduce.or.v{self.width}i1({self.bool_type} {mask})"]

    def declarations(self) -> str:
        T = self.type
        lines = [f"declare {T} {self.intrinsic(name)}({T})" for name in ("sqrt", "fabs", "floor", "ceil")]
        lines += [f"declare {T} {self.fma}({T}, {T}, {T})", f"declare {T} {self.intrinsic('copysign')}({T}, {T})"]
        if self.width > 1:
            lines.append(f"declare i1 @llvm.vector.reduce.or.v{self.width}i1({self.bool_type})")
        return "\n".join(lines) + "\n"

    @staticmethod
    def library_declaration(name: str) -> str:
        arguments = ", ".join(["double"] * (2 if name in LIBRARY_BINARY else 1))
        return f"declare double @{PREFIX}{name}({arguments}) nounwind memory(none)\n"

    def library_wrapper(self, name: str) -> str:
        """`T @lanes_<name>_<suffix>(T[, T])`: one call of the C library for each lane."""
        T = self.type
        arity = 2 if name in LIBRARY_BINARY else 1
        args = ["%x", "%y"][:arity]
        head = (
            f"define internal {T} @lanes_{name}_{self.suffix}({', '.join(f'{T} {a}' for a in args)}) noinline #0 {{\n"
        )
        lines, result = [], "undef"
        for lane in range(self.width):
            scalars = args
            if self.width > 1:
                scalars = [f"{a}{lane}" for a in args]
                lines += [f"{s} = extractelement {T} {a}, i32 {lane}" for s, a in zip(scalars, args)]
            lines.append(f"%c{lane} = call double @{PREFIX}{name}({', '.join(f'double {s}' for s in scalars)})")
            if self.width > 1:
                lines.append(f"%r{lane} = insertelement {T} {result}, double %c{lane}, i32 {lane}")
                result = f"%r{lane}"
        lines.append(f"ret {T} {result if self.width > 1 else '%c0'}")
        return head + "\n".join(lines) + "\n}\n"


def pack(width: int, length: int) -> Lanes:
    """Lanes for a tape of this length where registers hold `width` doubles."""
    return Lanes(max(width, SHORT_WIDTH) if length <= SHORT else width)
