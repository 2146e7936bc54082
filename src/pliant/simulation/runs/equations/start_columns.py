"""Derivatives of the state at the start of a run by the given state and by parameters: the first values of columns
that are integrated beside a run."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from pliant.arrays import Array, StateLike
from pliant.compute.llvm.kernel import Kernel
from pliant.mechanics.loads.wrenches import Load
from pliant.model.equilibrium.statics import rest_slope
from pliant.model.loops.assembly import named_speeds
from pliant.model.loops.start_slopes import start_slopes
from pliant.model.model import Model
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.inputs import unsettled


def start_columns(
    c: Composition, q: Array, qd: Array, inputs: Array, given: tuple[StateLike | None, StateLike | None], dq: Array,
    dv: Array, dp: Array,
) -> Array:  # fmt: skip
    """(size, K) changes of the state at a start q, qd under inputs p, along K directions: given displacements (n, K)
    and speeds (n, K), and parameters (P, K). Loops are closed, and drives loaded, as at the start itself."""
    model, P, f = c.model, len(dp), len(c.free_places)
    values = inputs[len(inputs) - P :]
    by = start_slopes(model, q, qd, given, list(c.prescribed), values)
    out = np.zeros((c.size, dp.shape[1]))
    out[:f] = _along_coordinates(model, q, by.q_by_q @ dq + by.q_by_p @ dp)[c.free_places]
    out[f : c.moving] = (by.v_by_q @ dq + by.v_by_v @ dv + by.v_by_p @ dp)[c.free]
    if c.n_drive_states:
        first = c.moving + c.n_states

        def slopes() -> Kernel:
            """Slopes of the states of drives, by x and by p."""
            e = c.equations
            by = [ca.densify(ca.jacobian(e.loaded, z)) for z in (e.x, e.p)]
            return Kernel(ca.Function("loaded_slopes", [e.t, e.x, e.p], [ca.vec(a.T) for a in by]), "vm")

        kernel = c.derived("slopes of loaded drives", (), slopes)
        x = c.start(q, qd, inputs)
        by_x, by_p = (np.asarray(a).reshape(c.n_drive_states, -1) for a in kernel(np.zeros(1), x, inputs))
        out[first : first + c.n_drive_states] = by_x @ out + by_p[:, len(inputs) - P :] @ dp
    return out


def settled_columns(model: Model, q: Array, loads: Sequence[Load], p: Array, q0: StateLike | None) -> Array:
    """(n, P) displacements along the speeds, by parameters, of a start that settled to rest. Coordinates that `q0`
    names stay."""
    slope = rest_slope(model, q, loads, p, named_speeds(model, q0, "q0"))
    slope[unsettled(model, q0)] = 0.0
    out = np.zeros((model.n, len(model.parameters)))
    for k, name in enumerate(model.speeds):
        if name in model.coordinates:
            out[k] = slope[model.index(name)]
    return out


def _along_coordinates(model: Model, q: Array, along: Array) -> Array:
    """(n_q, K) changes of coordinates, from displacements (n, K) along the speeds."""
    if model.layout.plain:
        return along
    x, v = ca.SX.sym("q", model.n_q), ca.SX.sym("v", model.n)
    rates = model.derived("rates of coordinates", (), lambda: ca.Function("rates", [x, v], [model.chain.rates(x, v)]))
    return np.column_stack([np.array(rates(q, column), dtype=float).ravel() for column in along.T])
