"""Couplings and contacts of a run: lengths of couplings, gaps of contacts, and their forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.base.later import LaterModule
from pliant.errors import ModelError
from pliant.model.interpreted import interpreted
from pliant.model.model import Model

if TYPE_CHECKING:
    from pliant.simulation.runs.equations import line_functions
else:  # a known run needs no expressions
    line_functions = LaterModule("pliant.simulation.runs.equations.line_functions")


def line_histories(model: Model, q: Array, qd: Array, p: Array) -> tuple[Array, Array, Array]:
    """(N, couplings) lengths, their rates, and forces by which couplings push apart by themselves, without commands."""
    kernel = interpreted(model, "couplings", lambda: line_functions.line_function(model))
    shape = len(q), len(model.layout.couplings)
    L, rate, force = kernel(q, qd, np.broadcast_to(p, (len(q), np.shape(p)[-1])))
    return L.reshape(shape), rate.reshape(shape), force.reshape(shape)


def touch_histories(model: Model, q: Array, qd: Array, p: Array) -> dict[str, Array]:
    """(N, contacts) gaps (m), normal forces (N) and sizes of friction (N); (N, contacts, 3) normals and whole forces on
    the spheres, in base axes."""
    kernel = interpreted(model, "contacts", lambda: line_functions.touch_function(model))
    found = [np.asarray(x) for x in kernel(q, qd, np.broadcast_to(p, (len(q), np.shape(p)[-1])))]
    shape = len(q), len(model.robot.contacts)
    numbers = {name: x.reshape(shape) for name, x in zip(("gap", "force", "friction"), found)}
    return numbers | {name: x.reshape(*shape, 3) for name, x in zip(("normal", "push"), found[3:])}


def require_strokes(model: Model, q: Array, p: Array) -> None:
    """Raise `ModelError` if a cylinder is shorter or longer than it can be at starts (N, n_q) with parameters (N,
    P)."""
    strokes = {one.name: one.cylinder for one in model.robot.couplings if one.cylinder is not None}
    if not strokes:
        return
    L, _, _ = line_histories(model, q, np.zeros((len(q), model.n)), p)
    for k, one in enumerate(model.layout.couplings):
        if one.name in strokes:
            low = strokes[one.name].dead_length
            high = low + strokes[one.name].stroke
            outside = ~((low <= L[:, k]) & (L[:, k] <= high))
            if outside.any():
                found = f"cylinder {one.name} is {L[outside, k][0]:.6g} m long there"
                raise ModelError(
                    f"q0: {found}, expected {low:g} (its dead_length) to {high:g} m; move the joints, or change its "
                    "stroke, dead_length or frames"
                )
