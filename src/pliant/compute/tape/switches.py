"""Parts of equations that depend on the time, read from their instructions: times at which they switch, and inputs.

They switch by comparisons, signs and remainders of the time alone.
An `if_else(t >= 0.5, ...)` needs no declaration: every operation that is not smooth and depends on the time alone has
an indicator, constant between two switches. Where it changes between two samples of the time, the change is found to
the last bit. A pulse that begins and ends between two samples is missed.

Inputs that depend on the time are torques over time, references, forces of loads, motions of a base (`time_inputs`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array, Booleans, Expression
from pliant.compute.tape.operations import CODES, CONST, INPUT
from pliant.compute.tape.tape import Tape

SAMPLES = 10_001
"""Number of times at which indicators are evaluated in a run."""
HALVINGS = 60
"""Halvings of the time between two samples: enough to reach neighboring numbers."""


def _side(a: Expression, b: Expression) -> Expression | float:
    return ca.sign(a - b)


_BY_NAME: dict[str, Callable[..., Expression | float]] = {
    "lt": operator.lt,
    "le": operator.le,
    "eq": _side,
    "ne": _side,
    "fmin": operator.lt,
    "fmax": operator.lt,
    "fmod": lambda a, b: ca.floor(a / b),
    "remainder": lambda a, b: ca.floor(a / b + 0.5),
    "copysign": lambda a, b: ca.sign(b),
    "sign": ca.sign,
    "fabs": ca.sign,
    "floor": ca.floor,
    "ceil": ca.ceil,
}
INDICATORS = {CODES[name]: rule for name, rule in _BY_NAME.items() if name in CODES}
"""Indicator of each operation, which is constant wherever the operation is smooth."""
COMPARISONS = frozenset(CODES[name] for name in ("lt", "le", "eq", "ne", "fmin", "fmax"))


@dataclass(frozen=True)
class Switches:
    """Numbers that the time is compared with, and indicators of all other switches, a function of the time."""

    times: tuple[float, ...] = ()
    indicators: ca.Function | None = None

    @classmethod
    def of(cls, f: ca.Function) -> Switches:
        """Find the switches of `f(t, ...)`, an `SX` function, that depend on its first input alone, a scalar."""
        whole = (f, *f.find_functions())
        if not any(one.instruction_id(k) in INDICATORS for one in whole for k in range(one.n_instructions())):
            return cls()
        tape, t = Tape.from_function(f), ca.SX.sym("t")
        values: dict[int, Expression] = {}
        times, found = [], []
        columns = (column.tolist() for column in (tape.op, tape.a, tape.b, tape.constant))
        for i, (op, a, b, number) in enumerate(zip(*columns)):
            if op == INPUT:
                values |= {i: t} if a == 0 else {}
            elif op == CONST:
                values[i] = ca.SX(number)
            elif a in values and (b < 0 or b in values):
                operands = [values[a]] if b < 0 else [values[a], values[b]]
                values[i] = (ca.SX.unary if b < 0 else ca.SX.binary)(op, *operands)
                if op in COMPARISONS and {tape.op[a], tape.op[b]} == {INPUT, CONST}:
                    times.append(float(tape.constant[a] + tape.constant[b]))  # an input's is zero
                elif op in INDICATORS and any(ca.depends_on(x, t) for x in operands):
                    found.append(INDICATORS[op](*operands))
        return cls(tuple(times), ca.Function("indicators", [t], [ca.vertcat(*found)]) if found else None)

    def to_record(self) -> dict[str, object]:
        """The switches as plain data."""
        return {"times": self.times, "indicators": self.indicators and self.indicators.serialize()}

    @classmethod
    def from_record(cls, kept: Mapping[str, Any]) -> Switches:
        """Make the switches from plain data."""
        text = kept["indicators"]
        return cls(tuple(kept["times"]), text and ca.Function.deserialize(text))

    def until(self, t_end: float) -> Array:
        """Times at which something switches, from 0 to t_end."""
        return np.unique([t for t in (*self.times, *_changes(self.indicators, t_end)) if 0.0 <= t <= t_end])


def _changes(f: ca.Function | None, t_end: float) -> Array:
    """Times at which an indicator changes, each the later of two neighboring numbers."""
    if f is None:
        return np.empty(0)
    times = np.linspace(0.0, t_end, SAMPLES)
    values = np.array(f(times[None]), dtype=float)
    row, at = np.nonzero(_differ(values[:, :-1], values[:, 1:]))
    left, right, value, each = times[at], times[at + 1], values[row, at], np.arange(len(at))
    many = f.map(max(1, len(at)))
    for _ in range(HALVINGS if len(at) else 0):
        middle = left + (right - left) / 2
        changed = _differ(np.array(many(middle[None]), dtype=float)[row, each], value)
        left, right = np.where(changed, left, middle), np.where(changed, middle, right)
    return right


def _differ(a: Array, b: Array) -> Booleans:
    different: Booleans = (a != b) & ~(np.isnan(a) & np.isnan(b))
    return different


def time_inputs(f: ca.Function, t: Expression, fixed: Expression) -> Expression:
    """The largest expressions in `t` and `fixed` inside `f(t, fixed, others)`, as one column; each depends on `t`."""
    if not any(ca.depends_on(out, t) for out in f.call([t, fixed, f.sx_in(2)])):
        return ca.SX(0, 1)
    tape = Tape.from_function(f)
    given = [t, *ca.vertsplit(fixed)] if fixed.shape[0] else [t]
    values: dict[int, Expression] = {}
    varying: set[int] = set()
    wanted: dict[int, None] = {}
    columns = (column.tolist() for column in (tape.op, tape.a, tape.b, tape.constant))
    for i, (op, a, b, number) in enumerate(zip(*columns)):
        if op == INPUT:
            values |= {i: given[a]} if a < len(given) else {}
            varying |= {i} if a == 0 else set()
        elif op == CONST:
            values[i] = ca.SX(number)
        elif a in values and (b < 0 or b in values):
            values[i] = ca.SX.unary(op, values[a]) if b < 0 else ca.SX.binary(op, values[a], values[b])
            varying |= {i} if a in varying or b in varying else set()
        else:
            wanted |= dict.fromkeys(k for k in (a, b) if k in varying)
    wanted |= dict.fromkeys(k for k in tape.outputs.tolist() if k in varying)
    return ca.vertcat(ca.SX(0, 1), *(values[k] for k in wanted))
