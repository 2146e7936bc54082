"""Columns that are solved with one factor, as a function of two tapes."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from pliant.arrays import Expression
from pliant.dynamics.differentials import SolvedColumns
from pliant.kernels import ColumnFunction


def column_function(name: str, inputs: Mapping[str, Expression], solved: SolvedColumns) -> ColumnFunction:
    """The function of these inputs, named symbols."""
    outputs = ca.cse([ca.densify(x) for x in (*solved.own, solved.shared, solved.columns)])
    titles = [f"own{k}" for k in range(len(solved.own))] + ["shared", "columns"]
    first = ca.Function(f"{name}_first", list(inputs.values()), outputs, list(inputs), titles)
    second = ca.Function(f"{name}_second", [solved.symbols, solved.b], ca.cse([ca.densify(solved.x)]))
    return ColumnFunction(name, first, second, solved.widths, solved.order)
