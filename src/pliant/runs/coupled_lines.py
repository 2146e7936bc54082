"""Couplings and contacts of a run: how long and how far apart they are, what they carry, when they touch, and where an
arm rests on its cylinders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.derived import SYMBOLS, Same
from pliant.dynamics.lines import line_forces, lines
from pliant.dynamics.touching import gap, normal_and_friction, touch
from pliant.errors import ModelError, PliantError
from pliant.kernels import Kernel, Recorded
from pliant.model import Model

MOST_STEPS, CONVERGED, STALLED, TINY = 50, 1e-13, 1e-8, 1e-300
"""Newton steps to a rest, the last one over what has settled, and one that no longer shrinks and is rounding."""


def line_kernel(model: Model) -> Kernel:
    """Lengths, their rates, and forces apart of what acts by itself, each (N, couplings), of states q, qd and p."""
    recipe = None if model.recipe is None else f"{model.recipe} lines"
    return Kernel(Recorded(lambda: _line_function(model), recipe, title=f"couplings of {model.robot.name}"), "vm")


def _line_function(model: Model) -> Any:
    with SYMBOLS:
        chain, q, qd = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
        at = lines(chain, q, qd)
        force = [
            -sum((law.pull(at.L[k]) + law.resisting(at.L[k], at.rate[k]) for law in line.laws), ca.SX(0))
            for k, line in enumerate(chain.lines)
        ]
        found = [ca.densify(x) for x in (at.L, at.rate, ca.vertcat(*force))]
        return ca.Function("lines", [q, qd, model.parameter_symbols], found, ["q", "qd", "p"], ["L", "rate", "force"])


def line_histories(model: Model, q: Array, qd: Array, p: Array) -> tuple[Array, Array, Array]:
    """(N, couplings) lengths, their rates, and forces apart of what acts by itself."""
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


def _touch_function(model: Model) -> Any:
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
    """Refuse starts (N, n_q) of arms with parameters (N, P) at which a cylinder is shorter or longer than it can be."""
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


def rest_on_couplings(model: Model, q: Array, loads: Sequence[Any], p: ArrayLike | None) -> Array:
    """Coordinates (n_q,) at rest with joints where `q` has them: cylinders carry what passive joints do not, and links
    bend under all of it."""
    chain, layout = model.chain, model.layout
    passive = [shaft.index for shaft in layout.all_shafts if shaft.passive]
    joints = {k for link in chain.links for k in link.joint_indices} | {s.index for s in layout.all_shafts}
    unknown = [k for k in range(model.n) if k not in joints]
    at, rows = [model.coordinates.index(model.speeds[k]) for k in unknown], [*unknown, *passive]
    held = [k for k, coupling in enumerate(layout.commanded) if coupling.states]

    def residual() -> Any:
        x, f, still = ca.SX.sym("q", model.n_q), ca.SX.sym("f", len(held)), ca.SX.zeros(model.n)
        push = ca.SX.zeros(len(layout.commanded))
        push[held] = f
        applied = sum((load.expression(chain, ca.SX(0), x, still) for load in loads), still)
        found = (model.equations.bias(x, still) - applied - line_forces(chain, x, push))[rows]
        slope = ca.horzcat(chain.jacobian(found, x)[:, unknown], ca.jacobian(found, f))
        return ca.Function("rest", [x, f, model.parameter_symbols], [ca.densify(found), ca.densify(slope)])

    with SYMBOLS:
        function = model.derived("rest on couplings", tuple(map(Same, loads)), residual)
    q, force, last = layout.followed(np.array(q, dtype=float)), np.zeros(len(held)), np.inf
    for _ in range(MOST_STEPS):
        r, K = (np.array(part, dtype=float) for part in function(q, force, model.values(p)))
        step = _solved(K, -r.ravel())
        q[at] += step[: len(at)]
        force += step[len(at) :]
        pairs = ((step[: len(at)], q[at]), (step[len(at) :], force))
        size = max(
            np.abs(change).max(initial=0.0) / max(np.abs(whole).max(initial=0.0), TINY) for change, whole in pairs
        )
        if size <= CONVERGED or last <= size <= STALLED:
            return q
        last = size
    raise PliantError(
        "equilibrium: no rest on the couplings found; check that each passive joint is held by one of them"
    )


def _solved(K: Array, r: Array) -> Array:
    """By Gauss where there is one solution; the smallest one where couplings share a load, or a torque carries it."""
    try:
        return np.asarray(np.linalg.solve(K, r))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(K, r, rcond=None)[0])
