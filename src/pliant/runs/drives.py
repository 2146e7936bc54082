"""What drives a run: torques and controllers as constants, samples, functions or expressions, and the state it starts
from.

Constants, samples and Python functions reach the composed equations as numbers in their inputs p; expressions are part
of the equations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.dynamics.sliding_links import rest_state
from pliant.errors import ModelError
from pliant.integrate import Hold, SampledInput
from pliant.model import Model
from pliant.runs.composition import TABLE_WIDTH, Composition

TorqueFunction = Callable[[float, Array, Array], ArrayLike]
MOST_SAMPLES = 1e8
"""Of a controller: beyond, it is memory that ends the run."""
KINDS = ("linear", "cubic", "hold")


@dataclass(frozen=True)
class TorqueTable:
    """Sampled torques, and how they run between the samples."""

    times: Array
    values: Array
    kind: str

    def pieces(self) -> Array:
        """(K - 1, 4, m) coefficients of rising powers of (t - start)."""
        if self.kind == "cubic":
            from scipy.interpolate import CubicSpline

            return np.asarray(np.moveaxis(CubicSpline(self.times, self.values).c[::-1], 0, 1))
        out = np.zeros((len(self.times) - 1, 4, self.values.shape[1]))
        out[:, 0] = self.values[:-1]
        if self.kind == "linear":
            out[:, 1] = np.diff(self.values, axis=0) / np.diff(self.times)[:, None]
        return out


@dataclass(frozen=True)
class Input:
    """A torque or controller as given: at most one of these is set."""

    traced: Any = None
    constant: Array | None = None
    table: TorqueTable | None = None
    function: TorqueFunction | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is samples."""
        return self.table is not None


def read_input(model: Model, given: Any, name: str) -> Input:
    """One argument of `simulate`."""
    m = model.n_joints
    if given is None:
        return Input()
    if hasattr(given, "expression") or hasattr(given, "bind"):
        return Input(traced=given)
    if callable(given):
        return Input(function=given)
    if are_samples(given, (2,)):
        return Input(table=TorqueTable(*read_samples(given, m, name, f"(K, {m})")))
    try:
        constant = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: got {type(given).__name__}; expected an array ({m},), samples, a function or an expression"
        ) from error
    if constant.shape != (m,) or not np.isfinite(constant).all():
        raise ModelError(f"{name}: shape {constant.shape}; expected {m} finite numbers ({', '.join(model.joints)})")
    return Input(constant=constant)


def are_samples(given: Any, axes: tuple[int, ...]) -> bool:
    """Whether it is (times, values) or (times, values, kind), values with so many axes."""
    if not (isinstance(given, tuple) and len(given) in (2, 3)):
        return False
    return np.ndim(given[0]) == 1 and np.ndim(given[1]) in axes


def read_samples(given: tuple[Any, ...], m: int, name: str, expected: str) -> tuple[Array, Array, str]:
    """Times (K,), values (..., K, m) and what lies in between; `expected` names the shapes that the caller takes."""
    times, values = np.asarray(given[0], dtype=float), np.asarray(given[1], dtype=float)
    kind = given[2] if len(given) == 3 else "linear"
    if values.shape[-2:] != (len(times), m) or len(times) < 2 or not (np.diff(times) > 0).all():
        raise ModelError(
            f"{name}: times {times.shape} and values {values.shape}; "
            f"expected at least 2 strictly rising times (K,) and values {expected}"
        )
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise ModelError(f"{name}: samples must be finite")
    if kind not in KINDS:
        raise ModelError(f"{name}: samples are {kind!r} in between, expected one of {', '.join(KINDS)}")
    return times, values, kind


