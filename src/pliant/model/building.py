"""Equations of a robot with its options, and the functions that a model traces from them.

This module is imported when a model is built for the first time, or when expressions are needed. A model whose facts
are known does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.arrays import Array, Expression
from pliant.compute.tape.columns import ColumnFunction
from pliant.errors import ModelError
from pliant.mechanics.derivatives.differentials import SolvedColumns
from pliant.mechanics.formulations import positive_inertia
from pliant.mechanics.formulations.formulation import Formulation
from pliant.mechanics.formulations.motion_equations import Equations, by_kinds
from pliant.mechanics.formulations.registry import equations
from pliant.mechanics.links.builders.build_chain import build_chain, shapes_that_change
from pliant.mechanics.links.chain import Chain
from pliant.model.automatic_shapes.choices import resolved
from pliant.model.loops.assembly import LoopFunctions, Mechanism
from pliant.model.recipes import MATRICES, column_function, recipe
from pliant.model.robot import Robot
from pliant.model.stiffening.stiffening_choice import choose
from pliant.options import FormulationName, RotationName, ShapesName, StiffeningName
from pliant.robot.coordinates import Layout

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model
    from pliant.model.model_options import Options

KEPT = 32
"""Chains that are kept for the next model of the same robot."""


def settled(
    robot: Robot, options: Options, formulation: FormulationName | Formulation, recipe: str | None
) -> dict[str, Any]:
    """Return the facts of a model as plain data: the robot with numbers in place of every `auto`, the stiffening level,
    nominal values of the parameters, and the layout of its coordinates. Raise an error for what cannot be built."""
    made, choices = resolved(robot)
    level = choose(made, formulation, options.rotation, options.stiffening)
    nominal = _nominal_values(made, options.parameters, options.shapes)
    arm = (made, options.rotation, level.stiffening, options.parameters)
    _check(*arm)
    chain, p = _chain(*arm)
    layout = Layout.of(chain, chain.first)
    equations(chain, formulation)
    if chain.closures:
        functions = LoopFunctions.of(lambda: (chain, p), recipe, f"loops of {robot.name}")
        rows, dropped, mobility = Mechanism.of(layout, functions, nominal).rank()
        layout = replace(layout, rows=rows, dropped=dropped, mobility=mobility)
    return {
        "robot": None if made is robot else made.to_dict(), "choices": choices, "level": level,
        "nominal": nominal.tolist(), "layout": layout.facts(),
    }  # fmt: skip


def built(
    robot: Robot, options: Options, formulation: FormulationName | Formulation, rows: tuple[str, ...]
) -> tuple[Equations, Expression]:
    """The equations of a settled robot with the rows that close its loops, and the symbols of its parameters."""
    assert options.stiffening != "auto"
    chain, p = _chain(robot, options.rotation, options.stiffening, options.parameters)
    return equations(replace(chain, kept=rows) if rows else chain, formulation), p


def _nominal_values(robot: Robot, parameters: tuple[str, ...], shapes: ShapesName) -> Array:
    """Values of the parameters in the robot. Raise `ModelError` for unknown paths and for parameters that would change
    the shapes."""
    paths = robot.paths() if parameters else {}
    for path in parameters:
        if path not in paths:
            raise ModelError(f"parameters: {path!r} is not a number of this robot; see robot.paths()")
        if parameters.count(path) > 1:
            raise ModelError(f"parameters: got {path!r} {parameters.count(path)} times, expected each number once")
    if shapes == "exact":
        for path in parameters:
            changed = shapes_that_change(robot, path)
            if changed:
                raise ModelError(
                    f"parameters: {path!r} changes the shape functions of {', '.join(changed)}; "
                    "rebuild the robot for each value, or keep the nominal shapes with shapes='nominal'"
                )
    return np.array([paths[path] for path in parameters], dtype=float)


@lru_cache(maxsize=KEPT)
def _chain(
    robot: Robot, rotation: RotationName, stiffening: StiffeningName, parameters: tuple[str, ...]
) -> tuple[Chain, Expression]:
    """The arm as maps and the symbols of its parameters; one chain serves all formulations."""
    symbols = {path: ca.SX.sym(path) for path in parameters}
    p = ca.vertcat(*symbols.values()) if symbols else ca.SX(0, 1)
    return build_chain(robot, rotation, stiffening, symbols), p


@lru_cache(maxsize=KEPT)
def _check(robot: Robot, rotation: RotationName, stiffening: StiffeningName, parameters: tuple[str, ...]) -> None:
    """Raise an error for an arm that cannot move as its equations say."""
    chain, p = _chain(robot, rotation, stiffening, parameters)
    paths = robot.paths() if parameters else {}
    positive_inertia.check(chain, p, np.array([paths[path] for path in parameters], dtype=float))


# ------------------------------------------------------------------------------------------------------- functions


def traced(model: Model, name: str) -> ca.Function | ColumnFunction:
    """A function of the model, to be compiled."""
    n, m, P, parameters = model.n, model.n_joints, len(model.parameters), model.parameter_symbols
    sizes = {"q": model.n_q, "tau": m, "dtau": m, "driven": m, "dp": P}
    row = recipe(name)
    if not row.closed:
        model.layout.require_open(name)
    symbols = {s: parameters if s == "p" else ca.SX.sym(s, sizes.get(s, n)) for s in row.inputs}
    found = by_kinds(model.equations, lambda e: row.build(e, *symbols.values()), row.shared)
    symbols = symbols if "p" in symbols else {**symbols, "p": parameters}
    names = [s for s in symbols if P or s not in ("p", "dp")]
    given = [symbols[s] for s in names]
    title = "".join(c if c.isalnum() else "_" for c in name)
    if isinstance(found, SolvedColumns):
        return column_function(title, dict(zip(names, given)), found)
    outputs = [ca.densify(x) for x in found]
    if not (row.shared and model.chain.long):  # calls are looked through when they are numbered, which is quicker
        outputs = ca.cse(outputs)
    return ca.Function(title, given, outputs, names, [f"{title}_{k}" for k in range(len(outputs))])


def remarks(model: Model, name: str, function: ca.Function | ColumnFunction) -> dict[str, Any]:
    """Return the back end of a function of the model, and the shapes of its outputs. A column is a vector, unless it is
    a matrix of an arm with one coordinate."""
    kind = name.partition(" ")[0]
    square = MATRICES.get(f"{name} {model.options.formulation}", MATRICES.get(kind, ()))
    whole = function.function if isinstance(function, ColumnFunction) else function
    sizes = [whole.size_out(k) for k in range(whole.n_out())]
    shapes = [size if k in square or size[1] != 1 else size[:1] for k, size in enumerate(sizes)]
    return {"backend": recipe(name).where(function.n_instructions()), "shapes": shapes}


def slopes(model: Model, loads: tuple[Load, ...], free: tuple[int, ...]) -> ca.Function:
    """Slopes of the accelerations by q, qd and tau, under loads and with all but `free` held."""
    e, n = model.equations, model.n
    q, qd, tau = (ca.SX.sym(s, size) for s, size in (("q", model.n_q), ("qd", n), ("tau", model.n_joints)))
    force = ca.mtimes(e.chain.actuation(), tau)
    force += sum((load.expression(e.chain, ca.SX(0), q, qd) for load in loads), ca.SX.zeros(n))
    qdd = e.accelerations(q, qd, force, {k: ca.SX(0) for k in range(n) if k not in free})
    by = [e.chain.jacobian(qdd, q), ca.jacobian(qdd, qd), ca.jacobian(qdd, tau), e.chain.turning(qd)]
    return ca.Function("slopes", [q, qd, tau, model.parameter_symbols], ca.cse([ca.densify(x) for x in by]))


def output_matrix(
    model: Model, outputs: Callable[[Expression, Expression], Expression], q: Array, qd: Array, p: Array
) -> Array:
    """Derivatives of outputs(q, qd) by displacements and rates."""
    x, xd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
    y = ca.vertcat(outputs(x, xd))
    by = ca.horzcat(model.chain.jacobian(y, x), ca.jacobian(y, xd))
    C = ca.Function("C", [x, xd, model.parameter_symbols], [ca.densify(by)])
    return np.array(C(q, qd, p), dtype=float)
