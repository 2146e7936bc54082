"""Predicted readings of a recording for given parameters, with exact slopes by forward sensitivities.

The variational equations S' = (df/dx) S + df/du are traced beside the state and compiled as one kernel, with one
column for each fitted number u (parameters of the robot, unknown values of the start, gains and offsets of inputs),
each scaled by its typical size so that all columns have the size of a state. Gains, offsets and delays of readings act
on the results; the slope by a delay of the inputs, which moves their jumps, is a difference of two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.rotations import SX
from pliant.arrays import Array, StateLike
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import ModelError, PliantError, SimulationError, UnsupportedModel
from pliant.identification.calibration import CalibrationNumber, calibrated_torque
from pliant.identification.channels import readings, sensed
from pliant.identification.lagging import lagged
from pliant.identification.recording import Recording
from pliant.integrators.driver import solve
from pliant.integrators.problem import Problem
from pliant.model.loops.assembly import closed_start
from pliant.model.model import Model
from pliant.protocols import Torque
from pliant.simulation.runs.equations.composition import TABLE_WIDTH, compose
from pliant.simulation.runs.equations.start_columns import settled_columns, start_columns
from pliant.simulation.runs.equations.variational import variational
from pliant.simulation.runs.inputs import Inputs, listed, names_that_stay, one_table, read_start, read_torque

T = TypeVar("T")
SHIFT = 0.1
"""Shift of the inputs either way for the slope by their delay, as a part of its typical size."""


@dataclass(frozen=True)
class Prediction:
    """Readings y (N, C) at the times t (N,), slopes (N, C, K) by the scaled numbers, and rates dy/dt (N, C)."""

    t: Array
    y: Array
    slope: Array
    rate: Array


class Response:
    """Readings of one recording of one model as a function of P parameters, F unknown values of its start, and the
    numbers of its calibration that are `fitted`; the others have the values of the recording."""

    def __init__(
        self, model: Model, recording: Recording, method: str, rtol: float, atol: float,
        fitted: Sequence[CalibrationNumber] = (),
    ) -> None:  # fmt: skip
        self.model, self.recording, self.fitted = model, recording, tuple(fitted)
        self.method, self.rtol, self.atol = method, rtol, atol
        torque = read_torque(model, self._torque(self._known(())), "torque")
        controller = read_torque(model, recording.controller, "controller")
        self._controller = controller
        if torque.function or controller.function:
            raise UnsupportedModel(
                f"recording {recording.name!r}: a Python function as torque has no exact slope; give what acted as "
                "samples (times, values), or an object with .expression"
            )
        self.composed = compose(
            model, torque.traced, controller.traced, recording.motion, listed(recording.loads), recording.base,
            one_table(torque, controller) is not None, looked_up=True, closed=True,
        )  # fmt: skip
        if self.composed.sample_time is not None:
            raise UnsupportedModel(
                f"recording {recording.name!r}: a sampled controller has no slope; give the torques that acted"
            )
        self.P = len(model.parameters)
        self.free = tuple(self._start_index(name) for name in recording.free_start)
        self.N = self.composed.size - 1  # without the work, on which nothing depends
        further = sensed(recording)
        sensors = tuple((name, *further[name]) for name in recording.channels if name in further)
        self._steered = tuple(n for n in self.fitted if n.side == "input" and n.kind != "delay")
        self._kinds = tuple((n.of, n.kind) for n in self._steered)
        self._key = (recording.channels, sensors, self.K, self._kinds)
        self.y = self._once("y", lambda: readings(self.composed, recording))

    @property
    def K(self) -> int:
        """Columns of the slopes that are integrated."""
        return self.P + len(self.free) + len(self._steered)

    @property
    def size(self) -> int:
        """Columns of all slopes: parameters, start values, calibration."""
        return self.P + len(self.free) + len(self.fitted)

    def _start_index(self, name: str) -> int:
        """Place of an unknown start value in the state."""
        composed, model, speed = self.composed, self.model, name.removesuffix(".rate")
        rate = speed != name or name not in model.coordinates
        index = model.speed_index(speed) if rate else model.index(name)
        known, first = (composed.free, len(composed.free_places)) if rate else (composed.free_places, 0)
        if index not in known:
            raise ModelError(f"free_start: {name!r} is prescribed by the motion; leave it out")
        return first + known.index(index)

    def _known(self, values: Array | tuple[()]) -> dict[str, float]:
        """Calibration by name, without the title of the recording; fitted numbers have these `values`, or those of the
        recording."""
        known = dict(self.recording.calibration)
        given = values if len(values) else [known.get(n.own, n.neutral) for n in self.fitted]
        return known | {n.own: float(v) for n, v in zip(self.fitted, given)}

    def _torque(self, known: Mapping[str, float]) -> Torque | None:
        """Torques that acted, under this calibration."""
        return calibrated_torque(self.recording.torque, self.model.layout.inputs, known, self.recording.t_end)

    def acting(self, values: Array) -> Torque | None:
        """Torques that acted, under these values of the fitted calibration."""
        return self._torque(self._known(values))

    # ------------------------------------------------------------------------------------------- tracing

    def _once(self, what: str, make: Callable[[], T]) -> T:
        """Trace something once, and keep it with the composition for the next recording with the same sensors."""
        key = (self.K, self._kinds) if what == "problem" else self._key
        return self.composed.derived(f"responses: {what}", key, make)

    def _directions(self) -> tuple[SX, SX, SX]:
        """Sensitivities, inputs with scales, and the seeds of the K directions in (x, p)."""
        c, P, K, m = self.composed.equations, self.P, self.K, self.composed.m
        S, scale = ca.SX.sym("S", self.N, K), ca.SX.sym("scale", P + 2 * len(self._steered))
        below = ca.SX.zeros(c.p.shape[0], K)
        for k in range(P):
            below[c.p.shape[0] - P + k, k] = scale[k]
        for k, number in enumerate(self._steered):
            j = self.model.layout.inputs.index(number.of)
            part, constant = ca.vertsplit(scale[P + 2 * k : P + 2 * k + 2])
            table = [c.p[i * m + j] for i in range(1, TABLE_WIDTH + 1)]
            since = c.t - table[-1]
            command = table[0] + since * (table[1] + since * (table[2] + since * table[3]))
            below[j, K - len(self._steered) + k] = part * command + constant
        seeds = ca.vertcat(S, ca.SX.zeros(1, K), below)
        return S, ca.vertcat(c.p, scale), seeds

    def _steering(self, known: Mapping[str, float], scale: Array) -> Array:
        """Numbers (a, b) of each gain and offset of an input: along it the command changes by a command + b."""
        found = []
        for number, size in zip(self.fitted, scale):
            if number in self._steered:
                gain, offset = (known.get(f"input.{number.of}.{what}", what == "gain") for what in ("gain", "offset"))
                found += [size / gain, -size * offset / gain] if number.kind == "gain" else [0.0, size]
        return np.array(found)

    @cached_property
    def _problem(self) -> Problem:
        """State with its sensitivities as a problem of integration."""
        return self._once("problem", self._trace_problem)

    def _trace_problem(self) -> Problem:
        c = self.composed.equations
        S, p, seeds = self._directions()
        return variational(self.composed, c.t, c.x[: self.N], c.xdot[: self.N], S, ca.vertcat(c.x, c.p), seeds, p)

    @cached_property
    def _reader(self) -> Kernel:
        """Kernel of the readings, their slopes and their rates."""
        return self._once("reader", self._trace_reader)

    def _trace_reader(self) -> Kernel:
        """y, dy/du by column, and dy/dt, of a state with sensitivities."""
        c = self.composed.equations
        S, p, seeds = self._directions()
        whole = ca.vertcat(c.x[: self.N], ca.vec(S))
        slope = ca.jtimes(self.y, ca.vertcat(c.x, c.p), seeds)
        rate = ca.jtimes(self.y, c.x, c.xdot) + ca.jacobian(self.y, c.t)
        return Kernel(ca.Function("readings", [c.t, whole, p], ca.cse([ca.densify(e) for e in (self.y, slope, rate)])))

    # ------------------------------------------------------------------------------------------- running

    def start_values(self, p: Array) -> Array:
        """(F,) values that the recording itself gives to the unknown part of the start."""
        q, qd, _ = self._start(p, None)
        return np.asarray(self.composed.start(q, qd)[list(self.free)])

    def _start(self, p: Array, start: Array | None) -> tuple[Array, Array, tuple[StateLike | None, StateLike | None]]:
        """Coordinates and speeds at the start, with these values of its unknown part, and the names of coordinates and
        speeds that stay where loops are closed."""
        r, model, c = self.recording, self.model, self.composed
        try:
            q, qd, work = read_start(
                model, r.q0, r.qd0, r.equilibrium, listed(r.loads), p, placed=c.on_paths, before=c.before_start
            )
        except PliantError as error:
            raise SimulationError(f"recording {r.name!r}: {error}") from error
        if work is not None:
            raise UnsupportedModel(self._no_jump)
        f = len(c.free_places)
        places = [c.free_places[k] for k in self.free if k < f]
        speeds = [c.free[k - f] for k in self.free if k >= f]
        known = r.qd0 if isinstance(r.qd0, Mapping) else {}
        given = (
            names_that_stay(model, r.q0, r.equilibrium, [model.coordinates[k] for k in places]),
            {**known, **{model.speeds[k]: 0.0 for k in speeds}} if known or speeds else r.qd0,
        )
        if start is not None and self.free:
            x = c.start(q, qd)
            x[list(self.free)] = start
            q[c.free_places], qd[c.free] = x[:f], x[f : c.moving]
            if model.constraints:
                q, qd, _ = closed_start(model, q, qd, given, list(c.prescribed), p)
        return q, qd, given

    def _breaks(self, end: float) -> Array:
        breaks = self.composed.breaks(end)
        if len(self.composed.impulses(breaks, end).times):
            raise UnsupportedModel(self._no_jump)
        return breaks

    @property
    def _no_jump(self) -> str:
        return (
            f"recording {self.recording.name!r}: a prescribed rate jumps, and slopes do not pass an impulse; give a "
            "motion with a continuous rate"
        )

    def start_state(self, parameters: Array, start: Array) -> Array:
        """State of the run at its start, work included."""
        q, qd, _ = self._start(parameters, start)
        return self.composed.start(q, qd, self._at_start(parameters, q, qd))

    def _at_start(self, parameters: Array, q: Array, qd: Array) -> Array:
        """All inputs of the equations at t = 0."""
        return self._inputs(parameters, self._known(())).at_start(q, qd)

    def _inputs(self, parameters: Array, known: Mapping[str, float], later: float = 0.0) -> Inputs:
        """Inputs of the equations; `later` delays them further."""
        if later:
            known = {**known, "input.delay": known.get("input.delay", 0.0) + later}
        torque = read_torque(self.model, self._torque(known), "torque")
        return Inputs(self.model, self.composed, [torque, self._controller], parameters, None)

    def predict(
        self, parameters: Array, start: Array, scale: Array, until: float = np.inf, calibration: Array | None = None
    ) -> Prediction:
        """Readings and slopes (parameters, start, calibration); raises `SimulationError` where the run breaks down."""
        known = self._known(() if calibration is None else calibration)
        asked = self.recording.times(until)
        when = [np.maximum(asked - known.get(f"reading.{c}.delay", 0.0), 0.0) for c in self.recording.channels]
        times = np.unique(np.concatenate(when))
        own = scale[self.P + len(self.free) :]
        first = np.concatenate([scale[: self.P], self._steering(known, own)])
        inputs = self._inputs(parameters, known)
        x0, S0 = self._first(parameters, start, scale)
        y, slope, rate = self._read(times, self._solved(times, x0, S0, inputs, first), inputs, first)
        rows = [np.searchsorted(times, one) for one in when]
        y, rate = (np.column_stack([a[at, c] for c, at in enumerate(rows)]) for a in (y, rate))
        slope = np.stack([slope[at, c] for c, at in enumerate(rows)], axis=1)
        later = self._by_delay(times, rows, x0, parameters, known, own) if "delay" in self._input_kinds else None
        later = np.zeros_like(y) if later is None else later
        columns = np.concatenate([y[:, :, None], rate[:, :, None], later[:, :, None], slope], axis=2)
        by_lag = self._lagged(asked, when, columns, known)
        ideal = Prediction(asked, columns[:, :, 0], columns[:, :, 3:], columns[:, :, 1])
        return self._calibrated(ideal, known, own, columns[:, :, 2], by_lag)

    def _lagged(self, asked: Array, when: list[Array], columns: Array, known: Mapping[str, float]) -> Array:
        """Pass readings (N, C, ...) through the low-pass of each channel, in place; return the (N, C) slope by its
        lag."""
        by_lag = np.zeros(columns.shape[:2])
        for c, channel in enumerate(self.recording.channels):
            name = f"reading.{channel}.lag"
            if name in known:
                own = np.searchsorted(asked, self.recording.reading(channel, asked[-1])[0])
                columns[own, c], by_lag[own, c] = lagged(when[c][own], columns[own, c], known[name])
        return by_lag

    @property
    def _input_kinds(self) -> set[str]:
        return {number.kind for number in self.fitted if number.side == "input"}

    def _first(self, parameters: Array, start: Array, scale: Array) -> tuple[Array, Array]:
        """State and sensitivities (N, K) at the start."""
        c, model, P = self.composed, self.model, self.P
        q, qd, given = self._start(parameters, start)
        dq, dv, dp = (np.zeros((size, self.K)) for size in (model.n, model.n, P))
        dp[:, :P] = np.diag(scale[:P])
        if self.recording.equilibrium:
            rest = settled_columns(model, q, listed(self.recording.loads), parameters, self.recording.q0)
            dq[:, :P] = rest * scale[:P]
        f, turned = len(c.free_places), {}
        for k, place in enumerate(self.free):
            name = model.speeds[c.free[place - f]] if place >= f else model.coordinates[c.free_places[place]]
            if name not in model.speeds:  # a coordinate of a joint with a quaternion, which no loop moves
                turned[place] = P + k
                continue
            into, row = dv if place >= f else dq, model.speed_index(name)
            into[row, :P], into[row, P + k] = 0.0, scale[P + k]
        inputs = self._at_start(parameters, q, qd)
        S0 = start_columns(c, q, qd, inputs, given, dq, dv, dp)
        for place, column in turned.items():
            S0[place], S0[place, column] = 0.0, scale[column]
        return c.start(q, qd, inputs)[: self.N], S0[: self.N]

    def _solved(self, times: Array, x0: Array, S0: Array, inputs: Inputs, first: Array) -> Array:
        """States with sensitivities at these times."""
        end = float(times[-1])
        whole = np.concatenate([x0, S0.ravel(order="F")])
        tolerance = np.full(self.N * (1 + self.K), self.atol)
        tolerance[self.N :] *= 1e3  # slopes only guide the fit and need not be as exact as states
        solution = solve(
            self._problem, (0.0, end), whole, method=self.method, rtol=self.rtol, atol=tolerance,
            outputs=times if times[0] > 0.0 else times[1:], p=np.concatenate([inputs.p, first]),
            samples=inputs.samples, breaks=self._breaks(end),
        )  # fmt: skip
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        if solution.status != "finished":
            raise SimulationError(f"recording {self.recording.name!r}: the run {solution.status}: {solution.message}")
        self.method = solution.stats.method  # the choice of "auto" holds for the runs that follow
        return np.asarray(solution.x if times[0] > 0.0 else np.vstack([whole, solution.x]))

    def _read(self, times: Array, x: Array, inputs: Inputs, first: Array) -> tuple[Array, Array, Array]:
        """Readings (N, C), slopes (N, C, K) and rates (N, C) of states with sensitivities."""
        q, qd, _ = self.composed.histories(times, np.hstack([x[:, : self.N], np.zeros((len(times), 1))]))
        fixed = np.concatenate([inputs.parameters, first])
        rows = np.hstack([inputs.history(times, q, qd), np.tile(fixed, (len(times), 1))])
        C = self.y.shape[0]
        shapes = (len(times), C), (len(times), C, self.K), (len(times), C)
        y, slope, rate = (np.asarray(a).reshape(s) for a, s in zip(self._reader(times[:, None], x, rows), shapes))
        return y, slope, rate

    def _by_delay(
        self,
        times: Array,
        rows: list[NDArray[np.intp]],
        x0: Array,
        parameters: Array,
        known: Mapping[str, float],
        own: Array,
    ) -> Array:
        """(N, C) slope by a delay of the inputs."""
        size = next(s for n, s in zip(self.fitted, own) if n.side == "input" and n.kind == "delay")
        ends = []
        for later in (SHIFT * size, -SHIFT * size):
            inputs = self._inputs(parameters, known, later)
            still = np.zeros((self.N, self.K))
            first = np.zeros(self.P + 2 * len(self._steered))
            y, _, _ = self._read(times, self._solved(times, x0, still, inputs, first), inputs, first)
            ends.append(np.column_stack([y[at, c] for c, at in enumerate(rows)]))
        return np.asarray((ends[0] - ends[1]) / (2 * SHIFT))

    def _calibrated(
        self, ideal: Prediction, known: Mapping[str, float], own: Array, later: Array, by_lag: Array
    ) -> Prediction:
        """Prediction with gains and offsets of readings, and with the slopes by the fitted calibration."""
        C, N = len(self.recording.channels), len(ideal.t)
        gain = np.array([known.get(f"reading.{c}.gain", 1.0) for c in self.recording.channels])
        offset = np.array([known.get(f"reading.{c}.offset", 0.0) for c in self.recording.channels])
        columns = [ideal.slope[:, :, : self.P + len(self.free)] * gain[:, None]]
        steered = iter(range(self.P + len(self.free), self.K))
        for number, size in zip(self.fitted, own):
            column = np.zeros((N, C))
            if number.side == "reading":
                c = self.recording.channels.index(number.of)
                begun = ideal.t > known.get(f"reading.{number.of}.delay", 0.0)
                by = {
                    "gain": ideal.y[:, c], "offset": np.ones(N), "delay": -gain[c] * ideal.rate[:, c] * begun,
                    "lag": gain[c] * by_lag[:, c],
                }  # fmt: skip
                column[:, c] = size * by[number.kind]
            else:
                column = (later if number.kind == "delay" else ideal.slope[:, :, next(steered)]) * gain
            columns.append(column[:, :, None])
        return Prediction(ideal.t, ideal.y * gain + offset, np.concatenate(columns, axis=2), ideal.rate * gain)
