"""Gradients of runs by the implicit midpoint rule: z = x + (h/2) f(t + h/2, z), x' = 2 z - x.

With J = df/dx at z, a sensitivity l' to x' becomes y of (I - (h/2) J)^T y = l', then l = 2 y - l', and what f reads
besides the state gathers h (df/dp)^T y. States at all steps are kept, Jacobians of some steps at a time.

Where loops are closed after every step, the states that are kept are closed: z is solved for again, and l' passes
through the evaluations that closed 2 z - x before it passes through the step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import SimulationError, UnsupportedModel
from pliant.integrators.driver import solve
from pliant.integrators.problem import Problem, SampledInput
from pliant.integrators.step_control import MOST_CLOSING, NEARLY_CLOSED
from pliant.simulation.gradients.discrete import Found
from pliant.simulation.gradients.request import Inquiry

BLOCK = 512
"""Steps whose Jacobians are held at once."""
AGAIN = 3
"""Newton steps from the middle of two closed states to z: it is nearer than their gap before they were closed."""


@dataclass(frozen=True)
class _Traced:
    """Compiled equations with the cost as a state: their rates and Jacobian, the products of one step, the cost at the
    end, and the closing of loops with its products. Gradients are by `gathered` entries of samples and inputs."""

    problem: Problem
    rates: Kernel
    jacobian: Kernel
    product: Kernel
    ending: Kernel
    gathered: int
    closing: Kernel | None
    closing_product: Kernel | None


def midpoint(asked: Inquiry, t_end: float, stops: Array, step: float) -> Found:
    """Gradient by the implicit midpoint rule: forward by the compiled loop, back by linear solves."""
    c, run, given = asked.f.composition, asked.run, asked.given
    if c.quaternions:
        raise UnsupportedModel("method: 'midpoint' does not go back through quaternions; use method='rk4'")
    key = (*asked.key, tuple(asked.wanted.chosen))
    traced = c.derived("midpoint gradients", key, lambda: _trace(asked))
    own, pieces, n = given.held(asked.f)[0], given.pieces()[0], run.n
    p, samples = np.concatenate([np.zeros(pieces.shape[1]), own]), None
    if given.samples is not None:
        starts = given.samples.starts.copy()
        starts[0] = min(0.0, starts[1]) - 1.0  # before any run
        samples = SampledInput(starts, pieces, first=0)
    begin = time.perf_counter()
    solution = solve(traced.problem, (0.0, t_end), asked.starts()[0], method="midpoint", step=step, p=p,
                     samples=samples, breaks=stops)  # fmt: skip
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status != "finished":
        raise SimulationError(f"the run {solution.status}: {solution.message}")
    t, x = solution.t, solution.x
    middle = (t[1:] + t[:-1]) / 2
    piece = np.zeros(len(middle), dtype=int) if given.samples is None else given.samples.piece(middle)
    last = np.asarray(traced.ending(np.array([t_end]), x[-1], pieces[piece[-1]], own)).ravel()
    costate, by = _Steps(traced, t, x, pieces[piece], own).back(last[1 : 1 + n])
    by_w = np.zeros((1, len(pieces), run.held.shape[0]))
    np.add.at(by_w[0], piece, by[:, : by_w.shape[2]])
    by_p = by[:, by_w.shape[2] :].sum(axis=0) + last[1 + n :]
    wall, stats = time.perf_counter() - begin, solution.stats
    return Found(
        value=last[:1],
        end=x[-1:],
        by_x=costate[None],
        by_w=by_w,
        by_p=by_p[None],
        steps=len(by),
        evaluations=stats.rhs,
        products=len(by),
        kept=x.size,
        wall=wall,
    )


class _Steps:
    """The steps of a run between rows x (N + 1, n) at times t, with samples w (N, held) and inputs `own`."""

    def __init__(self, traced: _Traced, t: Array, x: Array, w: Array, own: Array) -> None:
        self.traced, self.t, self.x, self.w, self.own = traced, t, x, w, own
        self.middle, self.h, self.z = (t[1:] + t[:-1]) / 2, np.diff(t), (x[1:] + x[:-1]) / 2

    def back(self, costate: Array) -> tuple[Array, Array]:
        """Sensitivity at the start from that at the end, and the contributions of each step by samples and inputs."""
        n, N, closes = len(costate), len(self.h), self.traced.closing is not None
        Y, gathered = np.empty_like(self.z), np.zeros((N, self.traced.gathered))
        for end in range(N, 0, -BLOCK):
            rows = slice(max(0, end - BLOCK), end)
            if closes:
                self._find_middles(rows)
            A, rounds = self._matrices(rows), self._rounds(rows) if closes else []
            for k in range(end - 1, rows.start - 1, -1):
                for before in reversed([known[k] for known in rounds if k in known]):
                    found = self._through_closing(k, before, costate)
                    costate, gathered[k] = found[:n], gathered[k] + found[n:]
                Y[k] = y = np.linalg.solve(A[k - rows.start].T, costate)
                costate = 2.0 * y - costate
        products = np.asarray(self.traced.product(self.middle[:, None], self.z, self.w, self.own, Y))
        return costate, gathered + self.h[:, None] * products[:, n:]

    def _matrices(self, rows: slice) -> Array:
        """Matrices I - (h/2) J of some steps."""
        J = np.asarray(self.traced.jacobian(self.middle[rows, None], self.z[rows], self.w[rows], self.own))
        n = self.z.shape[1]
        return np.asarray(np.eye(n) - 0.5 * self.h[rows, None, None] * J.reshape(-1, n, n))

    def _find_middles(self, rows: slice) -> None:
        """Solve again for z of steps whose ends were closed, starting from the middle of the ends."""
        for _ in range(AGAIN):
            f = np.asarray(self.traced.rates(self.middle[rows, None], self.z[rows], self.w[rows], self.own))
            left = self.z[rows] - self.x[:-1][rows] - 0.5 * self.h[rows, None] * f
            self.z[rows] -= np.linalg.solve(self._matrices(rows), left[..., None])[..., 0]

    def _rounds(self, rows: slice) -> list[dict[int, Array]]:
        """States before each evaluation that closed loops, by the number of the step."""
        assert self.traced.closing is not None
        numbers, found = np.arange(rows.start, rows.stop), []
        state = 2 * self.z[rows] - self.x[:-1][rows]
        for _ in range(MOST_CLOSING):
            found.append(dict(zip(numbers.tolist(), state)))
            out = np.asarray(self.traced.closing(self.t[1:][numbers, None], state, self.w[numbers], self.own))
            still = out[:, -2] > NEARLY_CLOSED
            numbers, state = numbers[still], out[still, :-2]
            if not len(numbers):
                break
        return found

    def _through_closing(self, k: int, before: Array, costate: Array) -> Array:
        assert self.traced.closing_product is not None
        found = self.traced.closing_product(self.t[k + 1 : k + 2], before, self.w[k], self.own, costate)
        return np.asarray(found).ravel()


def _trace(asked: Inquiry) -> _Traced:
    run = asked.run.differentiated(asked.wanted.chosen)
    t, x, w, p = (ca.SX.sym(name, run.rates.size1_in(k)) for k, name in enumerate(("t", "x", "w", "p")))
    rates = run.rates(t, x, w, p)
    closing = None if run.closing is None else run.closing(t, x, w, p)
    problem = Problem.traced("costed", t, x, ca.vertcat(w, p), rates, closing=closing)
    jacobian = ca.Function("by_state", [t, x, w, p], ca.cse([ca.densify(ca.jacobian(rates, x))]))
    closer, product = (None if f is None else Kernel(f) for f in (run.closing, run.closing_product))
    return _Traced(
        problem=problem,
        rates=Kernel(run.rates),
        jacobian=Kernel(jacobian),
        product=Kernel(run.product),
        ending=Kernel(run.ending, "vm"),
        gathered=run.by_w + run.by_p,
        closing=closer,
        closing_product=product,
    )
