"""Effect of second-order terms that the model of a run leaves out where the user left the choice to us.

Before a run, `fitted_to_start` takes a model with these terms if its start, loads or prescribed motion ask for it.
After the run, `judge_run` estimates their effect from the forces in the links, and warns if they would have counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.compute.tape import one_sided_time
from pliant.errors import UnsupportedModel
from pliant.model.model import Model
from pliant.model.states import read_state
from pliant.model.stiffening.stiffening_check import (
    Course,
    checked_links,
    fitted,
    largest,
    seen_model,
    speeds_bound,
    with_values,
)
from pliant.model.stiffening.stiffening_choice import effects
from pliant.model.stiffening.stiffening_order import Effect, is_checked
from pliant.model.validity import Findings
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces
from pliant.simulation.runs.results import Result

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.stiffening import link_loads
    from pliant.protocols import MovingBase, PrescribedMotion
    from pliant.simulation.runs.equations import prescribed_paths
    from pliant.simulation.runs.quantities.internal_forces import RunHistory
else:  # a known run needs no expressions
    link_loads = LaterModule("pliant.model.stiffening.link_loads")
    prescribed_paths = LaterModule("pliant.simulation.runs.equations.prescribed_paths")

LOOKS = 4096
"""Times of a run at which its loads and prescribed motions are judged before it begins: a pulse of a thousandth of its
time is seen."""
EARLY, HOURS, SOON = 1e-3, 1e4, 10.0
"""Seconds: a run without an end is judged at even times until the last, and at geometric ones between the first two."""
PER_DECADE = 40
MOST_ARMS = 4
"""Arms of a batch whose forces are judged."""
FARTHER = 1.05
"""Coordinates, rates and torques over the largest ones so far, from which on arms are judged again."""


def fitted_to_start(
    model: Model, q0: StateLike | None, qd0: StateLike | None, loads: Sequence[Load] = (),
    p: ArrayLike | None = None, t_end: float | None = 0.0, many: bool = False, *,
    motion: Mapping[str, PrescribedMotion] | None = None, base: MovingBase | None = None,
) -> Model:  # fmt: skip
    """The model of a run, or the same with second order if its start, its parameters, or its loads, prescribed motion
    or motion of the base over the time ask for it. For a run without an end (None) hours are judged."""
    if not model.level.can_rise or hasattr(q0, "__cuda_array_interface__"):
        return model  # judged after the run, by its forces or its speeds
    q = read_state(model, None if isinstance(q0, str) else q0, "q0", many)
    qd = read_state(model, qd0, "qd0", many)
    own = None if p is None else np.asarray(p, dtype=float)[..., : len(model.parameters)]  # gains may follow
    return fitted(model, q, loads, own, qd, _course(model, loads, motion or {}, base, t_end))


def _course(
    model: Model, loads: Sequence[Load], motion: Mapping[str, PrescribedMotion], base: MovingBase | None,
    t_end: float | None,
) -> Course:  # fmt: skip
    """Times and inputs of a run that are known before it; loops follow prescribed coordinates in the run only."""
    if t_end is None:
        decades = int(PER_DECADE * np.log10(HOURS / EARLY))
        times = np.union1d(np.linspace(0.0, SOON, LOOKS // 2), np.geomspace(EARLY, HOURS, decades))
    else:
        times = np.linspace(0.0, t_end, LOOKS + 1) if t_end else np.zeros(1)
    breaks = [b for part in (*loads, *motion.values(), base) for b in getattr(part, "breaks", ()) if 0 < b <= times[-1]]
    edges = np.array([0.0, *sorted(breaks), times[-1]])
    times = np.unique(
        [*times, *one_sided_time.before(edges[1:]), *one_sided_time.after(edges[:-1]), *(edges[1:] + edges[:-1]) / 2]
    )
    prescribed = bool(motion) and model.layout.is_open
    return Course(times, base, prescribed_paths.paths_over(model, motion, times) if prescribed else ())


def judge_run(result: Result) -> Findings:
    """Finding about the effect of second order under the forces of this run, if it is large enough for a warning."""
    model = result.model
    p = result.parameters if len(model.parameters) else None
    loads, base = result.acted or ((), None)
    if not is_checked(model) or not asks_forces(model, loads, base, p, result.qd, differences(result.t, result.qd)):
        return {}
    effect = second_order_effect(result.history)
    return {} if effect is None else model.level.doubt(effect)


def asks_forces(
    model: Model, loads: Sequence[Load], base: MovingBase | None, p: Array | None, qd: Array, qdd: Array | None = None
) -> bool:
    """Return whether the forces of a run are to be judged. They are, unless only bodies lack second order, and only
    slow joints move them."""
    tied = model.robot.couplings or model.robot.contacts or model.constraints
    return bool(
        model.level.in_doubt or len(loads) or base is not None or tied or speeds_bound(model, p, qd, qdd).noticed
    )


def differences(t: Array, qd: Array) -> Array | None:
    """Accelerations by differences of rows, as bounds for joints; faster vibrations are not joints."""
    steps = np.diff(t)
    if not (steps > 0).any():
        return None
    return np.asarray(np.diff(qd, axis=0)[steps > 0] / steps[steps > 0, None])


def second_order_effect(history: RunHistory, chosen: bool = False) -> Effect | None:
    """The largest change that second order would have made under the forces of a run; with `chosen`, also where the
    user chose to leave it out. None where the forces are not known."""
    model = history.model
    links = checked_links(model, chosen)
    if not links:
        return None
    loads = [load for load in history.loads if hasattr(load, "points")]  # others do not say where they act
    known = replace(history, loads=loads, model=seen_model(model))
    numbers = [k for k, _ in links]
    try:
        found = known.over_time(("loads of links", *numbers), lambda forces: link_loads.carried_loads(forces, numbers))
    except UnsupportedModel:
        return None
    values = history.parameters if len(model.parameters) else None
    own = {link.name: link for link in in_pieces(with_values(model, values)).bodies}
    sized = [
        effects(own[link.name], largest(own[link.name], _rows(rows), _length(history, link)))
        for (_, link), rows in zip(links, found)
    ]
    return max(chain.from_iterable(sized), key=lambda effect: effect.size, default=None)


def judge_speeds(model: Model, qd: Array, p: Array | None = None) -> Findings:
    """Finding about the effect of second order that weight at the worst pose, these rates (..., n) and parameters
    (..., P) may have, if it is large enough for a warning."""
    if not is_checked(model):
        return {}
    rates = np.nan_to_num(qd).reshape(-1, qd.shape[-1])  # arms that ended early have no more rates
    return model.level.doubt(speeds_bound(model, p, rates))


def judge_histories(histories: Iterable[RunHistory]) -> Findings:
    """Finding about the arm with the largest effect of second order, if it is large enough for a warning."""
    found: Findings = {}
    most = 0.0
    for history in histories:
        effect = second_order_effect(history)
        if effect is not None and effect.noticed and effect.size > most:
            most, found = effect.size, history.model.level.doubt(effect)
    return found


class Farthest:
    """The largest coordinates, rates and torques of many arms so far, so that they are judged again only where they
    have grown."""

    def __init__(self) -> None:
        self._reach: Array | None = None
        self.bound: Array = np.full(1, -1.0)
        """Magnitudes beyond which an arm is judged again."""

    def arms(self, *rows: Array) -> list[int]:
        """Numbers of the arms that go farthest, from values (B, ...); none if arms have been as far before."""
        each = [np.abs(np.nan_to_num(x)).reshape(len(x), -1, x.shape[-1]).max(axis=1) for x in rows if x.shape[-1]]
        reach = np.concatenate(each, axis=1)
        most = reach.max(axis=0, initial=0.0)
        if not (most > self.bound).any():
            return []
        self._reach = most if self._reach is None else np.maximum(most, self._reach)
        self.bound = FARTHER * self._reach
        parts = np.divide(reach, most, out=np.zeros_like(reach), where=most > 0)
        order = [int(parts.sum(axis=1).argmax()), *parts.argmax(axis=0).tolist()]
        return sorted(list(dict.fromkeys(order))[:MOST_ARMS])


def _rows(found: Array) -> Array:
    """Loads (N, 6) of all sections and times, one below the other."""
    return np.moveaxis(found.reshape(len(found), 6, -1), 1, 2).reshape(-1, 6)


def _length(history: RunHistory, link: Link) -> float | None:
    """Largest free length of a sliding beam in the run; None for other links."""
    if link.beam is None or not link.beam.slides:
        return None
    return float(np.max(history.q[:, history.model.index(link.name)]))
