"""Checks, now and then, of arms that their caller advances: limits of their model, and their energy balance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.errors import warn_user
from pliant.model.model import Model
from pliant.model.stiffening.stiffening_order import is_checked
from pliant.model.validity import steep, tell
from pliant.simulation.runs.checks.energy_balance import ALLOWED, EnergyBalance, energies_to_judge
from pliant.simulation.runs.checks.neglected_terms import Farthest, asks_forces, judge_histories, judge_speeds
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.quantities.internal_forces import RunHistory


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


SELDOM = 256
"""Steps of the caller between two looks; the first ones come sooner, after 1, 2, 4, ... steps."""


class EnergyWatch:
    """Judges the energy of arms between states that are given to it, and warns once of one that does not balance.

    `begin` takes the state from which on the energy has to balance: at the start, and wherever states or parameters are
    set from outside. `due` is asked after every step, `look` shows it a state.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._balance = model, EnergyBalance(model)
        self._steps, self._next, self._told = 0, 1, False
        self._first: tuple[float, Array, Array, Array, Array] | None = None
        self._work: Array = np.zeros(1)
        self._worked: Array = np.zeros(1)

    def begin(self, t: float, q: Array, qd: Array, work: Array, p: Array) -> None:
        """States (B, n), work (B,) and parameters (B, P) or (1, P) from which on the energy has to balance."""
        self._first = (t, q.copy(), qd.copy(), work.copy(), p.copy())
        self._steps, self._next = 0, 1
        self._balance.restart()

    def due(self) -> bool:
        """Count a step, and say whether the energy is to be looked at behind it."""
        self._steps += 1
        return self._steps >= self._next

    def look(self, t: float, q: Array, qd: Array, work: Array, p: Array) -> None:
        """Judge the states (B, n) behind a step."""
        self._next += min(self._steps, SELDOM)
        if self._first:
            self._add(*self._first)
            self._first = None
        self._add(t, q, qd, work, p)
        part = self.part
        if not self._told and part.max() > ALLOWED:
            self._told, arm = True, int(part.argmax())
            more = f"; {int((part > ALLOWED).sum())} of {len(part)} arms" if len(part) > 1 else ""
            warn_user(f"{self._balance.finding(arm)}{more}")

    @property
    def part(self) -> Array:
        """(B,) error of the energy over what moved, as far as it was looked at."""
        return self._balance.part if self._balance.seen else np.zeros(1)

    def _add(self, t: float, q: Array, qd: Array, work: Array, p: Array) -> None:
        moving = np.asarray(np.isfinite(q).all(axis=1) & np.isfinite(qd).all(axis=1))
        q, qd = (np.where(moving[:, None], x, 0.0) for x in (q, qd))
        energy = energies_to_judge(self._model, q, qd, p if p.size else None)
        blank = np.where(moving, 0.0, np.nan)
        change = np.zeros(len(work)) if self._first or self._work.shape != work.shape else np.abs(work - self._work)
        self._worked = np.where(moving, change, 0.0) + self._worked
        self._work = work.copy()
        rows = type(energy)(*((part + blank)[:, None] for part in energy))
        self._balance.add(np.array([t]), rows, work[:, None], self._worked[:, None])