class Inputs:
    """What feeds the parameters p of the composed equations: held torques, samples, Python functions."""

    def __init__(
        self,
        model: Model,
        composed: Composition,
        given: list[Input],
        p: ArrayLike | None,
        sample_time: float | None,
        t_end: float,
    ) -> None:
        m = model.n_joints
        self.model, self.composed = model, composed
        self.functions = [g.function for g in given if g.function is not None]
        self.constant = sum((g.constant for g in given if g.constant is not None), start=np.zeros(m))
        self.table = next((g.table for g in given if g.table is not None), None)
        if sum(g.is_table for g in given) > 1:
            raise ModelError("torque and controller are both samples; add them up and give one")
        values = model.values(p)
        self.parameters = values
        self.p = np.concatenate([self.constant, np.zeros(TABLE_WIDTH * m if composed.has_table else 0), values])
        self.samples = self._samples() if self.table is not None else None
        self.held: list[tuple[float, Array]] = []
        self.hold, self.callback, self.n_callback = None, None, 0
        controller_time = composed.sample_time
        period = sample_time or controller_time
        self.sampler = composed.sampler()
        if period is not None and t_end > period * MOST_SAMPLES:
            raise ModelError(
                f"sample_time: got {period:g} s for a run of {t_end:g} s; expected at most {MOST_SAMPLES:g} samples"
            )
        if period is not None and (self.functions or self.sampler is not None):
            times = np.arange(0.0, t_end * (1 + 1e-12), period)
            self.hold = Hold(self._sample, times)
        elif self.functions:
            self.callback, self.n_callback = self._stage, m

    def _samples(self) -> SampledInput:
        """Each piece of the table as a cubic in (t - start), with its start; constant beyond the ends."""
        assert self.table is not None
        times, values = self.table.times, self.table.pieces()
        m = self.model.n_joints
        end = np.zeros((1, 4, m))
        end[0, 0] = self.table.values[-1]
        cubic = np.concatenate([values, end])
        if times[0] > 0.0:
            start = np.zeros((1, 4, m))
            start[0, 0] = self.table.values[0]
            times, cubic = np.concatenate([[0.0], times]), np.concatenate([start, cubic])
        rows = np.concatenate([cubic, np.broadcast_to(times[:, None, None], (len(times), 1, m))], axis=1)
        return SampledInput(times, rows.reshape(len(times), -1), first=m)

    def torque(self, t: float, q: Array, qd: Array) -> Array:
        """Sum of the Python functions and constants."""
        total = self.constant.copy()
        for function in self.functions:
            value = np.asarray(function(t, q, qd), dtype=float)
            if value.shape != total.shape:
                raise ModelError(f"torque function returned shape {value.shape} at t = {t:g}; expected {total.shape}")
            total += value
        return total

    def _stage(self, t: float, x: Array, p: Array) -> None:
        q, qd = self.composed.full_state(t, x)
        p[:] = self.torque(t, q, qd)

    def _sample(self, t: float, x: Array, p: Array) -> None:
        q, qd = self.composed.full_state(t, x)
        value = self.torque(t, q, qd)
        if self.sampler is not None:
            value = value + self.sampler(t, q, qd)
        p[: len(value)] = value
        self.held.append((t, value))

    def history(self, t: Array, q: Array, qd: Array) -> Array:
        """(N, held + samples) values of the time-dependent part of p at the rows of the result."""
        m = self.model.n_joints
        held = np.tile(self.constant, (len(t), 1))
        if self.hold is not None and self.held:
            times = np.array([time for time, _ in self.held])
            rows = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
            held = np.stack([value for _, value in self.held])[rows]
        elif self.functions:
            held = np.array([self.torque(float(a), b, c) for a, b, c in zip(t, q, qd)]).reshape(len(t), m)
        if not self.composed.has_table:
            return held
        assert self.samples is not None
        rows = np.clip(np.searchsorted(self.samples.times, t, side="right") - 1, 0, len(self.samples.times) - 1)
        return np.hstack([held, self.samples.values[rows]])


def read_breaks(given: Sequence[float]) -> list[float]:
    """Times at which a run shall end a step, checked."""
    found = np.asarray(given, dtype=float)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ModelError(f"breaks: got {given!r}, expected finite times in seconds")
    return [float(t) for t in found]


def start_state(model: Model, given: Any, name: str) -> Array:
    out = rest_state(model.chain) if name == "q0" else np.zeros(model.n)
    if given is None:
        return out
    if isinstance(given, Mapping):
        for key, value in given.items():
            out[model.index(key)] = float(value)
    else:
        out = np.asarray(given, dtype=float)
    if out.shape != (model.n,) or not np.isfinite(out).all():
        raise ModelError(
            f"{name}: shape {out.shape}; expected {model.n} finite numbers ({', '.join(model.coordinates)})"
        )
    return out.copy()


def listed(loads: Any) -> tuple[Any, ...]:
    """One load or several."""
    return tuple(loads) if isinstance(loads, list | tuple) else (loads,)
