"""Check now and then that arms that their caller advances stay within the limits of their model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.model.stiffening_order import is_checked
from pliant.model.validity import steep, tell
from pliant.simulation.runs.composition import Composition
from pliant.simulation.runs.internal_forces import RunHistory
from pliant.simulation.runs.neglected_terms import Farthest, asks_forces, judge_histories, judge_speeds


class ValidityWatch:
    """Judges slopes of beams, and the terms that a model of first order leaves out by "auto", in states that are shown
    to it. Each finding gives one warning."""

    def __init__(self, composition: Composition) -> None:
        self._composition, self._model = composition, composition.model
        self._farthest = Farthest()
        self._steep = self._left = False

    def look(self, t: float, q: Array, qd: Array, x: Array, p: Array) -> None:
        """Judge coordinates (B, n_q) and rates (B, n) of arms with states x (B, size) under inputs p (B or 1, ...):
        torques first, parameters last."""
        c, model = self._composition, self._model
        torques = p[:, : c.m] if len(p) == len(q) else np.broadcast_to(p[:, : c.m], (len(q), c.m))
        if not (np.abs(np.concatenate((q, qd, torques), axis=1)) > self._farthest.bound).any():
            return
        arms = self._farthest.arms(q, qd, torques)
        if not self._steep:
            found = steep(model, np.nan_to_num(q))
            tell(model, found)
            self._steep = bool(found)
        if is_checked(model) and not self._left:
            own = p[:, p.shape[1] - len(model.parameters) :]
            found = judge_speeds(model, qd, own if own.size else None)
            found = found or judge_histories(self._histories(arms, t, q, qd, x, p))
            tell(model, found)
            self._left = bool(found)

    def _histories(
        self, arms: Sequence[int], t: float, q: Array, qd: Array, x: Array, p: Array
    ) -> Iterator[RunHistory]:  # fmt: skip
        """The moment of some arms."""
        c, model = self._composition, self._model
        own, now = p[:, p.shape[1] - len(model.parameters) :], np.array([t])
        for arm in arms:
            if not np.isfinite(x[arm]).all():
                continue
            k = 0 if len(p) == 1 else arm
            inputs = np.hstack([p[[k], : c.m], c.series_at(now)])
            tau, _, qdd, multipliers = c.torques(now, x[[arm]], inputs, own[k])
            if asks_forces(model, c.loads, c.base, own[k] if own.size else None, qd[[arm]], qdd):
                given = tau[:, model.n_joints :], multipliers, c.loads, c.base
                yield RunHistory(model, now, q[[arm]], qd[[arm]], qdd, own[k], *given)
