"""Many arms on the packs of batches: one call of a compiled loop advances them all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.algebra.tableaux import explicit
from pliant.arrays import Array, Booleans, Integers
from pliant.compute.tape import one_sided_time
from pliant.errors import UnsupportedModel, warn_user
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments
from pliant.options import PackedName
from pliant.simulation.batch.batch_equations import BatchEquations
from pliant.simulation.runs.checks.limits import JointLimit, passing_words
from pliant.simulation.stepper.known_breaks import SAME, KnownBreaks
from pliant.simulation.stepper.watches import EnergyWatch, ValidityWatch

SavedArms = tuple[float, Array, Array, NDArray[np.object_]]
"""Time, states, inputs, and where arms stand still."""
BROKEN = "broke down"
MOST_STEPS = 1e7
"""Integrator steps of one arm in one step of the caller, at most."""


class ManyArms:
    """B arms of one model with one clock. `stopped` (B,) gives the reason why an arm stands still."""

    def __init__(
        self, f: BatchEquations, limits: Sequence[JointLimit], method: str, step: float | None,
        rtol: float, atol: float, p: Array, q: Array, qd: Array,
    ) -> None:  # fmt: skip
        if method not in get_args(PackedName):
            expected = " or ".join(get_args(PackedName))
            raise UnsupportedModel(f"method: got {method!r}, expected {expected} for many arms")
        key, c = (method, f.has_constant, f.n, f.judged), f.composition
        make = partial(
            BatchIntegrator, f.function, explicit(method), quaternions=c.quaternions, judged=f.judged,
            closing=f.closing, approach=f.approach,
        )  # fmt: skip
        self._integrator: BatchIntegrator = c.derived("packs", key, make)
        self._f, self._limits, self._fixed, self._step = f, limits, not explicit(method).adaptive, step
        self._settings = np.array([rtol, atol, step or np.inf, MOST_STEPS])
        self._m = c.m
        self.t, self.p = 0.0, np.hstack([np.zeros((len(p), c.m)), p])
        self.x = np.zeros((len(p), f.n))
        self._breaks = KnownBreaks(c)
        self.stopped = np.full(len(p), "", dtype=object)
        self._told = False
        self.energy, self._validity = EnergyWatch(c.model), ValidityWatch(c)
        self.start(q, qd)

    def _held(self, t: float) -> Array:
        """Pieces (1, ...) of the series that hold at a time."""
        return np.ascontiguousarray(self._f.composition.series_at(np.array([t])))

    def start(self, q: Array, qd: Array) -> None:
        """Put all arms back to time 0, at these states."""
        self.t = 0.0
        self.place(q, qd, slice(None))

    def place(self, q: Array, qd: Array, arms: slice | Integers = slice(None)) -> None:
        """Put some arms at these states now."""
        x = self._f.start(q, qd, np)
        self.x[arms] = self._f.loaded(x, self._held(self.t), self.p[arms])
        self.stopped[arms] = ""
        self._judge(np.asarray(np.isfinite(self.x).all(axis=1)))
        self.balanced()

    def balanced(self) -> None:
        """Let the energy balance begin at the present states, some of which were set from outside."""
        self.energy.begin(*self._seen())

    def _seen(self) -> tuple[float, Array, Array, Array, Array]:
        """Time, coordinates, rates, work and parameters."""
        q, qd = self.coordinates()
        return self.t, q, qd, self.x[:, -1], self.p[:, self._m :]

    def command(self, tau: ArrayLike) -> None:
        """Set torques (m,) or (B, m) from now on."""
        self.p[:, : self._m] = tau

    def advance(self, dt: float) -> Booleans:
        """Advance by `dt`. Return which arms (B,) went on for that time; others have stopped, and stay where they
        are."""
        end, near = self.t + dt, SAME * dt
        self._breaks.look(end + near)
        still, before = self.stopped != "", self.x.copy()
        while True:
            stop = self._breaks.following(self.t + near)
            if stop > end + near:
                stop = end
            self._stretch(stop, dt if self.t + dt == stop else stop - self.t)
            self.t = stop
            jump = self._breaks.jump(stop)
            if jump is not None:
                self.x = np.ascontiguousarray(
                    self._f.impulse_kernel(jump[0], self.x, self._held(stop), self.p, jump[1], jump[2])
                )
            if stop >= end - near:
                break
        sound = np.asarray(np.isfinite(self.x).all(axis=1))
        self.x[still | ~sound] = before[still | ~sound]
        self._judge(sound)
        if self.energy.due():
            seen = self._seen()
            self.energy.look(*seen)
            self._validity.look(*seen[:3], self.x, self.p)
        return np.asarray(self.stopped == "")

    def _stretch(self, end: float, length: float) -> None:
        """Advance all arms to a time, without judging them. A whole step has the length that was asked for, without the
        rounding of the clock, so that bits do not depend on the time."""
        count = 0
        if self._fixed:
            count = max(1, int(np.ceil(length / self._step * (1 - 1e-10)))) if self._step is not None else 1
        none = np.zeros(1, dtype=np.int64)
        plan = TimeSegments(
            np.full(1, self.t), np.full(1, length / count if count else end), np.full(1, count), none - 1, none
        )
        out = np.empty((len(self.x), 0, self.x.shape[1]))
        counts = self._integrator(
            self.x, self._held(one_sided_time.after(self.t))[None], self.p, plan, out, self._settings
        )
        if count and not self._told and counts[:, 1].any():
            self._told = True
            warn_user(passing_words(int(counts[:, 1].max())))

    def _judge(self, sound: Booleans) -> None:
        """Note arms that have left a limit or broken down."""
        moving = self.stopped == ""
        self.stopped[moving & ~sound] = BROKEN
        if self._limits:
            q, qd = self.coordinates()
            for limit in self._limits:
                self.stopped[(self.stopped == "") & limit.left(q.T, qd.T)] = limit.name

    def coordinates(self) -> tuple[Array, Array]:
        """All coordinates and rates, (B, n_q) and (B, n)."""
        c = self._f.composition
        if not c.prescribed:
            return self.x[:, : c.n_q], self.x[:, c.n_q : c.moving]
        q, qd = self._f.coordinate_kernel(np.full(1, self.t), self.x, self._held(self.t), self.p)
        return q, qd

    def save(self) -> SavedArms:
        """Return the state from which the next step follows."""
        return self.t, self.x.copy(), self.p.copy(), self.stopped.copy()

    def restore(self, kept: SavedArms) -> None:
        """Go on from a saved state."""
        t, x, p, stopped = kept
        self.t, self.x, self.p, self.stopped = t, x.copy(), p.copy(), stopped.copy()
        self.balanced()
