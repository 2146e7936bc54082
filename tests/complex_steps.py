"""Derivatives by complex steps: the tape of a function run in complex numbers, exact to rounding and no difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.compute.tape.operations import CONST, INPUT, NAMES
from pliant.compute.tape.tape import Tape

STEP = 1e-40
REAL = {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}
OPERATIONS: dict[str, Any] = {
    "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: a + a, "inv": lambda a: 1 / a,
    "fabs": lambda a: np.where(a.real < 0, -a, a), "sign": lambda a: np.sign(a.real) + 0j,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b, "constpow": lambda a, b: a**b,
    "if_else_zero": lambda a, b: np.where(a.real != 0, b, 0j),
    "fmin": lambda a, b: np.where(a.real < b.real, a, b), "fmax": lambda a, b: np.where(a.real > b.real, a, b),
    "not": lambda a: (a.real == 0) + 0j, "and": lambda a, b: ((a.real != 0) & (b.real != 0)) + 0j,
    "or": lambda a, b: ((a.real != 0) | (b.real != 0)) + 0j,
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "log", "sqrt")},
}  # fmt: skip


def slopes(tape: Tape, x: NDArray, directions: NDArray) -> NDArray:
    """(outputs, K) changes along the K directions (inputs, K), all inputs one behind the other."""
    given = x[:, None] + 1j * STEP * directions
    values: list[NDArray] = []
    for op, a, b, constant in zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist(), tape.constant.tolist()):
        name = NAMES[op]
        if op == CONST:
            values.append(np.full(1, constant + 0j))
        elif op == INPUT:
            values.append(given[a])
        elif name in REAL:
            values.append(REAL[name](values[a].real, values[b].real) + 0j)
        else:
            values.append(OPERATIONS[name](*(values[k] for k in (a, b) if k >= 0)))
    count = directions.shape[1]
    rows = [np.broadcast_to(values[k].imag if k >= 0 else 0.0, count) for k in tape.outputs.tolist()]
    return np.array(rows).reshape(len(rows), count) / STEP
