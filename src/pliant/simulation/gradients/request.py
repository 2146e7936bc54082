"""Arguments of a gradient, checked: the run, its cost, and the numbers by which it is differentiated.

`Inquiry.read` checks them. `Inquiry.slopes` turns the gradients that an integrator gives, by states at the start,
pieces of samples and entries of p, into gradients by the arguments that the user named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.derived import Same
from pliant.compute.llvm.kernel import Kernel
from pliant.control.controllers.controller import Controller, but_for, with_symbols
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.loads.wrenches import Load
from pliant.model.damping_drift import drifted_rows
from pliant.model.loops.start_slopes import start_slopes
from pliant.model.model import Model
from pliant.model.validity import tell
from pliant.protocols import MovingBase, PrescribedMotion
from pliant.simulation.batch.arguments import Given
from pliant.simulation.batch.batch_equations import BatchEquations, composed, read_drive, rows
from pliant.simulation.gradients.costs import Cost, CostedRun, samples_slope
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start
from pliant.simulation.runs.equations.start_columns import settled_columns
from pliant.simulation.runs.inputs import TorqueInput, names_that_stay, read_start, read_torque

POWERS = {"hold": 1, "linear": 2, "cubic": 4}
"""Coefficients of a piece of samples that are not zero."""


@dataclass(frozen=True)
class Wanted:
    """The numbers by which a run is differentiated, by name."""

    names: tuple[str, ...]
    chosen: list[int] = field(default_factory=list)
    """Entries of p, in the order of the batch."""
    parts: dict[str, tuple[slice, tuple[int, ...]]] = field(default_factory=dict)
    """Places of the entries of each name among those chosen, and their shape."""


@dataclass(frozen=True, eq=False)
class Inquiry:
    """A run, or many, with a cost to be differentiated."""

    f: BatchEquations
    run: CostedRun
    given: Given
    wanted: Wanted
    loads: tuple[Load, ...]
    settled: bool
    """Whether coordinates that were not named were left to settle first."""
    table: tuple[str, Array, str] | None
    """Name, times and kind of the samples."""
    many: bool
    key: tuple[object, ...]
    named: tuple[StateLike | None, StateLike | None]
    """q0 and qd0 as they were given."""

    @classmethod
    def read(
        cls, model: Model, q0: StateLike | None, qd0: StateLike | None, torque: Any, controller: Any,
        motion: Mapping[str, PrescribedMotion], p: ArrayLike | None, terminal: Cost | None, running: Cost | None,
        names: Sequence[str] | None, loads: tuple[Load, ...], base: MovingBase | None, equilibrium: bool, t_end: float,
        many: bool, device: str = "cpu",
    ) -> Inquiry:  # fmt: skip
        """Read the arguments of a gradient, which are like those of `simulate` or of `simulate_batch`."""
        if terminal is None and running is None:
            raise ModelError("terminal, running: got neither, expected at least one cost to differentiate")
        model = fitted_to_start(model, q0, qd0, loads, p, t_end, many, motion=motion, base=base)
        drives = {}
        for name, drive in (("torque", torque), ("controller", controller)):
            read_torque(model, drive, name, many)  # one arm's numbers have no batch axis
            drives[name] = read_drive(model, drive, name)
        asked = _asked(model, drives, names)
        opened = [name.removeprefix("controller.") for name in asked if name.startswith("controller.")]
        numbers: dict[str, Array] = {}
        if isinstance(controller, Controller) and opened:
            same = (but_for(controller, opened), tuple(opened))
            law = model.derived("laws with symbols", same, lambda: with_symbols(controller, opened, model))
            numbers = {name: np.asarray(getattr(controller, name), dtype=float) for name in opened}
            drives["controller"] = TorqueInput(traced=law)
        f = composed(model, drives["torque"], drives["controller"], motion, loads, base, False)
        arms: Array | None = None
        if p is not None:
            expected = (*model.parameters, *(() if numbers else f.gains))
            arms = rows(p, len(expected), "p", expected)
            if len(arms) > 1 and not many:
                raise ModelError(f"p: got shape {arms.shape}, expected ({len(expected)},); gradient_batch takes many")
        tell(model, drifted_rows(model, arms))
        values = _with_gains(model, arms, numbers)
        own = None if arms is None else arms[0 if len(arms) == 1 else slice(None), : len(model.parameters)]
        c = f.composition
        *start, work = read_start(
            model,
            q0,
            qd0,
            equilibrium=equilibrium,
            loads=loads,
            p=own,
            many=many,
            placed=c.on_paths,
            before=c.before_start,
        )
        if work is not None:
            raise UnsupportedModel(NO_JUMP)
        q, qd = (np.atleast_2d(x) for x in start)
        given = Given.read(
            f, q, qd, drives["torque"], drives["controller"], values, device=device, equilibrium=False, loads=loads
        )
        samples = {n: g for n, g in (("torque", torque), ("controller", controller)) if drives[n].samples is not None}
        table = None
        for name, told in samples.items():
            table = (name, np.asarray(told[0], dtype=float), told[2] if len(told) == 3 else "linear")
        powers = POWERS[table[2]] if table else 0
        key = (Same(terminal), Same(running), powers, f.has_constant, tuple(f.gains))
        run = f.composition.derived("costed runs", key, lambda: CostedRun(f, terminal, running, powers))
        return cls(
            f=f,
            run=run,
            given=given,
            wanted=_laid_out(f, drives, asked, numbers),
            loads=loads,
            settled=equilibrium or isinstance(q0, str),
            table=table,
            many=many,
            key=key,
            named=(q0, qd0),
        )

    # ------------------------------------------------------------------------------------------- numbers

    def starts(self) -> Array:
        """(B, n + 1) states at the start, the cost last."""
        f, B = self.f, self.given.arms
        q, qd = (np.broadcast_to(x, (B, x.shape[1])) for x in (self.given.q0, self.given.qd0))
        x = f.start(q, qd, np)
        if f.composition.n_drive_states:
            x = f.loaded(x, self._first_piece(), self.given.held(f))
        return np.concatenate([x, np.zeros((B, 1))], axis=1)

    def _first_piece(self) -> Array:
        samples, pieces = self.given.samples, self.given.pieces()
        return pieces[:, 0 if samples is None else int(samples.piece(np.zeros(1))[0])]

    @property
    def starts_change(self) -> bool:
        """True if the start depends on parameters or torques: it settles, friction is loaded there, or loops close."""
        c = self.f.composition
        return bool(c.n_drive_states or self.settled or c.model.constraints)

    # --------------------------------------------------------------------------------------------- slopes

    def slopes(self, by_x: Array, by_w: Array, by_p: Array, sampled: bool = False) -> dict[str, Array]:
        """Gradients by name, from those by the start (B, n + 1), by pieces (B, pieces, powers m) or, if `sampled`, by
        samples (B, K, m), and by p (B, chosen)."""
        c, f, B = self.f.composition, len(self.f.composition.free_places), len(by_x)
        loaded = self._through_friction(by_x)
        by_x, by_p = by_x + loaded[0], by_p + loaded[2]
        by_q, by_qd = np.zeros((B, c.n_q)), np.zeros((B, c.n))
        by_q[:, c.free_places], by_qd[:, c.free] = by_x[:, :f], by_x[:, f : c.moving]
        by_q = self._along_speeds(by_q)
        if c.model.constraints:
            by_q, by_qd, by_p = self._through_closing(by_q, by_qd, by_p)
        if self.settled and c.model.parameters:
            by_p = self._through_rest(by_q, by_p)
        out = {"q0": by_q, "qd0": by_qd}
        for name, (part, shape) in self.wanted.parts.items():
            out[name] = by_p[:, part].reshape(B, *shape)
        if self.table is not None:
            name, times, kind = self.table
            pieces = loaded[1] if sampled else by_w + loaded[1]
            slope = samples_slope(times, kind, pieces.reshape(B, pieces.shape[1], -1, c.m))
            out[name] = slope + by_w if sampled else slope
        return {name: out[name] if self.many else out[name][0] for name in self.wanted.names}

    def _along_speeds(self, by_q: Array) -> Array:
        """Derivatives along the speeds, where a quaternion has four coordinates and three speeds."""
        model = self.f.composition.model
        if model.layout.plain:
            return by_q

        def traced() -> Kernel:
            sizes = (("q", model.n_q), ("v", model.n), ("w", model.n_q))
            q, speeds, w = (ca.SX.sym(name, size) for name, size in sizes)
            by = ca.jtimes(model.chain.rates(q, speeds), speeds, w, True)
            return Kernel(ca.Function("along", [q, w], [ca.densify(by)]), "vm")

        along = model.derived("slopes along the speeds", (), traced)
        return np.asarray(along(np.broadcast_to(self.given.q0, by_q.shape), by_q))

    def _through_friction(self, by_x: Array) -> tuple[Array, Array, Array]:
        """Additions to the gradients by the start, by pieces and by p, because friction starts loaded by them."""
        c, run, chosen = self.f.composition, self.run, self.wanted.chosen
        n, w, B, pieces = run.n - 1, run.held.shape[0], len(by_x), self.given.pieces().shape[1]
        more = np.zeros_like(by_x), np.zeros((B, pieces, w)), np.zeros((B, len(chosen)))
        if not c.n_drive_states:
            return more

        def traced() -> Kernel:
            v, own = ca.SX.sym("v", c.n_drive_states), run.own[chosen] if chosen else ca.SX(0, 1)
            column = ca.jtimes(c.equations.loaded, ca.vertcat(run.states, run.held, own), v, True)
            return Kernel(self.f.function_of("load_slopes", [column], [v]), "vm")

        kernel = c.derived("slopes of loaded friction", (*self.key, tuple(chosen)), traced)
        place = slice(c.moving + c.n_states, c.moving + c.n_states + c.n_drive_states)
        x, seed = self.starts()[:, :-1], by_x[:, place]
        found = np.asarray(kernel(np.zeros(1), x, self._first_piece(), self.given.held(self.f), seed))
        more[0][:, :n] = found[:, :n]
        if self.given.samples is not None:
            more[1][:, int(self.given.samples.piece(np.zeros(1))[0])] = found[:, n : n + w]
        more[2][:] = found[:, n + w :]
        return more

    def _arms(self, count: int) -> list[tuple[Array, Array, Array]]:
        """Coordinates, speeds and parameters at the start of each arm."""
        given, P = self.given, len(self.f.composition.model.parameters)
        rows = (np.broadcast_to(a, (count, a.shape[1])) for a in (given.q0, given.qd0, given.parameters))
        return [(q, qd, p[:P]) for q, qd, p in zip(*rows)]

    def _through_closing(self, by_q: Array, by_qd: Array, by_p: Array) -> tuple[Array, Array, Array]:
        """Gradients by the given state and by p, which act on the start through the loops that are closed there."""
        c, part = self.f.composition, self.wanted.parts.get("p")
        held, given = list(c.prescribed), (names_that_stay(c.model, self.named[0], self.settled), self.named[1])
        for b, (q, qd, p) in enumerate(self._arms(len(by_q))):
            found = start_slopes(c.model, q, qd, given, held, p)
            if part is not None:
                by_p[b, part[0]] += found.q_by_p.T @ by_q[b] + found.v_by_p.T @ by_qd[b]
            by_q[b], by_qd[b] = found.q_by_q.T @ by_q[b] + found.v_by_q.T @ by_qd[b], found.v_by_v.T @ by_qd[b]
        by_q[:, held], by_qd[:, held] = 0.0, 0.0
        return by_q, by_qd, by_p

    def _through_rest(self, by_q: Array, by_p: Array) -> Array:
        """Gradient by p with the effect of parameters on coordinates that settled first."""
        part, model = self.wanted.parts.get("p"), self.f.composition.model
        if part is None:
            return by_p
        for b, (q, _, p) in enumerate(self._arms(len(by_q))):
            by_p[b, part[0]] += settled_columns(model, q, self.loads, p, self.named[0]).T @ by_q[b]
        return by_p


def _asked(model: Model, drives: Mapping[str, TorqueInput], names: Sequence[str] | None) -> tuple[str, ...]:
    """Names by which to differentiate: those given, or else the states and all samples, constants and parameters."""
    numbers = [name for name, drive in drives.items() if drive.samples is not None or drive.constant is not None]
    parameters = ["p"] if model.parameters else []
    known = ["q0", "qd0", *numbers, *parameters]
    for name in () if names is None else names:
        if not isinstance(name, str) or (name not in known and not name.startswith("controller.")):
            raise ModelError(
                f"with_respect_to: got {name!r}, expected names among {', '.join(known)}, or controller.NAME for a gain"
            )
    return tuple(dict.fromkeys(known if names is None else names))


def _with_gains(model: Model, p: Array | None, numbers: Mapping[str, Array]) -> Array | None:
    """Values of the parameters followed by those of the gains that became symbols."""
    if not numbers:
        return p
    values = model.nominal_parameters[None] if p is None else p
    gains = np.concatenate([value.ravel() for value in numbers.values()])
    return np.hstack([values, np.tile(gains, (len(values), 1))])


NO_JUMP = "motion: a prescribed rate jumps, and gradients do not pass an impulse; give one with a continuous rate"


def refuse_impulses(f: BatchEquations, stops: Array, t_end: float) -> None:
    """Raise `UnsupportedModel` if a prescribed rate jumps: the state jumps with it, and has no derivative there."""
    if len(f.composition.impulses(stops, t_end).times):
        raise UnsupportedModel(NO_JUMP)


def _laid_out(
    f: BatchEquations, drives: Mapping[str, TorqueInput], names: tuple[str, ...], numbers: Mapping[str, Array]
) -> Wanted:
    """Entries of p that each name stands for."""
    c = f.composition
    m, P = c.m if f.has_constant else 0, len(c.model.parameters)
    gains = list(f.gains)
    chosen: list[int] = []
    parts: dict[str, tuple[slice, tuple[int, ...]]] = {}
    for name in names:
        if name in drives and drives[name].constant is not None:
            entries, shape = list(range(m)), (c.m,)
        elif name == "p":
            entries, shape = list(range(m, m + P)), (P,)
        elif name.startswith("controller."):
            own = name.removeprefix("controller.")
            shape = numbers[own].shape if own in numbers else ()
            found = [k for k, g in enumerate(gains) if g == own or (own in numbers and g.startswith(f"{own}["))]
            if not found:
                raise ModelError(
                    f"with_respect_to: {name!r} is not among the controller's parameters: {gains or 'none'}"
                )
            entries = [m + P + k for k in found]
        else:
            continue
        parts[name] = slice(len(chosen), len(chosen) + len(entries)), shape
        chosen += entries
    return Wanted(names, chosen, parts)
