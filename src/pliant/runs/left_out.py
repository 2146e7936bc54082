"""What a run says of the terms of second order that its model leaves out by our own choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.model import Model
from pliant.model.level import Effect, is_checked
from pliant.model.level_choice import effects
from pliant.model.states import read_state
from pliant.model.stiffening_check import (
    carried_loads,
    checked_links,
    fitted,
    largest,
    seen_model,
    speeds_bound,
    with_values,
)
from pliant.model.validity import Findings
from pliant.robot import in_pieces
from pliant.runs.internal_forces import RunHistory
from pliant.runs.results import Result

SHARES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
"""Times, as parts of a run, at which its loads are looked at before it begins."""


def fitted_to_start(
    model: Model, q0: Any, qd0: Any, loads: Sequence[Any] = (), p: ArrayLike | None = None, t_end: float = 0.0,
    many: bool = False,
) -> Model:  # fmt: skip
    """The model of a run, or the same with second order where its start, its loads over the time, or its parameters
    ask for it."""
    if not model.level.can_rise or hasattr(q0, "__cuda_array_interface__"):
        return model  # judged behind the run, by its forces or its speeds
    q = read_state(model, None if isinstance(q0, str) else q0, "q0", many)
    qd = read_state(model, qd0, "qd0", many)
    own = None if p is None else np.asarray(p, dtype=float)[..., : len(model.parameters)]  # gains may follow
    return fitted(model, q, loads, own, qd, tuple(share * t_end for share in SHARES) if t_end else (0.0,))


def judge_run(result: Result) -> Findings:
    """What second order would have changed under the forces of this run, if it is to be told."""
    model = result.model
    if not is_checked(model):
        return {}
    if (
        not model.level.in_doubt
        and not speeds_bound(model, _parameters(result), result.qd).noticed
        and not (result.history.loads or model.robot.couplings or model.robot.contacts or model.constraints)
    ):
        return {}
    effect = second_order_effect(result)
    return {} if effect is None else model.level.doubt(effect)


def second_order_effect(result: Result, chosen: bool = False) -> Effect | None:
    """The largest change that second order would have made under the forces of a run, also where its absence was
    `chosen`; None where these are not known."""
    model = result.model
    links = checked_links(model, chosen)
    if not links:
        return None
    loads = [load for load in result.history.loads if hasattr(load, "points")]  # others do not say where they act
    history = replace(result.history, loads=loads, model=seen_model(model))
    numbers = [k for k, _ in links]
    try:
        found = history.over_time(("loads of links", *numbers), lambda forces: carried_loads(forces, numbers))
    except UnsupportedModel:
        return None
    own = {link.name: link for link in in_pieces(with_values(model, _parameters(result))).bodies}
    sized = [
        effects(own[link.name], largest(own[link.name], _rows(rows), _length(history, link)))
        for (_, link), rows in zip(links, found)
    ]
    return max(chain.from_iterable(sized), key=lambda effect: effect.size, default=None)


def judge_speeds(model: Model, qd: Array, p: Array | None = None) -> Findings:
    """What weight at the worst pose, these rates (..., n) and parameters (..., P) may have changed, if it is to be
    told."""
    if not is_checked(model):
        return {}
    rates = np.nan_to_num(qd).reshape(-1, qd.shape[-1])  # arms that ended early have no more rates
    return model.level.doubt(speeds_bound(model, p, rates))


def _parameters(result: Result) -> Array | None:
    return result.parameters if len(result.model.parameters) else None


def _rows(found: Array) -> Array:
    """(N, 6) of all sections and times."""
    return np.moveaxis(found.reshape(len(found), 6, -1), 1, 2).reshape(-1, 6)


def _length(history: RunHistory, link: Any) -> float | None:
    """Of a beam that slides, as long as it came out."""
    if link.beam is None or not link.beam.slides:
        return None
    return float(np.max(history.q[:, history.model.index(link.name)]))
