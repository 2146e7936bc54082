"""Forces of an arm at rest as functions of its state, and their slopes: loads, dampers, springs of gears, gravity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.derived import SYMBOLS, Same
from pliant.base.later import LaterModule
from pliant.base.signatures import require_loads

if TYPE_CHECKING:
    import casadi as ca

    from pliant.algebra.rotations import SX
    from pliant.mechanics.formulations import generalized_forces
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model
else:  # a known arm without loads needs no expressions
    ca, generalized_forces = LaterModule("casadi"), LaterModule("pliant.mechanics.formulations.generalized_forces")


Applied = Callable[[ArrayLike], tuple[Array, Array]]
"""q -> generalized forces (n,) and their slopes (n, n)."""


def applied(model: Model, loads: Sequence[Load], p: ArrayLike | None, qd: Array | None = None) -> Applied:
    """Forces of the loads at t = 0 on the arm at rest, or with rates `qd`."""
    if not len(loads):
        return lambda q: (np.zeros(model.n), np.zeros((model.n, model.n)))
    require_loads(loads)
    rates = ca.SX.zeros(model.n) if qd is None else ca.densify(ca.SX(ca.DM(qd)))
    x, values = ca.SX.sym("q", model.n_q), model.values(p)
    with SYMBOLS:
        Q = _sum_of_loads(model, loads, x, rates)
        function = ca.Function("applied", [x, model.parameter_symbols], [Q, ca.densify(model.chain.jacobian(Q, x))])

    def at(state: ArrayLike) -> tuple[Array, Array]:
        force, slope = function(np.asarray(state, dtype=float), values)
        return np.array(force, dtype=float).ravel(), np.array(slope, dtype=float)

    return at


def slopes(model: Model, q: Array, qd: Array, loads: Sequence[Load], p: ArrayLike | None) -> tuple[Array, Array]:
    """Return the slopes (n, n) by q and by qd of what acts besides inertia and torque: bias less loads at t = 0."""

    def function() -> ca.Function:
        x, xd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        force = model.equations.bias(x, xd) - _sum_of_loads(model, loads, x, xd)
        by: Any = [ca.densify(model.chain.jacobian(force, x)), ca.densify(ca.jacobian(force, xd))]
        return ca.Function("slopes", [x, xd, model.parameter_symbols], ca.cse(by))

    require_loads(loads)
    found = model.derived("slopes of forces", tuple(map(Same, loads)), function)(q, qd, model.values(p))
    by_q, by_qd = (np.array(a, dtype=float) for a in found)
    return by_q, by_qd


def rest_force_slopes(model: Model, q: ArrayLike, loads: Sequence[Load], p: ArrayLike | None) -> tuple[Array, Array]:
    """Return the slopes (n, n) by q and (n, P) by the parameters of bias less loads, at rest."""

    def function() -> ca.Function:
        x, still, symbols = ca.SX.sym("q", model.n_q), ca.SX.zeros(model.n), model.parameter_symbols
        force = model.equations.bias(x, still) - _sum_of_loads(model, loads, x, still)
        by: Any = [ca.densify(model.chain.jacobian(force, x)), ca.densify(ca.jacobian(force, symbols))]
        return ca.Function("slopes", [x, symbols], by)

    found = model.derived("slopes of rest", tuple(map(Same, loads)), function)(np.asarray(q), model.values(p))
    by_q, by_p = (np.array(a, dtype=float) for a in found)
    return by_q, by_p


def damping(model: Model, q: Array, p: ArrayLike | None) -> Array:
    """Return the slopes (n, n) by the speeds of what takes energy, at rest; those of inertia are zero there."""

    def function() -> ca.Function:
        x, xd = ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        by = ca.jacobian(generalized_forces.dissipation(model.chain, x, xd), xd)
        return ca.Function("damping", [x, xd, model.parameter_symbols], [ca.densify(by)])

    with SYMBOLS:
        made = model.derived("slopes of dissipation", (), function)
    return np.array(made(q, np.zeros(model.n), model.values(p)), dtype=float)


def spring_twists(model: Model, load: Array, p: ArrayLike | None) -> list[float]:
    """Return the twist of the spring of each elastic drive under the forces (n,) of their joints."""
    springs = [(shaft.drive.spring, shaft.index) for shaft in model.chain.driven if shaft.drive is not None]
    under = ca.vertcat(*(spring.twist_under(ca.SX(load[index])) for spring, index in springs))
    function = ca.Function("twists", [model.parameter_symbols], [under])
    return np.array(function(model.values(p)), dtype=float).ravel().tolist()


def gravity(model: Model, p: ArrayLike | None) -> Array:
    """Return the acceleration (3,) of free fall with these parameters."""
    function = ca.Function("gravity", [model.parameter_symbols], [model.chain.gravity])
    return np.array(function(model.values(p)), dtype=float).ravel()


def _sum_of_loads(model: Model, loads: Sequence[Load], q: SX, qd: SX) -> SX:
    return sum((load.expression(model.chain, ca.SX(0), q, qd) for load in loads), ca.SX.zeros(model.n))
