"""Compiled functions evaluated anew in the longest floating-point numbers that NumPy has: the judge of rounding.

On Linux these have 64 (x86) or 113 (ARM) bits of mantissa; where they are plain doubles, errors near 1e-16 mean
nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.compute.tape.operations import CONST, INPUT, NAMES
from pliant.errors import UnsupportedModel
from pliant.model.model import Model
from pliant.options import FunctionName

_OPERATIONS: dict[str, Any] = {
    "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: a + a, "sin": np.sin, "cos": np.cos,
    "sqrt": np.sqrt, "inv": lambda a: np.longdouble(1) / a,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
}  # fmt: skip


def evaluate(model: Model, function: FunctionName, *inputs: Any) -> Any:
    """The function of a model (see `Model.kernel`) at one state, as an array of long doubles."""
    tape = model.kernel(function).tape
    given = np.concatenate([np.asarray(x, dtype=np.longdouble).ravel() for x in inputs])
    values: list[Any] = []
    for op, a, b, constant in zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist(), tape.constant):
        name = NAMES[op]
        if op == CONST:
            values.append(np.longdouble(constant))
        elif op == INPUT:
            values.append(given[a])
        elif name not in _OPERATIONS:
            raise UnsupportedModel(f"{function}: the operation {name!r} has no extended form; rigid arms do without it")
        else:
            values.append(_OPERATIONS[name](values[a]) if b < 0 else _OPERATIONS[name](values[a], values[b]))
    return np.array([values[k] if k >= 0 else np.longdouble(0) for k in tape.outputs])


def relative_error(found: Any, exact: Any) -> float:
    """Largest difference over the largest entry."""
    exact = np.asarray(exact)
    return float(np.abs(np.asarray(found, dtype=np.longdouble) - exact).max() / np.abs(exact).max())
