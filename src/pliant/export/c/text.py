"""Numbers, operations, comments and arrays as C and CUDA write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.lanes import LIBRARY_BINARY, LIBRARY_UNARY
from pliant.errors import UnsupportedModel
from pliant.export.statements import Language
from pliant.options import PrecisionName


def c_constant(x: float) -> str:
    """A double that C reads back bit for bit."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    text = repr(float(x))
    return text if any(mark in text for mark in ".e") else f"{text}.0"


_PLAIN = (*LIBRARY_UNARY, "sqrt", "floor", "ceil", "fabs")
_OF_TWO = (*LIBRARY_BINARY, "copysign", "fmin", "fmax")
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def c_language(number: str, constant: Callable[[float], str], suffix: str = "") -> Language:
    """The operations of C, with results of the type `number`, whose functions have names that end with `suffix`."""
    zero = constant(0.0)
    return Language(
        {
            **{name: f"{name}{suffix}({{0}})" for name in _PLAIN},
            **{name: f"{name}{suffix}({{0}}, {{1}})" for name in _OF_TWO},
            **{name: f"({number})(({{0}}) {sign} ({{1}}))" for name, sign in _COMPARED.items()},
            "constpow": f"pow{suffix}({{0}}, {{1}})",
            "not": f"({number})(({{0}}) == {zero})",
            "and": f"({number})(({{0}}) != {zero} && ({{1}}) != {zero})",
            "or": f"({number})(({{0}}) != {zero} || ({{1}}) != {zero})",
            "sign": f"({number})((({{0}}) > {zero}) - (({{0}}) < {zero}))",
            "if_else_zero": f"(({{0}}) != {zero} ? ({{1}}) : {zero})",
        },
        constant,
        number,
    )


@dataclass(frozen=True)
class CReal:
    """A type of numbers in C: its `name`, the `suffix` of its functions and constants, its `kind` in NumPy."""

    name: str
    suffix: str
    kind: type[np.floating]

    def constant(self, x: float) -> str:
        """A number that C reads back bit for bit, once it is of this type."""
        if self.kind is np.float64 or not math.isfinite(x):
            return c_constant(x)
        if abs(x) > np.finfo(self.kind).max:
            raise UnsupportedModel(f"precision: the number {x:g} is beyond {self.name}; take double")
        return c_constant(float(str(self.kind(x)))) + self.suffix

    def rounded(self, values: Array) -> Array:
        """Round numbers to this type; the result is in double precision."""
        return np.asarray(values.astype(self.kind).astype(float))

    @cached_property
    def language(self) -> Language:
        """Operations of C on this type."""
        return c_language(self.name, self.constant, self.suffix)

    @property
    def bytes(self) -> int:
        """Bytes that a number takes."""
        return int(np.dtype(self.kind).itemsize)


DOUBLE = CReal("double", "", np.float64)
REALS: dict[PrecisionName, CReal] = {"double": DOUBLE, "single": CReal("float", "f", np.float32)}


def comment(lines: Iterable[str]) -> str:
    """A block comment."""
    return "/* " + "\n   ".join(lines).replace("\n   \n", "\n\n") + "\n*/\n"


def quoted_string(text: str) -> str:
    """A string of C, in printable ASCII and safe as a format too."""
    plain = "".join(c if " " <= c <= "~" and c not in '\\"%?' else "_" for c in text)
    return f'"{plain}"'


def array(declaration: str, values: Array, real: CReal = DOUBLE) -> str:
    """An initialized array, four numbers per line."""
    texts = [real.constant(x) for x in values.ravel().tolist()] or [real.constant(0.0)]
    rows = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
    return f"{declaration}[{len(texts)}] = {{\n    " + ",\n    ".join(rows) + "\n};"


def room(shape: tuple[int, ...]) -> int:
    """Numbers of an array of a shape, at least one: C has no arrays without elements."""
    return max(math.prod(shape), 1)
