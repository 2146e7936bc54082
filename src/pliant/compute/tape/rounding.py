"""Choice of the results of a tape that must not be rounded to single precision.

Where a pivot is the small difference of large numbers, a few roundings decide the result: those of the inertias that
are about to cancel. First-order analysis finds them. The rounding of a value v changes output y by |dy/dv| |v| 2^-24;
one reverse sweep over the tape gives all dy/dv at some typical states. Operations move to double precision from the
worst one down, until the expected error of the others is below `AIM`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.compute.cuda.program import Node, Nodes, nodes_of
from pliant.compute.tape.operations import NAMES
from pliant.compute.tape.tape import Tape

UNIT = 2.0**-24
ALLOWED = 4e-4
"""Expected error, relative to the largest output, below which single precision suffices; the largest error of many
states is about three times as much."""
AIM = 1e-4
"""Expected error that operations in double precision have to reach, where single precision does not suffice."""
LOOKED_AT = 24
"""Largest number of outputs whose errors are found; more would take too much memory."""
NUDGE = 1e-6
"""Relative step of difference quotients, for functions without a rule in `_slope`."""
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "tan": np.tan, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "log1p": np.log1p, "expm1": np.expm1, "fabs": np.abs, "sign": np.sign, "floor": np.floor,
    "ceil": np.ceil, "pow": np.power, "fmin": np.fmin, "fmax": np.fmax, "atan2": np.arctan2, "hypot": np.hypot,
    "fmod": np.fmod, "remainder": np.remainder, "copysign": np.copysign, "lt": np.less, "le": np.less_equal,
    "eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
    "if_else_zero": lambda x, y: np.where(x != 0, y, 0.0), "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "neg": np.negative, "inv": np.reciprocal,
}  # fmt: skip


def widened(nodes: Nodes, states: Array, allowed: float = ALLOWED, aim: float = AIM) -> Nodes:
    """Mark the operations that need double precision; `states` are rows of typical inputs."""
    values, errors = _errors(nodes, states)
    if not len(values):
        return nodes
    order = np.argsort(-errors.max(axis=(1, 2)), kind="stable")
    rest = np.cumsum(errors[order][::-1], axis=0)[::-1].max(axis=(1, 2))  # of the operations from there on
    if rest[0] <= allowed**2:
        return nodes
    wide = set(values[order[rest > aim**2]].tolist())
    for node in nodes.nodes:  # sine and cosine of an angle come from one call
        if node.name == "sincos" and not wide.isdisjoint((*node.operands, *node.results)):
            wide.update(node.results)
    return replace(nodes, wide=frozenset(wide))


def wide_values(tape: Tape, states: Array, allowed: float, aim: float) -> frozenset[int]:
    """Values of a tape that need double precision, so that the others err by less than `aim` of the largest output.

    If there are more than `LOOKED_AT` outputs, the largest ones are examined.
    """
    nodes = nodes_of(tape)
    if len(nodes.places) > LOOKED_AT:
        with np.errstate(all="ignore"):
            values = _values(nodes, states)
        order = sorted(nodes.places, key=lambda value: -float(np.abs(values[value]).max()))
        nodes = replace(nodes, outputs=tuple(order[:LOOKED_AT]))
    wide = widened(nodes, states, allowed, aim).wide
    inverted = {node.operands[0] for node in nodes.nodes if node.name == "inv" and node.results[0] in wide}
    by = zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist())  # a quotient is a product with a reciprocal there
    quotients = [i for i, (op, a, b) in enumerate(by) if {"div": b, "inv": a}.get(NAMES[op]) in inverted]
    return frozenset(quotients) | frozenset(value for value in wide if value < len(tape))


def _errors(nodes: Nodes, states: Array) -> tuple[NDArray[np.int64], Array]:
    """Values, and the squared error that the rounding of each adds to each output, relative to the largest output of
    the state."""
    with np.errstate(all="ignore"):
        v = _values(nodes, states)
        computed = {value: place for place, value in enumerate(nodes.places)}
        largest = np.max([np.abs(v[value]) for value in computed], axis=0, initial=1e-300)
        adjoint = {value: np.zeros((len(states), len(computed))) for value in computed}
        for value, place in computed.items():
            adjoint[value][:, place] = 1.0 / largest
        values, squares = [], []
        for node in reversed(nodes.nodes):
            for value, rounding, slopes in _slopes(node, v, nodes.constants):
                if value not in adjoint:
                    continue
                a = adjoint.pop(value)
                values.append(value)
                squares.append((a * rounding[:, None]) ** 2)
                for operand, slope in slopes:
                    adjoint[operand] = adjoint.get(operand, 0.0) + a * slope[:, None]
    return np.array(values, dtype=np.int64), np.nan_to_num(np.array(squares))


def _values(nodes: Nodes, states: Array) -> dict[int, Array]:
    v = {value: np.full(len(states), number) for value, number in nodes.constants.items()}
    v |= {value: states[:, place].astype(np.float64) for value, place in nodes.inputs.items()}
    for node in nodes.nodes:
        if node.name == "sincos":
            v |= dict(zip(node.results, (np.sin(v[node.operands[0]]), np.cos(v[node.operands[0]]))))
        else:
            v[node.results[0]] = _apply(node.name, *(v[operand] for operand in node.operands))
    return v


def _apply(name: str, *operands: Array) -> Array:
    if name.startswith("power:"):
        return np.asarray(operands[0] ** float(name.removeprefix("power:")))
    if name not in FUNCTIONS:  # such as erf: no arm has it in a place that matters
        return operands[0]
    return np.asarray(FUNCTIONS[name](*operands), dtype=np.float64)


def _slopes(
    node: Node, v: dict[int, Array], constants: dict[int, float]
) -> Iterator[tuple[int, Array, list[tuple[int, Array]]]]:
    """For each result: the size of its rounding (with that of constants), and derivatives by operands that vary."""
    if node.name == "sincos":
        (angle,), (sine, cosine) = node.operands, node.results
        yield sine, UNIT * np.abs(v[sine]), [(angle, v[cosine])]
        yield cosine, UNIT * np.abs(v[cosine]), [(angle, -v[sine])]
        return
    given, (result,) = [v[operand] for operand in node.operands], node.results
    slopes = [(operand, _slope(node.name, given, k, v[result])) for k, operand in enumerate(node.operands)]
    rounding = (UNIT * v[result]) ** 2
    for operand, slope in slopes:
        if operand in constants:
            rounding = rounding + (slope * (constants[operand] - float(np.float32(constants[operand])))) ** 2
    yield result, np.sqrt(rounding), [(operand, slope) for operand, slope in slopes if operand not in constants]


def _slope(name: str, given: list[Array], k: int, result: Array) -> Array:
    """Derivative of an operation by its operand k."""
    if name in ("add", "sub", "neg"):
        return np.full_like(result, -1.0 if name == "neg" or (name == "sub" and k) else 1.0)
    if name == "mul":
        return given[1 - k]
    if name == "inv":
        return -(result**2)
    step = NUDGE * (np.abs(given[k]) + NUDGE)
    ahead, behind = ([x + sign * step if j == k else x for j, x in enumerate(given)] for sign in (1.0, -1.0))
    return np.asarray((_apply(name, *ahead) - _apply(name, *behind)) / (2 * step))
