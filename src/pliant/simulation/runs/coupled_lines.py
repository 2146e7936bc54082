"""Couplings and contacts of a run: lengths of couplings, gaps of contacts, and their forces."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.base.derived import SYMBOLS
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError
from pliant.mechanics.constraints.contact_geometry import gap, normal_and_friction, touch
from pliant.mechanics.constraints.couplings import line_pushes, lines
from pliant.model.model import Model


def line_kernel(model: Model) -> Kernel:
    """Lengths of couplings, their rates, and forces by which they push apart by themselves, each (N, couplings), as a
    function of q, qd and p."""
    recipe = None if model.recipe is None else f"{model.recipe} lines"
    return Kernel(Recorded(lambda: _line_function(model), recipe, title=f"couplings of {model.robot.name}"), "vm")


def _line_function(model: Model) -> ca.Function:
    with SYMBOLS:
        chain, q, qd = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        at = lines(chain, q, qd)
        force = line_pushes(chain, q, qd, ca.SX.zeros(len(chain.commanded)))
        found = [ca.densify(x) for x in (at.L, at.rate, ca.vertcat(*force))]
        return ca.Function("lines", [q, qd, model.parameter_symbols], found, ["q", "qd", "p"], ["L", "rate", "force"])


def line_histories(model: Model, q: Array, qd: Array, p: Array) -> tuple[Array, Array, Array]:
    """(N, couplings) lengths, their rates, and forces by which couplings push apart by themselves, without commands."""
    kernel = model.derived("lines", (), lambda: line_kernel(model))
    shape = len(q), len(model.layout.couplings)
    L, rate, force = kernel(q, qd, np.broadcast_to(p, (len(q), np.shape(p)[-1])))
    return L.reshape(shape), rate.reshape(shape), force.reshape(shape)


def touch_histories(model: Model, q: Array, qd: Array, p: Array) -> dict[str, Array]:
    """(N, contacts) gaps (m), normal forces (N) and sizes of friction (N); (N, contacts, 3) normals and whole forces on
    the spheres, in base axes."""
    recipe = None if model.recipe is None else f"{model.recipe} contacts"
    title = f"contacts of {model.robot.name}"
    kernel = model.derived(
        "contacts", (), lambda: Kernel(Recorded(lambda: _touch_function(model), recipe, title=title), "vm")
    )
    found = [np.asarray(x) for x in kernel(q, qd, np.broadcast_to(p, (len(q), np.shape(p)[-1])))]
    shape = len(q), len(model.robot.contacts)
    numbers = {name: x.reshape(shape) for name, x in zip(("gap", "force", "friction"), found)}
    return numbers | {name: x.reshape(*shape, 3) for name, x in zip(("normal", "push"), found[3:])}


def _touch_function(model: Model) -> ca.Function:
    with SYMBOLS:
        chain, q, qd = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        numbers = range(len(chain.contacts))
        normals = [touch(chain, q, qd, k).normal for k in numbers]
        pairs = [normal_and_friction(chain, q, qd, k) for k in numbers]
        gaps = ca.vertcat(*(gap(chain, q, k) for k in numbers))
        forces, friction = ca.vertcat(*(F for F, _ in pairs)), ca.vertcat(*(ca.norm_2(f) for _, f in pairs))
        pushes = ca.vertcat(*(F * n + f for n, (F, f) in zip(normals, pairs)))
        found = [ca.densify(x) for x in (gaps, forces, friction, ca.vertcat(*normals), pushes)]
        names = ["g", "F", "f", "n", "push"]
        return ca.Function("contacts", [q, qd, model.parameter_symbols], found, ["q", "qd", "p"], names)


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
