"""Quantities in traced equations that depend on the time and on fixed inputs, not on the state.

They are torques over time, references, forces of loads, motions of a base.
"""

from __future__ import annotations

import casadi as ca

from pliant.arrays import Expression
from pliant.compute.tape.operations import CONST, INPUT
from pliant.compute.tape.tape import Tape


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
