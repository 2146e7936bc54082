"""Linear equations of motion about a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression
from pliant.base.derived import Same
from pliant.model import building
from pliant.model.loops import loop_motion
from pliant.model.terms import StateSpace

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.model import Model


def state_space(
    model: Model,
    q: Array,
    qd: Array,
    tau: ArrayLike,
    *,
    free: list[int],
    outputs: Callable[[Expression, Expression], Expression] | None,
    loads: Sequence[Load],
    p: ArrayLike | None,
) -> StateSpace:
    """Return the linear system about a state, of the speeds `free`; where loops are closed, of those they leave."""
    n = model.n
    slopes = _slopes(model, q, qd, tau, free=free, loads=loads, p=p)
    by_q, by_qd, by_tau, rates_by_q = (np.asarray(slope, dtype=float).reshape(n, -1)[free] for slope in slopes)
    if model.constraints:
        own, T = loop_motion.independent_motion(model, q, qd, free, p)
    else:
        own, T = free, np.eye(2 * n)[:, [*free, *(n + k for k in free)]]  # state of all speeds from that of the free
    rows = [free.index(k) for k in own]
    rates = np.hstack([rates_by_q, np.eye(n)[free]])[rows]
    accelerations = np.hstack([by_q, by_qd])[rows]
    A = np.vstack([rates, accelerations]) @ T
    B = np.vstack([np.zeros((len(own), model.n_joints)), by_tau[rows]])
    if outputs is None:
        C = np.eye(2 * len(own))
    else:
        C = building.output_matrix(model, outputs, q, qd, model.values(p)) @ T
    return StateSpace(A, B, C, np.zeros((C.shape[0], model.n_joints)))


def _slopes(
    model: Model, q: Array, qd: Array, tau: ArrayLike, *, free: list[int], loads: Sequence[Load], p: ArrayLike | None
) -> Sequence[Array]:
    """Slopes of the accelerations by q, qd and tau, and of the rates of q by q, under loads, with all others held."""
    values = model.values(p)
    if not len(loads) and len(free) == model.n:
        return list(model.kernel("linearize")(q, qd, tau, *([values] if model.parameters else [])))
    key = tuple(map(Same, loads)), tuple(free)
    function = model.derived("slopes of accelerations", key, lambda: building.slopes(model, tuple(loads), tuple(free)))
    return [np.array(slope, dtype=float) for slope in function(q, qd, np.asarray(tau), values)]
