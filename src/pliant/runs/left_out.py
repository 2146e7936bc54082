"""What a run says of the terms of second order that its model leaves out by our own choice."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from pliant.arrays import Array
from pliant.errors import UnsupportedModel
from pliant.model import Model
from pliant.model.level import Effect
from pliant.model.level_choice import RootLoads, effects, worst
from pliant.model.validity import Findings
from pliant.robot import Link, in_pieces
from pliant.runs.internal_forces import RunHistory
from pliant.runs.results import Result


def judge_run(result: Result) -> Findings:
    """What second order would have changed under the forces of this run, if it is to be told."""
    if not result.model.level.in_doubt:
        return {}
    effect = second_order_effect(result)
    return {} if effect is None else result.model.level.doubt(effect)


def second_order_effect(result: Result) -> Effect | None:
    """The largest change that second order would have made under the forces of a run; None where these are not
    known."""
    loads = [load for load in result.history.loads if hasattr(load, "points")]  # others do not say where they act
    history = replace(result.history, loads=loads)
    try:
        found = [effects(link, _root_loads(history, link)) for link in result.model.bodies if link.bends]
    except UnsupportedModel:
        return None  # forces inside beams whose modes follow the arm are not known
    return max(chain.from_iterable(found), key=lambda effect: effect.size, default=None)


def judge_speeds(model: Model, qd: Array) -> Findings:
    """What weight at the worst pose and these rates (..., n) may have changed, if it is to be told."""
    if not model.level.in_doubt:
        return {}
    largest = np.nan_to_num(np.abs(qd)).max(axis=tuple(range(qd.ndim - 1)))  # arms that ended early have no more rates
    speeds = {shaft.name: largest[shaft.index] for shaft in model.chain.shafts if shaft.turns}
    return model.level.doubt(worst(in_pieces(model.robot), speeds))


def _root_loads(history: RunHistory, link: Link) -> RootLoads:
    """Largest forces at the root of a beam; one that slides is as long as it came out."""
    force, moment = history.reaction(link.name)
    assert link.beam is not None
    long = np.max(history.q[:, history.model.index(link.name)]) if link.beam.slides else link.beam.length
    axial, torque = (float(np.max(np.abs(x[:, 0]))) for x in (force, moment))
    return RootLoads(axial, float(np.max(np.hypot(moment[:, 1], moment[:, 2]))), torque, float(long))
