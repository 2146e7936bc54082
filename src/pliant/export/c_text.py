"""How C, and with it CUDA, writes numbers, operations, comments and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from pliant.arrays import Array
from pliant.export.statements import Language
from pliant.kernels.lanes import LIBRARY_BINARY, LIBRARY_UNARY


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


def c_language(number: str, constant: Callable[[float], str]) -> Language:
    """The operations of C, with results of the type `number`."""
    return Language(
        {
            **{name: f"{name}({{0}})" for name in _PLAIN},
            **{name: f"{name}({{0}}, {{1}})" for name in _OF_TWO},
            **{name: f"({number})(({{0}}) {sign} ({{1}}))" for name, sign in _COMPARED.items()},
            "constpow": "pow({0}, {1})",
            "not": f"({number})(({{0}}) == 0.0)",
            "and": f"({number})(({{0}}) != 0.0 && ({{1}}) != 0.0)",
            "or": f"({number})(({{0}}) != 0.0 || ({{1}}) != 0.0)",
            "sign": f"({number})((({{0}}) > 0.0) - (({{0}}) < 0.0))",
            "if_else_zero": f"(({{0}}) != 0.0 ? ({{1}}) : {constant(0.0)})",
        },
        constant,
    )


C = c_language("double", c_constant)


def comment(lines: Iterable[str]) -> str:
    """A block comment."""
    return "/* " + "\n   ".join(lines).replace("\n   \n", "\n\n") + "\n*/\n"


def quoted_string(text: str) -> str:
    """A string of C, in printable ASCII and safe as a format too."""
    plain = "".join(c if " " <= c <= "~" and c not in '\\"%?' else "_" for c in text)
    return f'"{plain}"'


def array(declaration: str, values: Array) -> str:
    """An initialised array, four numbers per line."""
    texts = [c_constant(x) for x in values.ravel().tolist()] or ["0.0"]
    rows = [", ".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
    return f"{declaration}[{len(texts)}] = {{\n    " + ",\n    ".join(rows) + "\n};"


def room(shape: tuple[int, ...]) -> int:
    """Numbers of an array; C knows none without elements."""
    return max(math.prod(shape), 1)
