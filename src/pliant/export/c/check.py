"""The test driver of an exported C folder: reference states and values, and the program that compares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.target import AGREEMENT
from pliant.export.c.function import CFunction
from pliant.export.c.plant import CPlant
from pliant.export.c.predictive import CPredictive
from pliant.export.c.text import CReal, array, c_constant, comment, room
from pliant.export.contents import FUNCTIONS, description, export_name, template
from pliant.export.typical_states import reference_states
from pliant.model.model import Model

STEPS = 20
"""Steps that the test takes with a plant, or with a predictive controller."""

PREDICTED = 1e-9
"""Tolerance for torques of a predictive controller, relative to the largest: each step goes on from the last."""

SINGLE_TOLERANCE = 1e-5
"""Tolerance in single precision, and a tenth of that after `STEPS`."""

TOLERANCE = AGREEMENT
"""Tolerance of the test driver, relative to the largest element: a C compiler may fuse products and sums."""


def test_driver(
    model: Model, functions: Mapping[str, ca.Function], written: Mapping[str, CFunction], real: CReal,
    part: CPlant | CPredictive | None,
) -> str:  # fmt: skip
    """A program that runs every function at reference states and compares with the numbers of the model."""
    name, states = export_name(model), {x: real.rounded(v) for x, v in reference_states(model).items()}
    arrays, checks = [], []
    used = dict.fromkeys(x for f in functions for x in FUNCTIONS[f].inputs)
    for x in [*used, *(["p"] if model.parameters else [])]:
        arrays.append(array(f"static const {real.name} {x}_given", states[x], real))
    for f in functions:
        inputs = [*FUNCTIONS[f].inputs, *(["p"] if model.parameters else [])]
        values = reference_values(functions[f], [states[x] for x in inputs])
        shapes = FUNCTIONS[f].outputs(model)
        held = [f"{x}[{room(s)}]" for x, s in shapes.items()]
        arguments = [*(f"{x}_given + k*{max(states[x].shape[1], 1)}" for x in inputs), *shapes]
        checks += ["        {", f"            static {real.name} {', '.join(held)};"]
        if written[f].work:
            checks.append(f"            static {written[f].lent.name} work[{written[f].size}];")
            arguments.append("work")
        checks.append(f"            {name}_{f}({', '.join(arguments)});")
        for (x, shape), value in zip(shapes.items(), values):
            arrays.append(array(f"static const {real.name} {f}_{x}", value, real))
            check = f'check("{f}: {x}", {x}, {f}_{x} + k*{room(shape)}, {math.prod(shape)}, {_allowed(real)})'
            checks.append(f"            failures += {check};")
        checks.append("        }")
    runs = ""
    if isinstance(part, CPredictive):
        more, runs = part.test(STEPS, PREDICTED)
        arrays += more
    elif part is not None and not part.noisy:
        tau = states["inputs"][0]
        expected = part.reference(tau, STEPS)
        both = {"tau_held": tau, "x_stepped": expected[0], "y_stepped": expected[1]}
        arrays += [array(f"static const {real.name} {x}", value, real) for x, value in both.items()]
        runs = template("test_plant.c.in").substitute(
            name=name, real=real.name, steps=STEPS, n_y=part.n_y, n=len(expected[0]), tolerance=_allowed(real, STEPS)
        )
    return template("test.c.in").substitute(
        name=name, comment=comment(description(model)), arrays="\n\n".join(arrays), checks="\n".join(checks),
        states=len(states["q"]), real=real.name, plant=runs,
    )  # fmt: skip


def _allowed(real: CReal, steps: int = 1) -> str:
    tolerance = TOLERANCE if real.kind is np.float64 else SINGLE_TOLERANCE * (10 if steps > 1 else 1)
    return c_constant(tolerance)


test_driver.__test__ = False  # type: ignore[attr-defined]  # a program for the user, not one of pytest's


def reference_values(f: ca.Function, inputs: Sequence[Array]) -> list[Array]:
    """Outputs of a function as CasADi's virtual machine evaluates them, one row per state, row-major."""
    rows = [[np.array(y, dtype=float).ravel() for y in f.call(list(state))] for state in zip(*inputs)]
    return [np.array(column) for column in zip(*rows)]
