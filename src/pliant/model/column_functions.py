"""Groups of columns that are solved with one factor, as a function of several tapes."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from pliant.arrays import Expression
from pliant.compute.tape.columns import ColumnFunction
from pliant.mechanics.derivatives.differentials import SolvedColumns


def column_function(name: str, inputs: Mapping[str, Expression], solved: SolvedColumns) -> ColumnFunction:
    """The function of these inputs, named symbols."""
    blocks = [group.columns for group in solved.groups]
    outputs = ca.cse([ca.densify(x) for x in (*solved.own, solved.shared, *blocks)])
    titles = [f"own{k}" for k in range(len(solved.own))] + ["shared"] + [f"columns{k}" for k in range(len(blocks))]
    first = ca.Function(f"{name}_first", list(inputs.values()), outputs, list(inputs), titles)
    seconds = tuple(
        ca.Function(f"{name}_second{k}", [solved.symbols, group.symbols], [ca.densify(group.x)])
        for k, group in enumerate(solved.groups)
    )
    given = [place for group in solved.groups for place in group.places]
    places = tuple(sorted(range(len(given)), key=given.__getitem__))
    return ColumnFunction(name, first, seconds, places, solved.widths, solved.order)
