"""Tapes evaluated by NumPy, an operation at a time for many states together, without a compile and without CasADi."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pliant.arrays import Array
from pliant.errors import UnsupportedModel

if TYPE_CHECKING:
    from pliant.compute.tape.tape import Tape


Column: TypeAlias = Array | np.float64
"""Values of one operation: one for each state, or one for all."""
OF_ONE: dict[str, Callable[[Column], Column]] = {
    "neg": np.negative, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sq": np.square, "twice": lambda x: x + x,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "not": np.logical_not, "floor": np.floor, "ceil": np.ceil, "fabs": np.abs, "sign": np.sign,
    "erf": np.vectorize(math.erf, [float]), "inv": np.reciprocal, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "log1p": np.log1p, "expm1": np.expm1,
}  # fmt: skip
"""Functions of NumPy for operations with one operand, by their names on a tape."""
OF_TWO: dict[str, Callable[[Column, Column], Column]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "constpow": np.power,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "fmod": np.fmod, "copysign": np.copysign,
    "if_else_zero": lambda x, y: np.where(x != 0, y, 0.0), "fmin": np.fmin, "fmax": np.fmax, "atan2": np.arctan2,
    "hypot": np.hypot,
    "remainder": np.vectorize(lambda x, y: math.remainder(x, y) if y and math.isfinite(x) else math.nan, [float]),
}  # fmt: skip
"""Functions of NumPy for operations with two operands."""


def plain_tape(tape: Tape) -> dict[str, Any]:
    """Return a tape without calls as plain data, operations by name, so that it can be kept in a file."""
    from pliant.compute.tape.operations import NAMES

    names = [NAMES[op] for op in tape.op.tolist()]
    unknown = set(names) - {"input", "const", *OF_ONE, *OF_TWO}
    if unknown:
        raise UnsupportedModel(f"operations: got {', '.join(sorted(unknown))}, which NumPy does not have")
    return {
        "operations": names, "a": tape.a.tolist(), "b": tape.b.tolist(),
        "constant": tape.constant.tolist(), "outputs": tape.outputs.tolist(),
    }  # fmt: skip


def interpret(tape: dict[str, Any], inputs: Array) -> Array:
    """Return the outputs (N, n_out) of a plain tape for inputs (N, n_in)."""
    columns, values = np.ascontiguousarray(inputs.T), list[Column]()
    with np.errstate(all="ignore"):
        for name, a, b, constant in zip(tape["operations"], tape["a"], tape["b"], tape["constant"]):
            if name == "input":
                values.append(columns[a])
            elif name == "const":
                values.append(np.float64(constant))
            elif name in OF_TWO:
                values.append(OF_TWO[name](values[a], values[b]))
            else:
                values.append(OF_ONE[name](values[a]))
    outputs = np.zeros((len(inputs), len(tape["outputs"])))
    for column, value in enumerate(tape["outputs"]):
        if value >= 0:
            outputs[:, column] = values[value]
    return outputs
