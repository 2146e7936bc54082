"""Single evaluations of a model on CasADi's virtual machine, for checks: compiling would take longer."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """(n,) generalized forces at one state."""
    symbols = [ca.SX.sym(name, model.n) for name in ("q", "qd", "qdd")]
    function = ca.Function("forces", [*symbols, model.parameter_symbols], [model.equations.inverse_dynamics(*symbols)])
    return np.array(function(q, qd, qdd, model.nominal_parameters), dtype=float).ravel()


def mass_matrix(model: Model, q: Array) -> Array:
    """(n, n) inertia matrix at one state."""
    symbol = ca.SX.sym("q", model.n)
    function = ca.Function(
        "inertia", [symbol, model.parameter_symbols], [ca.densify(model.equations.mass_matrix(symbol))]
    )
    return np.array(function(q, model.nominal_parameters), dtype=float)
