"""Sums and products of CasADi expressions without the search for who can take them.

CasADi asks of the operands of `x * y` whether they are numbers, sparse matrices, ..., and makes an exception of each
no: five sixths of the time of an operation, a fifth of that in which an arm is traced. It then calls `SX.binary`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

OPERATIONS = {"add": ca.OP_ADD, "sub": ca.OP_SUB, "mul": ca.OP_MUL, "truediv": ca.OP_DIV}
USUAL = {name: getattr(ca.SX, name) for op in OPERATIONS for name in (f"__{op}__", f"__r{op}__")}
"""CasADi's own."""


KINDS = frozenset({ca.SX, ca.DM, float, int, np.float64})


def make_quick(patch: pytest.MonkeyPatch) -> None:
    """Operators of `SX` for `SX`, `DM` and plain numbers; with all others they stay CasADi's."""
    for name, op in OPERATIONS.items():
        patch.setattr(ca.SX, f"__{name}__", _operator(op, USUAL[f"__{name}__"], reflected=False))
        patch.setattr(ca.SX, f"__r{name}__", _operator(op, USUAL[f"__r{name}__"], reflected=True))


def _operator(op: int, usual: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    binary = ca.SX.binary

    def operator(x: Any, y: Any) -> Any:
        if type(y) in KINDS:
            return binary(op, y, x) if reflected else binary(op, x, y)
        return usual(x, y)

    return operator
