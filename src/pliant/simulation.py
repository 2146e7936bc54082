"""`simulate`: dynamics, controller, torques, loads and prescribed motion put together as one expression and stepped.

What is composed here is a single function xdot = f(t, x, p), traced and compiled like any other: state x = [free q,
their rates, controller states, work], inputs p = [held torques, samples, parameters of the model]. Controllers and
trajectories are seen only through their expressions; the steppers see only addresses.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arguments import checked
from pliant.composition import TABLE_WIDTH, Composition, Event, compose
from pliant.dynamics.sliding_links import check_travel, rest_state
from pliant.errors import ModelError, SimulationError
from pliant.integrate import METHODS, Events, Hold, Samples, Solution, solve
from pliant.model import Model
from pliant.progress import reporter
from pliant.results import Readings, Result

Array = NDArray[np.float64]
TorqueFunction = Callable[[float, Array, Array], ArrayLike]


@checked
def simulate(
    model: Model,
    t_end: float,
    q0: ArrayLike | Mapping[str, float] | None = None,
    qd0: ArrayLike | Mapping[str, float] | None = None,
    torque: Any = None,
    controller: Any = None,
    motion: Mapping[str, Any] | None = None,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    step: float | None = None,
    output_step: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
    *,
    loads: Sequence[Any] | Any = (),
    base: Any = None,
    sample_time: float | None = None,
    events: Sequence[Event] = (),
    limits: bool = True,
    p: ArrayLike | None = None,
) -> Result:
    """Run an arm from a state and return its history.

    Parameters
    ----------
    model : Model
    t_end : float
        Duration, seconds.
    q0, qd0 : (n,) array, or mapping from coordinate names to values; zero by default
    torque : optional
        Constant `(n_joints,)`; samples `(times, values)`, linear in between (or `(times, values, "cubic")`,
        `"hold"`); a function of `(t, q, qd)`, called at every stage unless
        `sample_time` is given; or anything with `.expression(t, q, qd)` in CasADi operations, which is compiled into
        the run.
    controller : optional
        Like `torque`, and added to it; or an object of `pliant.control`.
    motion : mapping, optional
        Prescribed coordinates by name (a joint, or `joint.motor`), each a trajectory or a function of t in CasADi
        operations that returns the position. The torque it needs is in the result.
    method : str
        "auto", or one of `pliant.integrate.METHODS`.
    rtol, atol : float
        Local error of adaptive methods.
    step : float, optional
        Step of fixed-step methods, largest step of adaptive ones.
    output_step : float, optional
        Spacing of the result; by default t_end / 1000 (every step of a fixed-step method if that is coarser).
    progress : bool or callable, optional
        A bar on long runs in a terminal by default; a function gets the fraction done.
    loads : sequence, optional
        Objects of `pliant.loads`: wrenches, distributed loads.
    base : optional
        Motion of the base, see `pliant.loads.Base`.
    sample_time : float, optional
        Call a Python torque or controller function this often and hold its value.
    events : sequence of Event, optional
        Conditions to record or to stop at.
    limits : bool
        Stop where a joint leaves the limits that the robot file gives it.
    p : (P,) array, optional
        Values of the model's parameters.

    Returns
    -------
    Result
        Up to `t_end`, the first stopping event or Ctrl-C (`result.stats.status` says which).

    Raises
    ------
    SimulationError
        The run broke down: the message names time, step and coordinate, `error.result` holds what was computed.
    """
    _check_options(model, t_end, method, output_step, sample_time)
    torque, controller = _plain_input(model, torque, "torque"), _plain_input(model, controller, "controller")
    sampled = torque.is_table or controller.is_table
    composed = compose(model, torque.traced, controller.traced, motion or {}, _listed(loads), base, sampled)
    q_start = _state(model, q0, "q0")
    check_travel(model.chain, q_start)
    x0 = composed.start(q_start, _state(model, qd0, "qd0"))
    inputs = _Inputs(model, composed, [torque, controller], p, sample_time, t_end)
    watch = _watched(model, composed, events, limits)
    with reporter(progress, t_end) as report:
        solution = solve(
            composed.problem(), (0.0, float(t_end)), x0, method=method, rtol=rtol,
            atol=composed.tolerances(atol), step=step,
            outputs=_output_times(t_end, output_step), p=inputs.p, samples=inputs.samples, hold=inputs.hold,
            breaks=composed.breaks(t_end), callback=inputs.callback, n_callback=inputs.n_callback,
            events=watch.kernel if watch else None, progress=report,
        )  # fmt: skip
    return _finish(model, composed, inputs, watch, solution)


@dataclass(frozen=True)
class _Table:
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


MOST_ROWS, MOST_SAMPLES = 1e7, 1e8
"""Of a result, and of a controller: beyond, it is memory that ends the run."""
KINDS = ("linear", "cubic", "hold")


@dataclass(frozen=True)
class _Input:
    """A torque or controller as given: at most one of these is set."""

    traced: Any = None
    constant: Array | None = None
    table: _Table | None = None
    function: TorqueFunction | None = None

    @property
    def is_table(self) -> bool:
        return self.table is not None


def _plain_input(model: Model, given: Any, name: str) -> _Input:
    m = model.n_joints
    if given is None:
        return _Input()
    if hasattr(given, "expression") or hasattr(given, "bind"):
        return _Input(traced=given)
    if callable(given):
        return _Input(function=given)
    if isinstance(given, tuple) and len(given) in (2, 3) and np.ndim(given[0]) == 1 and np.ndim(given[1]) == 2:
        return _Input(table=_table(model, given, name))
    try:
        constant = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: got {type(given).__name__}; expected an array ({m},), samples, a function or an expression"
        ) from error
    if constant.shape != (m,) or not np.isfinite(constant).all():
        raise ModelError(f"{name}: shape {constant.shape}; expected {m} finite numbers ({', '.join(model.joints)})")
    return _Input(constant=constant)


def _table(model: Model, given: tuple[Any, ...], name: str) -> _Table:
    times, values, kind = read_samples(given, model.n_joints, name, f"(K, {model.n_joints})")
    return _Table(times, values, kind)


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


class _Inputs:
    """What feeds the parameters p of the composed equations: held torques, samples, Python functions."""

    def __init__(
        self,
        model: Model,
        composed: Composition,
        given: list[_Input],
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
        values = model.nominal_parameters if p is None else np.asarray(p, dtype=float)
        if values.shape != (len(model.parameters),):
            raise ModelError(
                f"p: shape {values.shape}; expected ({len(model.parameters)},): {', '.join(model.parameters) or 'none'}"
            )
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

    def _samples(self) -> Samples:
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
        return Samples(times, rows.reshape(len(times), -1), first=m)

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


@dataclass(frozen=True)
class _Watch:
    """Events of a run and their names."""

    kernel: Events
    names: tuple[str, ...]
    fatal: tuple[bool, ...]


def _watched(model: Model, composed: Composition, events: Sequence[Event], limits: bool) -> _Watch | None:
    chosen = list(events) + (composed.limit_events(model) if limits else []) + composed.travel_events(model)
    if not chosen:
        return None
    kernel = composed.event_kernel(tuple(chosen))
    direction = [event.direction for event in chosen]
    found = Events(kernel.address, len(chosen), direction, [event.stop for event in chosen], owner=kernel)
    return _Watch(found, tuple(event.name for event in chosen), tuple(event.fatal for event in chosen))


def _finish(model: Model, composed: Composition, inputs: _Inputs, watch: _Watch | None, solution: Solution) -> Result:
    if solution.status == "failed":  # what went off the scale is told in the message, not kept
        good = np.isfinite(solution.x).all(axis=1)
        solution = replace(solution, t=solution.t[good], x=solution.x[good])
    elif solution.t_end > solution.t[-1]:  # an event or Ctrl-C between two rows: its state closes the history
        t, x = np.append(solution.t, solution.t_end), np.vstack([solution.x, solution.x_end])
        solution = replace(solution, t=t, x=x)
    found = solution.stats.stiffness
    if found is not None:  # the steppers know numbers, the user names
        reason = solution.stats.reason.replace(f"(coordinate {found.index})", f"({composed.state_name(found.index)})")
        solution = replace(solution, stats=replace(solution.stats, reason=reason))
    q, qd, extra = composed.histories(solution.t, solution.x)
    history = inputs.history(solution.t, q, qd)
    readings = Readings(lambda: composed.torques(solution.t, solution.x, history, inputs.parameters))
    names = () if watch is None else tuple(watch.names[k] for k in solution.events.index)
    result = Result.from_run(
        model, solution, q, qd, extra[:, -1], inputs.parameters, names, readings, composed.loads, composed.base
    )
    if solution.status == "failed":
        failure = solution.failure
        name = composed.state_name(failure.index) if failure is not None else "?"
        raise SimulationError(
            f"the run broke down: {solution.message} (first to go: {name}). "
            "Reduce the step or the tolerance, or check that the arm is stable under these torques", result
        )  # fmt: skip
    if watch is not None and len(names) and solution.status == "event" and watch.fatal[int(solution.events.index[-1])]:
        raise SimulationError(
            f"{names[-1]} at t = {solution.t_end:.6g} s: the model does not hold beyond; "
            "end the run earlier or change the motion",
            result,
        )
    if solution.stats.crawling and solution.stats.stiffness is not None:
        warnings.warn(
            f"{solution.stats.method} is held back by the stiff coordinate "
            f"{composed.state_name(solution.stats.stiffness.index)}, "
            "not by accuracy; method='auto' or 'rodas5p' would take larger steps", stacklevel=3,
        )  # fmt: skip
    return result


def _listed(loads: Any) -> tuple[Any, ...]:
    """One load or several."""
    return tuple(loads) if isinstance(loads, list | tuple) else (loads,)


def _output_times(t_end: float, output_step: float | None) -> Array:
    count = 1000 if output_step is None else max(1, round(t_end / output_step))
    if output_step is not None and abs(count * output_step - t_end) > 1e-9 * t_end:
        times = np.arange(0.0, t_end, output_step)
        return np.append(times, t_end) if times[-1] < t_end else times
    return np.linspace(0.0, t_end, count + 1)


def _state(model: Model, given: Any, name: str) -> Array:
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


def _check_options(
    model: Model, t_end: float, method: str, output_step: float | None, sample_time: float | None
) -> None:
    for name, value in (("t_end", t_end), ("output_step", output_step), ("sample_time", sample_time)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {value!r}, expected a positive number of seconds")
    if output_step is not None and t_end > output_step * MOST_ROWS:
        raise ModelError(
            f"output_step: got {output_step:g} s for a run of {t_end:g} s; expected at most {MOST_ROWS:g} rows"
        )
    if method not in METHODS:
        raise ModelError(f"method: got {method!r}, expected one of {', '.join(METHODS)}")


__all__ = ["Event", "simulate"]
