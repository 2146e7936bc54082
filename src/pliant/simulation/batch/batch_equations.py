"""Equations of a batch: drives of all arms, checked; xdot = f(t, x, w, p); and the segments of time of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import ModelError, UnsupportedModel
from pliant.integrators.packs.pack import TimeSegments
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.states import normalized
from pliant.protocols import Control, MovingBase, PrescribedMotion, Torque
from pliant.simulation.runs.equations.composition import Composition, compose, may_meet
from pliant.simulation.runs.inputs import TorqueInput, listed, one_table, read_torque

DeviceArray: TypeAlias = Any
"""A NumPy array, or a CuPy array on a graphics processor; CuPy need not be installed."""


def read_drive(model: Model, given: Control | None, name: str) -> TorqueInput:
    """Read a torque or a controller of many arms; a batch takes no Python functions."""
    read = read_torque(model, given, name, many=True)
    if read.function is not None:
        raise UnsupportedModel(
            f"{name}: got a Python function, expected an array, samples, or an object with .expression(t, q, qd) in "
            "CasADi operations; a batch is compiled whole"
        )
    return read


def rows(given: ArrayLike, size: int, name: str, names: Sequence[str]) -> Array:
    """Numbers (A, size) from an array (size,) or (A, size), checked."""
    expected = f"expected finite numbers of shape ({size},) or (arms, {size}): {', '.join(names) or 'none'}"
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name}: got {type(given).__name__}, {expected}") from error
    if array.ndim not in (1, 2) or array.shape[-1] != size or array.size == 0 != size:
        raise ModelError(f"{name}: got shape {array.shape}, {expected}")
    for index in np.argwhere(~np.isfinite(array)):
        raise ModelError(f"{name}: got {array[tuple(index)]} at index {index.tolist()}, {expected}")
    return np.atleast_2d(array)


@dataclass(frozen=True, eq=False)
class BatchEquations:
    """Equations xdot = f(t, x, w, p) of a batch.

    x = [free coordinates, rates, controller states, drive states (, work)]; w = [samples, noise of a sampled
    controller]; p = [held torques, parameters of the model, parameters of the controller, memory of a sampled one].

    The work is a state where it is asked for, and where it is `watched`, to see whether drives run away and whether the
    energy balances.
    """

    composition: Composition
    has_constant: bool
    with_work: bool
    gains: Mapping[str, SX] = field(default_factory=dict)
    watched: bool = False
    sampled: bool = False
    """Whether the integrator lets a sampled controller act at its ticks."""

    def __post_init__(self) -> None:
        c = self.composition
        if c.sample_time is not None and not (self.sampled and c.ticks):
            raise UnsupportedModel(
                "controller: this sampled controller runs one arm at a time, or in simulate_batch on the CPU; use "
                "pliant.simulate."
            )

    @property
    def has_work(self) -> bool:
        """True if the work is the last state."""
        return self.with_work or self.watched

    @property
    def n(self) -> int:
        """Number of states."""
        return self.composition.size - (0 if self.has_work else 1)

    @property
    def judged(self) -> int:
        """Number of states that count in the error of a step: the work only where it is asked for."""
        return self.composition.size - (0 if self.with_work else 1)

    def function_of(self, name: str, outputs: list[SX], more: Sequence[SX] = ()) -> ca.Function:
        """Expressions in the symbols of the composition, and in `more`, as a CasADi function of (t, x, w, p, *more)."""
        c, m, e = self.composition, self.composition.m, self.composition.equations
        x, w = ca.SX.sym("x", self.n), ca.SX.sym("w", c.n_held)
        own = ca.SX.sym("own", c.model.parameter_symbols.shape[0])
        u = ca.SX.sym("u", m) if self.has_constant else ca.SX.zeros(m)
        p = ca.vertcat(u, own) if self.has_constant else own
        gains = ca.vertcat(*self.gains.values()) if self.gains else ca.SX(0, 1)
        state = x if self.n == c.size else ca.vertcat(x, 0)
        memory = noise = ca.SX(0, 1)
        if c.ticks:
            memory, noise = ca.vertcat(e.tick.others, e.tick.memory), e.tick.noise
        old, new = ca.vertcat(e.x, e.p), ca.vertcat(state, u, w, own)
        values = ca.substitute([ca.densify(ca.SX(o)) for o in outputs], [old], [new])
        names = ["t", "x", "w", "p", *(f"m{k}" for k in range(len(more)))]
        given = [e.t, x, ca.vertcat(w, noise), ca.vertcat(p, gains, memory), *more]
        return ca.Function(name, given, ca.cse(values), names, [f"o{k}" for k in range(len(outputs))])

    @cached_property
    def impulse_kernel(self) -> Kernel:
        """State after a jump of prescribed rates, a function of t, x, w, p and these rates before and after."""
        rates = [ca.SX.sym(name, len(self.composition.prescribed)) for name in ("before", "after")]
        behind = self.composition.equations.after_impulse(*rates)[: self.n]
        return Kernel(self.function_of("batch_impulse", [behind], rates))

    @cached_property
    def function(self) -> ca.Function:
        """f as a CasADi function."""
        return self.function_of("batch", [self.composition.equations.xdot[: self.n]])

    @cached_property
    def closing(self) -> ca.Function | None:
        """State nearer to closed loops, by how much it was moved, and the least part of a row that the others leave;
        None where there are no loops."""
        if not self.composition.model.constraints:
            return None
        x, moved, least = self.composition.equations.closer()
        return self.function_of("batch_closing", [ca.vertcat(x[: self.n], moved, least)])

    @cached_property
    def approach(self) -> ca.Function | None:
        """Gaps to what an arm may meet, and speeds past it; None where there is nothing to meet."""
        if not may_meet(self.composition.model):
            return None
        return self.function_of("batch_approach", [self.composition.equations.approaching])

    @cached_property
    def tick(self) -> ca.Function | None:
        """Held torques and memory of a sampled controller after a tick; None without such a controller."""
        if not self.composition.ticks:
            return None
        tick = self.composition.equations.tick
        return self.function_of("batch_tick", [ca.vertcat(tick.others + tick.torques, tick.others, tick.following)])

    @property
    def n_noise(self) -> int:
        """Number of inputs that are noise of a sampled controller."""
        return int(self.composition.equations.tick.noise.shape[0]) if self.composition.ticks else 0

    @property
    def ticks(self) -> tuple[int, int]:
        """Numbers of torques and of remembered numbers that a tick gives."""
        c = self.composition
        return (c.m, c.m + len(c.tick_start)) if c.ticks else (0, 0)

    @cached_property
    def _load_kernel(self) -> Kernel:
        """States of drives at a start."""
        return Kernel(self.function_of("batch_load", [self.composition.equations.loaded]))

    def loaded(self, x: DeviceArray, w: Array, own: Array, module: ModuleType = np) -> DeviceArray:
        """States (b, n) at t = 0 with friction that carries as much load as it can; `module` is NumPy or CuPy."""
        c = self.composition
        if c.n_drive_states:
            first = c.moving + c.n_states
            host = np.asarray(x.get() if hasattr(x, "get") else x, dtype=float)
            x[:, first : first + c.n_drive_states] = module.asarray(self._load_kernel(np.zeros(1), host, w, own))
        return x

    @cached_property
    def torque_kernel(self) -> Kernel:
        """Torques that act, or that prescribed motion needs, a function of t, x, w and p."""
        return Kernel(self.function_of("batch_torques", [self.composition.equations.tau]))

    @cached_property
    def force_kernel(self) -> Kernel:
        """Accelerations, torques and multipliers of closed loops, a function of t, x, w and p."""
        e = self.composition.equations
        return Kernel(self.function_of("batch_forces", [e.qdd, e.tau, e.multipliers]), "vm")

    @cached_property
    def coordinate_kernel(self) -> Kernel:
        """All coordinates and rates, a function of t, x, w and p."""
        e = self.composition.equations
        return Kernel(self.function_of("batch_coordinates", [e.q, e.qd]))

    def start(self, q: DeviceArray, qd: DeviceArray, module: ModuleType) -> DeviceArray:
        """States (B, n) from coordinates and rates; `module` is NumPy or CuPy."""
        c = self.composition
        first = c.start(c.model.layout.rest(), np.zeros(c.n))[c.moving :][: self.n - c.moving]
        rest = module.tile(module.asarray(first), (q.shape[0], 1))
        return module.ascontiguousarray(module.concatenate([q[:, c.free_places], qd[:, c.free], rest], axis=1))

    def typical_inputs(self, own: Array) -> Array:
        """Rows [t, x, w, p] of `typical` states, without samples; `own` holds in all of them."""
        x = self.start(*typical(self.composition.model), np)
        held = self.composition.n_held
        return np.column_stack([np.zeros(len(x)), x, np.zeros((len(x), held)), np.tile(own, (len(x), 1))])


def typical(model: Model, count: int = 8) -> tuple[Array, Array]:
    """Coordinates and speeds (count, ...) as in common use: joints anywhere, links bent by 10 and by 1 mm."""
    rng = np.random.default_rng(0)
    size = np.where(np.arange(count) % 2, 1e-2, 1e-3)[:, None]
    q, qd = size * rng.normal(size=(count, model.n_q)), 10 * size * rng.normal(size=(count, model.n))
    for shaft in model.chain.shafts:
        if shaft.place is None:
            continue
        q[:, shaft.place], qd[:, shaft.index] = rng.normal(size=(2, count))
        if shaft.drive is not None:  # it twists by a mrad
            q[:, shaft.drive.place] = q[:, shaft.place] + 0.1 * q[:, shaft.drive.place]
    for link in model.chain.links:
        if link.joint.is_ball:
            q[:, link.joint_places], qd[:, link.joint_indices] = (
                rng.normal(size=(count, len(x))) for x in (link.joint_places, link.joint_indices)
            )
    return normalized(model, q), qd


@checked
def equations(
    model: Model | Robot, torque: Torque | None = None, controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    loads: Sequence[Load] | Load = (), base: MovingBase | None = None, work: bool = False,
) -> BatchEquations:  # fmt: skip
    """The equations that a batch integrates.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    torque, controller : optional
        As in `simulate_batch`.
    motion : mapping, optional
        Prescribed coordinates.
    loads : Load or sequence of Load
        The same for all arms.
    base : MovingBase, optional
        Motion of the base.
    work : bool
        Also integrate the work done.

    Returns
    -------
    BatchEquations

    Examples
    --------
    >>> from pliant.batch import equations
    >>> equations(pliant.load("two-link").model()).function.n_in() > 0
    True
    """
    model = model_of(model)
    drives = (read_drive(model, torque, "torque"), read_drive(model, controller, "controller"))
    return composed(model, *drives, motion or {}, listed(loads), base, work)


def composed(
    model: Model, torque: TorqueInput, controller: TorqueInput, motion: Mapping[str, PrescribedMotion],
    loads: tuple[Load, ...], base: MovingBase | None, work: bool, looked_up: bool = False, watched: bool = False,
    sampled: bool = False,
) -> BatchEquations:  # fmt: skip
    """Equations that a batch integrates, from drives that are read already. With `looked_up`, pieces of long series are
    inputs that the integrator looks up by the time."""
    has_table = one_table(torque, controller) is not None
    composition = compose(
        model, torque.traced, controller.traced, motion, loads, base, has_table, looked_up=looked_up, closed=True
    )
    gains = {**getattr(torque.traced, "parameters", {}), **getattr(controller.traced, "parameters", {})}
    has_constant = torque.constant is not None or controller.constant is not None or composition.ticks
    return BatchEquations(composition, has_constant, with_work=work, gains=gains, watched=watched, sampled=sampled)


def output_times(t_end: float, output_step: float | None, step: float | None) -> Array:
    """Rows of the result: every `output_step`; a hundred by default, or every step where those are fewer."""
    if output_step is None:
        fewest = round(t_end / step) if step is not None else 100
        return np.linspace(0.0, t_end, max(1, min(100, fewest)) + 1)
    count = round(t_end / output_step)
    if count >= 1 and abs(count * output_step - t_end) <= 1e-9 * t_end:
        return np.linspace(0.0, t_end, count + 1)
    times = np.arange(0.0, t_end, output_step)
    return np.append(times, t_end)


def make_plan(
    t: Array, breaks: Array, pieces: Array | None, step: float | None, adaptive: bool, ticks: Array | None = None
) -> TimeSegments:
    """Segments between rows, breaks, samples and ticks; fixed steps divide each segment evenly, none longer than
    `step`."""
    t_end = float(t[-1])
    inner = breaks if pieces is None else np.concatenate([breaks, pieces[(pieces > 0) & (pieces < t_end)]])
    if ticks is not None:
        every = np.round(inner * ((len(ticks) - 1) / max(ticks[-1], t_end * 1e-12))).astype(int)
        nearest = ticks[np.minimum(every, len(ticks) - 1)]
        inner = np.where(np.abs(inner - nearest) <= 1e-12 * t_end, nearest, inner)  # at a tick but for rounding
        inner = np.union1d(inner, ticks[(ticks > 0) & (ticks < t_end * (1 - 1e-12))])
    rows = t[1:].copy()
    nearest = [int(np.abs(rows - b).argmin()) for b in inner]
    same = [abs(rows[k] - b) <= 1e-12 * t_end for k, b in zip(nearest, inner)]
    for k, b, yes in zip(nearest, inner, same):
        rows[k] = b if yes and k < len(rows) - 1 else rows[k]  # at a break but for rounding
    ends = np.unique(np.concatenate([rows, [b for b, yes in zip(inner, same) if not yes]]))
    starts = np.concatenate([[0.0], ends[:-1]])
    row = np.full(len(ends), -1, dtype=np.int64)
    row[np.searchsorted(ends, rows)] = np.arange(len(rows))
    count = np.zeros(len(ends), dtype=np.int64)
    h = ends
    if not adaptive:
        assert step is not None
        count = np.maximum(1, np.ceil((ends - starts) / step - 1e-6)).astype(np.int64)
        h = (ends - starts) / count
    middle = (starts + ends) / 2
    piece = np.zeros(len(ends), dtype=np.int64)
    if pieces is not None:
        piece = (np.searchsorted(pieces, middle, side="right") - 1).astype(np.int64)
    tick = None if ticks is None else np.isin(starts, ticks).astype(np.int64)
    return TimeSegments(
        t=np.ascontiguousarray(starts), h=np.ascontiguousarray(h), count=count, row=row, piece=piece, tick=tick
    )
