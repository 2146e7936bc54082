"""Memory of a problem of predictive control: arrays, the table that the compiled loops read, and the calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.compute.compiled_loops.primitives import Doubles, integers, table, unpack
from pliant.compute.llvm.llvm import compiled_loop
from pliant.compute.nmpc.collocation import Steps, interval, kept_size, radau_tableau, step_sizes
from pliant.compute.nmpc.quadratic_program import TOLD as PROGRAM_TOLD
from pliant.compute.nmpc.quadratic_program import QuadraticProgram, WorkingSet, working_sizes
from pliant.compute.nmpc.real_time_iteration import Horizon, Plan, horizon_sizes, run_horizon


class Interval(NamedTuple):
    """A single interval: length of its steps, start, torques, stages; its end, slopes, and kept numbers."""

    length: Doubles
    x: Doubles
    tau: Doubles
    a: Doubles
    end: Doubles
    F: Doubles
    K: Doubles


def run_interval(address: int, rounds: int) -> int:
    """Step an interval, its stages from zero; return 0, or 1 if a step is singular."""
    given, steps = unpack(integers(address), Interval, Steps)
    if interval(steps, given.length[0], given.x, given.tau, given.a, given.end, given.F, given.K, rounds=rounds):
        return 0
    return 1


@dataclass(frozen=True)
class Dynamics:
    """Dynamics of an arm for collocation: sizes of q and tau, the address of a function of (q, qd, tau, p) that gives
    ``[qdd, dqdd/dq, dqdd/dqd, dqdd/dtau]``, the values of p, stages of a step and steps of an interval; `owner` keeps
    the code alive."""

    n: int
    m: int
    slopes: int
    parameters: Array
    stages: int = 3
    steps: int = 1
    owner: object = field(default=None, repr=False)

    def memory(self) -> Steps:
        """Make the record for the compiled loops, with memory of its own."""
        sizes = step_sizes(self.n, self.m, self.stages, len(self.parameters))
        parts = {name: np.zeros(size) for name, size in sizes.items()}
        parts["given"][2 * self.n + self.m :] = self.parameters
        return Steps(
            n=self.n, m=self.m, stages=self.stages, steps=self.steps, slopes=self.slopes,
            tableau=radau_tableau(self.stages), **parts,
        )  # fmt: skip

    def advance(self, x: Array, tau: Array, duration: float, rounds: int = 30) -> tuple[Array, Array, Array]:
        """The state (2n,) at the end of an interval, and its slopes (2n, 2n) and (2n, m) by x and tau."""
        n, m = self.n, self.m
        end, F = np.zeros(2 * n), np.zeros((2 * n, 2 * n + m))
        kept = np.zeros(self.steps * kept_size(n, m, self.stages))
        given = Interval(
            length=np.array([duration / self.steps]), x=np.array(x, dtype=float), tau=np.array(tau, dtype=float),
            a=np.zeros(self.steps * self.stages * n), end=end, F=F, K=kept,
        )  # fmt: skip
        own = self.memory()
        parts = table(given, own)
        compiled_loop(run_interval)(parts.ctypes.data, rounds)
        return end, F[:, : 2 * n], F[:, 2 * n :]


class HorizonSolver:
    """All memory of a problem, and one plan. `plan` holds all that later steps need: it may be saved and restored.

    Parameters
    ----------
    dynamics : Dynamics
    intervals, outputs : int
        Intervals of the horizon, and outputs that are bounded at each node.
    addresses : (int, int, int)
        Addresses of the cost of a node, of that of the last node, and of the safe law.
    length : float
        Length of an interval, s.
    torque, rate : (2, m) and (m,) arrays
        Bounds of torques, and of their rates per second.
    bounds, weights : (2, outputs) arrays
        Bounds of the outputs; weights of slacks and of their squares.
    first, iterations, most : int
        Rounds of a first plan, rounds of a step, and iterations of a quadratic program.
    """

    def __init__(
        self, dynamics: Dynamics, intervals: int, outputs: int, addresses: tuple[int, int, int],
        length: float, torque: Array, rate: Array, bounds: Array, weights: Array, first: int,
        iterations: int, most: int, owner: object = None,
    ) -> None:  # fmt: skip
        n, m = dynamics.n, dynamics.m
        self.dynamics, self.intervals, self.outputs, self.owner = dynamics, intervals, outputs, owner
        rated = int(np.isfinite(rate).any())
        variables, rows = intervals * m, intervals * (m * (1 + rated) + outputs)
        kept = dynamics.steps * kept_size(n, m, dynamics.stages)
        sizes = horizon_sizes(n, m, intervals, outputs, kept)
        self.clock = np.array([0.0, length, length / dynamics.steps])
        self._memory = {name: np.zeros(size) for name, size in sizes.items()}
        parts: dict[str, Any] = {
            "intervals": intervals, "outputs": outputs, "rated": rated, "first": first, "iterations": iterations,
            **dict(zip(("node", "end", "hold"), addresses)), "clock": self.clock, "rate": np.array(rate, dtype=float),
            **dict(zip(("least", "most"), np.array(torque, dtype=float))),
            **dict(zip(("low", "high"), np.array(bounds, dtype=float).reshape(2, outputs))), **self._memory,
        }  # fmt: skip
        self._horizon = Horizon(**parts)
        self._sizes = plan_sizes(dynamics, intervals, rows)
        self.plan = np.zeros(sum(self._sizes.values()))
        self._program = self._empty_program(variables, rows, np.asarray(weights, dtype=float), most)
        given = {name: np.zeros(size) for name, size in working_sizes(rows).items()}
        given["row"] = given["row"].astype(np.int64)
        self._working, self._steps = WorkingSet(**given), dynamics.memory()
        self._table = table(*self.records)
        self._run = compiled_loop(run_horizon)

    @property
    def records(self) -> tuple[Horizon, Plan, Steps, QuadraticProgram, WorkingSet]:
        """The records that the compiled loops read, in order."""
        return self._horizon, Plan(**self._planned()), self._steps, self._program, self._working

    def _planned(self) -> dict[str, Array]:
        """Parts of the plan, by name."""
        return dict(zip(self._sizes, np.split(self.plan, np.cumsum([*self._sizes.values()])[:-1])))

    def _empty_program(self, n: int, rows: int, weights: Array, most: int) -> QuadraticProgram:
        hard, own = rows // self.intervals - self.outputs, self.intervals
        each = [np.concatenate([np.full(hard, x), w]) for x, w in zip((np.inf, 0.0), weights)]
        width = np.repeat(np.arange(1, own + 1) * self.dynamics.m, rows // own)
        return QuadraticProgram(
            n=n, rows=rows, iterations=most, g=np.zeros(n), G=np.zeros((rows, n)), width=width.astype(np.int64),
            low=np.zeros(rows), high=np.zeros(rows), weight=np.concatenate([np.tile(w, own) for w in each]),
            z=np.zeros(n), y=np.zeros(rows), value=np.zeros(rows), told=np.zeros(PROGRAM_TOLD),
        )  # fmt: skip

    def forget(self, tau: Array) -> None:
        """Drop the plan; tau (m,) are the torques that act now."""
        self.plan[:] = 0.0
        self._planned()["last"][:] = tau

    def prepare(self, t: float) -> int:
        """Linearize about the plan at a time; return the status."""
        self.clock[0] = t
        return self._run(self._table.ctypes.data, 0)

    def answer(self, x: Array) -> int:
        """Compute torques for a measured state, to be read as `tau`; return the status."""
        self._memory["measured"][:] = x
        return self._run(self._table.ctypes.data, 1)

    @property
    def tau(self) -> Array:
        """(m,) torques of the last answer."""
        return self._memory["answer"].copy()

    @property
    def told(self) -> Array:
        """Numbers about the last step: source of the torque, largest slack, iterations, change of torques."""
        return self._memory["told"].copy()

    @property
    def slack(self) -> Array:
        """(outputs,) largest predicted violation of the bounds of each output."""
        return self._memory["slack"][: self.outputs].copy()

    @property
    def states(self) -> Array:
        """(intervals + 1, 2n) of the plan."""
        return self._planned()["x"].reshape(self.intervals + 1, -1).copy()

    @property
    def torques(self) -> Array:
        """(intervals, m) of the plan."""
        return self._planned()["tau"].reshape(self.intervals, -1).copy()


def plan_sizes(dynamics: Dynamics, intervals: int, rows: int) -> dict[str, int]:
    """Number of entries of each part of a `Plan`."""
    n, m = dynamics.n, dynamics.m
    size = {"x": (intervals + 1) * 2 * n, "tau": intervals * m, "a": intervals * dynamics.steps * dynamics.stages * n}
    return size | {"y": rows, "last": m, "seen": 2 * n, "mark": 4}
