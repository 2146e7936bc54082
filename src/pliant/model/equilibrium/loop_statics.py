"""Rest of arms on cylinders, and slopes of rest where loops, cylinders and passive joints carry one another. All are
solved as one balance.

Unknown are displacements along some speeds, forces f of couplings that hold their length L, and multipliers of loops:

    bias - loads - (dL/dq)^T f - J^T multipliers = 0   on the rows of what may move,      g(q) = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.content import content
from pliant.base.derived import Same
from pliant.base.later import LaterModule
from pliant.errors import ModelError, PliantError
from pliant.model.equilibrium import statics
from pliant.model.interpreted import interpreted
from pliant.model.loops import assembly, loop_motion
from pliant.model.states import moved

if TYPE_CHECKING:
    import casadi as ca

    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.loops import loop_functions
    from pliant.model.model import Model
else:  # the rest of a known arm needs no expressions
    loop_functions = LaterModule("pliant.model.loops.loop_functions")

Evaluate = Callable[[Array, Array, Array], list[Array]]
TINY = 1e-300


class Balance(NamedTuple):
    """Speeds along which an arm gives way, the rows that balance, one of them or of passive joints, and the numbers
    of the commanded couplings that hold their length."""

    unknown: tuple[int, ...]
    rows: tuple[int, ...]
    holding: tuple[int, ...]


def balance_of(model: Model, q: Array, p: ArrayLike | None, named: Collection[int] = ()) -> Balance:
    """Balance of an arm near a closed state, whose actuated joints stand. On cylinders passive joints stand too, unless
    they follow from loops. Those that are `named` stand if others can follow."""
    layout = model.layout
    holding = tuple(k for k, coupling in enumerate(layout.commanded) if coupling.states)
    joints, driven = layout.joint_speeds, {shaft.index for shaft in layout.shafts}
    passive = [k for k in joints if k not in driven]
    motors = {shaft.actuated: shaft.index for shaft in layout.driven}
    bending = [k for k in range(model.n) if k not in joints]
    follow = _following(model, q, p, passive, bending, named) if holding else passive
    rows = [motors.get(k, k) for k in bending]  # a motor is placed by the balance of the joint that it drives
    return Balance((*bending, *follow), (*rows, *passive), holding)


def _following(
    model: Model, q: Array, p: ArrayLike | None, passive: list[int], bending: list[int], named: Collection[int]
) -> list[int]:
    """Passive joints that follow from loops."""
    if not model.constraints:
        return []
    J = loop_motion.row_slopes(model, q, p, np.zeros(len(model.constraints))).J
    for free in ([k for k in passive if k not in named], passive):
        try:
            return loop_motion.dependent(model, q, J, free, p)
        except ModelError:
            continue
    return [k for k in loop_motion.dependent(model, q, J, [*passive, *bending], p) if k in passive]


def _function(model: Model, loads: Sequence[Load], by: Balance) -> Evaluate:
    """Return the function (q, f and multipliers, p) -> residual of a balance, and its slopes by the unknown
    displacements, by f and multipliers, and by p."""

    known, key = content(by, list(loads), by="form"), (by, *map(Same, loads))

    def trace() -> ca.Function:
        return loop_functions.balance(model, loads, unknown=by.unknown, rows=by.rows, holding=by.holding)

    kernel = interpreted(model, "balances", trace, key, known)
    count, unknown = len(by.rows) + len(model.constraints), len(by.unknown)

    def evaluate(q: Array, carried: Array, p: Array) -> list[Array]:
        left, *slopes = kernel.interpreted(q, carried, p)
        return [left, *(a.reshape(count, size) for a, size in zip(slopes, (unknown, len(carried), len(p))))]

    return evaluate


def rest_on_couplings(
    model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, named: Collection[int] = ()
) -> Array:
    """Coordinates (n_q,) at rest with joints where `q` has them: cylinders carry what passive joints do not, links bend
    under all of it, and joints that loops place follow."""
    values, q = np.asarray(model.values(p)), model.layout.followed(np.array(q, dtype=float))
    if model.constraints:
        q = assembly.closed_with(model, q, values, named)
    by = balance_of(model, q, p, named)
    function, count = _function(model, loads, by), len(by.unknown)
    carried, shift, last = np.zeros(len(by.holding) + len(model.constraints)), np.zeros(count), np.inf
    for _ in range(statics.MOST_STEPS):
        left, by_q, by_carried, _ = function(q, carried, values)
        step = _solved(np.hstack([by_q, by_carried]), -left.ravel())
        whole = np.zeros(model.n)
        whole[list(by.unknown)] = step[:count]
        q, carried, shift = moved(model.layout, q, whole), carried + step[count:], shift + step[:count]
        pairs = ((step[:count], shift), (step[count:], carried))
        size = max(np.abs(x).max(initial=0.0) / max(np.abs(all_of).max(initial=0.0), TINY) for x, all_of in pairs)
        if size <= statics.CONVERGED or last <= size <= statics.STALLED:
            return q
        last = size
    raise PliantError(
        "equilibrium: no rest on the couplings found; check that each passive joint is held by one of them"
    )


def slope_of_rest(
    model: Model, q: Array, loads: Sequence[Load], p: ArrayLike | None, named: Collection[int] = ()
) -> Array:
    """(n, P) derivative of a state of rest by the parameters, along the speeds."""
    by, values, out = balance_of(model, q, p, named), model.values(p), np.zeros((model.n, len(model.parameters)))
    function = _function(model, loads, by)
    nothing = np.zeros(len(by.holding) + len(model.constraints))
    left, _, by_carried, _ = function(q, nothing, values)  # which is linear in what is carried
    carried = np.asarray(np.linalg.lstsq(by_carried, -left.ravel(), rcond=None)[0], dtype=float)
    _, by_q, by_carried, by_p = function(q, carried, values)
    out[list(by.unknown)] = -_solved(np.hstack([by_q, by_carried]), by_p)[: len(by.unknown)]
    return out


def _solved(K: Array, r: Array) -> Array:
    """Solve by Gauss where there is one solution. Return the smallest one where couplings share a load, or a torque
    carries it."""
    try:
        return np.asarray(np.linalg.solve(K, r))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(K, r, rcond=None)[0])
