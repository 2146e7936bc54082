"""What a recording's sensors would read for given parameters, with exact slopes: forward sensitivities.

The variational equations S' = (df/dx) S + df/du are traced beside the state and compiled as one kernel, with one
column for each fitted number u (parameters of the robot, then unknown values of the start), each scaled by its
typical size so that all columns have the size of a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError, PliantError, SimulationError, UnsupportedModel
from pliant.identification.channels import readings
from pliant.identification.recording import Recording
from pliant.integrate import Problem, solve
from pliant.kernels import Kernel
from pliant.model import Model, named_places
from pliant.model.statics import rest_slope
from pliant.runs.composition import compose
from pliant.runs.drives import Inputs, listed, one_table, read_start, read_torque
from pliant.runs.variational import variational


@dataclass(frozen=True)
class Prediction:
    """Readings y (N, C) at the times t (N,), slopes (N, C, K) by the scaled numbers, and rates dy/dt (N, C)."""

    t: Array
    y: Array
    slope: Array
    rate: Array


class Response:
    """One recording of one model as a function of P parameters and F unknown values of its start."""

    def __init__(self, model: Model, recording: Recording, method: str, rtol: float, atol: float) -> None:
        self.model, self.recording = model, recording
        self.method, self.rtol, self.atol = method, rtol, atol
        torque = read_torque(model, recording.torque, "torque")
        controller = read_torque(model, recording.controller, "controller")
        self._given = [torque, controller]
        if torque.function or controller.function:
            raise UnsupportedModel(
                f"recording {recording.name!r}: a Python function as torque has no exact slope; give what acted as "
                "samples (times, values), or an object with .expression"
            )
        self.composed = compose(
            model, torque.traced, controller.traced, recording.motion, listed(recording.loads), recording.base,
            one_table(torque, controller) is not None, looked_up=True,
        )  # fmt: skip
        if self.composed.sample_time is not None:
            raise UnsupportedModel(
                f"recording {recording.name!r}: a sampled controller has no slope; give the torques that acted"
            )
        self.P = len(model.parameters)
        self.free = tuple(self._start_index(name) for name in recording.free_start)
        self.N = self.composed.size - 1  # without the work, on which nothing depends
        sensors = tuple((name, recording.sensors[name]) for name in recording.channels if name in recording.sensors)
        self._key = (recording.channels, sensors, self.K)
        self.y = self._once("y", lambda: readings(self.composed, recording))

    @property
    def K(self) -> int:
        """Columns of the slopes."""
        return self.P + len(self.free)

    def _start_index(self, name: str) -> int:
        """Place of an unknown start value in the state."""
        composed, model, speed = self.composed, self.model, name.removesuffix(".rate")
        rate = speed != name or name not in model.coordinates
        index = model.speed_index(speed) if rate else model.index(name)
        known, first = (composed.free, len(composed.free_places)) if rate else (composed.free_places, 0)
        if index not in known:
            raise ModelError(f"free_start: {name!r} is prescribed by the motion; leave it out")
        return first + known.index(index)

    # ------------------------------------------------------------------------------------------- tracing

    def _once(self, what: str, make: Callable[[], Any]) -> Any:
        """What is traced is kept with the composition, for the next recording with the same sensors."""
        return self.composed.derived(f"responses: {what}", self.K if what == "problem" else self._key, make)

    def _directions(self) -> tuple[Any, Any, Any]:
        """Sensitivities, inputs with scales, and the seeds of the K directions in (x, p)."""
        c, P, K = self.composed.equations, self.P, self.K
        S, scale = ca.SX.sym("S", self.N, K), ca.SX.sym("scale", P)
        below = ca.SX.zeros(c.p.shape[0], K)
        for k in range(P):
            below[c.p.shape[0] - P + k, k] = scale[k]
        seeds = ca.vertcat(S, ca.SX.zeros(1, K), below)
        return S, ca.vertcat(c.p, scale), seeds

    @cached_property
    def _problem(self) -> Problem:
        found: Problem = self._once("problem", self._trace_problem)
        return found

    def _trace_problem(self) -> Problem:
        c = self.composed.equations
        S, p, seeds = self._directions()
        return variational(c.t, c.x[: self.N], c.xdot[: self.N], S, ca.vertcat(c.x, c.p), seeds, p)

    @cached_property
    def _reader(self) -> Kernel:
        found: Kernel = self._once("reader", self._trace_reader)
        return found

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
        return np.asarray(self._start(p)[0][list(self.free)])

    def _start(self, p: Array) -> tuple[Array, Array]:
        """State (N,) and its slope (N, P) by the parameters at the start."""
        r, model = self.recording, self.model
        loads, slope = listed(r.loads), np.zeros((model.n_q, self.P))
        try:
            q, qd, work = read_start(
                model,
                r.q0,
                r.qd0,
                r.equilibrium,
                loads,
                p,
                placed=self.composed.on_paths,
                before=self.composed.before_start,
            )
        except PliantError as error:
            raise SimulationError(f"recording {r.name!r}: {error}") from error
        if work is not None:
            raise UnsupportedModel(self._no_jump)
        if r.equilibrium:
            slope = rest_slope(model, q, loads, p)
            if isinstance(r.q0, Mapping):
                slope[sorted(named_places(model, r.q0, "q0"))] = 0.0
        inputs = Inputs(model, self.composed, self._given, p, None)
        x = self.composed.start(q, qd, inputs.at_start(q, qd))[: self.N]
        out = np.zeros((self.N, self.P))
        out[: len(self.composed.free_places)] = slope[self.composed.free_places]
        return x, out

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
        x, _ = self._start(parameters)
        x[list(self.free)] = start
        return np.append(x, 0.0)

    def predict(self, parameters: Array, start: Array, scale: Array, until: float = np.inf) -> Prediction:
        """Readings and slopes; raises `SimulationError` where the run breaks down."""
        x0, by_p = self._start(parameters)
        S0 = np.hstack([by_p * scale[: self.P], np.zeros((self.N, len(self.free)))])
        for k, place in enumerate(self.free):
            x0[place] = start[k]
            S0[place] = 0.0
            S0[place, self.P + k] = scale[self.P + k]
        times = self.recording.times(until)
        end = float(times[-1])
        inputs = Inputs(self.model, self.composed, self._given, parameters, None)
        p = np.concatenate([inputs.p, scale[: self.P]])
        outputs = times if times[0] > 0.0 else times[1:]
        tolerance = np.full(self.N * (1 + self.K), self.atol)
        tolerance[self.N :] *= 1e3  # a slope steers the fit and need not be as exact as a state
        solution = solve(
            self._problem, (0.0, end), np.concatenate([x0, S0.ravel(order="F")]), method=self.method, rtol=self.rtol,
            atol=tolerance, outputs=outputs, p=p, samples=inputs.samples, breaks=self._breaks(end),
        )  # fmt: skip
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        if solution.status != "finished":
            raise SimulationError(f"recording {self.recording.name!r}: the run {solution.status}: {solution.message}")
        self.method = solution.stats.method  # what "auto" found holds for the runs that follow
        x = solution.x if times[0] > 0.0 else np.vstack([np.concatenate([x0, S0.ravel(order="F")]), solution.x])
        q, qd, _ = self.composed.histories(times, np.hstack([x[:, : self.N], np.zeros((len(times), 1))]))
        rows = np.hstack([inputs.history(times, q, qd), np.tile(p[len(p) - 2 * self.P :], (len(times), 1))])
        y, slope, rate = self._reader(times[:, None], x, rows)
        C = self.y.shape[0]
        shapes = (len(times), C), (len(times), C, self.K), (len(times), C)
        y, slope, rate = (np.asarray(a).reshape(shape) for a, shape in zip((y, slope, rate), shapes))
        return Prediction(times, y, slope, rate)
