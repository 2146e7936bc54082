"""The scalar operations of a CasADi tape: their names, numbers of operands, and kinds in counts."""

from __future__ import annotations

import casadi as ca


def _codes(*names: str) -> dict[int, str]:
    """Map op codes to short names; an operation that this CasADi does not know is left out."""
    found = {name: getattr(ca, f"OP_{name.upper()}", None) for name in names}
    return {code: name for name, code in found.items() if code is not None}


UNARY = _codes(
    *("neg", "exp", "log", "sqrt", "sq", "twice", "sin", "cos", "tan", "asin", "acos", "atan", "not", "floor", "ceil"),
    *("fabs", "sign", "erf", "inv", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1", "erfinv"),
)
BINARY = _codes(
    *("add", "sub", "mul", "div", "pow", "constpow", "lt", "le", "eq", "ne", "and", "or", "fmod", "copysign"),
    *("if_else_zero", "fmin", "fmax", "atan2", "hypot", "remainder"),
)
#: Operations that return their first operand unchanged.
ALIAS = _codes("assign", "lift", "printme")
CONST, INPUT, OUTPUT = ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT

CALL = ca.OP_CALL
RESULT = -2
"""One of the results of a call; CasADi has no code for it."""

#: Name of every operation that may stand in a tape.
NAMES: dict[int, str] = {**UNARY, **BINARY, CONST: "const", INPUT: "input", CALL: "call", RESULT: "result"}
CODES: dict[str, int] = {name: code for code, name in NAMES.items()}
COMMUTATIVE = frozenset(CODES[name] for name in ("add", "mul", "eq", "ne", "and", "or"))

#: Kinds by which `Tape.count` counts operations. A change of sign, a constant and an input cost nothing; the operations
#: of a called function count at each call.
COUNTED_AS: dict[str, str] = {
    **dict.fromkeys(NAMES.values(), "other"),
    **{"mul": "mul", "sq": "mul", "add": "add", "sub": "add", "twice": "add"},
    **{"div": "div", "inv": "div", "sqrt": "sqrt", "sin": "trig", "cos": "trig"},
}
FREE = frozenset({"const", "input", "neg", "call", "result"})
KINDS = ("mul", "add", "div", "sqrt", "trig", "other")
