"""Gradients of runs with adaptive steps: forward sensitivities, integrated beside the run by the method itself.

One column for each number that the run starts from or reads: a state, a torque sample, a parameter. The error control
sees the state and the cost; columns follow with the tolerance that slopes of identification have. The cost is the last
state, and its row of the columns is the gradient of the integral.
"""

from __future__ import annotations

import time

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import SimulationError, UnsupportedModel
from pliant.integrators.driver import solve
from pliant.integrators.problem import Problem, SampledInput
from pliant.integrators.solution import Stats
from pliant.simulation.gradients.discrete import Found
from pliant.simulation.gradients.request import Inquiry
from pliant.simulation.runs.equations.variational import variational
from pliant.simulation.runs.inputs import SampledTorque

MOST_COLUMNS = 100
"""Columns, at most: with more, the equations compile for minutes, and going back through fixed steps is far cheaper."""
SLACK = 1e3
"""Tolerance of a column over that of a state: a slope need not be as exact."""


def forward(
    asked: Inquiry, t_end: float, stops: Array, method: str, step: float | None, rtol: float, atol: float
) -> Found:
    """Gradient by an adaptive method, with columns that are integrated beside the run."""
    columns = _Columns(asked)
    c = asked.f.composition
    key = (*asked.key, tuple(asked.wanted.chosen), columns.by_sample, columns.starts.tobytes())
    problem, last = c.derived("run sensitivities", key, columns.trace)
    x = np.concatenate([asked.starts()[0], columns.starts.ravel(order="F")])
    tolerance = np.full(len(x), atol * SLACK)
    tolerance[: columns.n] = atol
    p, samples = columns.inputs()
    begin = time.perf_counter()
    solution = solve(
        problem, (0.0, t_end), x, method=method, rtol=rtol, atol=tolerance, step=step, outputs=[t_end], p=p,
        samples=samples, breaks=stops,
    )  # fmt: skip
    wall = time.perf_counter() - begin
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status != "finished":
        raise SimulationError(f"the run {solution.status}: {solution.message}")
    end, S = solution.x[-1][: columns.n], solution.x[-1][columns.n :].reshape(columns.n, -1, order="F")
    found = np.asarray(last(np.array([t_end]), end, columns.last_piece(t_end), asked.given.held(asked.f)[0])).ravel()
    value, by_x, by_p = found[0], found[1 : 1 + columns.n], found[1 + columns.n :]
    slopes = by_x @ S
    slopes[columns.parameters] += by_p
    return columns.found(end, float(value), slopes, solution.stats, wall)


class _Columns:
    """Columns of a run: a direction for each number of its start, its samples and its parameters."""

    def __init__(self, asked: Inquiry) -> None:
        self.asked, self.run, c = asked, asked.run, asked.f.composition
        self.n, self.m = self.run.n, c.m
        wanted = set(asked.wanted.names)
        places = list(range(self.n - 1)) if wanted & {"q0", "qd0"} or asked.starts_change else []
        self.places = places
        samples = asked.given.samples is not None and asked.table is not None and asked.table[0] in wanted
        self.by_sample = len(asked.table[1]) if samples and asked.table is not None else 0
        chosen = len(asked.wanted.chosen)
        self.K = len(places) + self.by_sample * self.m + chosen
        self.parameters = slice(self.K - chosen, self.K)
        if self.K > MOST_COLUMNS:
            raise UnsupportedModel(
                f"method: forward sensitivities by {self.K} numbers, expected at most {MOST_COLUMNS}; use "
                "method='rk4', which goes back through its steps, or name fewer in with_respect_to"
            )
        self.starts = np.zeros((self.n, self.K))
        self.starts[places, np.arange(len(places))] = 1.0

    def trace(self) -> tuple[Problem, Kernel]:
        """The equations with their columns, and the cost at the end with its slopes."""
        c, run, f = self.asked.f.composition, self.run, self.asked.f
        e = c.equations
        S, unit = ca.SX.sym("S", self.n, self.K), ca.SX.sym("unit", 4 * self.by_sample)
        own = run.own[self.asked.wanted.chosen] if self.asked.wanted.chosen else ca.SX(0, 1)
        torque = e.p[c.m : 2 * c.m] if c.has_table else ca.SX(0, 1)  # a change of the samples acts as one of these
        below = ca.SX.zeros(torque.shape[0] + own.shape[0], self.K)
        if self.by_sample:
            since = e.t - e.p[5 * c.m]
            for k in range(self.by_sample):
                b = [unit[4 * k + power] for power in range(4)]
                level = b[0] + since * (b[1] + since * (b[2] + since * b[3]))
                for joint in range(self.m):
                    below[joint, len(self.places) + k * self.m + joint] = level
        for k in range(own.shape[0]):
            below[torque.shape[0] + k, self.parameters.start + k] = 1
        seeds = ca.vertcat(S[: self.n - 1, :], below)
        cost = ca.SX.sym("cost")
        # the cost has no work in it, and torques that are not held are zero
        fixed = [e.x[f.n :]] + ([] if f.has_constant else [e.p[: c.m]])
        rates = ca.substitute([run.rates], fixed, [ca.SX.zeros(part.shape[0]) for part in fixed])[0]
        table = e.p[c.m : 6 * c.m] if c.has_table else ca.SX(0, 1)
        inputs = ca.vertcat(table, unit, run.own)
        by = ca.vertcat(run.states, torque, own)
        problem = variational(c, e.t, ca.vertcat(run.states, cost), rates, S, by, seeds, inputs)
        return problem, Kernel(run.differentiated(self.asked.wanted.chosen).ending, "vm")

    def inputs(self) -> tuple[Array, SampledInput | None]:
        """p of the problem, and the samples with the coefficients of unit samples beside them."""
        given = self.asked.given
        own, pieces = given.held(self.asked.f)[0], given.pieces()[0]
        p = np.concatenate([np.zeros(pieces.shape[1] + 4 * self.by_sample), own])
        if given.samples is None or self.asked.table is None:
            return p, None
        rows = pieces
        if self.by_sample:
            _, times, kind = self.asked.table
            unit = SampledTorque.of(times, np.eye(self.by_sample)[:, :, None], kind).pieces  # (K, K + 1, 5)
            rows = np.hstack([pieces, unit[:, :, :4].transpose(1, 0, 2).reshape(len(pieces), -1)])
        starts = given.samples.starts.copy()
        starts[0] = min(0.0, starts[1]) - 1.0  # before any run
        return p, SampledInput(starts, rows, first=0)

    def last_piece(self, t_end: float) -> Array:
        """Samples that hold at the end."""
        samples, pieces = self.asked.given.samples, self.asked.given.pieces()[0]
        found: Array = pieces[0 if samples is None else int(samples.piece(np.array([t_end]))[0])]
        return found

    def found(self, end: Array, value: float, slopes: Array, stats: Stats, wall: float) -> Found:
        """Cost and gradients by the start, by samples and by parameters, from the gradient along all columns."""
        by_x = np.zeros((1, self.n))
        by_x[0, self.places] = slopes[: len(self.places)]
        return Found(
            value=np.array([value]),
            end=end[None],
            by_x=by_x,
            by_w=slopes[len(self.places) : self.parameters.start].reshape(1, self.by_sample, self.m),
            by_p=slopes[None, self.parameters],
            steps=int(stats.steps),
            evaluations=int(stats.rhs),
            products=self.K,
            kept=self.n * (1 + self.K),
            wall=wall,
            sampled=True,
        )
