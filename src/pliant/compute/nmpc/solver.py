"""A receding problem in memory: arrays, the table that the compiled loops read, and the calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.compiled_loop import compiled
from pliant.compute.loops.primitives import Doubles, integers, table, unpack
from pliant.compute.nmpc.active_set import TOLD as PROGRAM_TOLD
from pliant.compute.nmpc.active_set import QuadraticProgram, WorkingSet, working_sizes
from pliant.compute.nmpc.collocation import Steps, interval, kept_size, radau_tableau, step_sizes
from pliant.compute.nmpc.real_time_iteration import Horizon, Plan, horizon_sizes, run_horizon


class Interval(NamedTuple):
    """An interval alone: length of its steps, start, torques, stages; its end, slopes, and what is kept of it."""

    length: Doubles
    x: Doubles
    tau: Doubles
    a: Doubles
    end: Doubles
    F: Doubles
    K: Doubles


def run_interval(address: int, rounds: int) -> int:
    """Step an interval, its stages from zero; 0 where no step is singular."""
    given, steps = unpack(integers(address), Interval, Steps)
    if interval(steps, given.length[0], given.x, given.tau, given.a, given.end, given.F, given.K, rounds):
        return 0
    return 1


@dataclass(frozen=True)
class Dynamics:
    """How an arm is stepped: sizes of q and tau, the address of ``[qdd, dqdd/dq, dqdd/dqd, dqdd/dtau]`` of (q, qd, tau,
    p), what p is, and how an interval is cut; `owner` keeps the code alive."""

    n: int
    m: int
    slopes: int
    parameters: Array
    stages: int = 3
    steps: int = 1
    owner: Any = field(default=None, repr=False)

    def memory(self) -> Steps:
        """The record for the compiled loops, with memory of its own."""
        sizes = step_sizes(self.n, self.m, self.stages, len(self.parameters))
        parts = {name: np.zeros(size) for name, size in sizes.items()}
        parts["given"][2 * self.n + self.m :] = self.parameters
        return Steps(self.n, self.m, self.stages, self.steps, self.slopes, radau_tableau(self.stages), **parts)

    def advance(self, x: Array, tau: Array, duration: float, rounds: int = 30) -> tuple[Array, Array, Array]:
        """The state (2n,) at the end of an interval, and its slopes (2n, 2n) and (2n, m) by x and tau."""
        n, m = self.n, self.m
        end, F = np.zeros(2 * n), np.zeros((2 * n, 2 * n + m))
        kept = np.zeros(self.steps * kept_size(n, m, self.stages))
        a, lengths = np.zeros(self.steps * self.stages * n), np.array([duration / self.steps])
        given = Interval(lengths, np.array(x, dtype=float), np.array(tau, dtype=float), a, end, F, kept)
        own = self.memory()
        parts = table(given, own)
        compiled(run_interval)(parts.ctypes.data, rounds)
        return end, F[:, : 2 * n], F[:, 2 * n :]


class HorizonSolver:
    """All memory of a problem, and one plan. `plan` is what it remembers between steps: it may be kept and put back.

    Parameters
    ----------
    dynamics : Dynamics
    intervals, outputs : int
        Of the horizon, and numbers that are bounded at each node.
    addresses : (int, int, int)
        Of the cost of a node, of the last node, and of the safe law.
    length : float
        Of an interval, s.
    torque, rate : (2, m) and (m,) arrays
        Bounds of torques, and of their rates per second.
    bounds, weights : (2, outputs) arrays
        Of the outputs; weights of slacks and of their squares.
    first, iterations, most : int
        Rounds of a first plan, of a step, and iterations of a quadratic program.
    """

    def __init__(
        self, dynamics: Dynamics, intervals: int, outputs: int, addresses: tuple[int, int, int],
        length: float, torque: Array, rate: Array, bounds: Array, weights: Array, first: int,
        iterations: int, most: int, owner: Any = None,
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
        self._run = compiled(run_horizon)

    @property
    def records(self) -> tuple[Horizon, Plan, Steps, QuadraticProgram, WorkingSet]:
        """What the compiled loops read, in their order."""
        return self._horizon, Plan(**self._planned()), self._steps, self._program, self._working

    def _planned(self) -> dict[str, Array]:
        """Parts of the plan, by name."""
        return dict(zip(self._sizes, np.split(self.plan, np.cumsum([*self._sizes.values()])[:-1])))

    def _empty_program(self, n: int, rows: int, weights: Array, most: int) -> QuadraticProgram:
        hard, own = rows // self.intervals - self.outputs, self.intervals
        each = [np.concatenate([np.full(hard, x), w]) for x, w in zip((np.inf, 0.0), weights)]
        width = np.repeat(np.arange(1, own + 1) * self.dynamics.m, rows // own)
        return QuadraticProgram(
            n, rows, most, g=np.zeros(n), G=np.zeros((rows, n)), width=width.astype(np.int64), low=np.zeros(rows),
            high=np.zeros(rows), weight=np.concatenate([np.tile(w, own) for w in each]), z=np.zeros(n),
            y=np.zeros(rows), value=np.zeros(rows), told=np.zeros(PROGRAM_TOLD),
        )  # fmt: skip

    def forget(self, tau: Array) -> None:
        """No plan any more; tau (m,) acts now."""
        self.plan[:] = 0.0
        self._planned()["last"][:] = tau

    def prepare(self, t: float) -> int:
        """Linearise about the plan at a time."""
        self.clock[0] = t
        return self._run(self._table.ctypes.data, 0)

    def answer(self, x: Array) -> int:
        """Torques for a measured state; they stand in `tau`."""
        self._memory["measured"][:] = x
        return self._run(self._table.ctypes.data, 1)

    @property
    def tau(self) -> Array:
        """(m,) torques of the last answer."""
        return self._memory["answer"].copy()

    @property
    def told(self) -> Array:
        """What the last step tells of itself."""
        return self._memory["told"].copy()

    @property
    def slack(self) -> Array:
        """(outputs,) largest violated part of each output."""
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
    """How many numbers each part of a `Plan` has."""
    n, m = dynamics.n, dynamics.m
    size = {"x": (intervals + 1) * 2 * n, "tau": intervals * m, "a": intervals * dynamics.steps * dynamics.stages * n}
    return size | {"y": rows, "last": m, "seen": 2 * n, "mark": 4}
